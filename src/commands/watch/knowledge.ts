// What a watch knows of each bicycle: partial messages merged, lists compared with it, and what changed told.

import type { Bicycle } from '../../api/bicycle.js';
import { uuidOfLink } from '../../api/links.js';
import type { PushEnvelope } from '../../api/push.js';
import { readTime } from '../../terminal/time.js';

/** What a message or a list says of one bicycle, beside what was known before. */
export interface Change {
  /**
   * `update`: news. `repeat`: says again what was already shown as caught up. `late`: older than what is known already.
   * `caught-up`: found in the list after a gap.
   */
  kind: 'update' | 'repeat' | 'late' | 'caught-up';
  uuid: string | undefined;
  /** Undefined when nothing was known. */
  before: Bicycle | undefined;
  /** Everything that is known now, the news included. */
  after: Bicycle;
}

export interface Learned {
  /** What the list shows to have changed; undefined when it says nothing new. */
  change: Change | undefined;
  /** Whether the item was modified after the mark, or may have been: the next page can hold more. */
  isRecent: boolean;
}

/** What to compare a list with. */
export interface Mark {
  /** The highest `modified` that had been seen when the blindness began, as the service wrote it. */
  modified: string | undefined;
  /** What had been heard until then, as a number of `heard()`. */
  heard: number;
}

export interface Knowledge {
  /** Merges an update of the stream: "some messages carry only a state" (interface.md section 2.5). */
  hear(uuid: string | undefined, message: Bicycle): Change;
  /** Takes a bicycle of a list as it is, before anything can have been missed. */
  learn(item: Bicycle): void;
  /** Compares a bicycle of a list, asked for when `heardBefore` messages had been heard, after a gap. */
  compare(item: Bicycle, mark: Mark, heardBefore: number): Learned;
  /** Whether the item was modified after the mark, or may have been. */
  isRecent(item: Bicycle, mark: Mark): boolean;
  get(uuid: string | undefined): Bicycle | undefined;
  /** Where things stand now; kept when a gap begins. */
  mark(): Mark;
  /** Every bicycle that is known, the longest untouched first. */
  bicycles(): Iterable<Bicycle>;
}

/** How many bicycles are kept in mind: a big fleet in a few ten megabytes. The longest untouched is forgotten first. */
const KNOWN_LIMIT = 20_000;

/** Assumed: changes may reach the stream this much out of the order of their `modified`. */
const DISORDER_MS = 5_000;

/** Fields that change with every message and are no news by themselves. */
const BOOKKEEPING = new Set(['modified']);

interface Known {
  bicycle: Bicycle;
  /** The number of the message that touched it last; 0 when only lists did. */
  heard: number;
  /** The last thing shown of it came from a list. */
  isCaughtUp: boolean;
  /** Whether the last message said of which version it is. */
  isVersioned: boolean;
}

/** The bicycle a message is about: its own uuid, else the one at the end of its topic (section 6.1). */
export function uuidOfMessage({ topic, message }: PushEnvelope): string | undefined {
  const own = message?.['uuid'];
  if (typeof own === 'string' && own !== '') return own.toLowerCase();
  return typeof topic === 'string' ? uuidOfLink(topic)?.toLowerCase() : undefined;
}

/** Below 0 when `a` is older than `b`; undefined when the two cannot be compared. */
function compareTimes(a: unknown, b: unknown): number | undefined {
  if (typeof a !== 'string' || typeof b !== 'string') return undefined;
  // Written alike, they compare as text, to the last digit; milliseconds would lose the microseconds.
  if (a.length === b.length && a.endsWith('Z') && b.endsWith('Z')) return a < b ? -1 : a > b ? 1 : 0;
  const [first, second] = [readTime(a), readTime(b)];
  return first === undefined || second === undefined ? undefined : first - second;
}

/** The fields that both know and that differ. */
export function changedFields(before: Bicycle, after: Bicycle): string[] {
  return Object.keys(after).filter(
    (field) =>
      !BOOKKEEPING.has(field) &&
      before[field] !== undefined &&
      before[field] !== after[field] &&
      JSON.stringify(before[field]) !== JSON.stringify(after[field]),
  );
}

/** Whether a message leaves out nothing that was known; most are whole, and copying them takes longer than reading them. */
function saysAll(message: Bicycle, before: Bicycle): boolean {
  for (const field in before) if (!Object.hasOwn(message, field)) return false;
  return true;
}

export function openKnowledge(): Knowledge {
  const known = new Map<string, Known>();
  let heard = 0;
  let latest: string | undefined;

  const keep = (uuid: string, entry: Known) => {
    // Taken out first, so that the order of the map is the order of touching.
    known.delete(uuid);
    known.set(uuid, entry);
    if (known.size > KNOWN_LIMIT) {
      for (const oldest of known.keys()) {
        known.delete(oldest);
        break;
      }
    }
    const { modified } = entry.bicycle;
    if (typeof modified !== 'string') return;
    if (latest === undefined || (compareTimes(modified, latest) ?? 0) > 0) latest = modified;
  };

  const isRecent = (item: Bicycle, mark: Mark): boolean => {
    const [time, limit] = [readTime(item.modified), readTime(mark.modified)];
    return time === undefined || limit === undefined || time >= limit - DISORDER_MS;
  };

  return {
    hear(uuid, message) {
      heard++;
      const entry = uuid === undefined ? undefined : known.get(uuid);
      const before = entry?.bicycle;
      if (uuid === undefined) return { kind: 'update', uuid, before: undefined, after: message };
      if (before !== undefined && (compareTimes(message.modified, before.modified) ?? 0) < 0) {
        return { kind: 'late', uuid, before, after: { ...before, ...message } };
      }
      const after = before === undefined || saysAll(message, before) ? message : { ...before, ...message };
      const isRepeat =
        entry?.isCaughtUp === true &&
        before !== undefined &&
        (compareTimes(message.modified, before.modified) ?? 0) === 0 &&
        changedFields(before, after).length === 0;
      keep(uuid, { bicycle: after, heard, isCaughtUp: isRepeat, isVersioned: typeof message.modified === 'string' });
      return { kind: isRepeat ? 'repeat' : 'update', uuid, before, after };
    },
    learn(item) {
      const uuid = typeof item.uuid === 'string' ? item.uuid.toLowerCase() : undefined;
      if (uuid === undefined) return;
      const entry = known.get(uuid);
      if (entry === undefined) keep(uuid, { bicycle: item, heard: 0, isCaughtUp: false, isVersioned: true });
      // The stream spoke first, and a list on its way may be older: it only fills in what the stream did not say.
      else keep(uuid, { ...entry, bicycle: { ...item, ...entry.bicycle } });
    },
    compare(item, mark, heardBefore) {
      const uuid = typeof item.uuid === 'string' ? item.uuid.toLowerCase() : undefined;
      if (uuid === undefined) return { change: undefined, isRecent: true };
      const entry = known.get(uuid);
      const hasTime = readTime(item.modified) !== undefined && mark.modified !== undefined;
      const before = entry?.bicycle;
      if (entry === undefined || before === undefined) {
        const isNews = hasTime && (compareTimes(item.modified, mark.modified) ?? 1) > 0;
        keep(uuid, { bicycle: item, heard: 0, isCaughtUp: isNews, isVersioned: true });
        const change: Change | undefined = isNews ? { kind: 'caught-up', uuid, before, after: item } : undefined;
        return { change, isRecent: hasTime ? isRecent(item, mark) : change !== undefined };
      }
      const versions = compareTimes(item.modified, before.modified);
      // Without a version the order of arrival has to do: what was heard while the list was on its way is newer.
      const isOlder =
        (versions === undefined || !entry.isVersioned) && entry.heard > heardBefore ? true : (versions ?? 1) <= 0;
      const after: Bicycle = isOlder ? { ...item, ...before } : { ...before, ...item };
      const isNews = !isOlder && changedFields(before, after).length > 0;
      keep(uuid, { ...entry, bicycle: after, isCaughtUp: isNews || entry.isCaughtUp });
      return {
        change: isNews ? { kind: 'caught-up', uuid, before, after } : undefined,
        isRecent: hasTime ? isRecent(item, mark) : isNews || entry.heard > mark.heard,
      };
    },
    isRecent,
    get: (uuid) => (uuid === undefined ? undefined : known.get(uuid)?.bicycle),
    mark: () => ({ modified: latest, heard }),
    *bicycles() {
      for (const { bicycle } of known.values()) yield bicycle;
    },
  };
}
