// Remembers which versions of alerts are known, so that each alert and each change is printed once.
//
// The alert's `modified` and its state together identify a version. `modified` alone is not enough:
// it can be in whole seconds, and two changes can happen in the same second. Links and `extra` are
// ignored, because their form in a webhook may differ from their form in the list.

import { createHash } from 'node:crypto';
import type { Alert } from '../api/alert.js';
import type { Item } from '../http/types.js';
import { readTime } from '../terminal/time.js';
import { textOf } from '../terminal/values.js';

/**
 * How fleet learned of a version, by increasing priority. Either the version existed at the start
 * and was not printed, or it was printed from the list, or a webhook delivered it.
 */
export const SOURCES = ['there', 'list', 'webhook'] as const;
export type Source = (typeof SOURCES)[number];

/** A received alert: its JSON text and its parsed value. */
export type AlertItem = Readonly<Item<Alert>>;

/** A version of an alert, in the format of the state file. */
export interface Version {
  readonly id: string;
  readonly modified: string;
  readonly state: string;
  readonly source: Source;
}

/**
 * The maximum number of alerts that are remembered, and the maximum number of versions of each
 * alert. The least recently received ones are removed first.
 */
const KNOWN_ALERTS = 50_000;
const KNOWN_VERSIONS = 10;

/**
 * Returns the identifier of an alert: its uuid in lower case, or a hash of its text when it has no
 * uuid.
 */
export function alertIdOf({ value, json }: AlertItem): string {
  const { uuid } = value;
  if (typeof uuid === 'string' && uuid !== '') return uuid.toLowerCase();
  return `sha256:${createHash('sha256').update(json).digest('hex')}`;
}

/** Returns when the alert was last changed, in milliseconds since the epoch. */
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
 * Returns a key that is the same for all spellings of a version. `Z`, `+00:00` and `.000000Z` mean
 * the same time. Two versions that differ by less than a millisecond have different keys.
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
  /**
   * Maps the id of each alert to its known versions. Alerts and versions are in the order in which
   * they were received.
   */
  const table = new Map<string, readonly Version[]>();
  return {
    /**
     * Looks up a version of an alert. `source` in the result says how fleet learned of this
     * version. It is undefined for a new version. `before` is the state of the alert in the
     * previous version.
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
      // The newest received version is always kept, even if its time is old. Without it, fleet
      // would print this version again each time it reads the list.
      table.set(version.id, [...others, version].slice(-KNOWN_VERSIONS));
      const [oldest = ''] = table.keys();
      if (table.size > KNOWN_ALERTS) table.delete(oldest);
    },
    /**
     * Returns the known versions of all alerts. The versions of the least recently received alert
     * come first.
     */
    versions: () => [...table.values()].flat(),
  };
}

/**
 * Whether a version is older than another. If one of the times cannot be read, the versions keep
 * the order in which they arrived.
 */
function isBefore(version: Version, other: Version): boolean {
  const [at, otherAt] = [readTime(version.modified), readTime(other.modified)];
  return at !== undefined && otherAt !== undefined && at < otherAt;
}
