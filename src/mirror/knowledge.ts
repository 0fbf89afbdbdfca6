// What is known of each bicycle: pushed messages merged, items of the list compared with it, and which of it is news.

import { type Bicycle, bicycleUuid } from '../api/bicycle.js';
import { readTime } from '../terminal/time.js';

/** One moment on both clocks: monotonic for order and durations, the machine's date to compare with the service's times. */
export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** What a message or a list says of one bicycle, beside what was known before. */
export interface Change {
  /**
   * `update`: news. `repeat`: nothing that was not shown before. `late`: older than what is known already. `caught-up`: found in
   * the list after a gap.
   */
  readonly kind: 'update' | 'repeat' | 'late' | 'caught-up';
  readonly uuid: string | undefined;
  /** Undefined when nothing was known. */
  readonly before: Bicycle | undefined;
  /** Everything that is known now, the news included. */
  readonly after: Bicycle;
  /** The fields that differ, those of bookkeeping left out. */
  readonly fields: readonly string[];
}

/** Where things stood when a blindness began. */
export interface Mark {
  /** Since when nothing was heard, on the monotonic clock. */
  readonly fromMs: number;
  /** What changed in the blindness has this `modified` or a later one, in milliseconds since the epoch. */
  readonly modifiedMs: number;
  /** That follows from what the service had said; else from the machine's date alone. */
  readonly isProven: boolean;
}

/** What the comparison of one item of the list brought. */
export interface Comparison {
  readonly change: Change | undefined;
  /** Nothing was known of the bicycle, and the list does not prove that it stayed as it was. */
  readonly isUnknown: boolean;
  /** Whether it changed meanwhile cannot be said. */
  readonly isUncertain: boolean;
}

/** The one thing of a watch that changes in place: a copy of a whole fleet for each message would be too much. */
export interface Knowledge {
  /** Merges a pushed message: "some messages carry only a state" (interface.md section 2.5). */
  hear(uuid: string | undefined, message: Bicycle, now: Moment): Change;
  /** Takes a bicycle of a list silently, at the start. */
  learn(item: Bicycle, now: Moment): void;
  /** All pages of the start were read: bicycles last modified after `floorMs` are known; -Infinity: all of them are. */
  cover(floorMs: number): void;
  /** Compares an item of a list after a gap; `askedAt` is what `heard()` was when the list was asked for. */
  compare(item: Bicycle, mark: Mark, askedAt: number, now: Moment): Comparison;
  /** Where things stood at a moment of the monotonic clock that is over. */
  mark(fromMs: number): Mark;
  get(uuid: string | undefined): Bicycle | undefined;
  /** Whether a `modified` in milliseconds is none that lies in the future of the service. */
  isPlausible(modifiedMs: number | undefined, monotonicMs: number): boolean;
  /** How many messages were merged so far. */
  heard(): number;
  /** Whether every bicycle of the service is known. */
  isWhole(): boolean;
  size(): number;
  /** Every bicycle that is known, the longest untouched first. */
  bicycles(): Iterable<Bicycle>;
}

/** How many bicycles are kept in mind: a big fleet in some 150 MB. The longest untouched is forgotten first. */
export const KNOWN_LIMIT = 100_000;

/** Assumed: changes may reach stream and list this much out of the order of their `modified`. */
export const DISORDER_MS = 10_000;
/** A `modified` further ahead of the service's clock is a mistake, and says nothing of the order. */
const AHEAD_MS = 5_000;
/** Below what the machine's date says, for it and the service's may differ, and the service's may be whole seconds. */
const CLOCK_SLACK_MS = 2_000;
/** From so many pushed times on they say what time it is at the service; before, the machine's date does. */
const LEAST_SAMPLES = 5;
const MOST_SAMPLES = 15;

/**
 * How many things that a list has shown are remembered of one bicycle, until a message overtakes them: a topic that is down for the longest
 * pause of its stream is read again every ten seconds where the others come and go.
 */
const CAUGHT_UP_LIMIT = 32;

/** Fields of the service's own keeping, and what depends on the request: they make no news. */
export const BOOKKEEPING: ReadonlySet<string> = new Set(['modified', 'concurrency_version', 'devices', 'distance']);

/** What is kept of one bicycle. */
export interface Known {
  readonly bicycle: Bicycle;
  /** The `concurrency_version` of the last statement; undefined when it had none. */
  readonly version: number | undefined;
  readonly modifiedMs: number | undefined;
  /** The number of the message that touched it last; 0 when only lists did. */
  readonly heard: number;
  /** Since when what is known of it is known, on the monotonic clock: a list that only says it again does not count. */
  readonly touchedMs: number;
  /** A list alone has said it, and nothing of it was shown. */
  readonly isSilent: boolean;
  /** What was shown of it from a list, the newest first: a message that comes later says it again. */
  readonly caughtUp: readonly Bicycle[];
  /** What messages without any version said since the last one with it. */
  readonly loose: Bicycle | undefined;
}

/** The version that a statement has; undefined for none that can be compared. */
export function versionOf(bicycle: Bicycle): number | undefined {
  const version = bicycle['concurrency_version'];
  return typeof version === 'number' && Number.isSafeInteger(version) ? version : undefined;
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
function changedFields(before: Bicycle, after: Bicycle): string[] {
  const fields: string[] = [];
  for (const field in after) {
    const [old, now] = [before[field], after[field]];
    if (old === now || old === undefined || BOOKKEEPING.has(field)) continue;
    if (typeof old !== 'object' || typeof now !== 'object' || JSON.stringify(old) !== JSON.stringify(now)) {
      fields.push(field);
    }
  }
  return fields;
}

/** Whether a message leaves out nothing that was known; most are whole, and copying them takes longer than reading them. */
function saysAll(message: Bicycle, before: Bicycle): boolean {
  for (const field in before) if (!Object.hasOwn(message, field)) return false;
  return true;
}

/** Of what a list has shown, that which a message may still say again: a stream keeps the order, as far as DISORDER_MS. */
function withoutOvertaken(caughtUp: readonly Bicycle[], modifiedMs: number | undefined): readonly Bicycle[] {
  if (caughtUp.length === 0 || modifiedMs === undefined) return caughtUp;
  return caughtUp.filter((item) => (readTime(item.modified) ?? modifiedMs) >= modifiedMs - DISORDER_MS);
}

/** Whether a message is the one that a list told of before. */
function saysAgain(message: Bicycle, item: Bicycle): boolean {
  const version = versionOf(message);
  if (version !== undefined && versionOf(item) !== undefined) return version === versionOf(item);
  return message.modified === item.modified && changedFields(item, message).length === 0;
}

/** A bicycle of which nothing was known before a list named it. */
function firstOf(item: Bicycle, now: Moment): Known {
  const [version, modifiedMs] = [versionOf(item), readTime(item.modified)];
  const nothing = { heard: 0, isSilent: true, caughtUp: [], loose: undefined };
  return { ...nothing, bicycle: item, version, modifiedMs, touchedMs: now.monotonicMs };
}

/** Where the bicycles that are known are kept: in memory, or in a database. */
export interface Memory {
  get(uuid: string): Known | undefined;
  /** Returns false when another bicycle had to be forgotten for it. */
  keep(uuid: string, entry: Known): boolean;
  size(): number;
  /** Whether another bicycle would make one forgotten. */
  isFull(): boolean;
  /** The latest `modified` up to `latestMs` of what was not touched after `fromMs` of the monotonic clock. */
  latestModifiedMs(fromMs: number, latestMs: number): number | undefined;
  entries(): Iterable<Known>;
  /** Of the same version the list says more than a message, which leaves out links: a table takes it, a watch does not show it. */
  readonly isTable: boolean;
}

/** Keeps the bicycles in memory; the longest untouched is forgotten first. */
export function openMemory(limit: number): Memory {
  const known = new Map<string, Known>();
  return {
    get: (uuid) => known.get(uuid),
    keep(uuid, entry) {
      // Taken out first, so that the order of the map is the order of touching.
      known.delete(uuid);
      known.set(uuid, entry);
      if (known.size <= limit) return true;
      const [oldest = ''] = known.keys();
      known.delete(oldest);
      return false;
    },
    size: () => known.size,
    isFull: () => known.size >= limit,
    latestModifiedMs(fromMs, latestMs) {
      let modifiedMs: number | undefined;
      for (const entry of known.values()) {
        if (entry.modifiedMs === undefined || entry.touchedMs > fromMs || entry.modifiedMs > latestMs) continue;
        if (modifiedMs === undefined || entry.modifiedMs > modifiedMs) modifiedMs = entry.modifiedMs;
      }
      return modifiedMs;
    },
    entries: () => known.values(),
    isTable: false,
  };
}

export function openKnowledge(startedAt: Moment, memory: Memory = openMemory(KNOWN_LIMIT)): Knowledge {
  /** What the service's clock was ahead of the monotonic one at the last messages. */
  const samples: number[] = [];
  let heard = 0;
  let floorMs: number | undefined;

  const keep = (uuid: string, entry: Known) => {
    if (!memory.keep(uuid, entry)) floorMs = undefined;
  };

  /** What time it is at the service: the middle of what its messages said, which no single wrong time moves. */
  const serviceTime = (monotonicMs: number): number => {
    if (samples.length < LEAST_SAMPLES) return monotonicMs + startedAt.wallMs - startedAt.monotonicMs;
    const sorted = [...samples].sort((a, b) => a - b);
    return monotonicMs + (sorted[sorted.length >> 1] ?? 0);
  };
  const isPlausible = (modifiedMs: number | undefined, monotonicMs: number) =>
    modifiedMs !== undefined && modifiedMs <= serviceTime(monotonicMs) + AHEAD_MS;

  /** Whether a statement is older than what is known: by its version, else by `modified` where that can be trusted. */
  const isOlder = (statement: Bicycle, entry: Known, now: Moment): boolean => {
    const version = versionOf(statement);
    if (version !== undefined && entry.version !== undefined) return version < entry.version;
    if ((compareTimes(statement.modified, entry.bicycle.modified) ?? 0) >= 0) return false;
    return isPlausible(entry.modifiedMs, now.monotonicMs);
  };

  /** Whether the list knows more than what was heard. */
  const isNewer = (item: Bicycle, entry: Known, isHeardSince: boolean, now: Moment): boolean => {
    const version = versionOf(item);
    if (version !== undefined && entry.version !== undefined && entry.loose === undefined)
      return memory.isTable ? version >= entry.version : version > entry.version;
    // Equal is not older: what was said last is what holds.
    if (!isHeardSince) return !isOlder(item, entry, now);
    // A time in the future says nothing: the list may have been read before what was heard.
    const isLater = (compareTimes(item.modified, entry.bicycle.modified) ?? 0) > 0;
    return isLater && isPlausible(readTime(item.modified), now.monotonicMs);
  };

  const meet = (uuid: string, item: Bicycle, mark: Mark, now: Moment): Comparison => {
    const modifiedMs = readTime(item.modified);
    const isNews = modifiedMs === undefined ? floorMs === Number.NEGATIVE_INFINITY : modifiedMs >= mark.modifiedMs;
    const isNew = isNews || (floorMs !== undefined && modifiedMs !== undefined && modifiedMs > floorMs);
    const isUncertain = !isNew && (modifiedMs === undefined || (!mark.isProven && floorMs === undefined));
    keep(uuid, { ...firstOf(item, now), isSilent: !isNew, caughtUp: isNew ? [item] : [] });
    const change: Change | undefined = isNew
      ? { kind: 'caught-up', uuid, before: undefined, after: item, fields: [] }
      : undefined;
    // Where every bicycle was known, one that was not is a new one.
    const isUnknown = (isNew && floorMs !== Number.NEGATIVE_INFINITY) || isUncertain;
    return { change, isUnknown, isUncertain };
  };

  return {
    hear(uuid, message, now) {
      heard++;
      const modifiedMs = readTime(message.modified);
      if (modifiedMs !== undefined && samples.push(modifiedMs - now.monotonicMs) > MOST_SAMPLES) samples.shift();
      if (uuid === undefined) return { kind: 'update', uuid, before: undefined, after: message, fields: [] };
      const entry = memory.get(uuid);
      const before = entry?.bicycle;
      const after = before === undefined || saysAll(message, before) ? message : { ...before, ...message };
      const fields = before === undefined ? [] : changedFields(before, after);
      if (entry !== undefined && isOlder(message, entry, now)) {
        const isRepeat = entry.caughtUp.some((item) => saysAgain(message, item));
        return { kind: isRepeat ? 'repeat' : 'late', uuid, before, after, fields };
      }
      const version = versionOf(message);
      const isLoose = version === undefined && modifiedMs === undefined;
      keep(uuid, {
        bicycle: after,
        version: isLoose ? entry?.version : version,
        modifiedMs: modifiedMs ?? entry?.modifiedMs,
        heard,
        touchedMs: now.monotonicMs,
        isSilent: false,
        caughtUp: withoutOvertaken(entry?.caughtUp ?? [], modifiedMs),
        loose: isLoose ? { ...entry?.loose, ...message } : undefined,
      });
      // What a list said at the start was not shown; the message that says the same is the first to show it.
      if (entry?.isSilent === true && fields.length === 0) {
        return { kind: 'update', uuid, before: undefined, after, fields };
      }
      return { kind: entry !== undefined && fields.length === 0 ? 'repeat' : 'update', uuid, before, after, fields };
    },
    learn(item, now) {
      const uuid = bicycleUuid(item);
      if (uuid === undefined) return;
      const entry = memory.get(uuid);
      // The stream spoke first, and a list on its way may be older: it only fills in what the stream did not say.
      if (entry !== undefined) return keep(uuid, { ...entry, bicycle: { ...item, ...entry.bicycle } });
      keep(uuid, firstOf(item, now));
    },
    cover(ms) {
      if (!memory.isFull()) floorMs = ms;
    },
    compare(item, mark, askedAt, now) {
      const uuid = bicycleUuid(item);
      if (uuid === undefined) return { change: undefined, isUnknown: true, isUncertain: true };
      const entry = memory.get(uuid);
      if (entry === undefined) return meet(uuid, item, mark, now);
      const before = entry.bicycle;
      const isHeardSince = entry.heard > askedAt;
      const isNews = isNewer(item, entry, isHeardSince, now);
      const after = isNews
        ? { ...before, ...item, ...(isHeardSince ? entry.loose : undefined) }
        : { ...item, ...before };
      const fields = isNews ? changedFields(before, after) : [];
      const modifiedMs = readTime(after.modified);
      // Known from a list that came after the last sign of life: it may hold the change that nobody heard of.
      const isSwallowed =
        entry.isSilent && entry.touchedMs > mark.fromMs && (modifiedMs === undefined || modifiedMs >= mark.modifiedMs);
      const isChange = fields.length > 0 || isSwallowed;
      const isSaidAgain = fields.length === 0 && modifiedMs === entry.modifiedMs;
      keep(uuid, {
        ...entry,
        bicycle: after,
        version: isNews ? versionOf(item) : entry.version,
        modifiedMs,
        touchedMs: isHeardSince || isSaidAgain ? entry.touchedMs : now.monotonicMs,
        isSilent: entry.isSilent && !isChange,
        caughtUp: isChange ? [after, ...entry.caughtUp.slice(0, CAUGHT_UP_LIMIT - 1)] : entry.caughtUp,
        loose: isNews && !isHeardSince ? undefined : entry.loose,
      });
      const shownBefore = fields.length > 0 ? before : undefined;
      const change: Change | undefined = isChange
        ? { kind: 'caught-up', uuid, before: shownBefore, after, fields }
        : undefined;
      const isUncertain = isSwallowed && modifiedMs === undefined;
      return { change, isUnknown: isUncertain, isUncertain };
    },
    mark(fromMs) {
      const modifiedMs = memory.latestModifiedMs(fromMs, serviceTime(fromMs) + AHEAD_MS);
      return {
        fromMs,
        modifiedMs: modifiedMs ?? serviceTime(fromMs) - CLOCK_SLACK_MS,
        isProven: modifiedMs !== undefined,
      };
    },
    get: (uuid) => (uuid === undefined ? undefined : memory.get(uuid)?.bicycle),
    isPlausible,
    heard: () => heard,
    isWhole: () => floorMs === Number.NEGATIVE_INFINITY,
    size: memory.size,
    *bicycles() {
      for (const { bicycle } of memory.entries()) yield bicycle;
    },
  };
}
