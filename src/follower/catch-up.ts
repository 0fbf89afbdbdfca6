// Reads the list, newest first, at the start and after a gap, to find the changes of the gap. No
// I/O.
//
// After a gap the list is read in `-modified` order. All changes of the gap come before the first
// bicycle that was modified well before the gap, so the reading is complete when it reaches that
// bicycle or the end of the list. If only the machine's clock tells when the gap began, the reading
// is complete only at the end of the list.
//
// The list is read again, at most twice, if it changed during the reading or is older than the
// pushed messages. The reading is incomplete if the list is not sorted, if the page limit is
// reached, or if it cannot be decided whether a bicycle changed.

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

/** The result of a reading that ended. */
export interface EndedReading {
  /**
   * The report of the reading. It is undefined when the reading only read the counts of the lists.
   */
  readonly report?: Report;
  readonly mark: Mark | undefined;
  /**
   * The `modified` times of the changes that are newer than the known data. An entry is undefined
   * when the change has no `modified`.
   */
  readonly newer: readonly (number | undefined)[];
  /** The service's count of all lists; undefined when one of them is unknown. */
  readonly total: number | undefined;
}

/** A reading that is wanted. */
interface Missed {
  /**
   * The data that was known when the stream went silent. It is undefined for the first reading,
   * because no message can be missing before it.
   */
  readonly mark: Mark | undefined;
  /** When the stream went silent, by the machine's clock. It is undefined for the first reading. */
  readonly sinceWallMs: number | undefined;
  /**
   * The maximum number of pages for each organization. With 0, only the counts of the lists are
   * read.
   */
  readonly mostPages: number;
}

type CatchUpSteps<Result> = Steps<Page<Bicycle> | Bicycle, Result>;

type Pass = ReturnType<typeof newPass>;

/**
 * The minimum time between two readings. Without it, an unstable connection would cause constant
 * reading.
 */
const READING_PAUSE_MS = 10_000;
/**
 * The pause after a list could not be read. It is longer than the retries of the HTTP client, and
 * grows while the service refuses.
 */
const UNREAD_PAUSE_MS = 30_000;
const LONGEST_REFUSED_PAUSE_MS = 5 * 60_000;
/** The pause before the list is read again because it changed during the reading. */
const AGAIN_PAUSE_MS = 2_000;
const MOST_ATTEMPTS = 3;
/**
 * More passes than this are needed only when bicycles are missing in some passes and present in
 * others.
 */
const MOST_ABSENCE_ATTEMPTS = 20;
/**
 * The time between the two readings of the whole list that prove a deletion. The pause is needed
 * because a list can lag.
 */
const LISTS_PAUSE_MS = 5_000;
/**
 * How long the URL of a bicycle must answer 404 before the bicycle counts as gone, when no whole
 * list proves it.
 */
const REFUSALS_PAUSE_MS = 30_000;

const NO_ORDER = 'the list is not in the order of "modified"';
const BOUND_REACHED = 'only the last changed bicycles were read; raise --resync-pages to be sure';

export class CatchUp extends Reader<Page<Bicycle> | Bicycle, EndedReading> {
  /**
   * The data that was known when the stream went silent. It is set from the start of a gap until
   * its reading begins.
   */
  mark: Mark | undefined;
  /** The next reading. */
  wanted: Omit<Missed, 'mark'> | undefined;
  /** The current or last reading. */
  #sought: Missed = { mark: undefined, sinceWallMs: undefined, mostPages: 0 };
  /** The earliest time of the next reading, on the monotonic clock. */
  #dueMs = Number.NEGATIVE_INFINITY;
  /** The number of refused readings in a row. */
  #refusals = 0;
  /** Whether the list was read at least once, up to the page limit. */
  #hasBaseline = false;
  /**
   * Whether any bicycle was found at its own URL. Only then is a 404 at such a URL evidence of a
   * deletion.
   */
  #hasAddresses = false;

  constructor(known: KnownFleet, options: FollowerOptions, emit: Emit, onEnd: OnEnd<EndedReading>) {
    super(known, options, emit, (ended, now) => {
      this.#refusals = 0;
      onEnd(ended, now);
    });
  }

  /** Whether the current reading only reads the counts of the lists. */
  get isCounting(): boolean {
    return this.isReading && this.#sought.mostPages === 0;
  }

  /** Whether changes may be missing. */
  get isBehind(): boolean {
    return this.mark !== undefined || (this.isReading && this.#sought.mark !== undefined);
  }

  /**
   * Records that messages may be missing since a moment of the monotonic clock. The earliest moment
   * counts, because the topics can go silent in any order.
   */
  missFrom(fromMs: number, mark?: Mark) {
    if (this.mark === undefined || fromMs < this.mark.fromMs)
      this.mark = mark ?? this.known.mark(fromMs);
  }

  /**
   * Requests a reading of at most this many pages of each organization. With 0, only the counts of
   * the lists are read.
   */
  want(sinceWallMs: number | undefined, mostPages: number, now: Moment) {
    // After a single message that cannot be read, the list is read again. No silence came before,
    // so the gap begins now.
    if (sinceWallMs !== undefined) this.missFrom(now.monotonicMs);
    this.wanted = { sinceWallMs: earliest(this.wanted?.sinceWallMs, sinceWallMs), mostPages };
  }

  /** Drops the wanted reading, because another reading found its changes. */
  forget() {
    this.mark = undefined;
    this.wanted = undefined;
    this.stop();
  }

  /** Begins the wanted reading if it is due. */
  begin(now: Moment) {
    if (this.wanted === undefined || now.monotonicMs < this.#dueMs) return;
    const mark = this.mark;
    const { mostPages } = this.wanted;
    // When a gap came before the first reading, the list is compared with the few bicycles that are
    // known from messages.
    const sinceWallMs = mark === undefined ? undefined : (this.wanted.sinceWallMs ?? now.wallMs);
    this.forget();
    if (mark !== undefined) this.#dueMs = now.monotonicMs + READING_PAUSE_MS;
    this.#sought = { mark, sinceWallMs, mostPages };
    this.start(this.#read(this.#sought), now);
  }

  /** Handles an answer of the service. Ignores answers to earlier readings. */
  take(answer: AnswerOf<'page' | 'bicycle' | 'failed'>, now: Moment) {
    if (answer.id !== this.id) return;
    if (answer.type === 'failed') this.#takeFailure(this.#sought, answer.error, now);
    else this.goOn(answer.type === 'page' ? answer.page : answer.bicycle, now);
  }

  /** Reads the counts of all lists. */
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
      // A bicycle that moves between organizations during the reading can be counted twice. Its
      // second count then hides that another bicycle left the list.
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

  /** Reads the bicycles of --bicycle at their own URLs. */
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
        // Assumed: a service without such URLs also answers 404 or 405. The answer counts only when
        // such a URL worked before.
        pass.denied.add(uuid);
      }
    }
  }

  /**
   * Reads the list of an organization, until enough pages are read or the page limit is reached.
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
        // The first reading also reads older pages, up to the limit. A later change of a bicycle
        // can only be recognised when the bicycle is known.
      } while (
        next !== undefined &&
        list.pages < mostPages &&
        !(isPast(list) && (this.known.isWhole || this.#hasBaseline))
      );
      if (next === undefined) break;
      this.#hasBaseline = true;
      pass.isToTheEnd = false;
      // In a list that lags, a bicycle can move to the first page while later pages are read. The
      // first pages are read again to find it.
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
    // If a bicycle left the list during the reading, another one may have moved to an earlier page.
    if (next === undefined && met < (list.total ?? 0))
      pass.unsound ??= `it showed ${met} of ${list.total} bicycles`;
    else if (next !== undefined && !isPast(list))
      found.doubt ??= list.lastMs === undefined ? NO_ORDER : BOUND_REACHED;
    // The reading ended before the end of the last list. The bicycles of --bicycle further down in
    // that list did not change.
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
      // The second reading of the first pages only looks for bicycles that moved up. Within one
      // second only the version shows which of two replicas is newer.
      const isMet = uuid === undefined || list.met.has(uuid);
      const isOld = (modifiedMs ?? 0) <= list.floorMs && value.concurrency_version == null;
      const isSeen = list.look > 1 && isMet && isOld;
      if (uuid !== undefined) list.met.add(uuid);
      list.headMs ??= modifiedMs;
      // After one item that is not sorted, any further item of the list can be newer.
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
   * Handles an item of a list, or a bicycle that was read at its own URL: learns it at the start,
   * compares it after a gap.
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
    // Messages leave out some fields. A list item of the same version can therefore have more
    // fields, which is not a newer change.
    const isSame =
      before?.modified === after.modified &&
      before?.['concurrency_version'] === after['concurrency_version'];
    if (before === undefined || !isSame) found.newer.push(readTime(after.modified));
  }

  /** Returns the bicycles of --bicycle that were known and that the service no longer has. */
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
   * Reads a list again later after any failure. For example, page 2 is not found when the list
   * became shorter.
   */
  #takeFailure({ mark, sinceWallMs, mostPages }: Missed, error: FleetError, now: Moment) {
    this.stop();
    // A failed count is not retried, because the next comparison of counts follows within minutes.
    if (mostPages === 0) return;
    this.#refusals = ['not-found', 'rejected'].includes(error.kind) ? this.#refusals + 1 : 1;
    const retryInMs = doublingPauseMs(this.#refusals, UNREAD_PAUSE_MS, LONGEST_REFUSED_PAUSE_MS);
    this.#dueMs = now.monotonicMs + retryInMs;
    // Keep the mark of the failed reading. A new mark would begin too late if the user set the
    // machine's clock back.
    if (mark !== undefined) this.missFrom(mark.fromMs, mark);
    this.wanted = { sinceWallMs: earliest(this.wanted?.sinceWallMs, sinceWallMs), mostPages };
    this.emit({ type: 'unread', error, sinceWallMs, retryInMs });
  }
}

/**
 * The results of a reading over all passes. `doubt` is a reason for an incomplete reading that
 * another pass cannot remove.
 */
const newFound = () => ({
  pages: 0,
  changes: 0,
  unknown: 0,
  doubt: undefined as string | undefined,
  newer: [] as (number | undefined)[],
});

/** One pass through the lists. */
function newPass(
  missed: Missed,
  found: ReturnType<typeof newFound>,
  bicycles: ReadonlySet<string> | undefined,
  /**
   * The number of merged messages at the start of the pass. A bicycle with a later message is not
   * gone.
   */
  mergedBefore: number,
  /** A change after this moment may be missing in the lists of the pass. */
  started: Moment,
) {
  return {
    ...{ ...missed, found, mergedBefore, started },
    /**
     * The bicycles of --bicycle that were not found yet; undefined when all bicycles are followed.
     */
    missing: bicycles && new Set(bicycles),
    /** The bicycles of --bicycle whose URLs answered 404. */
    denied: new Set<string>(),
    /** The counts of the lists that were read. */
    counts: [] as (number | undefined)[],
    /** The reason to read again. */
    unsound: undefined as string | undefined,
    /** Whether every list was read to its last page. */
    isToTheEnd: true,
  };
}

/** The first pass that did not find a bicycle of --bicycle. */
interface Absence {
  readonly atMs: number;
  readonly isListed: boolean;
  /** The number of merged messages before the pass. */
  readonly mergedBefore: number;
}

/**
 * The bicycles that are proven to be gone, and the earliest time at which another pass can prove
 * more.
 */
interface Judgement {
  readonly proven: readonly string[];
  readonly nextMs: number | undefined;
}

const NOT_JUDGED: Judgement = { proven: [], nextMs: undefined };

/**
 * Remembers which of the bicycles in --bicycle were missing. A bicycle is deleted when two lists in
 * a row lack it, or when its URL answers 404 for long enough. A message about the bicycle starts
 * the proof again.
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
 * Whether the lists of a pass prove that a bicycle is missing. A list without a count may have
 * skipped a bicycle between two pages.
 */
function isListProof({ isToTheEnd, counts }: Pass): boolean {
  return isToTheEnd && counts.length > 0 && !counts.includes(undefined);
}

/** The list of one organization during a pass. */
type List = ReturnType<typeof newList>;

function newList(organization: string, mark: Mark | undefined) {
  return {
    organization,
    // Without the service's time there is no lower bound for `modified`, because the machine's
    // clock may be ahead.
    ...newLook(
      1,
      mark?.isProven === true ? mark.modifiedMs - DISORDER_MS : Number.NEGATIVE_INFINITY,
    ),
    /**
     * The distinct bicycles of the list. A bicycle can appear twice, because it moves down while
     * the pages are read.
     */
    met: new Set<string>(),
    /** The count on the first page. */
    total: undefined as number | undefined,
  };
}

/**
 * Creates the state for one reading of a list from its first page. Items older than `floorMs` are
 * not needed.
 */
function newLook(look: number, floorMs: number) {
  return {
    ...{ look, floorMs, pages: 0 },
    /** The `modified` of the first and of the last item; undefined once an item was not sorted. */
    headMs: undefined as number | undefined,
    lastMs: Number.POSITIVE_INFINITY as number | undefined,
  };
}

function isPast({ lastMs, floorMs }: List): boolean {
  return lastMs !== undefined && lastMs < floorMs;
}

/** Returns the count of a page. A bare array without a link to a next page is the whole list. */
function countOf({ count, next, items }: Page<Bicycle>): number | undefined {
  return count ?? (next === undefined ? items.length : undefined);
}

function earliest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : b === undefined ? a : Math.min(a, b);
}
