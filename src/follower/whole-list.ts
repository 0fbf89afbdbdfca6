// Reads the whole list, checks that the result is complete, and finds deleted bicycles. Does no
// I/O.
//
// The result is complete when one pass through all pages returned as many bicycles as the service
// counts. None of these bicycles may be older than the known data. A bicycle is gone when it is
// missing from two complete passes, and no message about it has arrived since the first pass began.

import { bicycleUuid } from '../api/bicycle.js';
import type { FleetError } from '../errors.js';
import { doublingPauseMs, type Moment } from '../system/clock.js';
import type { AnswerOf, Emit, FollowerOptions } from './events.js';
import type { ListPass, Meeting } from './fleet-store.js';
import { BEFORE_ALL, type KnownFleet, NO_MARK } from './known-fleet.js';
import { type OnEnd, Reader, type Steps } from './reader.js';

/** The result of reading the whole list. */
export interface WholeResult {
  readonly gone: number;
  /** Why the result is incomplete; undefined for a complete result. */
  readonly reason: string | undefined;
  /**
   * The sum of the counts that the service states for all lists. Undefined when any list has no
   * count or the result is incomplete.
   */
  readonly total: number | undefined;
}

/**
 * Called after the whole list was read completely. All known data is then at least as recent as the
 * moment when the read started.
 */
export type OnProven = (started: Moment, total: number | undefined, now: Moment) => void;

/** A complete pass, with at least as many bicycles as the service counts. */
interface Proof extends Meeting {
  readonly pass: ListPass;
  readonly total: number | undefined;
}

type WholeAnswer = AnswerOf<'whole-page' | 'whole-met'>;
type WholeSteps<Result> = Steps<WholeAnswer, Result>;

interface Wanted {
  readonly reason: string;
  readonly dueMs: number;
}

/** The maximum number of times that the list is read to get a complete pass. */
const MOST_PASSES = 3;
const OLDER = 'the list was older than the pushed updates';
/**
 * The pause between the two passes that prove a deletion. The pause is needed because a list can
 * lag behind the changes.
 */
const CONFIRM_PAUSE_MS = 5_000;
/**
 * The pause before the list is read again. It grows from the first to the longest pause. The
 * UNPROVEN constants apply after an incomplete result, the other constants after a failed request.
 */
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 5 * 60_000;
const FIRST_UNPROVEN_PAUSE_MS = 2 * 60_000;
const LONGEST_UNPROVEN_PAUSE_MS = 6 * 3_600_000;

export class WholeList extends Reader<WholeAnswer, WholeResult> {
  readonly #onProven: OnProven;
  /** The next request to read the whole list; undefined when no request is due. */
  wanted: Wanted | undefined;
  /** The number of bicycles read so far, and the known list counts. */
  progress = { read: 0, counts: [] as (number | undefined)[] };
  #passes = 0;
  /**
   * The number of consecutive failed requests, and the number of consecutive incomplete results.
   */
  #failures = 0;
  #unproven = 0;
  /**
   * When the service counts another number of bicycles than expected, the whole list may be read
   * again. Such a read must not start before this time, on the monotonic clock.
   */
  #allowedMs = Number.NEGATIVE_INFINITY;

  constructor(
    known: KnownFleet,
    options: FollowerOptions,
    emit: Emit,
    onProven: OnProven,
    onEnd: OnEnd<WholeResult>,
  ) {
    super(known, options, emit, onEnd);
    this.#onProven = onProven;
  }

  /**
   * Requests the whole list. The list is read immediately, or after a pause when the last result
   * was incomplete.
   */
  want(reason: string, now: Moment) {
    if (this.isReading || this.wanted !== undefined) return;
    const dueMs = this.known.isWhole ? Math.max(now.monotonicMs, this.#allowedMs) : now.monotonicMs;
    this.wanted = { reason, dueMs };
    if (this.known.isWhole)
      this.emit({ type: 'notice', event: 'whole', message: `reading the whole list: ${reason}` });
  }

  /**
   * Whether an unexpected bicycle count of the service may lead to a read of the whole list now.
   * Such reads must not follow each other too quickly.
   */
  isAllowed(now: Moment): boolean {
    return now.monotonicMs >= this.#allowedMs;
  }

  /** Starts to read the whole list, and clears the request for it. */
  begin(now: Moment) {
    this.wanted = undefined;
    this.start(this.#read(now), now);
  }

  take(answer: AnswerOf<'whole-page' | 'whole-met' | 'whole-failed'>, now: Moment) {
    if (answer.id !== this.id) return;
    if (answer.type === 'whole-failed') this.#takeFailure(answer.error, now);
    else this.goOn(answer, now);
  }

  /**
   * Reads the list, and removes bicycles that are gone. Pages can shift and a list can lag, so a
   * second pass must confirm that these bicycles are missing.
   */
  *#read(started: Moment): WholeSteps<WholeResult> {
    const { store } = this.known;
    store.beginList();
    // The bicycles from the first pass are kept for the second pass. A bicycle that appears in at
    // least one of the passes still exists.
    for (let isConfirmed = false; ; isConfirmed = true) {
      const proof = yield* this.#prove(started);
      if ('gone' in proof) return proof;
      const { pass, missing, known, total } = proof;
      if (missing > 0 && !total) {
        const cannot = total === undefined ? 'the service sends no count' : 'the list is empty';
        const message = `${missing} of the known bicycles are not in the list and stay as they are: ${cannot}`;
        return this.#endUnproven('kept', message);
      }
      if (missing > 0 && !isConfirmed) {
        const message = `${missing} of ${known} bicycles are no longer in the list; the list is read once more to be sure`;
        this.emit({ type: 'notice', event: 'confirm', message });
        yield this.now.monotonicMs + CONFIRM_PAUSE_MS;
        continue;
      }
      const gone = missing > 0 ? store.removeMissing(pass) : [];
      for (const one of gone) this.emit({ type: 'gone', ...one });
      this.#unproven = 0;
      return { gone: gone.length, reason: undefined, total };
    }
  }

  /**
   * Reads the lists until a pass is complete, at most MOST_PASSES times. Otherwise returns an
   * incomplete result.
   */
  *#prove(started: Moment): WholeSteps<Proof | WholeResult> {
    const { store } = this.known;
    const startedAt = this.now;
    for (let tries = 1; ; tries++) {
      const number = ++this.#passes;
      const { stale, hasFallen } = yield* this.#readPass(number);
      const total = totalOf(this.progress.counts);
      const full = 'there are too many bicycles to compare';
      if (store.isFull()) return { gone: 0, reason: full, total: undefined };
      const serviceMs = this.known.time.at(started.monotonicMs);
      const seesAll = this.options.seesAll?.() ?? true;
      const pass = { id: this.lastId, pass: number, started, serviceMs, seesAll };
      const meeting = store.meet(pass) ?? ((yield undefined) as AnswerOf<'whole-met'>);
      const isShort = total !== undefined && meeting.met < total;
      // A busy fleet can lose bicycles during every pass. In the last pass, a falling count is
      // therefore accepted.
      if (!isShort && stale === undefined && !(hasFallen && tries < MOST_PASSES)) {
        this.#onProven(startedAt, total, this.now);
        return { ...meeting, pass, total };
      }
      if (tries < MOST_PASSES) continue;
      const what = isShort
        ? `the list showed ${meeting.met} of ${total} bicycles`
        : (stale ?? 'the list became shorter while it was read');
      return this.#endUnproven(
        'incomplete',
        `${what}, ${MOST_PASSES} times`,
        'it is read again later',
      );
    }
  }

  /**
   * Reads all pages once. `stale` is the reason why the list is considered older than the known
   * data. `hasFallen` is true when a count became smaller between pages. A bicycle may then have
   * moved to a page that was already read.
   */
  *#readPass(number: number): WholeSteps<{ stale: string | undefined; hasFallen: boolean }> {
    const { organizations } = this.options;
    const counts: (number | undefined)[] = organizations.map(() => undefined);
    const progress = { read: 0, counts };
    this.progress = progress;
    let stale: string | undefined;
    let hasFallen = false;
    for (const [index, organization] of organizations.entries()) {
      const before = progress.read;
      let page = (yield { type: 'read-whole', organization }) as AnswerOf<'whole-page'>;
      const isOne = page.isLast;
      for (;;) {
        const cached = this.known.time.staleReason(page.dated);
        const askedAt = cached === undefined ? page.askedAt : BEFORE_ALL;
        if (this.#takePage({ ...page, askedAt }, number, organization)) stale ??= OLDER;
        stale ??= cached;
        if (page.count !== undefined && page.count < (counts[index] ?? 0)) hasFallen = true;
        else counts[index] = page.count ?? counts[index];
        this.emit({ type: 'counted', total: totalOf(counts) });
        if (this.known.store.isFull()) return { stale, hasFallen };
        if (page.isLast) break;
        page = (yield undefined) as AnswerOf<'whole-page'>;
      }
      // A bare array has no count. When the list has only one page, no bicycle can be lost between
      // two pages. The length of the array is then used as the count.
      counts[index] ??= isOne ? progress.read - before : undefined;
    }
    return { stale, hasFallen };
  }

  /**
   * Merges the bicycles of a page into the known data. Returns true when any bicycle is older than
   * the known data, which means that the list is stale.
   */
  #takePage({ items, askedAt }: AnswerOf<'whole-page'>, pass: number, followed: string): boolean {
    const uuids: string[] = [];
    let isStale = false;
    this.#failures = 0;
    for (const { value, json } of items) {
      const uuid = bicycleUuid(value);
      if (uuid === undefined) continue;
      uuids.push(uuid);
      const mark = this.known.isWhole || this.known.store.isTable ? NO_MARK : undefined;
      if (this.takeItem(value, mark, askedAt, { followed, json })?.isStale) isStale = true;
    }
    this.known.store.addListed(uuids, pass);
    this.progress.read += uuids.length;
    return isStale;
  }

  /** Handles an incomplete result. The pause before the list is read again grows each time. */
  #endUnproven(event: string, reason: string, again?: string): WholeResult {
    const inMs = doublingPauseMs(
      ++this.#unproven,
      FIRST_UNPROVEN_PAUSE_MS,
      LONGEST_UNPROVEN_PAUSE_MS,
    );
    this.#allowedMs = this.now.monotonicMs + inMs;
    this.emit({
      type: 'notice',
      event,
      message: again === undefined ? reason : `${reason}; ${again}`,
    });
    if (again !== undefined) this.wanted = { reason, dueMs: this.#allowedMs };
    return { gone: 0, reason, total: undefined };
  }

  /** Handles a failed request. The list is later read again from the first page. */
  #takeFailure(error: FleetError, now: Moment) {
    const inMs = doublingPauseMs(++this.#failures, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
    this.stop();
    this.wanted = { reason: error.message, dueMs: now.monotonicMs + inMs };
    this.emit({ type: 'unread', error, sinceWallMs: undefined, retryInMs: inMs });
    this.onEnd({ gone: 0, reason: 'the whole list could not be read', total: undefined }, now);
  }
}

/** Returns the sum of the counts, or undefined when any count is unknown. */
export function totalOf(counts: readonly (number | undefined)[]): number | undefined {
  return counts.reduce(
    (sum, count) => (sum === undefined || count === undefined ? undefined : sum + count),
    0,
  );
}
