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
  versions(): Version[];
}

interface Entry {
  /** By `modified` and state; the oldest first. */
  readonly versions: Map<string, Version>;
  /** The newest version. */
  last: Version;
}

/** So many alerts are known; the one that was met longest ago is forgotten first. */
const KNOWN_ALERTS = 50_000;
/** So many versions of one alert are known. */
const KNOWN_VERSIONS = 32;
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

const keyOf = ({ modified, state }: Version) => `${modified} ${state}`;

export function openKnownAlerts(): KnownAlerts {
  const known = new Map<string, Entry>();

  function keep(version: Version): void {
    const entry = known.get(version.id) ?? { versions: new Map<string, Version>(), last: version };
    const key = keyOf(version);
    // What a webhook brought stays brought.
    if (entry.versions.get(key)?.source !== 'webhook') entry.versions.set(key, version);
    if (isNotBefore(version, entry.last)) entry.last = version;
    for (const oldest of entry.versions.keys()) {
      if (entry.versions.size <= KNOWN_VERSIONS) break;
      entry.versions.delete(oldest);
    }
    // Taken out first, so that the order of the map is the order of meeting.
    known.delete(version.id);
    known.set(version.id, entry);
    for (const oldest of known.keys()) {
      if (known.size <= KNOWN_ALERTS) break;
      known.delete(oldest);
    }
  }

  return {
    look(item) {
      const version = versionOf(item, 'list');
      const entry = known.get(version.id);
      if (entry === undefined) return { kind: 'unknown', before: undefined, isBrought: false };
      const met = entry.versions.get(keyOf(version));
      const before = entry.last.state;
      if (met !== undefined) return { kind: 'repeat', before, isBrought: met.source === 'webhook' };
      return { kind: isNotBefore(version, entry.last) ? 'changed' : 'older', before, isBrought: false };
    },
    learn(item, source) {
      const version = versionOf(item, source);
      keep(version);
      return version;
    },
    restore: keep,
    open() {
      const open = [...known].filter(([, { last }]) => !FINAL_STATES.includes(last.state));
      return new Set(open.map(([id]) => id));
    },
    versions: () => [...known.values()].flatMap(({ versions }) => [...versions.values()]),
  };
}

/** Times that cannot be read are taken in the order in which they come. */
function isNotBefore(version: Version, other: Version): boolean {
  const [at, otherAt] = [readTime(version.modified), readTime(other.modified)];
  return at === undefined || otherAt === undefined || at >= otherAt;
}
