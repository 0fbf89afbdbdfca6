// The known data of each bicycle: merges messages and list items, and reports changes.

import { type Bicycle, bicycleUuid } from '../api/bicycle.js';
import type { Moment } from '../system/clock.js';
import { readTime } from '../terminal/time.js';
import type { FleetStore, KnownBicycle, Origin } from './fleet-store.js';
import type { ServiceTime } from './service-time.js';

/**
 * Where a message or list item came from: the organization of its topic or list, and the JSON text
 * of a list item.
 */
export type ItemPlace = Pick<Origin, 'followed' | 'json'>;
const NOWHERE: ItemPlace = { followed: '' };

/** The difference between a message or list item and the known data of its bicycle. */
export interface Change {
  /**
   * `update`: a change. `repeat`: a change that was already shown. `late`: a message that is older
   * than the known data. `caught-up`: a change that was found in the list after a gap.
   */
  readonly kind: 'update' | 'repeat' | 'late' | 'caught-up';
  readonly uuid: string | undefined;
  /** The known data before the change. It is undefined when the bicycle was not known. */
  readonly before: Bicycle | undefined;
  /** All known data after the change. */
  readonly after: Bicycle;
  /** The fields that differ, without fields such as `modified` that only the service uses. */
  readonly fields: readonly string[];
}

/** The data that was known when the stream went silent. Items of a list are compared with it. */
export interface Mark {
  /** When the stream went silent, on the monotonic clock. */
  readonly fromMs: number;
  /** The lower bound of `modified` for later changes, in milliseconds since the epoch. */
  readonly modifiedMs: number;
  /**
   * Whether the lower bound comes from times of the service. Otherwise it comes from the machine's
   * clock, which may be wrong.
   */
  readonly isProven: boolean;
}

/** A mark without a lower bound: each item of a list is compared with the known data. */
export const NO_MARK: Mark = {
  fromMs: Number.POSITIVE_INFINITY,
  modifiedMs: Number.NEGATIVE_INFINITY,
  isProven: true,
};

/**
 * The value of `merged` for a list that is older than its request, such as a copy from a cache.
 * Only those items of the list are used that are certainly newer than the known data.
 */
export const BEFORE_ALL = -1;

/** The result of comparing one item of a list. */
export interface Comparison {
  readonly change: Change | undefined;
  /** Whether the bicycle was not known before and may have changed. */
  readonly isUnknown: boolean;
  /** Whether it cannot be decided if the bicycle changed. */
  readonly isUncertain: boolean;
  /** Whether the list is older than the data that was known before its request. */
  readonly isStale: boolean;
}

/**
 * Assumed: the stream and the list can show changes out of `modified` order, but only by this much.
 */
export const DISORDER_MS = 10_000;
/** Allowance for whole seconds, and for a machine's clock that differs from the service's clock. */
const CLOCK_SLACK_MS = 2_000;

/**
 * A list that is read this long after a change is assumed to contain the change. A longer lag
 * cannot be detected.
 */
const LONGEST_LAG_MS = 120_000;

/**
 * How many changes from lists are kept for a bicycle until their messages arrive. The list is read
 * every ten seconds when one topic is down for the longest pause while other topics reconnect.
 */
const CAUGHT_UP_LIMIT = 32;

/**
 * Fields whose differences are not shown as changes: `modified` and other fields that only the
 * service uses, and values that depend on the request.
 */
export const BOOKKEEPING: ReadonlySet<string> = new Set([
  'modified',
  'concurrency_version',
  'devices',
  'distance',
]);

/** Returns the version of a message or item, or undefined when it cannot be compared. */
export function versionOf(bicycle: Bicycle): number | undefined {
  const version = bicycle['concurrency_version'];
  return typeof version === 'number' && Number.isSafeInteger(version) ? version : undefined;
}

const FRACTION = /\.\d+/;

/**
 * Compares two times. The result is below 0 when `a` is older, and undefined when they cannot be
 * compared. A time without a fraction represents its whole second.
 */
export function compareTimes(a: unknown, b: unknown): number | undefined {
  if (typeof a !== 'string' || typeof b !== 'string') return undefined;
  // Texts of the same format are compared as text, because a number of milliseconds would lose the
  // microseconds.
  if (a.length === b.length && a.endsWith('Z') && b.endsWith('Z'))
    return a < b ? -1 : a > b ? 1 : 0;
  const [first, second] = [readTime(a), readTime(b)];
  if (first === undefined || second === undefined) return undefined;
  if (FRACTION.test(a) && FRACTION.test(b)) return first - second;
  return Math.floor(first / 1000) - Math.floor(second / 1000);
}

/** Returns the last millisecond that a `modified` can represent. */
export function latestOf(modified: unknown): number | undefined {
  const ms = readTime(modified);
  return ms === undefined || FRACTION.test(String(modified)) ? ms : ms + 999;
}

/** Returns the fields of the new data whose values differ from the known data. */
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

/** Whether a message contains every known field. Most messages do, and then no copy is needed. */
function saysAll(message: Bicycle, before: Bicycle): boolean {
  for (const field in before) if (!Object.hasOwn(message, field)) return false;
  return true;
}

/**
 * Returns the shown changes that a later message can still repeat. The order of a stream is off by
 * at most DISORDER_MS.
 */
function withoutOvertaken(
  caughtUp: readonly Bicycle[],
  modifiedMs: number | undefined,
): readonly Bicycle[] {
  if (caughtUp.length === 0 || modifiedMs === undefined) return caughtUp;
  return caughtUp.filter(
    (item) => (readTime(item.modified) ?? modifiedMs) >= modifiedMs - DISORDER_MS,
  );
}

/** Whether a message contains the same change as a list item. */
function saysAgain(message: Bicycle, item: Bicycle): boolean {
  const version = versionOf(message);
  if (version !== undefined && versionOf(item) !== undefined) return version === versionOf(item);
  return message.modified === item.modified && changedFields(item, message).length === 0;
}

/** Returns the stored data of a bicycle that a list showed first. */
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

/** Merges and compares the bicycles of a store. */
export class KnownFleet {
  /** The number of messages merged so far. */
  merged = 0;
  /** How often a message or list item had a lower version but a newer time than the known data. */
  loweredVersions = 0;
  #hasFallen = false;
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

  /** Records that every bicycle is known, unless the store is full. */
  setWhole() {
    if (!this.store.isFull()) this.isWhole = true;
  }

  /** Returns the mark for a past moment of the monotonic clock. */
  mark(fromMs: number): Mark {
    const modifiedMs = this.time.newestAt(fromMs);
    // Before a first `modified` is known, the date of an answer proves nothing: the clock of the
    // push server may differ from the clock of the lists.
    const isProven = modifiedMs !== undefined || (this.time.isTold && this.time.hasModified);
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
      (isGone ? !this.#isBack(message, entry, now) : this.#isOlder(message, entry, now))
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
      // A repeated message does not count as new information, because the bicycle may be gone by
      // now.
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
    // The first list was not shown, so a message that repeats it is shown as an update.
    if (same?.isSilent === true) return { kind: 'update', uuid, before: undefined, after, fields };
    return { kind: 'repeat', uuid, before, after, fields };
  }

  /** Learns a bicycle of the first list without reporting it. Returns its known data. */
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
    // A message about this bicycle arrived before the list item. When the message is newer, the
    // list item only adds missing fields. When the service resent an old message, the list item is
    // newer.
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

  /**
   * Compares an item of a list with the known data after a gap. `askedAt` is the number of merged
   * messages when the list was requested.
   */
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
      !isMergedSince &&
      !isNews &&
      this.#isOlder(item, entry, now) &&
      changedFields(item, before).length > 0;
    const modifiedMs = readTime(after.modified);
    const latestMs = latestOf(after.modified);
    // The bicycle is known only from a list that was read after the last message. That list may
    // already have contained the change that is searched for.
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
    // Without the service's time nothing proves that a bicycle did not change.
    const isUncertain = isUnseen && (latestMs === undefined || (!isChange && !mark.isProven));
    return { change, isUnknown: isUncertain, isUncertain, isStale };
  }

  /** Handles a list item whose bicycle was not known. */
  #meet(uuid: string, item: Bicycle, mark: Mark, now: Moment, origin: Origin): Comparison {
    const latestMs = latestOf(item.modified);
    // When every bicycle was known before the gap, an unknown bicycle was created since then.
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

  /**
   * Marks a bicycle of --bicycle as gone. `listedAt` is the start of the reading that no longer
   * contained it; a later message shows that the bicycle came back. Returns the known data, or
   * undefined when the bicycle was not known.
   */
  remove(uuid: string, listedAt: Moment): Bicycle | undefined {
    const entry = this.store.get(uuid);
    if (entry === undefined || entry.goneMs !== undefined) return undefined;
    this.#keep(
      uuid,
      { ...entry, goneMs: this.time.at(listedAt.monotonicMs) },
      this.#origin('list', listedAt, NOWHERE),
    );
    return entry.bicycle;
  }

  /**
   * Creates an origin. It lists the fields one by one, because spreading an object costs more than
   * merging the message (measured).
   */
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

  /**
   * Whether a message or item is older than the known data. The version decides, or else a
   * plausible `modified`.
   */
  #isOlder(statement: Bicycle, entry: KnownBicycle, now: Moment): boolean {
    const order = this.#versionOrder(statement, entry, now);
    if (order !== undefined) return order < 0;
    if ((compareTimes(statement.modified, entry.bicycle.modified) ?? 0) >= 0) return false;
    return this.time.isPlausible(entry.modifiedMs, now.monotonicMs);
  }

  /**
   * Compares the version of a message or item with the known version; undefined when one of them is
   * missing. A lower version with a newer time does not define an order, because a restored service
   * counts from an older value, and a message can carry a wrong version. The time decides then, and
   * also whenever both differ later. Messages out of order have times that are not newer.
   */
  #versionOrder(statement: Bicycle, entry: KnownBicycle, now: Moment): number | undefined {
    const version = versionOf(statement);
    if (version === undefined || entry.version === undefined) return undefined;
    const order = version - entry.version;
    const byTime = compareTimes(statement.modified, entry.bicycle.modified) ?? 0;
    const isTrue = (modifiedMs: number | undefined) =>
      this.time.isPlausible(modifiedMs, now.monotonicMs);
    if (order < 0 && byTime > 0 && isTrue(readTime(statement.modified))) {
      this.loweredVersions++;
      this.#hasFallen = true;
      return byTime;
    }
    const isEarlier = order > 0 && byTime < 0 && isTrue(entry.modifiedMs);
    return this.#hasFallen && isEarlier ? byTime : order;
  }

  /**
   * Whether a list shows a lower version long after the last known change of the bicycle, with a time
   * that is not older. A service that was restored within the same second does this, and no
   * later time tells its versions apart.
   */
  #hasLowVersionForLong(item: Bicycle, entry: KnownBicycle, now: Moment): boolean {
    const version = versionOf(item);
    if (version === undefined || entry.version === undefined || version >= entry.version)
      return false;
    const isOlder = (compareTimes(item.modified, entry.bicycle.modified) ?? 0) < 0;
    // Until the service tells its time, only the monotonic clock shows how long ago the change was.
    const ageMs =
      entry.modifiedMs === undefined || !this.time.isTold
        ? now.monotonicMs - entry.touchedMs
        : this.time.at(now.monotonicMs) - entry.modifiedMs;
    if (isOlder || ageMs <= LONGEST_LAG_MS) return false;
    this.loweredVersions++;
    this.#hasFallen = true;
    return true;
  }

  /** Whether a list item is newer than the messages. */
  #isNewer(item: Bicycle, entry: KnownBicycle, isMergedSince: boolean, now: Moment): boolean {
    if (!isMergedSince && this.#hasLowVersionForLong(item, entry, now)) return true;
    const order = this.#versionOrder(item, entry, now);
    if (order !== undefined && entry.unversioned === undefined)
      return this.store.isTable ? order >= 0 : order > 0;
    // When a message and a list item have the same time, the later one to arrive is used.
    if (!isMergedSince) return !this.#isOlder(item, entry, now);
    // A time in the future proves nothing: the list may have been read before the message arrived.
    const isLater = (compareTimes(item.modified, entry.bicycle.modified) ?? 0) > 0;
    return isLater && this.time.isPlausible(readTime(item.modified), now.monotonicMs);
  }

  /**
   * Whether a message is newer than the deletion of the bicycle. Older messages can arrive late.
   */
  #isBack(message: Bicycle, entry: KnownBicycle, now: Moment): boolean {
    const { goneMs = 0, bicycle } = entry;
    const latestMs = latestOf(message.modified);
    if (latestMs !== undefined && latestMs < goneMs) return false;
    const order = this.#versionOrder(message, entry, now);
    if (order !== undefined) return order > 0;
    return (compareTimes(message.modified, bicycle.modified) ?? 0) > 0;
  }
}
