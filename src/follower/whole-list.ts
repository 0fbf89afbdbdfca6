// Reads the whole list, checks that it is complete, and finds the bicycles that are gone. No I/O.
//
// A reading is complete when one pass through the pages contained as many bicycles as the service
// counts, and none of them was older than the known data. A bicycle is gone when two complete
// readings lack it and no message about it arrived between them.

import { bicycleUuid } from '../api/bicycle.js';
import type { FleetError } from '../errors.js';
import { doublingPauseMs, type Moment } from '../system/clock.js';
import type { AnswerOf, Emit, FollowerOptions } from './events.js';
import type { ListPass, Meeting } from './fleet-store.js';
import { BEFORE_ALL, type KnownFleet, NO_MARK } from './known-fleet.js';
import { type OnEnd, Reader, type Steps } from './reader.js';

/** The result of a reading. */
export interface WholeResult {
  readonly gone: number;
  /** Why the reading is not complete. It is undefined for a complete reading. */
  readonly reason: string | undefined;
  /**
   * The sum of the service's counts of all lists. It is undefined when a list has no count or the
   * reading was incomplete.
   */
  readonly total: number | undefined;
}

/**
 * Called after a complete reading. From then on, the known data is at least as new as the start of
 * the reading.
 */
export type OnProven = (started: Moment, total: number | undefined, now: Moment) => void;

/** A pass that contained as many bicycles as the service counts. */
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

/** The maximum number of passes through the list in one reading. */
const MOST_PASSES = 3;
const OLDER = 'the list was older than the pushed updates';
/**
 * The time between two readings that prove a deletion. The pause is needed because a list can lag.
 */
const CONFIRM_PAUSE_MS = 5_000;
/** Pauses after failed readings, and after readings that were not complete. */
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 5 * 60_000;
const FIRST_UNPROVEN_PAUSE_MS = 2 * 60_000;
const LONGEST_UNPROVEN_PAUSE_MS = 6 * 3_600_000;

export class WholeList extends Reader<WholeAnswer, WholeResult> {
  readonly #onProven: OnProven;
  /** The next reading. */
  wanted: Wanted | undefined;
  /** The progress of the current reading, and the known counts of the lists. */
  progress = { read: 0, counts: [] as (number | undefined)[] };
  #passes = 0;
  /** The numbers of failed requests and of incomplete readings in a row. */
  #failures = 0;
  #unproven = 0;
  /** The earliest time, on the monotonic clock, at which a differing count may cause a reading. */
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

  /** Requests a reading. It begins at once, unless a recent reading was incomplete. */
  want(reason: string, now: Moment) {
    if (this.isReading || this.wanted !== undefined) return;
    const dueMs = this.known.isWhole ? Math.max(now.monotonicMs, this.#allowedMs) : now.monotonicMs;
    this.wanted = { reason, dueMs };
    if (this.known.isWhole)
      this.emit({ type: 'notice', event: 'whole', message: `reading the whole list: ${reason}` });
  }

  /** Whether a differing count may cause a reading now. */
  isAllowed(now: Moment): boolean {
    return now.monotonicMs >= this.#allowedMs;
  }

  /** Begins the wanted reading. */
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
   * Reads the list. Bicycles that the list lacks are gone only when a second reading also lacks
   * them, because pages can shift and a list can lag.
   */
  *#read(started: Moment): WholeSteps<WholeResult> {
    const { store } = this.known;
    store.beginList();
    // The second reading keeps the bicycles of the first one, because a bicycle in either list is
    // not gone.
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
   * Reads the lists until a pass is complete, at most three times. When no pass is complete,
   * returns the incomplete result.
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
      // The last pass may have a count that fell during the pass, because a busy fleet can lose
      // bicycles during every pass.
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
   * Reads all pages once. `stale` is the reason when the list was older than the known data.
   * `hasFallen` is true when a count fell, because a bicycle may then have moved to an earlier
   * page.
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
      // A bare array has no count. If it is a single page, no bicycle can be skipped between pages.
      counts[index] ??= isOne ? progress.read - before : undefined;
    }
    return { stale, hasFallen };
  }

  /** Handles a page. Returns true when one of its bicycles is older than the known data. */
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

  /** Ends an incomplete reading. The pause before the next one grows. */
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

  /** Handles a list that could not be read. The next reading starts at the first page. */
  #takeFailure(error: FleetError, now: Moment) {
    const inMs = doublingPauseMs(++this.#failures, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
    this.stop();
    this.wanted = { reason: error.message, dueMs: now.monotonicMs + inMs };
    this.emit({ type: 'unread', error, sinceWallMs: undefined, retryInMs: inMs });
    this.onEnd({ gone: 0, reason: 'the whole list could not be read', total: undefined }, now);
  }
}

/** Returns the sum of the counts, or undefined when one of them is unknown. */
export function totalOf(counts: readonly (number | undefined)[]): number | undefined {
  return counts.reduce(
    (sum, count) => (sum === undefined || count === undefined ? undefined : sum + count),
    0,
  );
}
