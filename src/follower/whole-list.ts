// Reads the whole list, proves it complete and finds what is gone. No I/O.
//
// A reading is proven when a pass through its pages met as many bicycles as the service counted on any of them, none older than it was
// known. What two proven readings do not show, and no message told of meanwhile, is gone.

import { type Bicycle, bicycleUuid } from '../api/bicycle.js';
import { doublingPauseMs, type Moment } from '../clock.js';
import type { Item } from '../http/types.js';
import type { AnswerOf, Emit } from './events.js';
import { type KnownFleet, NO_MARK } from './known-fleet.js';
import type { ListPass, Meeting } from './store.js';

/** What a reading came to, when nothing more is read at once. */
export interface WholeResult {
  readonly gone: number;
  /** Why it does not tell which bicycles there are; undefined where it does. */
  readonly reason: string | undefined;
  /** The service's count of all lists, where it says one and the reading was proven. */
  readonly total: number | undefined;
}

export interface WholeOptions {
  readonly organizations: readonly string[];
  readonly seesAll: (() => boolean) | undefined;
  /** A reading was proven: what is known holds what the list held when it began. */
  onProven(started: Moment, total: number | undefined, now: Moment): void;
  onEnd(result: WholeResult, now: Moment): void;
}

/** One reading of the lists, over as many passes as it takes. */
interface Reading {
  readonly id: number;
  readonly startedAt: Moment;
  /** When the reading began that this one confirms; undefined for the first of the two. */
  readonly confirms: Moment | undefined;
  /** How often the pages were read. */
  tries: number;
  pass: Pass;
}

/** One time through the lists; changes in place. */
interface Pass {
  readonly number: number;
  /** Which organization's list is read, and how many pages and bicycles of it came. */
  organization: number;
  pagesHere: number;
  metHere: number;
  /** Bicycles met in all lists. */
  read: number;
  /** The service's count of each list, as far as it is known; null where it says none. */
  readonly counts: (number | null)[];
  /** Some bicycle was older than it was known. */
  isStale: boolean;
}

interface Wanted {
  readonly reason: string;
  readonly dueMs: number;
  readonly confirms?: Moment | undefined;
}

/** How often the pages are read at most before a reading counts as not proven. */
const MOST_PASSES = 3;
/** Pauses after readings that failed, and that proved nothing. */
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 5 * 60_000;
const FIRST_UNPROVEN_PAUSE_MS = 2 * 60_000;
const LONGEST_UNPROVEN_PAUSE_MS = 6 * 3_600_000;

export class WholeList {
  readonly #known: KnownFleet;
  readonly #options: WholeOptions;
  readonly #emit: Emit;
  #reading: Reading | undefined;
  #wanted: Wanted | undefined;
  #readings = 0;
  #passes = 0;
  /** Requests in a row that failed, and readings that proved nothing. */
  #failures = 0;
  #unproven = 0;
  /** Before this moment of the monotonic clock none begins for the count's sake. */
  #allowedMs = Number.NEGATIVE_INFINITY;

  constructor(known: KnownFleet, options: WholeOptions, emit: Emit) {
    this.#known = known;
    this.#options = options;
    this.#emit = emit;
  }

  get isReading(): boolean {
    return this.#reading !== undefined;
  }

  /** The number of the reading in progress: answers to others are not waited for. */
  get id(): number | undefined {
    return this.#reading?.id;
  }

  get wanted(): Pick<Wanted, 'reason' | 'dueMs'> | undefined {
    return this.#wanted;
  }

  /** How far the reading in progress is. */
  get progress(): Pick<Pass, 'read' | 'counts'> | undefined {
    return this.#reading?.pass;
  }

  /** A reading is to begin, at once unless one proved nothing shortly before. */
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

  /** Begins the reading that is wanted. */
  begin(now: Moment) {
    if (this.#wanted === undefined) return;
    const { confirms } = this.#wanted;
    // What a second reading shows counts beside what the first one showed.
    if (confirms === undefined) this.#known.store.beginList();
    this.#wanted = undefined;
    this.#reading = { id: ++this.#readings, startedAt: now, confirms, tries: 1, pass: this.#newPass() };
    this.#readOn(this.#reading, now);
  }

  take(answer: AnswerOf<'whole-page' | 'whole-met' | 'whole-failed'>, now: Moment) {
    const reading = this.#reading;
    if (reading === undefined || answer.id !== reading.id) return;
    if (answer.type === 'whole-page') this.#takePage(reading, answer, now);
    else if (answer.type === 'whole-met') this.#takeMeeting(reading, answer, now);
    else this.#takeFailure(reading, answer, now);
  }

  #newPass(): Pass {
    const number = ++this.#passes;
    return { number, organization: 0, pagesHere: 0, metHere: 0, read: 0, counts: [], isStale: false };
  }

  #readOn(reading: Reading, now: Moment) {
    const { id, pass } = reading;
    const organization = this.#options.organizations[pass.organization];
    if (organization !== undefined) return this.#emit({ type: 'read-whole', id, organization });
    const meeting = this.#known.store.meet(this.#passOf(reading));
    if (meeting !== undefined) this.#takeMeeting(reading, meeting, now);
  }

  #takePage(reading: Reading, { items, count, isLast, askedAt }: AnswerOf<'whole-page'>, now: Moment) {
    const { pass } = reading;
    const { counts, organization } = pass;
    const uuids: string[] = [];
    this.#failures = 0;
    for (const item of items) {
      const uuid = bicycleUuid(item.value);
      if (uuid === undefined) continue;
      uuids.push(uuid);
      if (this.#takeItem(item, organization, askedAt, now)) pass.isStale = true;
    }
    this.#known.store.addListed(uuids, this.#passOf(reading));
    const most = Math.max(count ?? -1, counts[organization] ?? -1);
    counts[organization] = most < 0 ? null : most;
    pass.read += uuids.length;
    pass.pagesHere++;
    pass.metHere += uuids.length;
    this.#emit({ type: 'counted', total: this.#total(pass) });
    if (!this.#known.store.isFull()) return isLast ? this.#takeListEnd(reading, now) : undefined;
    this.#reading = undefined;
    this.#options.onEnd({ gone: 0, reason: 'there are too many bicycles to compare', total: undefined }, now);
  }

  /** Whether the list shows it older than it was known. */
  #takeItem({ value, json }: Item<Bicycle>, organization: number, askedAt: number, now: Moment): boolean {
    const followed = this.#options.organizations[organization] ?? '';
    if (!this.#known.isWhole && !this.#known.store.isTable) {
      this.#emit({ type: 'learned', bicycle: this.#known.learn(value, now, { followed }) });
      return false;
    }
    const { change, isStale } = this.#known.compare(value, NO_MARK, askedAt, now, { followed, json });
    if (change !== undefined) this.#emit({ type: 'caught-up', change });
    return isStale;
  }

  #takeListEnd(reading: Reading, now: Moment) {
    const { pass } = reading;
    const { counts, organization, pagesHere, metHere } = pass;
    // A bare array has no count; where it came in one piece, nothing can have slipped between its pages.
    counts[organization] ??= pagesHere === 1 ? metHere : null;
    Object.assign(pass, { organization: organization + 1, pagesHere: 0, metHere: 0 });
    this.#readOn(reading, now);
  }

  #passOf({ id, pass, confirms, startedAt: started }: Reading): ListPass {
    const since = confirms ?? started;
    const serviceMs = this.#known.serviceMs(since.monotonicMs);
    return { id, pass: pass.number, started: since, serviceMs, seesAll: this.#options.seesAll?.() ?? true };
  }

  /** How many bicycles the service counts; undefined where it does not say. */
  #total({ counts }: Pass): number | undefined {
    return totalOf(this.#options.organizations.map((_, index) => counts[index] ?? undefined));
  }

  #takeMeeting(reading: Reading, { met, missing, known }: Meeting, now: Moment) {
    const { pass, startedAt, confirms } = reading;
    const total = this.#total(pass);
    const isShort = total !== undefined && met < total;
    const isUnproven = isShort || pass.isStale;
    if (isUnproven && reading.tries < MOST_PASSES) {
      reading.tries++;
      reading.pass = this.#newPass();
      return this.#readOn(reading, now);
    }
    this.#reading = undefined;
    if (isUnproven) {
      const what = isShort ? `showed ${met} of ${total} bicycles` : 'was older than the pushed updates';
      return this.#endUnproven('incomplete', `the list ${what}, ${MOST_PASSES} times`, 'it is read again later', now);
    }
    this.#options.onProven(startedAt, total, now);
    if (missing === 0) return this.#endProven(0, total, now);
    if (total === undefined || total === 0) {
      const cannot = total === undefined ? 'the service does not say how many there are' : 'the list is empty';
      const message = `${missing} of the known bicycles are not in the list and stay as they are: ${cannot}`;
      return this.#endUnproven('kept', message, undefined, now);
    }
    if (confirms === undefined) {
      // What one proven reading did not show may have slipped between two pages: a second one has to agree.
      const message = `${missing} of ${known} bicycles are not in the list any more; it is read once more to be sure`;
      this.#wanted = { reason: message, dueMs: now.monotonicMs, confirms: startedAt };
      return this.#emit({ type: 'notice', event: 'confirm', message });
    }
    const gone = this.#known.store.removeMissing(this.#passOf(reading));
    for (const one of gone) this.#emit({ type: 'gone', ...one });
    this.#endProven(gone.length, total, now);
  }

  #endProven(gone: number, total: number | undefined, now: Moment) {
    this.#unproven = 0;
    this.#options.onEnd({ gone, reason: undefined, total }, now);
  }

  /** A reading that proved nothing: the next one waits, longer each time. */
  #endUnproven(event: string, reason: string, again: string | undefined, now: Moment) {
    const inMs = doublingPauseMs(++this.#unproven, FIRST_UNPROVEN_PAUSE_MS, LONGEST_UNPROVEN_PAUSE_MS);
    this.#allowedMs = now.monotonicMs + inMs;
    this.#emit({ type: 'notice', event, message: again === undefined ? reason : `${reason}; ${again}` });
    if (again !== undefined) this.#wanted = { reason, dueMs: this.#allowedMs };
    this.#options.onEnd({ gone: 0, reason, total: undefined }, now);
  }

  /** A list that cannot be read is read again from its beginning. */
  #takeFailure({ confirms }: Reading, { error }: AnswerOf<'whole-failed'>, now: Moment) {
    const inMs = doublingPauseMs(++this.#failures, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
    this.#reading = undefined;
    this.#wanted = { reason: error.message, dueMs: now.monotonicMs + inMs, confirms };
    this.#emit({ type: 'unread', error, sinceWallMs: undefined, retryInMs: inMs });
    this.#options.onEnd({ gone: 0, reason: 'the whole list could not be read', total: undefined }, now);
  }
}

/** The sum of counts; undefined where one of them is not known. */
export function totalOf(counts: readonly (number | undefined)[]): number | undefined {
  return counts.reduce((sum, count) => (sum === undefined || count === undefined ? undefined : sum + count), 0);
}
