// Reads the list of bicycles, newest first. The list is read at the start. It is also read after a
// gap, to find the changes that happened in the gap. Does no I/O.
//
// After a gap, the list is read in `-modified` order. Bicycles that changed in the gap come first.
// The result is complete as soon as a bicycle appears that was modified well before the gap, or at
// the end of the list. If the start of the gap is known only by the system clock, the whole list
// must be read.
//
// The list is read again, at most twice, if it changed while it was read, or if it is older than
// the messages of the live stream. The result is incomplete if the list is not sorted, if the page
// limit is reached, or if it is unclear whether a bicycle changed.

import { type Bicycle, bicycleUuid } from '../api/bicycle.js';
import type { FleetError } from '../errors.js';
import type { Page, Query } from '../http/types.js';
import { doublingPauseMs, type Moment } from '../system/clock.js';
import { readTime } from '../terminal/time.js';
import type { AnswerOf, Emit, FollowerOptions, Report } from './events.js';
import { isHidden } from './fleet-store.js';
import { BEFORE_ALL, DISORDER_MS, type KnownFleet, type Mark } from './known-fleet.js';
import { type OnEnd, Reader, type Steps } from './reader.js';
import { totalOf } from './whole-list.js';

/** The result of reading the lists. */
export interface EndedReading {
  /** The report about what was read. Undefined when only the counts of the lists were read. */
  readonly report?: Report;
  readonly mark: Mark | undefined;
  /**
   * The `modified` time of each change that was newer than the known data; undefined for a change
   * without `modified`.
   */
  readonly newer: readonly (number | undefined)[];
  /**
   * The sum of the counts that the service sent for all lists, or undefined when one of the counts
   * is unknown.
   */
  readonly total: number | undefined;
}

/** A request to read the lists. */
interface Missed {
  /**
   * The start of the gap. Undefined when the lists are read for the first time, because no message
   * can have been missed before the first read.
   */
  readonly mark: Mark | undefined;
  /**
   * When the gap began, by the system clock; undefined when the lists are read for the first time.
   */
  readonly sinceWallMs: number | undefined;
  /**
   * The maximum number of pages for each organization. 0 means that only the counts of the lists
   * are read.
   */
  readonly mostPages: number;
}

type CatchUpSteps<Result> = Steps<Page<Bicycle> | Bicycle, Result>;

type Pass = ReturnType<typeof newPass>;

/**
 * The minimum time between the starts of two reads of the lists. Without this limit, an unstable
 * connection would cause constant reads.
 */
const READING_PAUSE_MS = 10_000;
/**
 * The pause after a failed attempt to read a list. It is longer than the pauses between the retries
 * of the HTTP client, and grows while the service refuses the request.
 */
const UNREAD_PAUSE_MS = 30_000;
const LONGEST_REFUSED_PAUSE_MS = 5 * 60_000;
/** The pause before a list is read again because the list changed while it was read. */
const AGAIN_PAUSE_MS = 2_000;
const MOST_ATTEMPTS = 3;
/**
 * The maximum number of passes through the lists. The maximum is reached only when bicycles keep
 * disappearing from one pass and reappearing in the next.
 */
const MOST_ABSENCE_ATTEMPTS = 20;
/**
 * A bicycle is treated as deleted when it is missing from two passes with at least this pause
 * between them. The pause is needed because a list can lag.
 */
const LISTS_PAUSE_MS = 5_000;
/**
 * A bicycle is also treated as deleted after its URL has returned 404 for this long. This rule is
 * used when there is no complete list that proves the deletion.
 */
const REFUSALS_PAUSE_MS = 30_000;

const NO_ORDER = 'the list is not in the order of "modified"';
const BOUND_REACHED = 'only the last changed bicycles were read; raise --resync-pages to be sure';

export class CatchUp extends Reader<Page<Bicycle> | Bicycle, EndedReading> {
  /**
   * The start of the current gap. It is kept until the lists have been read to find the changes in
   * this gap.
   */
  mark: Mark | undefined;
  /** The next request to read the lists; undefined when no request is due. */
  wanted: Omit<Missed, 'mark'> | undefined;
  /** The current or last request to read the lists. */
  #sought: Missed = { mark: undefined, sinceWallMs: undefined, mostPages: 0 };
  /** The earliest time for the next read of the lists, on the monotonic clock. */
  #dueMs = Number.NEGATIVE_INFINITY;
  /** How many times in a row the service refused to send the lists. */
  #refusals = 0;
  /** Whether the list was read at least once, up to the page limit. */
  #hasBaseline = false;
  /**
   * Whether a bicycle was ever found at its own URL. Until then, a 404 is not treated as evidence
   * of a deletion.
   */
  #hasAddresses = false;

  constructor(known: KnownFleet, options: FollowerOptions, emit: Emit, onEnd: OnEnd<EndedReading>) {
    super(known, options, emit, (ended, now) => {
      this.#refusals = 0;
      onEnd(ended, now);
    });
  }

  /** Whether fleet is currently reading only the list counts. */
  get isCounting(): boolean {
    return this.isReading && this.#sought.mostPages === 0;
  }

  /** Whether there may be unknown changes. */
  get isBehind(): boolean {
    return this.mark !== undefined || (this.isReading && this.#sought.mark !== undefined);
  }

  /**
   * Records that messages may have been missed since `fromMs`, a time on the monotonic clock. If
   * this was already recorded, keeps the earlier time, because topics can disconnect in any order.
   */
  missFrom(fromMs: number, mark?: Mark) {
    if (this.mark === undefined || fromMs < this.mark.fromMs)
      this.mark = mark ?? this.known.mark(fromMs);
  }

  /**
   * Requests a read of the lists, with at most `mostPages` pages for each organization. With 0
   * pages, only the list counts are requested.
   */
  want(sinceWallMs: number | undefined, mostPages: number, now: Moment) {
    // If no gap is known yet, the read was requested because of a message that could not be read.
    // All earlier messages arrived, so the gap begins now.
    if (sinceWallMs !== undefined) this.missFrom(now.monotonicMs);
    this.wanted = { sinceWallMs: earliest(this.wanted?.sinceWallMs, sinceWallMs), mostPages };
  }

  /**
   * Cancels all requests to read the lists. They are not needed when a read of the whole list has
   * found the changes.
   */
  forget() {
    this.mark = undefined;
    this.wanted = undefined;
    this.stop();
  }

  /** Starts to read the lists if a read was requested and the pause is over. */
  begin(now: Moment) {
    if (this.wanted === undefined || now.monotonicMs < this.#dueMs) return;
    const mark = this.mark;
    const { mostPages } = this.wanted;
    // If a gap began before the lists were read for the first time, the lists are compared with the
    // bicycles that messages have shown so far.
    const sinceWallMs = mark === undefined ? undefined : (this.wanted.sinceWallMs ?? now.wallMs);
    this.forget();
    if (mark !== undefined) this.#dueMs = now.monotonicMs + READING_PAUSE_MS;
    this.#sought = { mark, sinceWallMs, mostPages };
    this.start(this.#read(this.#sought), now);
  }

  /** Handles a response from the service. Ignores responses to requests from an earlier read. */
  take(answer: AnswerOf<'page' | 'bicycle' | 'failed'>, now: Moment) {
    if (answer.id !== this.id) return;
    if (answer.type === 'failed') this.#takeFailure(this.#sought, answer.error, now);
    else this.goOn(answer.type === 'page' ? answer.page : answer.bicycle, now);
  }

  /** Reads only the counts of all lists. */
  *#count(): CatchUpSteps<(number | undefined)[]> {
    const counts: (number | undefined)[] = [];
    for (const organization of this.options.organizations)
      counts.push(
        countOf((yield { type: 'read-page', organization, isCount: true }) as Page<Bicycle>),
      );
    return counts;
  }

  *#read(missed: Missed): CatchUpSteps<EndedReading> {
    if (missed.mostPages === 0)
      return { mark: undefined, newer: [], total: totalOf(yield* this.#count()) };
    const { mark, sinceWallMs } = missed;
    const { bicycles, organizations } = this.options;
    const found = newFound();
    const absences = openAbsences((uuid) => this.known.store.get(uuid)?.merged ?? 0);
    for (let attempt = 1; ; attempt++) {
      const pass = newPass(missed, found, bicycles, this.known.merged, this.now);
      yield* this.#readNames(pass);
      for (const organization of organizations)
        if (pass.missing?.size !== 0) pass.counts.push(yield* this.#readList(pass, organization));
      // A bicycle that moves to another organization during the read may be counted twice, which
      // could hide that another bicycle left the list. The counts are therefore read again.
      const isShared = pass.missing === undefined && organizations.length > 1;
      const counts = isShared ? yield* this.#count() : pass.counts;
      if (`${counts}` !== `${pass.counts}`)
        pass.unsound ??= 'the counts of the organizations changed while they were read';
      const absent = this.#absent(pass);
      if (pass.unsound !== undefined && attempt < MOST_ATTEMPTS) {
        yield this.now.monotonicMs + AGAIN_PAUSE_MS;
        continue;
      }
      const isJudged = mark !== undefined && pass.unsound === undefined;
      const { proven, nextMs } = isJudged ? absences.judge(absent, pass, this.now) : NOT_JUDGED;
      if (nextMs !== undefined && attempt < MOST_ABSENCE_ATTEMPTS) {
        yield nextMs;
        continue;
      }
      for (const uuid of proven) {
        const bicycle = this.known.remove(uuid, pass.started);
        if (bicycle !== undefined) this.emit({ type: 'gone', uuid, bicycle });
      }
      const missing = [...(pass.missing ?? [])].filter(
        (uuid) => this.known.store.get(uuid)?.goneMs === undefined,
      );
      const lacks = missing.length > 0 ? `the list does not have ${missing.join(', ')}` : undefined;
      const { doubt, newer, ...numbers } = found;
      const reason = pass.unsound ?? doubt ?? lacks;
      const isWhole = pass.missing === undefined && pass.isToTheEnd && pass.unsound === undefined;
      if (isWhole && !this.known.store.isTable) this.known.setWhole();
      const report = {
        sinceWallMs,
        ...numbers,
        gone: proven.length,
        isComplete: reason === undefined,
        reason,
        missing,
      };
      const total = pass.counts.length < organizations.length ? undefined : totalOf(pass.counts);
      return { report, mark, newer, total };
    }
  }

  /** Reads each bicycle that was selected with --bicycle at its own URL. */
  *#readNames(pass: Pass): CatchUpSteps<void> {
    const { bicycles = [], organizations } = this.options;
    for (const uuid of bicycles) {
      const mergedBefore = this.known.merged;
      const bicycle = (yield { type: 'read-bicycle', uuid }) as Bicycle | undefined;
      if (bicycle !== undefined && bicycleUuid(bicycle) === uuid) {
        this.#hasAddresses = true;
        pass.missing?.delete(uuid);
        this.#takeListed(pass, bicycle, organizations[0] ?? '', mergedBefore);
      } else if (this.#hasAddresses && pass.mark !== undefined) {
        // Assumed: a service without URLs for single bicycles also returns 404 or 405. These
        // responses therefore count as a deletion only if such a URL worked before.
        pass.denied.add(uuid);
      }
    }
  }

  /**
   * Reads the list of an organization until all changes are found or the page limit is reached.
   * Returns the service's count.
   */
  *#readList(pass: Pass, organization: string): CatchUpSteps<number | undefined> {
    const { mark, mostPages, missing, found } = pass;
    const list = newList(organization, mark);
    let next: Query | undefined;
    for (;;) {
      do {
        const mergedBefore = this.known.merged;
        const page = (yield { type: 'read-page', organization, next }) as Page<Bicycle>;
        this.#takePage(pass, list, page, mergedBefore);
        next = page.next;
        if (missing?.size === 0) return list.total;
        // The first read continues up to the page limit. Later reads can compare only bicycles that
        // are already known.
      } while (
        next !== undefined &&
        list.pages < mostPages &&
        !(isPast(list) && (this.known.isWhole || this.#hasBaseline))
      );
      if (next === undefined) break;
      this.#hasBaseline = true;
      pass.isToTheEnd = false;
      // A bicycle can move to the first page while later pages are read, because a list can lag.
      // The first pages are read again to find such a bicycle.
      if (
        !isPast(list) ||
        list.pages === 1 ||
        list.headMs === undefined ||
        list.look === MOST_ATTEMPTS
      )
        break;
      Object.assign(list, newLook(list.look + 1, list.headMs));
      next = undefined;
    }
    const met = list.met.size;
    // If a bicycle left the list during the read, another bicycle may have moved to a page that was
    // already read.
    if (next === undefined && met < (list.total ?? 0))
      pass.unsound ??= `it showed ${met} of ${list.total} bicycles`;
    else if (next !== undefined && !isPast(list))
      found.doubt ??= list.lastMs === undefined ? NO_ORDER : BOUND_REACHED;
    // The pages that were read cover the whole gap, so the bicycles on later pages did not change.
    // If a bicycle of --bicycle was not found, it must be on a later page. It is therefore not
    // missing.
    else if (next !== undefined && organization === this.options.organizations.at(-1))
      for (const uuid of missing ?? []) if (!pass.denied.has(uuid)) missing?.delete(uuid);
    return list.total;
  }

  #takePage(pass: Pass, list: List, page: Page<Bicycle>, mergedBefore: number) {
    this.emit({ type: 'counted', total: page.count });
    pass.found.pages++;
    list.pages++;
    const stale = this.known.time.staleReason(page.dated);
    pass.unsound ??= stale;
    const askedAt = stale === undefined ? mergedBefore : BEFORE_ALL;
    if (list.pages === 1 && list.look === 1) list.total = countOf(page);
    else if (page.count !== undefined && page.count !== list.total)
      pass.unsound ??= `its count went from ${list.total ?? '?'} to ${page.count} while it was read`;
    for (const { value } of page.items) {
      const uuid = bicycleUuid(value);
      const modifiedMs = readTime(value.modified);
      // When the first pages are read again, known items are skipped, except items with a version.
      // Two replicas of the service can send different states of the same item with times in the
      // same second. In that case, only the version shows which state is newer.
      const isMet = uuid === undefined || list.met.has(uuid);
      const isOld = (modifiedMs ?? 0) <= list.floorMs && value.concurrency_version == null;
      const isSeen = list.look > 1 && isMet && isOld;
      if (uuid !== undefined) list.met.add(uuid);
      list.headMs ??= modifiedMs;
      // Once an item was out of order, later items may be newer. In this case, `lastMs` stays
      // undefined.
      const { lastMs } = list;
      list.lastMs =
        modifiedMs === undefined || lastMs === undefined || modifiedMs > lastMs
          ? undefined
          : modifiedMs;
      if (!isSeen && (pass.missing === undefined || pass.missing.delete(uuid ?? '')))
        this.#takeListed(pass, value, list.organization, askedAt);
    }
  }

  /**
   * Handles a bicycle from a list or from its own URL. The first read only stores the bicycle.
   * After a gap, the bicycle is compared with the known data.
   */
  #takeListed(pass: Pass, item: Bicycle, followed: string, mergedBefore: number) {
    const { mark, found } = pass;
    const comparison = this.takeItem(item, mark, mergedBefore, { followed });
    if (comparison === undefined) return;
    const { change, isUnknown, isUncertain, isStale } = comparison;
    if (isUnknown) found.unknown++;
    if (isUncertain) found.doubt ??= 'for some bicycles it is unclear whether they changed';
    if (isStale) pass.unsound ??= 'the list is older than the pushed updates';
    if (change === undefined) return;
    found.changes++;
    const { before, after } = change;
    // A list item can contain fields that messages omit. If the item's version is already known,
    // the additional fields are not a newer change.
    const isSame =
      before?.modified === after.modified &&
      before?.['concurrency_version'] === after['concurrency_version'];
    if (before === undefined || !isSame) found.newer.push(readTime(after.modified));
  }

  /** Returns the known bicycles of --bicycle that the service no longer shows. */
  #absent(pass: Pass): string[] {
    const { missing, denied, mergedBefore } = pass;
    const isListed = isListProof(pass);
    return [...(missing ?? [])].filter((uuid) => {
      if (!isListed && !denied.has(uuid)) return false;
      const entry = this.known.store.get(uuid);
      if (entry === undefined || entry.goneMs !== undefined || entry.merged > mergedBefore)
        return false;
      return (this.options.seesAll?.() ?? true) || !isHidden(entry);
    });
  }

  /**
   * Handles a failed request. After any error, the list is read again later. Even a "not found"
   * error can be temporary: page 2 does not exist after the list has become shorter.
   */
  #takeFailure({ mark, sinceWallMs, mostPages }: Missed, error: FleetError, now: Moment) {
    this.stop();
    // A failed count request is not retried, because the next comparison follows within minutes.
    if (mostPages === 0) return;
    this.#refusals = ['not-found', 'rejected'].includes(error.kind) ? this.#refusals + 1 : 1;
    const retryInMs = doublingPauseMs(this.#refusals, UNREAD_PAUSE_MS, LONGEST_REFUSED_PAUSE_MS);
    this.#dueMs = now.monotonicMs + retryInMs;
    // The next attempt uses the same start of the gap. It is not determined again: if the user has
    // set the system clock back meanwhile, the new start would be too late.
    if (mark !== undefined) this.missFrom(mark.fromMs, mark);
    this.wanted = { sinceWallMs: earliest(this.wanted?.sinceWallMs, sinceWallMs), mostPages };
    this.emit({ type: 'unread', error, sinceWallMs, retryInMs });
  }
}

/**
 * Returns the empty result to which each pass adds its result. `doubt` says why the result is
 * incomplete even if another pass follows.
 */
const newFound = () => ({
  pages: 0,
  changes: 0,
  unknown: 0,
  doubt: undefined as string | undefined,
  newer: [] as (number | undefined)[],
});

/** Returns the state of one pass through the lists. */
function newPass(
  missed: Missed,
  found: ReturnType<typeof newFound>,
  bicycles: ReadonlySet<string> | undefined,
  /**
   * The number of messages merged before the pass. A bicycle with a later message was not deleted.
   */
  mergedBefore: number,
  /** When the pass began. Changes after this time may be missing from its lists. */
  started: Moment,
) {
  return {
    ...{ ...missed, found, mergedBefore, started },
    /**
     * The bicycles of --bicycle that were not found yet; undefined when all bicycles are followed.
     */
    missing: bicycles && new Set(bicycles),
    /** The bicycles of --bicycle whose URLs returned 404. */
    denied: new Set<string>(),
    /** The counts of the lists that were read. */
    counts: [] as (number | undefined)[],
    /** Why the lists must be read again. */
    unsound: undefined as string | undefined,
    /** Whether every list was read to its last page. */
    isToTheEnd: true,
  };
}

/** The first pass in which a bicycle of --bicycle was missing. */
interface Absence {
  readonly atMs: number;
  readonly isListed: boolean;
  /** The number of messages merged before the pass. */
  readonly mergedBefore: number;
}

/**
 * The bicycles that were proven to be deleted, and the time from which another pass may prove more
 * deletions.
 */
interface Judgement {
  readonly proven: readonly string[];
  readonly nextMs: number | undefined;
}

const NOT_JUDGED: Judgement = { proven: [], nextMs: undefined };

/**
 * Records which bicycles of --bicycle were missing. A bicycle is treated as deleted when it is
 * missing from two consecutive lists, or when its URL has returned 404 for long enough. A message
 * about the bicycle restarts this check.
 */
function openAbsences(mergedOf: (uuid: string) => number) {
  let known = new Map<string, Absence>();
  return {
    judge(absent: readonly string[], pass: Pass, now: Moment): Judgement {
      const isListed = isListProof(pass);
      const first: Absence = { atMs: now.monotonicMs, isListed, mergedBefore: pass.mergedBefore };
      const firstOf = (uuid: string) => {
        const before = known.get(uuid);
        return before !== undefined && mergedOf(uuid) <= before.mergedBefore ? before : first;
      };
      known = new Map(absent.map((uuid) => [uuid, firstOf(uuid)]));
      const proven: string[] = [];
      let nextMs: number | undefined;
      for (const [uuid, absence] of known) {
        const pauseMs = absence.isListed && isListed ? LISTS_PAUSE_MS : REFUSALS_PAUSE_MS;
        const dueMs = absence.atMs + pauseMs;
        if (now.monotonicMs >= dueMs) proven.push(uuid);
        else nextMs = Math.min(nextMs ?? dueMs, dueMs);
      }
      return { proven, nextMs };
    },
  };
}

/**
 * Whether the lists of a pass prove that a bicycle is missing. If a list has no count, a bicycle
 * may have been skipped between two of its pages.
 */
function isListProof({ isToTheEnd, counts }: Pass): boolean {
  return isToTheEnd && counts.length > 0 && !counts.includes(undefined);
}

/**
 * Returns the lower bound of the read: bicycles with an older `modified` are not needed. Without
 * the service's time there is no lower bound, because the system clock may be ahead.
 */
function floorOf(mark: Mark | undefined): number {
  if (mark?.isProven !== true) return Number.NEGATIVE_INFINITY;
  return mark.modifiedMs - DISORDER_MS - (mark.lagMs ?? 0);
}

/** The state of one organization's list during a pass. */
type List = ReturnType<typeof newList>;

function newList(organization: string, mark: Mark | undefined) {
  return {
    organization,
    ...newLook(1, floorOf(mark)),
    /**
     * The distinct bicycles so far. A bicycle can appear twice, because it can move to a later page
     * during the pass.
     */
    met: new Set<string>(),
    /** The service's count on the first page. */
    total: undefined as number | undefined,
  };
}

/**
 * Returns the state of one pass through a list, starting with the first page. Items older than
 * `floorMs` are not needed.
 */
function newLook(look: number, floorMs: number) {
  return {
    ...{ look, floorMs, pages: 0 },
    /**
     * The `modified` times of the first and the last item of the pass. `lastMs` is undefined once
     * an item was out of order.
     */
    headMs: undefined as number | undefined,
    lastMs: Number.POSITIVE_INFINITY as number | undefined,
  };
}

function isPast({ lastMs, floorMs }: List): boolean {
  return lastMs !== undefined && lastMs < floorMs;
}

/**
 * Returns the number of bicycles that the service counts. If the response is a bare array without a
 * link to a next page, it is the whole list, and its length is the count.
 */
function countOf({ count, next, items }: Page<Bicycle>): number | undefined {
  return count ?? (next === undefined ? items.length : undefined);
}

function earliest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : b === undefined ? a : Math.min(a, b);
}
