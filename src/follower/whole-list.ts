// Reads the whole list, proves it complete and finds what is gone. No I/O.
//
// A reading is proven complete when one pass through its pages showed as many bicycles as the service counts, none of them older than it
// was known. A bicycle that two such readings lack, and that no message named meanwhile, is gone.

import { bicycleUuid } from '../api/bicycle.js';
import type { FleetError } from '../errors.js';
import { doublingPauseMs, type Moment } from '../system/clock.js';
import type { AnswerOf, Emit, FollowerOptions } from './events.js';
import type { ListPass, Meeting } from './fleet-store.js';
import { type KnownFleet, NO_MARK } from './known-fleet.js';
import { type OnEnd, Reader, type Steps } from './reader.js';

/** What a reading came to, when nothing more is read at once. */
export interface WholeResult {
  readonly gone: number;
  /** Why it does not tell which bicycles there are; undefined where it does. */
  readonly reason: string | undefined;
  /** The service's count of all lists, where it says one and the reading was proven. */
  readonly total: number | undefined;
}

/** A reading was proven: what is known holds what the list held when it began. */
export type OnProven = (started: Moment, total: number | undefined, now: Moment) => void;

/** A pass that met as many bicycles as the service counts. */
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

/** How often the pages are read at most before a reading counts as not proven. */
const MOST_PASSES = 3;
/** A list may lag: what two readings so far apart do not show is gone. */
const CONFIRM_PAUSE_MS = 5_000;
/** Pauses after readings that failed, and that proved nothing. */
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 5 * 60_000;
const FIRST_UNPROVEN_PAUSE_MS = 2 * 60_000;
const LONGEST_UNPROVEN_PAUSE_MS = 6 * 3_600_000;

export class WholeList extends Reader<WholeAnswer, WholeResult> {
  readonly #onProven: OnProven;
  /** The reading that waits for its turn. */
  wanted: Wanted | undefined;
  /** How far the reading in progress is, and the service's count of each list, as far as it is known. */
  progress = { read: 0, counts: [] as (number | undefined)[] };
  #passes = 0;
  /** Requests in a row that failed, and readings that proved nothing. */
  #failures = 0;
  #unproven = 0;
  /** Before this moment of the monotonic clock none begins for the count's sake. */
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

  /** A reading is to begin, at once unless one proved nothing shortly before. */
  want(reason: string, now: Moment) {
    if (this.isReading || this.wanted !== undefined) return;
    const dueMs = this.known.isWhole ? Math.max(now.monotonicMs, this.#allowedMs) : now.monotonicMs;
    this.wanted = { reason, dueMs };
    if (this.known.isWhole)
      this.emit({ type: 'notice', event: 'whole', message: `reading the whole list: ${reason}` });
  }

  /** Whether one may begin for the count's sake. */
  isAllowed(now: Moment): boolean {
    return now.monotonicMs >= this.#allowedMs;
  }

  /** Begins the reading that is wanted. */
  begin(now: Moment) {
    this.wanted = undefined;
    this.start(this.#read(now), now);
  }

  take(answer: AnswerOf<'whole-page' | 'whole-met' | 'whole-failed'>, now: Moment) {
    if (answer.id !== this.id) return;
    if (answer.type === 'whole-failed') this.#takeFailure(answer.error, now);
    else this.goOn(answer, now);
  }

  /** Those that a proven reading did not show are gone, once a second one agrees: they may have slipped between two pages, or the list lagged. */
  *#read(started: Moment): WholeSteps<WholeResult> {
    const { store } = this.known;
    store.beginList();
    // What a second reading shows counts beside what the first one showed.
    for (let isConfirmed = false; ; isConfirmed = true) {
      const proof = yield* this.#prove(started);
      if ('gone' in proof) return proof;
      const { pass, missing, known, total } = proof;
      if (missing > 0 && !total) {
        const cannot =
          total === undefined ? 'the service does not say how many there are' : 'the list is empty';
        const message = `${missing} of the known bicycles are not in the list and stay as they are: ${cannot}`;
        return this.#endUnproven('kept', message);
      }
      if (missing > 0 && !isConfirmed) {
        const message = `${missing} of ${known} bicycles are not in the list any more; it is read once more to be sure`;
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

  /** Reads the lists until a pass proves something, three times at most; the end of the reading where none does. */
  *#prove(started: Moment): WholeSteps<Proof | WholeResult> {
    const { store } = this.known;
    const startedAt = this.now;
    for (let tries = 1; ; tries++) {
      const number = ++this.#passes;
      const { isStale, hasFallen } = yield* this.#readPass(number);
      const total = totalOf(this.progress.counts);
      const full = 'there are too many bicycles to compare';
      if (store.isFull()) return { gone: 0, reason: full, total: undefined };
      const serviceMs = this.known.time.at(started.monotonicMs);
      const seesAll = this.options.seesAll?.() ?? true;
      const pass = { id: this.lastId, pass: number, started, serviceMs, seesAll };
      const meeting = store.meet(pass) ?? ((yield undefined) as AnswerOf<'whole-met'>);
      const isShort = total !== undefined && meeting.met < total;
      // Where bicycles leave all the time, no pass would do.
      if (!isShort && !isStale && !(hasFallen && tries < MOST_PASSES)) {
        this.#onProven(startedAt, total, this.now);
        return { ...meeting, pass, total };
      }
      if (tries < MOST_PASSES) continue;
      const what = isShort
        ? `showed ${meeting.met} of ${total} bicycles`
        : 'was older than the pushed updates';
      return this.#endUnproven(
        'incomplete',
        `the list ${what}, ${MOST_PASSES} times`,
        'it is read again later',
      );
    }
  }

  /** One time through the lists: whether one showed a bicycle older than it was known, or its count fell, so that one may have slipped to a page that was read. */
  *#readPass(number: number): WholeSteps<{ isStale: boolean; hasFallen: boolean }> {
    const { organizations } = this.options;
    const counts: (number | undefined)[] = organizations.map(() => undefined);
    const progress = { read: 0, counts };
    this.progress = progress;
    let [isStale, hasFallen] = [false, false];
    for (const [index, organization] of organizations.entries()) {
      const before = progress.read;
      let page = (yield { type: 'read-whole', organization }) as AnswerOf<'whole-page'>;
      const isOne = page.isLast;
      for (;;) {
        if (this.#takePage(page, number, organization)) isStale = true;
        if (page.count !== undefined && page.count < (counts[index] ?? 0)) hasFallen = true;
        else counts[index] = page.count ?? counts[index];
        this.emit({ type: 'counted', total: totalOf(counts) });
        if (this.known.store.isFull()) return { isStale, hasFallen };
        if (page.isLast) break;
        page = (yield undefined) as AnswerOf<'whole-page'>;
      }
      // A bare array has no count; where it came in one piece, nothing can have slipped between its pages.
      counts[index] ??= isOne ? progress.read - before : undefined;
    }
    return { isStale, hasFallen };
  }

  /** Whether the page shows a bicycle older than it was known. */
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

  /** A reading that proved nothing: the next one waits, longer each time. */
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

  /** A list that cannot be read is read again from its beginning. */
  #takeFailure(error: FleetError, now: Moment) {
    const inMs = doublingPauseMs(++this.#failures, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
    this.stop();
    this.wanted = { reason: error.message, dueMs: now.monotonicMs + inMs };
    this.emit({ type: 'unread', error, sinceWallMs: undefined, retryInMs: inMs });
    this.onEnd({ gone: 0, reason: 'the whole list could not be read', total: undefined }, now);
  }
}

/** The sum of counts; undefined where one of them is not known. */
export function totalOf(counts: readonly (number | undefined)[]): number | undefined {
  return counts.reduce(
    (sum, count) => (sum === undefined || count === undefined ? undefined : sum + count),
    0,
  );
}
