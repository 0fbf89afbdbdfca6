// Stores the known data of each bicycle. Merges messages and list items into this data, and reports
// changes.

import { type Bicycle, bicycleUuid } from '../api/bicycle.js';
import type { Moment } from '../system/clock.js';
import { readTime } from '../terminal/time.js';
import type { FleetStore, KnownBicycle, Origin } from './fleet-store.js';
import type { ServiceTime } from './service-time.js';

/**
 * The origin of a message or list item: the organization of its topic or list. For a list item,
 * also its JSON text.
 */
export type ItemPlace = Pick<Origin, 'followed' | 'json'>;
const NOWHERE: ItemPlace = { followed: '' };

/** How a message or list item differs from the known data of its bicycle. */
export interface Change {
  /**
   * - `update`: a change.
   * - `repeat`: a change that was already shown.
   * - `late`: a message that is older than the known data.
   * - `caught-up`: a change that was found in the list after a gap.
   */
  readonly kind: 'update' | 'repeat' | 'late' | 'caught-up';
  readonly uuid: string | undefined;
  /** The known data before the change, or undefined when the bicycle was not known. */
  readonly before: Bicycle | undefined;
  /** The known data after the change. */
  readonly after: Bicycle;
  /** The changed fields. Fields that only the service uses, such as `modified`, are omitted. */
  readonly fields: readonly string[];
}

/**
 * The start of a gap, on the monotonic clock and by the service's clock. This time determines which
 * list items may contain changes from the gap.
 */
export interface Mark {
  /** When the gap began, on the monotonic clock. */
  readonly fromMs: number;
  /** The lowest `modified` that a change in the gap can have, in milliseconds since the epoch. */
  readonly modifiedMs: number;
  /**
   * Whether `modifiedMs` comes from times that the service sent. Otherwise it comes from the system
   * clock, which may be wrong.
   */
  readonly isProven: boolean;
  /**
   * The list must also be read for items up to this much older than `modifiedMs`. The list of the
   * previous comparison may have lagged by this much.
   */
  readonly lagMs?: number;
}

/**
 * The start of a gap when the service time of the start is unknown. Every list item is then
 * compared with the known data.
 */
export const NO_MARK: Mark = {
  fromMs: Number.POSITIVE_INFINITY,
  modifiedMs: Number.NEGATIVE_INFINITY,
  isProven: true,
};

/**
 * The value of `askedAt` for a list that is older than its request, such as a cached list. From
 * such a list, only items that are definitely newer than the known data are used.
 */
export const BEFORE_ALL = -1;

/** The result of comparing a list item with the known data. */
export interface Comparison {
  readonly change: Change | undefined;
  /** Whether the bicycle was unknown before and may have changed. */
  readonly isUnknown: boolean;
  /** True when it is unclear whether the bicycle changed. */
  readonly isUncertain: boolean;
  /** Whether the list is out of date: when it was requested, newer data was already known. */
  readonly isStale: boolean;
}

/**
 * Assumed: the order of messages and list items can differ from the order of their `modified` times
 * by at most this much.
 */
export const DISORDER_MS = 10_000;
/**
 * An allowance for times in whole seconds, and for differences between the system clock and the
 * service's clock.
 */
const CLOCK_SLACK_MS = 2_000;

/**
 * The longest assumed lag of a list: the list contains every change that is older than this. A
 * longer lag cannot be detected.
 */
export const LONGEST_LAG_MS = 120_000;

/**
 * The maximum number of changes from lists that are kept for each bicycle until their messages
 * arrive. The worst case is a topic that stays disconnected while the list is read every ten
 * seconds.
 */
const CAUGHT_UP_LIMIT = 32;

/**
 * Fields whose differences are not shown as changes. Some of them are used only by the service,
 * such as `modified`. Others depend on the request.
 */
export const BOOKKEEPING: ReadonlySet<string> = new Set([
  'modified',
  'concurrency_version',
  'devices',
  'distance',
]);

/** Returns the version of a message or list item, or undefined when it has no usable version. */
export function versionOf(bicycle: Bicycle): number | undefined {
  const version = bicycle['concurrency_version'];
  return typeof version === 'number' && Number.isSafeInteger(version) ? version : undefined;
}

const FRACTION = /\.\d+/;

/**
 * Compares two times. Returns a negative number when `a` is older, and undefined when one of them
 * is invalid. A time without a fraction can mean any moment within its second.
 */
export function compareTimes(a: unknown, b: unknown): number | undefined {
  if (typeof a !== 'string' || typeof b !== 'string') return undefined;
  // Times in the same format are compared as strings, because milliseconds would lose the
  // microseconds.
  if (a.length === b.length && a.endsWith('Z') && b.endsWith('Z'))
    return a < b ? -1 : a > b ? 1 : 0;
  const [first, second] = [readTime(a), readTime(b)];
  if (first === undefined || second === undefined) return undefined;
  if (FRACTION.test(a) && FRACTION.test(b)) return first - second;
  return Math.floor(first / 1000) - Math.floor(second / 1000);
}

/**
 * Returns the last millisecond that a time can refer to. A time without a fraction can mean any
 * moment within its second.
 */
export function latestOf(modified: unknown): number | undefined {
  const ms = readTime(modified);
  return ms === undefined || FRACTION.test(String(modified)) ? ms : ms + 999;
}

/** Returns the fields whose known values changed. */
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

/**
 * Whether a message contains every known field. Most messages do. Such a message replaces the known
 * data, and the known data need not be copied.
 */
function saysAll(message: Bicycle, before: Bicycle): boolean {
  for (const field in before) if (!Object.hasOwn(message, field)) return false;
  return true;
}

/**
 * Returns the changes from lists for which a message may still arrive. Older changes are dropped,
 * because messages are out of order by at most DISORDER_MS.
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

/** Returns the data of a bicycle that is known only from a list. */
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

/**
 * The bicycles that fleet knows, and the rules for merging messages and list items into them. A
 * store contains the data of the bicycles.
 */
export class KnownFleet {
  /** The number of messages merged so far. */
  merged = 0;
  /**
   * The number of contradictory messages and list items, which have a lower version but a newer
   * time than the known data.
   */
  loweredVersions = 0;
  #hasFallen = false;
  /** Whether all bicycles of the service are known. */
  isWhole = false;

  constructor(
    readonly store: FleetStore,
    readonly time: ServiceTime,
  ) {}

  get(uuid: string | undefined): Bicycle | undefined {
    const entry = uuid === undefined ? undefined : this.store.get(uuid);
    return entry?.goneMs === undefined ? entry?.bicycle : undefined;
  }

  /** Records that fleet now knows all bicycles. Does nothing when the store is full. */
  setWhole() {
    if (!this.store.isFull()) this.isWhole = true;
  }

  /**
   * Returns the `Mark` of a gap: the start of the gap, and the lower bound of `modified` for
   * changes in the gap. The gap began at `fromMs` on the monotonic clock.
   */
  mark(fromMs: number): Mark {
    const modifiedMs = this.time.newestAt(fromMs);
    // A response's date is used only when a `modified` is also known. Otherwise the date may come
    // from the push server, whose clock may differ from the clock that lists use.
    const isProven = modifiedMs !== undefined || (this.time.isTold && this.time.hasModified);
    return { fromMs, modifiedMs: modifiedMs ?? this.time.at(fromMs) - CLOCK_SLACK_MS, isProven };
  }

  /** Merges a message: "some messages carry only a state" (interface.md section 2.5). */
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
      // A repeated message is not new information: the bicycle may have been deleted meanwhile.
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
    // The first list was not shown. A message with the same data is therefore shown as an update.
    if (same?.isSilent === true) return { kind: 'update', uuid, before: undefined, after, fields };
    return { kind: 'repeat', uuid, before, after, fields };
  }

  /** Stores a bicycle from the first list without reporting a change. Returns the stored data. */
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
    // A message about this bicycle arrived before the list. If the message is newer, the list item
    // provides only the fields that the message omits. If an old message was resent, the list item
    // is newer.
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
   * Compares a list item with the known data after a gap. `askedAt` is the number of messages that
   * had been merged when the list was requested.
   */
  compare(item: Bicycle, mark: Mark, askedAt: number, now: Moment, place = NOWHERE): Comparison {
    const origin = this.#origin('list', now, place);
    const uuid = bicycleUuid(item);
    if (uuid === undefined)
      return { change: undefined, isUnknown: true, isUncertain: true, isStale: false };
    const entry = this.store.get(uuid);
    this.time.learn(readTime(item.modified), now.monotonicMs);
    if (entry === undefined) return this.#meet(uuid, item, mark, now, origin);
    if (entry.goneMs !== undefined && !this.#isBackInList(item, entry, now))
      return { change: undefined, isUnknown: false, isUncertain: false, isStale: true };
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
    // The known data comes from a list that was read after the gap began, and no message about this
    // bicycle arrived. That list may already include a change from the gap. Comparing the data
    // therefore cannot reveal the change.
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
    // If the service's times are unknown, it is uncertain whether the bicycle changed.
    const isUncertain = isUnseen && (latestMs === undefined || (!isChange && !mark.isProven));
    return { change, isUnknown: isUncertain, isUncertain, isStale };
  }

  /** Handles a list item of an unknown bicycle. */
  #meet(uuid: string, item: Bicycle, mark: Mark, now: Moment, origin: Origin): Comparison {
    const latestMs = latestOf(item.modified);
    // All bicycles were known before the gap, so an unknown bicycle was created during the gap.
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
   * Marks a bicycle of --bicycle as gone. Returns the bicycle's known data, or undefined for an
   * unknown bicycle. `listedAt` is the request time of the list that did not contain this bicycle.
   * A message after this time shows that the bicycle has returned.
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
   * Returns an Origin. Measured: copying the fields individually is faster than spreading an
   * object.
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
   * Whether a message or list item is older than the known data. The versions are compared. Without
   * versions, the `modified` times are compared, if they are plausible.
   */
  #isOlder(statement: Bicycle, entry: KnownBicycle, now: Moment): boolean {
    const order = this.#versionOrder(statement, entry, now);
    if (order !== undefined) return order < 0;
    if ((compareTimes(statement.modified, entry.bicycle.modified) ?? 0) >= 0) return false;
    return this.time.isPlausible(entry.modifiedMs, now.monotonicMs);
  }

  /**
   * Compares the version of a message or list item with the known version. Returns undefined when
   * either version is missing. If the version is lower but the time is newer, the time decides.
   * There are two reasons. A service that was restored from a backup continues from an older
   * version. A message can also contain a wrong version. After such a contradiction, the time also
   * decides when the version is higher but the time is older.
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
   * Whether a list shows a lower version long after the last change, although its `modified` is not
   * older. This happens when the service was restored from a backup, and the restored state is from
   * the same second as the change. The times are then equal.
   */
  #hasLowVersionForLong(item: Bicycle, entry: KnownBicycle, now: Moment): boolean {
    const version = versionOf(item);
    if (version === undefined || entry.version === undefined || version >= entry.version)
      return false;
    const isOlder = (compareTimes(item.modified, entry.bicycle.modified) ?? 0) < 0;
    // The age of the known data by the service's clock. If the service's time is not known yet, the
    // monotonic clock is used. The age of data from an earlier process is then unknown, so its age
    // is counted from the start of this process.
    const ageMs =
      entry.modifiedMs === undefined || !this.time.isTold
        ? now.monotonicMs - Math.max(entry.touchedMs, this.time.startedMs)
        : this.time.at(now.monotonicMs) - entry.modifiedMs;
    if (isOlder || ageMs <= LONGEST_LAG_MS) return false;
    this.loweredVersions++;
    this.#hasFallen = true;
    return true;
  }

  /** Whether a list item is newer than the known data. */
  #isNewer(item: Bicycle, entry: KnownBicycle, isMergedSince: boolean, now: Moment): boolean {
    if (!isMergedSince && this.#hasLowVersionForLong(item, entry, now)) return true;
    const order = this.#versionOrder(item, entry, now);
    if (order !== undefined && entry.unversioned === undefined)
      return this.store.isTable ? order >= 0 : order > 0;
    // No message was merged since the list was requested. If the times are equal, the list item is
    // newer.
    if (!isMergedSince) return !this.#isOlder(item, entry, now);
    // A `modified` in the future is wrong. It therefore does not prove that the list item is newer.
    // The list may have been read before the message arrived.
    const isLater = (compareTimes(item.modified, entry.bicycle.modified) ?? 0) > 0;
    return isLater && this.time.isPlausible(readTime(item.modified), now.monotonicMs);
  }

  /**
   * Whether a bicycle that was deleted is in the list again. Soon after the deletion, a list that
   * lags can still contain the bicycle. During this time, only an item that is newer than the known
   * data shows that the bicycle is back.
   */
  #isBackInList(item: Bicycle, entry: KnownBicycle, now: Moment): boolean {
    const goneForMs = this.time.at(now.monotonicMs) - (entry.goneMs ?? 0);
    if (goneForMs < 0 || goneForMs > LONGEST_LAG_MS) return true;
    return this.#isLater(item, entry, now);
  }

  /**
   * Whether a message is newer than the deletion of its bicycle. Older messages may arrive late.
   */
  #isBack(message: Bicycle, entry: KnownBicycle, now: Moment): boolean {
    const latestMs = latestOf(message.modified);
    if (latestMs !== undefined && latestMs < (entry.goneMs ?? 0)) return false;
    return this.#isLater(message, entry, now);
  }

  /**
   * Whether a message or list item has a higher version than the known data. Without versions,
   * whether it has a later `modified`.
   */
  #isLater(statement: Bicycle, entry: KnownBicycle, now: Moment): boolean {
    const order = this.#versionOrder(statement, entry, now);
    return (order ?? compareTimes(statement.modified, entry.bicycle.modified) ?? 0) > 0;
  }
}
