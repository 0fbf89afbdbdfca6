// What is known of each bicycle: merges messages and list items, and reports what is new.

import { type Bicycle, bicycleUuid } from '../api/bicycle.js';
import type { Moment } from '../system/clock.js';
import { readTime } from '../terminal/time.js';
import type { FleetStore, KnownBicycle, Origin } from './fleet-store.js';
import type { ServiceTime } from './service-time.js';

/** Where a statement stands: the organization whose list or topic it is, and the object as it came, where it came alone. */
export type ItemPlace = Pick<Origin, 'followed' | 'json'>;
const NOWHERE: ItemPlace = { followed: '' };

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

/** What was known when the stream went silent. */
export interface Mark {
  /** When the stream went silent, on the monotonic clock. */
  readonly fromMs: number;
  /** What changed since has this `modified` or a later one, in milliseconds since the epoch. */
  readonly modifiedMs: number;
  /** That follows from what the service had said; else from the machine's date alone. */
  readonly isProven: boolean;
}

/** Everything that a list shows is compared. */
export const NO_MARK: Mark = {
  fromMs: Number.POSITIVE_INFINITY,
  modifiedMs: Number.NEGATIVE_INFINITY,
  isProven: true,
};

/** What the comparison of one item of the list brought. */
export interface Comparison {
  readonly change: Change | undefined;
  /** Nothing was known of the bicycle, and the list does not prove that it stayed as it was. */
  readonly isUnknown: boolean;
  /** Whether it changed meanwhile cannot be said. */
  readonly isUncertain: boolean;
  /** The list shows it older than it was known before the list was asked for. */
  readonly isStale: boolean;
}

/** Assumed: changes may reach stream and list this much out of the order of their `modified`. */
export const DISORDER_MS = 10_000;
/** Below what the machine's date says, for it and the service's may differ, and the service's may be whole seconds. */
const CLOCK_SLACK_MS = 2_000;

/**
 * How many things that a list has shown are remembered of one bicycle, until a message overtakes them: a topic that is down for the longest
 * pause of its stream is read again every ten seconds where the others come and go.
 */
const CAUGHT_UP_LIMIT = 32;

/** Fields of the service's own keeping, and what depends on the request: they make no news. */
export const BOOKKEEPING: ReadonlySet<string> = new Set([
  'modified',
  'concurrency_version',
  'devices',
  'distance',
]);

/** The version that a statement has; undefined for none that can be compared. */
export function versionOf(bicycle: Bicycle): number | undefined {
  const version = bicycle['concurrency_version'];
  return typeof version === 'number' && Number.isSafeInteger(version) ? version : undefined;
}

const FRACTION = /\.\d+/;

/** Below 0 when `a` is older than `b`; undefined when the two cannot be compared. A time without a fraction stands for its whole second. */
export function compareTimes(a: unknown, b: unknown): number | undefined {
  if (typeof a !== 'string' || typeof b !== 'string') return undefined;
  // Written alike, they compare as text, to the last digit; milliseconds would lose the microseconds.
  if (a.length === b.length && a.endsWith('Z') && b.endsWith('Z'))
    return a < b ? -1 : a > b ? 1 : 0;
  const [first, second] = [readTime(a), readTime(b)];
  if (first === undefined || second === undefined) return undefined;
  if (FRACTION.test(a) && FRACTION.test(b)) return first - second;
  return Math.floor(first / 1000) - Math.floor(second / 1000);
}

/** The last millisecond that a `modified` may stand for. */
function latestOf(modified: unknown): number | undefined {
  const ms = readTime(modified);
  return ms === undefined || FRACTION.test(String(modified)) ? ms : ms + 999;
}

/** The fields that both know and that differ. */
function changedFields(before: Bicycle, after: Bicycle): string[] {
  const fields: string[] = [];
  for (const field in after) {
    const [old, now] = [before[field], after[field]];
    if (old === now || old === undefined || BOOKKEEPING.has(field)) continue;
    if (
      typeof old !== 'object' ||
      typeof now !== 'object' ||
      JSON.stringify(old) !== JSON.stringify(now)
    )
      fields.push(field);
  }
  return fields;
}

/** Whether a message leaves out nothing that was known; most are whole, and copying them takes longer than reading them. */
function saysAll(message: Bicycle, before: Bicycle): boolean {
  for (const field in before) if (!Object.hasOwn(message, field)) return false;
  return true;
}

/** Of what a list has shown, that which a message may still say again: a stream keeps the order, as far as DISORDER_MS. */
function withoutOvertaken(
  caughtUp: readonly Bicycle[],
  modifiedMs: number | undefined,
): readonly Bicycle[] {
  if (caughtUp.length === 0 || modifiedMs === undefined) return caughtUp;
  return caughtUp.filter(
    (item) => (readTime(item.modified) ?? modifiedMs) >= modifiedMs - DISORDER_MS,
  );
}

/** Whether a message is the one that a list told of before. */
function saysAgain(message: Bicycle, item: Bicycle): boolean {
  const version = versionOf(message);
  if (version !== undefined && versionOf(item) !== undefined) return version === versionOf(item);
  return message.modified === item.modified && changedFields(item, message).length === 0;
}

/** A bicycle of which nothing was known before a list named it. */
function firstOf(item: Bicycle, now: Moment): KnownBicycle {
  return {
    bicycle: item,
    version: versionOf(item),
    modifiedMs: readTime(item.modified),
    touchedMs: now.monotonicMs,
    ...{
      merged: 0,
      isSilent: true,
      caughtUp: [],
      unversioned: undefined,
      isStatePushed: false,
      goneMs: undefined,
    },
  };
}

/** The store holds it; this merges and compares. */
export class KnownFleet {
  /** How many messages were merged so far. */
  merged = 0;
  /** Whether every bicycle of the service is known. */
  isWhole = false;

  constructor(
    readonly store: FleetStore,
    readonly time: ServiceTime,
  ) {}

  get(uuid: string | undefined): Bicycle | undefined {
    const entry = uuid === undefined ? undefined : this.store.get(uuid);
    return entry?.goneMs === undefined ? entry?.bicycle : undefined;
  }

  /** From now on every bicycle is known, unless the store cannot hold them. */
  setWhole() {
    if (!this.store.isFull()) this.isWhole = true;
  }

  /** What was known at a moment of the monotonic clock that is over. */
  mark(fromMs: number): Mark {
    const modifiedMs = this.time.newestAt(fromMs);
    const isProven = modifiedMs !== undefined || this.time.isTold;
    return { fromMs, modifiedMs: modifiedMs ?? this.time.at(fromMs) - CLOCK_SLACK_MS, isProven };
  }

  /** Merges a pushed message: "some messages carry only a state" (interface.md section 2.5). */
  merge(uuid: string | undefined, message: Bicycle, now: Moment, place = NOWHERE): Change {
    this.merged++;
    const modifiedMs = readTime(message.modified);
    this.time.learn(modifiedMs, now.monotonicMs);
    if (uuid === undefined)
      return { kind: 'update', uuid, before: undefined, after: message, fields: [] };
    const entry = this.store.get(uuid);
    const known = entry?.bicycle;
    const after =
      known === undefined || saysAll(message, known) ? message : { ...known, ...message };
    const isGone = entry?.goneMs !== undefined;
    const before = isGone ? undefined : known;
    const fields = before === undefined ? [] : changedFields(before, after);
    if (
      entry !== undefined &&
      (isGone ? !isNewer(message, entry) : this.#isOlder(message, entry, now))
    ) {
      const isRepeat = entry.caughtUp.some((item) => saysAgain(message, item));
      return { kind: isRepeat ? 'repeat' : 'late', uuid, before, after, fields };
    }
    const version = versionOf(message);
    const isUnversioned = version === undefined && modifiedMs === undefined;
    const same = before !== undefined && saysAgain(message, before) ? entry : undefined;
    const origin = this.#origin('push', now, place, typeof message.modified === 'string');
    const merged = {
      bicycle: after,
      version: isUnversioned ? entry?.version : version,
      modifiedMs: modifiedMs ?? entry?.modifiedMs,
      merged: this.merged,
      // What is gone by now may be sent again.
      touchedMs: same === undefined || isUnversioned ? now.monotonicMs : same.touchedMs,
      isSilent: false,
      caughtUp: withoutOvertaken(entry?.caughtUp ?? [], modifiedMs),
      unversioned: isUnversioned ? { ...entry?.unversioned, ...message } : undefined,
      isStatePushed: entry?.isStatePushed === true || after.state !== known?.state,
      goneMs: undefined,
    };
    this.#keep(uuid, merged, origin);
    if (before === undefined || fields.length > 0)
      return { kind: 'update', uuid, before, after, fields };
    // What a list said at the start was not shown; the message that says the same is the first to show it.
    if (same?.isSilent === true) return { kind: 'update', uuid, before: undefined, after, fields };
    return { kind: 'repeat', uuid, before, after, fields };
  }

  /** Takes a bicycle of a list silently, at the start; returns what is known of it then. */
  learn(item: Bicycle, now: Moment, place = NOWHERE): Bicycle {
    const uuid = bicycleUuid(item);
    if (uuid === undefined) return item;
    const origin = this.#origin('list', now, place);
    const entry = this.store.get(uuid);
    this.time.learn(readTime(item.modified), now.monotonicMs);
    if (entry === undefined || entry.goneMs !== undefined) {
      this.#keep(uuid, firstOf(item, now), origin);
      return item;
    }
    // The stream spoke first, and a list on its way may be older: then it only fills in what the stream did not say. But what was sent
    // again may be older than the list.
    const { merged, caughtUp, unversioned } = entry;
    const isNews = this.#isNewer(item, entry, true, now);
    const bicycle = isNews
      ? { ...entry.bicycle, ...item, ...unversioned }
      : { ...item, ...entry.bicycle };
    const isStatePushed = entry.isStatePushed && item.state !== bicycle.state;
    const learned = isNews
      ? { ...firstOf(bicycle, now), merged, caughtUp, unversioned }
      : { ...entry, bicycle };
    this.#keep(uuid, { ...learned, isStatePushed }, origin);
    return bicycle;
  }

  /** Compares an item of a list after a gap; `askedAt` is what `merged` was when the list was asked for. */
  compare(item: Bicycle, mark: Mark, askedAt: number, now: Moment, place = NOWHERE): Comparison {
    const origin = this.#origin('list', now, place);
    const uuid = bicycleUuid(item);
    if (uuid === undefined)
      return { change: undefined, isUnknown: true, isUncertain: true, isStale: false };
    const entry = this.store.get(uuid);
    this.time.learn(readTime(item.modified), now.monotonicMs);
    if (entry === undefined) return this.#meet(uuid, item, mark, now, origin);
    const before = entry.bicycle;
    const isMergedSince = entry.merged > askedAt;
    const isNews = this.#isNewer(item, entry, isMergedSince, now);
    const after = isNews
      ? { ...before, ...item, ...(isMergedSince ? entry.unversioned : undefined) }
      : { ...item, ...before };
    const fields = isNews ? changedFields(before, after) : [];
    const isStale =
      !isMergedSince && this.#isOlder(item, entry, now) && changedFields(item, before).length > 0;
    const modifiedMs = readTime(after.modified);
    const latestMs = latestOf(after.modified);
    // Known from a list that came after the last sign of life: it may hold the change that no message told.
    const isUnseen = entry.isSilent && entry.touchedMs > mark.fromMs;
    const isSwallowed = isUnseen && (latestMs === undefined || latestMs >= mark.modifiedMs);
    const isBack = entry.goneMs !== undefined;
    const isChange = fields.length > 0 || isSwallowed || isBack;
    const isSaidAgain = fields.length === 0 && modifiedMs === entry.modifiedMs;
    const compared = {
      ...entry,
      bicycle: after,
      version: isNews ? versionOf(item) : entry.version,
      modifiedMs,
      touchedMs: isMergedSince || isSaidAgain ? entry.touchedMs : now.monotonicMs,
      isSilent: entry.isSilent && !isChange,
      caughtUp: isChange
        ? [after, ...entry.caughtUp.slice(0, CAUGHT_UP_LIMIT - 1)]
        : entry.caughtUp,
      unversioned: isNews && !isMergedSince ? undefined : entry.unversioned,
      isStatePushed: entry.isStatePushed && item.state !== after.state,
      goneMs: undefined,
    };
    this.#keep(uuid, compared, origin);
    const shownBefore = fields.length > 0 && !isBack ? before : undefined;
    const change: Change | undefined = isChange
      ? { kind: 'caught-up', uuid, before: shownBefore, after, fields }
      : undefined;
    // By the machine's date alone, which may be ahead, nothing stayed as it was.
    const isUncertain = isUnseen && (latestMs === undefined || (!isChange && !mark.isProven));
    return { change, isUnknown: isUncertain, isUncertain, isStale };
  }

  /** An item of a list of which nothing was known. */
  #meet(uuid: string, item: Bicycle, mark: Mark, now: Moment, origin: Origin): Comparison {
    const latestMs = latestOf(item.modified);
    // Where every bicycle was known, one that was not is a new one.
    const isNew = this.isWhole || (latestMs !== undefined && latestMs >= mark.modifiedMs);
    const isUncertain = !isNew && (latestMs === undefined || !mark.isProven);
    this.#keep(
      uuid,
      { ...firstOf(item, now), isSilent: !isNew, caughtUp: isNew ? [item] : [] },
      origin,
    );
    const change: Change | undefined = isNew
      ? { kind: 'caught-up', uuid, before: undefined, after: item, fields: [] }
      : undefined;
    return {
      change,
      isUnknown: (isNew && !this.isWhole) || isUncertain,
      isUncertain,
      isStale: false,
    };
  }

  /** A bicycle that is followed by name has left the service; returns what was known of it, undefined where that was nothing. */
  remove(uuid: string, now: Moment): Bicycle | undefined {
    const entry = this.store.get(uuid);
    if (entry === undefined || entry.goneMs !== undefined) return undefined;
    this.#keep(
      uuid,
      { ...entry, goneMs: this.time.at(now.monotonicMs) },
      this.#origin('list', now, NOWHERE),
    );
    return entry.bicycle;
  }

  /** Each field by its name: spreading another object costs more here than merging the message (measured, one a message). */
  #origin(
    source: Origin['source'],
    { wallMs }: Moment,
    { followed, json }: ItemPlace,
    saysModified = true,
  ): Origin {
    const isFirstReading = this.store.isTable && !this.isWhole;
    return { source, receivedMs: wallMs, followed, json, saysModified, isFirstReading };
  }

  #keep(uuid: string, entry: KnownBicycle, origin: Origin) {
    const isPlausible = this.time.isPlausible(entry.modifiedMs, entry.touchedMs);
    if (!this.store.keep(uuid, entry, origin, isPlausible)) this.isWhole = false;
  }

  /** Whether a statement is older than what is known: by its version, else by `modified` where that can be trusted. */
  #isOlder(statement: Bicycle, entry: KnownBicycle, now: Moment): boolean {
    const version = versionOf(statement);
    if (version !== undefined && entry.version !== undefined) return version < entry.version;
    if ((compareTimes(statement.modified, entry.bicycle.modified) ?? 0) >= 0) return false;
    return this.time.isPlausible(entry.modifiedMs, now.monotonicMs);
  }

  /** Whether the list knows more than the messages. */
  #isNewer(item: Bicycle, entry: KnownBicycle, isMergedSince: boolean, now: Moment): boolean {
    const version = versionOf(item);
    if (version !== undefined && entry.version !== undefined && entry.unversioned === undefined)
      return this.store.isTable ? version >= entry.version : version > entry.version;
    // Equal is not older: what was said last is what holds.
    if (!isMergedSince) return !this.#isOlder(item, entry, now);
    // A time in the future says nothing: the list may have been read before the message came.
    const isLater = (compareTimes(item.modified, entry.bicycle.modified) ?? 0) > 0;
    return isLater && this.time.isPlausible(readTime(item.modified), now.monotonicMs);
  }
}

/** Whether a message tells of a time after the bicycle had left the list: what was sent before may come late. */
function isNewer(message: Bicycle, { goneMs = 0, version, bicycle }: KnownBicycle): boolean {
  const latestMs = latestOf(message.modified);
  if (latestMs !== undefined && latestMs < goneMs) return false;
  const own = versionOf(message);
  if (own !== undefined && version !== undefined) return own > version;
  return (compareTimes(message.modified, bicycle.modified) ?? 0) > 0;
}
