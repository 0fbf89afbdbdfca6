// The table of alerts: which versions of each were printed, or were there before, so that each alert and each change is printed once.
//
// A version is an alert's `modified` with its state: times have whole seconds, so that two changes can carry the same one. Links and
// `extra` play no part, for a webhook may spell them otherwise than the list.

import { createHash } from 'node:crypto';
import type { Alert } from '../../api/alert.js';
import type { Item } from '../../http/types.js';
import { readTime } from '../../terminal/time.js';
import { textOf } from '../../terminal/values.js';

/** How a version became known, each says more than the one before: it was there and was not printed; it was printed; a webhook brought it. */
export const SOURCES = ['there', 'list', 'webhook'] as const;
export type Source = (typeof SOURCES)[number];

/** An alert as it came: its JSON text and its value. */
export type AlertItem = Readonly<Item<Alert>>;

/** One version, as it is remembered over a restart. */
export interface Version {
  readonly id: string;
  readonly modified: string;
  readonly state: string;
  readonly source: Source;
}

/** So many alerts and versions of each are known; what was met longest ago is forgotten first. */
const KNOWN_ALERTS = 50_000;
const KNOWN_VERSIONS = 10;

/** A name of the alert: its uuid in lower case, else a digest of its text. */
function idOf({ value, json }: AlertItem): string {
  const { uuid } = value;
  if (typeof uuid === 'string' && uuid !== '') return uuid.toLowerCase();
  return `sha256:${createHash('sha256').update(json).digest('hex')}`;
}

/** When the alert changed last, by its own times, in milliseconds since the epoch. */
export function lastMsOf({ modified, created }: Alert): number | undefined {
  return readTime(modified) ?? readTime(created);
}

export function alertVersionOf(item: AlertItem, source: Source): Version {
  const { modified, created, state } = item.value;
  return {
    id: idOf(item),
    modified: textOf(modified ?? created) ?? '',
    state: textOf(state) ?? '',
    source,
  };
}

/**
 * Returns a key that is the same for every spelling of a version: `Z`, `+00:00` and `.000000Z` are
 * the same time. A time without a fraction is a whole second. Digits beyond a millisecond count.
 */
export function keyOf({ id, modified, state }: Version): string {
  return `${id} ${normalizeTime(modified)} ${state}`;
}

function normalizeTime(text: string): string {
  const ms = readTime(text);
  if (ms === undefined) return text;
  const [, digits = ''] = /\.(\d+)/.exec(text) ?? [];
  const beyond = digits.slice(3).replace(/0+$/, '');
  return `${ms}${beyond === '' ? '' : `.${beyond}`}`;
}

export function openKnownAlerts() {
  /** By alert; alerts and the versions of each in the order in which they were met. */
  const table = new Map<string, readonly Version[]>();
  return {
    /** How this very version became known, if it is, and the state of the one before it. */
    look(item: AlertItem): {
      readonly source: Source | undefined;
      readonly before: string | undefined;
    } {
      const version = alertVersionOf(item, 'there');
      const known = table.get(version.id) ?? [];
      const source = known.find((other) => keyOf(other) === keyOf(version))?.source;
      const earlier = known.filter((other) => !isBefore(version, other));
      const before = earlier.reduce(
        (last, other) => (isBefore(other, last) ? last : other),
        earlier[0] ?? version,
      );
      return { source, before: earlier.length === 0 ? undefined : before.state };
    },
    /** Takes a version in. */
    learn(version: Version): void {
      const known = table.get(version.id) ?? [];
      const others = known.filter((other) => keyOf(other) !== keyOf(version));
      table.delete(version.id);
      // What was met last stays, whatever its time: the list would bring it again and again.
      table.set(version.id, [...others, version].slice(-KNOWN_VERSIONS));
      const [oldest = ''] = table.keys();
      if (table.size > KNOWN_ALERTS) table.delete(oldest);
    },
    /** Those of the alert that was met longest ago first. */
    versions: () => [...table.values()].flat(),
  };
}

/** Times that cannot be read are taken in the order in which they come. */
function isBefore(version: Version, other: Version): boolean {
  const [at, otherAt] = [readTime(version.modified), readTime(other.modified)];
  return at !== undefined && otherAt !== undefined && at < otherAt;
}
