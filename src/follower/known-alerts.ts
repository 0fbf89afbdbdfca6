// Remembers which versions of alerts were printed or existed before, so that each alert and each
// change is printed once.
//
// A version is identified by the alert's `modified` and its state, because times have whole seconds
// and two changes can have the same time. Links and `extra` are ignored: a webhook may format them
// differently from the list.

import { createHash } from 'node:crypto';
import type { Alert } from '../api/alert.js';
import type { Item } from '../http/types.js';
import { readTime } from '../terminal/time.js';
import { textOf } from '../terminal/values.js';

/**
 * How fleet learned of a version, in increasing order of priority: the version existed at the start
 * and was not printed; it was printed from the list; a webhook delivered it.
 */
export const SOURCES = ['there', 'list', 'webhook'] as const;
export type Source = (typeof SOURCES)[number];

/** A received alert: its JSON text and its value. */
export type AlertItem = Readonly<Item<Alert>>;

/** A version of an alert, in the form that the state file stores. */
export interface Version {
  readonly id: string;
  readonly modified: string;
  readonly state: string;
  readonly source: Source;
}

/**
 * The maximum number of alerts, and of versions of each alert. The alerts and versions that were
 * received least recently are removed first.
 */
const KNOWN_ALERTS = 50_000;
const KNOWN_VERSIONS = 10;

/** Returns an identifier of the alert: its uuid in lower case, or a digest of its text. */
export function alertIdOf({ value, json }: AlertItem): string {
  const { uuid } = value;
  if (typeof uuid === 'string' && uuid !== '') return uuid.toLowerCase();
  return `sha256:${createHash('sha256').update(json).digest('hex')}`;
}

/** Returns the time of the alert's last change in milliseconds since the epoch. */
export function lastMsOf({ modified, created }: Alert): number | undefined {
  return readTime(modified) ?? readTime(created);
}

export function alertVersionOf(item: AlertItem, source: Source): Version {
  const { modified, created, state } = item.value;
  return {
    id: alertIdOf(item),
    modified: textOf(modified ?? created) ?? '',
    state: textOf(state) ?? '',
    source,
  };
}

/**
 * Returns a key that is the same for every spelling of a version. `Z`, `+00:00` and `.000000Z` are
 * the same time, and a time without a fraction is a whole second. Digits below a millisecond also
 * count.
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
  /** Versions by alert. Alerts and versions are in the order in which they were received. */
  const table = new Map<string, readonly Version[]>();
  return {
    /**
     * Returns how fleet learned of this version, or undefined for an unknown version, and the state
     * of the previous version.
     */
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
    /** Adds a version. */
    learn(version: Version): void {
      const known = table.get(version.id) ?? [];
      const others = known.filter((other) => keyOf(other) !== keyOf(version));
      table.delete(version.id);
      // The version that was received last is kept, whatever its time is. Otherwise the list would
      // report it again and again.
      table.set(version.id, [...others, version].slice(-KNOWN_VERSIONS));
      const [oldest = ''] = table.keys();
      if (table.size > KNOWN_ALERTS) table.delete(oldest);
    },
    /** Returns all versions, starting with the least recently received alert. */
    versions: () => [...table.values()].flat(),
  };
}

/** Versions with unreadable times keep the order in which they arrived. */
function isBefore(version: Version, other: Version): boolean {
  const [at, otherAt] = [readTime(version.modified), readTime(other.modified)];
  return at !== undefined && otherAt !== undefined && at < otherAt;
}
