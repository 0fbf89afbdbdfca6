// Reads the whole list, proves it complete and finds what is gone. No I/O.
//
// A reading is proven when a pass through its pages met as many bicycles as the service counted on any of them, none older than it was
// known. What two proven readings do not show, and no message told of meanwhile, is gone.

import { type Bicycle, bicycleUuid } from '../api/bicycle.js';
import { doublingPauseMs, type Moment, momentAt } from '../clock.js';
import type { Item } from '../http/types.js';
import type { AnswerOf, Emit, ListProgress } from './events.js';
import { type KnownFleet, NO_MARK } from './known-fleet.js';
import type { ListPass, Meeting } from './store.js';

/** What a reading came to, when nothing more is read at once. */
export interface WholeResult {
  readonly gone: number;
  /** Why it does not tell which bicycles there are; undefined where it does. */
  readonly reason: string | undefined;
}

export interface WholeOptions {
  readonly organizations: readonly string[];
  readonly seesAll: (() => boolean | undefined) | undefined;
  /** A reading was proven: what is known holds what the list held when it began. */
  onProven(started: Moment, total: number | undefined, now: Moment): void;
  onEnd(result: WholeResult, now: Moment): void;
}

interface Reading {
  readonly id: number;
  readonly progress: ListProgress;
  /** Of the organization that is read now. */
  readonly pagesHere: number;
  readonly metHere: number;
  /** Some bicycle of this pass was older than it was known. */
  readonly isStale: boolean;
}

interface Wanted {
  readonly reason: string;
  readonly dueMs: number;
  /** Where one that was interrupted goes on, and when it began: by the monotonic clock, for the date may have stepped since. */
  readonly progress?: ListProgress | undefined;
  readonly startedAt?: Moment;
}

/** How often the pages are read at most before a reading counts as not proven. */
const MOST_PASSES = 3;
/** Pauses after readings that failed, and that came to nothing. */
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 5 * 60_000;
const FIRST_VAIN_PAUSE_MS = 2 * 60_000;
const LONGEST_VAIN_PAUSE_MS = 6 * 3_600_000;

/** Where a pass through the lists begins. */
const FIRST_PAGE = { organizations: 0, page: 1, read: 0, counts: [] } as const;

export class WholeList {
  readonly #known: KnownFleet;
  readonly #options: WholeOptions;
  readonly #emit: Emit;
  #reading: Reading | undefined;
  #wanted: Wanted | undefined;
  #readings = 0;
  #startedAt: Moment = { monotonicMs: 0, wallMs: 0 };
  /** When the first of the two readings began that have to agree: what was heard since, one reading alone cannot have missed. */
  #missingSince: Moment = this.#startedAt;
  /** Requests in a row that failed, and readings that proved nothing. */
  #failures = 0;
  #vain = 0;
  /** Before this moment of the monotonic clock none begins for the count's sake. */
  #allowedMs = Number.NEGATIVE_INFINITY;
  /** The list shows available bicycles alone. */
  #isFiltered = false;

  constructor(known: KnownFleet, options: WholeOptions, emit: Emit) {
    this.#known = known;
    this.#options = options;
    this.#emit = emit;
  }

  get isReading(): boolean {
    return this.#reading !== undefined;
  }

  get isFiltered(): boolean {
    return this.#isFiltered;
  }

  /** The number of the reading in progress: answers to others are not waited for. */
  get id(): number | undefined {
    return this.#reading?.id;
  }

  get wanted(): Pick<Wanted, 'reason' | 'dueMs'> | undefined {
    return this.#wanted;
  }

  get progress(): ListProgress | undefined {
    return this.#reading?.progress ?? this.#wanted?.progress;
  }

  /** A reading is to begin, at once unless one came to nothing shortly before. */
  want(reason: string, now: Moment) {
    if (this.#reading !== undefined || this.#wanted !== undefined) return;
    const dueMs = this.#known.isWhole ? Math.max(now.monotonicMs, this.#allowedMs) : now.monotonicMs;
    this.#wanted = { reason, dueMs };
    if (this.#known.isWhole)
      this.#emit({ type: 'notice', event: 'whole', message: `reading the whole list: ${reason}` });
  }

  /** None is wanted any more. */
  cancel() {
    this.#wanted = undefined;
  }

  /** Whether one may begin for the count's sake. */
  isAllowed(now: Moment): boolean {
    return now.monotonicMs >= this.#allowedMs;
  }

  /** Goes on with the reading of the program before. */
  resume(reason: string, progress: ListProgress | undefined, now: Moment) {
    const began = progress === undefined ? now : momentAt(Date.parse(progress.started), now);
    // One that began in the future would take all that was heard before it for missing.
    const startedAt = began.monotonicMs > now.monotonicMs ? now : began;
    this.#wanted = { reason, dueMs: now.monotonicMs, progress, startedAt };
  }

  /** Begins the reading that is wanted. */
  begin(now: Moment) {
    if (this.#wanted === undefined) return;
    const { startedAt = now, progress = beginningOf(now, false) } = this.#wanted;
    // What a second reading shows counts beside what the first one showed.
    if (this.#wanted.progress === undefined) this.#known.store.beginList();
    this.#wanted = undefined;
    const id = ++this.#readings;
    this.#startedAt = startedAt;
    if (!progress.isConfirming || id === 1) this.#missingSince = startedAt;
    this.#readOn({ id, progress, pagesHere: progress.page - 1, metHere: 0, isStale: false }, now);
  }

  take(answer: AnswerOf<'whole-page' | 'whole-list' | 'whole-met' | 'whole-failed'>, now: Moment) {
    const reading = this.#reading;
    if (reading === undefined || answer.id !== reading.id) return;
    if (answer.type === 'whole-page') this.#takePage(reading, answer, now);
    else if (answer.type === 'whole-list') this.#takeListEnd(reading, now);
    else if (answer.type === 'whole-met') this.#takeMeeting(reading, answer, now);
    else this.#takeFailure(reading, answer, now);
  }

  #readOn(reading: Reading, now: Moment) {
    this.#reading = reading;
    const { id, progress } = reading;
    const organization = this.#options.organizations[progress.organizations];
    if (organization !== undefined) return this.#emit({ type: 'read-whole', id, organization, page: progress.page });
    const meeting = this.#known.store.meet(this.#passOf(reading));
    if (meeting !== undefined) this.#takeMeeting(reading, meeting, now);
  }

  #takePage(before: Reading, answer: AnswerOf<'whole-page'>, now: Moment) {
    const { progress } = before;
    const uuids: string[] = [];
    this.#failures = 0;
    let { isStale } = before;
    for (const item of answer.items) {
      const uuid = bicycleUuid(item.value);
      if (uuid === undefined) continue;
      uuids.push(uuid);
      if (this.#takeItem(item, progress, answer.askedAt, now)) isStale = true;
    }
    this.#known.store.addListed(uuids, this.#passOf(before));
    const most = Math.max(answer.count ?? -1, progress.counts[progress.organizations] ?? -1);
    this.#reading = {
      ...before,
      progress: {
        ...progress,
        page: answer.nextPage ?? progress.page,
        read: progress.read + uuids.length,
        counts: counted(progress, most < 0 ? null : most),
      },
      pagesHere: before.pagesHere + 1,
      metHere: before.metHere + uuids.length,
      isStale,
    };
    this.#emit({ type: 'counted', total: this.#total(this.#reading.progress) });
    if (!this.#known.store.isFull()) return;
    this.#reading = undefined;
    this.#options.onEnd({ gone: 0, reason: 'there are too many bicycles to compare' }, now);
  }

  /** Whether the list shows it older than it was known. */
  #takeItem({ value, json }: Item<Bicycle>, progress: ListProgress, askedAt: number, now: Moment): boolean {
    const followed = this.#options.organizations[progress.organizations] ?? '';
    if (!this.#known.isWhole && !this.#known.store.isTable) {
      this.#emit({ type: 'learned', bicycle: this.#known.learn(value, now, { followed }) });
      return false;
    }
    const { change, isStale } = this.#known.compare(value, NO_MARK, askedAt, now, { followed, json });
    if (change !== undefined) this.#emit({ type: 'caught-up', change });
    return isStale;
  }

  #takeListEnd({ id, progress, pagesHere, metHere, isStale }: Reading, now: Moment) {
    const count = progress.counts[progress.organizations] ?? null;
    // A bare array has no count; where it came in one piece, nothing can have slipped between its pages.
    const counts = counted(progress, count === null && pagesHere === 1 ? metHere : count);
    const next = { ...progress, counts, organizations: progress.organizations + 1, page: 1 };
    this.#readOn({ id, progress: next, pagesHere: 0, metHere: 0, isStale }, now);
  }

  #passOf({ id, progress }: Reading): ListPass {
    const serviceMs = this.#known.serviceMs(this.#missingSince.monotonicMs);
    return { id, pass: progress.pass, started: this.#missingSince, serviceMs, seesAll: this.#options.seesAll?.() };
  }

  /** How many bicycles the service counts; undefined where it does not say. */
  #total({ counts: known }: ListProgress): number | undefined {
    const counts = this.#options.organizations.map((_, index) => known[index] ?? undefined);
    return counts.reduce((sum, count) => (sum === undefined || count === undefined ? undefined : sum + count), 0);
  }

  #takeMeeting(reading: Reading, { met, missing, hidden, known }: Meeting, now: Moment) {
    const { progress } = reading;
    const total = this.#total(progress);
    const isShort = total !== undefined && met < total;
    if ((isShort || reading.isStale) && progress.pass < MOST_PASSES) {
      const next = { ...progress, ...FIRST_PAGE, pass: progress.pass + 1 };
      return this.#readOn({ ...reading, progress: next, pagesHere: 0, metHere: 0, isStale: false }, now);
    }
    const pass = this.#passOf(reading);
    this.#reading = undefined;
    if (isShort || reading.isStale) {
      const what = isShort ? `showed ${met} of ${total} bicycles` : 'was older than the pushed updates';
      return this.#endInVain('incomplete', `the list ${what}, ${MOST_PASSES} times`, 'it is read again later', now);
    }
    this.#options.onProven(this.#startedAt, total, now);
    if (hidden > 0 && !this.#isFiltered) {
      const message = `the list shows only available bicycles, as to a token with fewer rights: ${hidden} others are known and kept`;
      this.#emit({ type: 'notice', event: 'filtered', message });
    }
    this.#isFiltered = hidden > 0;
    if (missing === 0) return this.#endProven(0, now);
    const cannot = total === undefined ? 'the service does not say how many there are' : 'the list is empty';
    if (total === undefined || total === 0) {
      const message = `${missing} of the known bicycles are not in the list and stay as they are: ${cannot}`;
      return this.#endInVain('kept', message, undefined, now);
    }
    if (!progress.isConfirming) {
      // What one proven reading did not show may have slipped between two pages: a second one has to agree.
      const message = `${missing} of ${known} bicycles are not in the list any more; it is read once more to be sure`;
      this.#wanted = { reason: message, dueMs: now.monotonicMs, progress: beginningOf(now, true) };
      return this.#emit({ type: 'notice', event: 'confirm', message });
    }
    const gone = this.#known.store.removeMissing(pass);
    for (const one of gone) this.#emit({ type: 'gone', ...one });
    this.#endProven(gone.length, now);
  }

  #endProven(gone: number, now: Moment) {
    this.#vain = 0;
    this.#options.onEnd({ gone, reason: undefined }, now);
  }

  /** A reading that proved nothing: the next one waits, longer each time. */
  #endInVain(event: string, reason: string, again: string | undefined, now: Moment) {
    const inMs = doublingPauseMs(++this.#vain, FIRST_VAIN_PAUSE_MS, LONGEST_VAIN_PAUSE_MS);
    this.#allowedMs = now.monotonicMs + inMs;
    this.#emit({ type: 'notice', event, message: again === undefined ? reason : `${reason}; ${again}` });
    if (again !== undefined) {
      this.#wanted = { reason, dueMs: this.#allowedMs };
      this.#emit({ type: 'wake', inMs });
    }
    this.#options.onEnd({ gone: 0, reason }, now);
  }

  /** A list that cannot be read is read on from the same page. */
  #takeFailure({ progress }: Reading, { error, random }: AnswerOf<'whole-failed'>, now: Moment) {
    const pauseMs = doublingPauseMs(++this.#failures, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
    const inMs = Math.ceil((0.5 + random / 2) * pauseMs);
    this.#reading = undefined;
    const dueMs = now.monotonicMs + inMs;
    this.#wanted = { reason: error.message, dueMs, progress, startedAt: this.#startedAt };
    this.#emit({ type: 'unread', error, sinceWallMs: undefined, retryInMs: inMs });
    this.#emit({ type: 'wake', inMs });
    this.#options.onEnd({ gone: 0, reason: 'the whole list could not be read' }, now);
  }
}

function beginningOf({ wallMs }: Moment, isConfirming: boolean): ListProgress {
  return { ...FIRST_PAGE, started: new Date(wallMs).toISOString(), isConfirming, pass: 1 };
}

/** The counts with that of the present organization; null where the service says none. */
function counted(progress: ListProgress, count: number | null): (number | null)[] {
  const counts = [...progress.counts];
  counts[progress.organizations] = count;
  return counts;
}
