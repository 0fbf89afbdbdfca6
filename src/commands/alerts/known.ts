// The table of alerts: which versions of each were printed, or were there before, so that each alert and each change is printed once.
//
// A version is an alert's `modified` with its state: times have whole seconds, so that two changes can carry the same one. Links and
// `extra` play no part, for a webhook may spell them otherwise than the list.

import { createHash } from 'node:crypto';
import type { Alert } from '../../api/alert.js';
import type { Item } from '../../http/types.js';
import { readTime } from '../../terminal/time.js';
import { textOf } from '../../terminal/values.js';

/** Who made a version known, each knows more than the one before: it was there before and was not printed; it was printed; a webhook brought it. */
export const SOURCES = ['there', 'list', 'push', 'webhook'] as const;
export type Source = (typeof SOURCES)[number];

/** An alert as it came: its JSON text and its value. */
export type AlertItem = Readonly<Item<Alert>>;

/** What is known of an alert. */
export interface Look {
  /** Who made this very version known; undefined: nobody. */
  readonly source: Source | undefined;
  /** The state of the newest version; undefined where nothing is known of the alert. */
  readonly before: string | undefined;
  /** Whether the newest version is newer. */
  readonly isOlder: boolean;
}

/** One version, as it is remembered over a restart. */
export interface Version {
  readonly id: string;
  readonly modified: string;
  readonly state: string;
  readonly source: Source;
}

export type KnownAlerts = ReturnType<typeof openKnownAlerts>;

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

export function versionOf(item: AlertItem, source: Source): Version {
  const { modified, created, state } = item.value;
  return { id: idOf(item), modified: textOf(modified ?? created) ?? '', state: textOf(state) ?? '', source };
}

/** What tells a version from every other. */
export function keyOf({ id, modified, state }: Version): string {
  return `${id} ${modified} ${state}`;
}

export function openKnownAlerts() {
  /** By alert; alerts and the versions of each in the order in which they were met. */
  const table = new Map<string, readonly Version[]>();

  function keep(version: Version): void {
    const known = table.get(version.id) ?? [];
    const met = known.find((other) => isSame(other, version));
    const source = met === undefined ? version.source : furthest(met.source, version.source);
    const others = known.filter((other) => other !== met);
    table.delete(version.id);
    // What was met last stays, whatever its time: the list would bring it again and again.
    table.set(version.id, [...others, { ...version, source }].slice(-KNOWN_VERSIONS));
    const [oldest = ''] = table.keys();
    if (table.size > KNOWN_ALERTS) table.delete(oldest);
  }

  return {
    look(item: AlertItem): Look {
      const version = versionOf(item, 'there');
      const known = table.get(version.id) ?? [];
      const source = known.find((other) => isSame(other, version))?.source;
      const newest = known.reduce((last, other) => (isBefore(other, last) ? last : other), known[0] ?? version);
      return { source, before: known.length === 0 ? undefined : newest.state, isOlder: isBefore(version, newest) };
    },
    learn(item: AlertItem, source: Source): Version {
      const version = versionOf(item, source);
      keep(version);
      return version;
    },
    restore: keep,
    /** Those of the alert that was met longest ago first. */
    versions: () => [...table.values()].flat(),
  };
}

function isSame(version: Version, other: Version): boolean {
  return keyOf(version) === keyOf(other);
}

function furthest(source: Source, other: Source): Source {
  return SOURCES.indexOf(source) > SOURCES.indexOf(other) ? source : other;
}

/** Times that cannot be read are taken in the order in which they come. */
function isBefore(version: Version, other: Version): boolean {
  const [at, otherAt] = [readTime(version.modified), readTime(other.modified)];
  return at !== undefined && otherAt !== undefined && at < otherAt;
}
