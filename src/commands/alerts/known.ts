// What is known about alerts: which versions of each were seen, so that each alert and each change of it is shown once.
//
// A version is an alert's `modified` with its state: times have whole seconds, so that two changes can carry the same one. Links and
// `extra` play no part, for a webhook may spell them otherwise than the list.

import { createHash } from 'node:crypto';
import type { Alert } from '../../api/alert.js';
import type { Item } from '../../http/types.js';
import { readTime } from '../../terminal/time.js';
import { textOf } from '../../terminal/values.js';

/** Who brought a version. */
export type Source = 'list' | 'webhook' | 'push';

/** An alert as it came: its JSON text and its value. */
export type AlertItem = Readonly<Item<Alert>>;

/** How what is said of an alert relates to what is known of it. */
export interface Look {
  /** `older`: a version that was not met, behind one that was. */
  readonly kind: 'unknown' | 'changed' | 'older' | 'repeat';
  /** The state it was in before, where that is known. */
  readonly before: string | undefined;
  /** Whether a webhook brought this version before. */
  readonly isBrought: boolean;
}

/** One version, as it is remembered over a restart. */
export interface Version {
  readonly id: string;
  readonly modified: string;
  readonly state: string;
  readonly source: Source;
}

export interface KnownAlerts {
  look(item: AlertItem): Look;
  /** Takes in a version. */
  learn(item: AlertItem, source: Source): Version;
  restore(version: Version): void;
  /** The alerts that may still change by themselves, the newest last. */
  open(): Set<string>;
  /** The one that was met longest ago first. */
  versions(): Version[];
}

/** So many alerts and versions of them are known; what was met longest ago is forgotten first. */
const KNOWN_ALERTS = 50_000;
const KNOWN_VERSIONS = 100_000;
/** States that an alert leaves no more (section 3.2); any other is watched. */
const FINAL_STATES: readonly string[] = ['resolved', 'stopped'];

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

export function openKnownAlerts(): KnownAlerts {
  const versions = new Map<string, Version>();
  /** The newest version of each alert. */
  const newest = new Map<string, Version>();

  function keep(version: Version): void {
    const key = keyOf(version);
    const met = versions.get(key);
    // What a webhook brought stays brought.
    meet(versions, key, met?.source === 'webhook' ? met : version, KNOWN_VERSIONS);
    const last = newest.get(version.id);
    meet(newest, version.id, last === undefined || isNotBefore(version, last) ? version : last, KNOWN_ALERTS);
  }

  return {
    look(item) {
      const version = versionOf(item, 'list');
      const key = keyOf(version);
      const last = newest.get(version.id);
      // The newest is known for longer than the others.
      const met = versions.get(key) ?? (last !== undefined && keyOf(last) === key ? last : undefined);
      const seen = { before: last?.state, isBrought: met?.source === 'webhook' };
      if (met !== undefined) return { kind: 'repeat', ...seen };
      if (last === undefined) return { kind: 'unknown', ...seen };
      return { kind: isNotBefore(version, last) ? 'changed' : 'older', ...seen };
    },
    learn(item, source) {
      const version = versionOf(item, source);
      keep(version);
      return version;
    },
    restore: keep,
    open() {
      const open = [...newest].filter(([, { state }]) => !FINAL_STATES.includes(state));
      return new Set(open.map(([id]) => id));
    },
    versions: () => [...versions.values()],
  };
}

/** Keeps a value as the one that was met last; the order of the map is that of meeting. */
function meet<Value>(known: Map<string, Value>, key: string, value: Value, limit: number): void {
  known.delete(key);
  known.set(key, value);
  if (known.size <= limit) return;
  const [oldest = ''] = known.keys();
  known.delete(oldest);
}

/** Times that cannot be read are taken in the order in which they come. */
function isNotBefore(version: Version, other: Version): boolean {
  const [at, otherAt] = [readTime(version.modified), readTime(other.modified)];
  return at === undefined || otherAt === undefined || at >= otherAt;
}
