// Reads the list, newest first, to learn what changed during a gap, and at the start. No I/O.
//
// After a gap the list is read in `-modified` order. Everything that changed in the gap stands above the first bicycle that was
// modified well before it, so the reading is complete when it gets there, or to the end of the list; where only the machine's date says when
// the gap began, only at the end. A list that changed while it was read, or that is older than what had been pushed, is read again, twice at
// most. An order that is not kept, a bound that is reached, or a bicycle of which it cannot be said whether it changed make the reading
// incomplete.

import { type Bicycle, bicycleUuid } from '../api/bicycle.js';
import type { FleetError } from '../errors.js';
import type { Page, Query } from '../http/types.js';
import { doublingPauseMs, type Moment } from '../system/clock.js';
import { readTime } from '../terminal/time.js';
import type { AnswerOf, Emit, FollowerOptions, Report } from './events.js';
import { isHidden } from './fleet-store.js';
import { DISORDER_MS, type KnownFleet, type Mark } from './known-fleet.js';
import { type OnEnd, Reader, type Steps } from './reader.js';
import { totalOf } from './whole-list.js';

/** A reading that ended, for the follower. */
export interface EndedReading {
  /** Undefined where the counts alone were read. */
  readonly report?: Report;
  readonly mark: Mark | undefined;
  /** The service's count of all lists; undefined where one is not known. */
  readonly total: number | undefined;
}

/** What is to be looked up. */
interface Missed {
  /** Undefined at the start, when nothing can have been missed. */
  readonly mark: Mark | undefined;
  /** By the machine's date; undefined for the start. */
  readonly sinceWallMs: number | undefined;
  /** Of each organization; 0: the counts alone. */
  readonly mostPages: number;
}

type CatchUpSteps<Result> = Steps<Page<Bicycle> | Bicycle, Result>;

type Pass = ReturnType<typeof newPass>;

/** Two readings are at least this far apart: a connection that comes and goes must not become a crawl. */
const READING_PAUSE_MS = 10_000;
/** After a list that could not be read, the next try waits longer than the client's own tries took; one that is refused again and again, longer. */
const UNREAD_PAUSE_MS = 30_000;
const LONGEST_REFUSED_PAUSE_MS = 5 * 60_000;
/** A list that changed while it was read is read again after this, twice at most. */
const AGAIN_PAUSE_MS = 2_000;
const MOST_ATTEMPTS = 3;

const NO_ORDER = 'the list is not in the order of "modified"';
const BOUND_REACHED = 'only the last changed bicycles were read; raise --resync-pages to be sure';

export class CatchUp extends Reader<Page<Bicycle> | Bicycle, EndedReading> {
  /** What was known when the stream went silent: the gap waits for its reading; undefined once that has begun. */
  mark: Mark | undefined;
  /** The reading that waits for its turn. */
  wanted: Omit<Missed, 'mark'> | undefined;
  /** What the last reading looks up, or did. */
  #sought: Missed = { mark: undefined, sinceWallMs: undefined, mostPages: 0 };
  /** Before this moment of the monotonic clock no reading begins. */
  #dueMs = Number.NEGATIVE_INFINITY;
  /** Readings that were refused since one was not. */
  #refusals = 0;
  /** The list was read from its beginning, as far as it is read. */
  #hasBaseline = false;
  /** Some bicycle was found at its own address, so that 404 there means something. */
  #hasAddresses = false;

  constructor(known: KnownFleet, options: FollowerOptions, emit: Emit, onEnd: OnEnd<EndedReading>) {
    super(known, options, emit, (ended, now) => {
      this.#refusals = 0;
      onEnd(ended, now);
    });
  }

  /** Whether changes remain to be looked up. */
  get isBehind(): boolean {
    return this.mark !== undefined || (this.isReading && this.#sought.mark !== undefined);
  }

  /** Messages may be missing from that moment of the monotonic clock on: of two topics the second may have gone silent first. */
  missFrom(fromMs: number, mark?: Mark) {
    if (this.mark === undefined || fromMs < this.mark.fromMs)
      this.mark = mark ?? this.known.mark(fromMs);
  }

  /** Requests a reading of what was missed, in so many pages of an organization at most; 0: the counts alone. */
  want(sinceWallMs: number | undefined, mostPages: number, now: Moment) {
    // A gap without a mark is one event that could not be read.
    if (sinceWallMs !== undefined) this.missFrom(now.monotonicMs);
    this.wanted = { sinceWallMs: earliest(this.wanted?.sinceWallMs, sinceWallMs), mostPages };
  }

  /** Another reading has found what this one was to look for. */
  forget() {
    this.mark = undefined;
    this.wanted = undefined;
    this.stop();
  }

  /** Begins the reading that is wanted, as soon as it may begin. */
  begin(now: Moment) {
    if (this.wanted === undefined || now.monotonicMs < this.#dueMs) return;
    const mark = this.mark;
    const { mostPages } = this.wanted;
    // A first reading that comes after a gap has to be compared with what little is known.
    const sinceWallMs = mark === undefined ? undefined : (this.wanted.sinceWallMs ?? now.wallMs);
    this.forget();
    if (mark !== undefined) this.#dueMs = now.monotonicMs + READING_PAUSE_MS;
    this.#sought = { mark, sinceWallMs, mostPages };
    this.start(this.#read(this.#sought), now);
  }

  /** Takes an answer of the service; answers to an earlier reading are ignored. */
  take(answer: AnswerOf<'page' | 'bicycle' | 'failed'>, now: Moment) {
    if (answer.id !== this.id) return;
    if (answer.type === 'failed') this.#takeFailure(this.#sought, answer.error, now);
    else this.goOn(answer.type === 'page' ? answer.page : answer.bicycle, now);
  }

  /** The service's counts. */
  *#count(): CatchUpSteps<(number | undefined)[]> {
    const counts: (number | undefined)[] = [];
    for (const organization of this.options.organizations)
      counts.push(
        countOf((yield { type: 'read-page', organization, isCount: true }) as Page<Bicycle>),
      );
    return counts;
  }

  *#read(missed: Missed): CatchUpSteps<EndedReading> {
    if (missed.mostPages === 0) return { mark: undefined, total: totalOf(yield* this.#count()) };
    const { mark, sinceWallMs } = missed;
    const { bicycles, organizations } = this.options;
    const found = newFound();
    for (let attempt = 1; ; attempt++) {
      const pass = newPass(missed, found, bicycles, this.known.merged);
      const isTold = yield* this.#readNames(pass);
      for (const organization of isTold ? [] : organizations)
        if (pass.missing?.size !== 0) pass.counts.push(yield* this.#readList(pass, organization));
      // One that went from list to list meanwhile is counted in both or in none: one that left would not be missed.
      const isShared = pass.missing === undefined && organizations.length > 1;
      const counts = isShared ? yield* this.#count() : pass.counts;
      if (`${counts}` !== `${pass.counts}`)
        pass.unsound ??= 'the counts of the organizations changed while they were read';
      const absent = this.#absent(pass);
      const isAgain = pass.unsound !== undefined || (mark !== undefined && absent.length > 0);
      const isAbsentTwice = absent.length > 0 && attempt > 1 && pass.unsound === undefined;
      if (isAgain && !isAbsentTwice && attempt < MOST_ATTEMPTS) {
        yield this.now.monotonicMs + AGAIN_PAUSE_MS;
        continue;
      }
      const gone = isAbsentTwice ? absent : [];
      for (const uuid of gone) {
        const bicycle = this.known.remove(uuid, this.now);
        if (bicycle !== undefined) this.emit({ type: 'gone', uuid, bicycle });
      }
      const missing = [...(pass.missing ?? [])].filter(
        (uuid) => this.known.store.get(uuid)?.goneMs === undefined,
      );
      const lacks = missing.length > 0 ? `the list does not have ${missing.join(', ')}` : undefined;
      const { doubt, ...numbers } = found;
      const reason = pass.unsound ?? doubt ?? lacks;
      const isWhole = pass.missing === undefined && pass.isToTheEnd && pass.unsound === undefined;
      if (isWhole && !this.known.store.isTable) this.known.setWhole();
      const report = {
        sinceWallMs,
        ...numbers,
        gone: gone.length,
        isComplete: reason === undefined,
        reason,
        missing,
      };
      const total = pass.counts.length < organizations.length ? undefined : totalOf(pass.counts);
      return { report, mark, total };
    }
  }

  /** Reads those that are followed by name at their own addresses; whether these tell all that the lists could tell. */
  *#readNames(pass: Pass): CatchUpSteps<boolean> {
    const { bicycles = [], organizations } = this.options;
    let isTold = false;
    for (const uuid of bicycles) {
      const mergedBefore = this.known.merged;
      const bicycle = (yield { type: 'read-bicycle', uuid }) as Bicycle | undefined;
      if (bicycle !== undefined && bicycleUuid(bicycle) === uuid) {
        this.#hasAddresses = true;
        pass.missing?.delete(uuid);
        this.#takeListed(pass, bicycle, organizations[0] ?? '', mergedBefore);
        // Assumed: 404 and 405 are of a service without such an address as well; the list decides, unless one was found there before.
      } else if (this.#hasAddresses && pass.mark !== undefined) isTold = true;
    }
    return isTold;
  }

  /** Reads the list of an organization as far as it has to be read, or may be; returns the service's count. */
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
        // What is further down is read once as well, as far as the bound: a bicycle that was never met cannot be missed.
      } while (
        next !== undefined &&
        list.pages < mostPages &&
        !(isPast(list) && (this.known.isWhole || this.#hasBaseline))
      );
      if (next === undefined) break;
      this.#hasBaseline = true;
      pass.isToTheEnd = false;
      // Of a list that lags, one may have moved to the head while the other pages were read.
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
    // Where a bicycle left the list meanwhile, another one may have slipped from a page to the one before.
    if (next === undefined && met < (list.total ?? 0))
      pass.unsound ??= `it showed ${met} of ${list.total} bicycles`;
    else if (next !== undefined && !isPast(list))
      found.doubt ??= list.lastMs === undefined ? NO_ORDER : BOUND_REACHED;
    // Those followed by name that were not met in the last organization stand further down, so they did not change.
    else if (next !== undefined && organization === this.options.organizations.at(-1))
      missing?.clear();
    return list.total;
  }

  #takePage(pass: Pass, list: List, page: Page<Bicycle>, mergedBefore: number) {
    this.emit({ type: 'counted', total: page.count });
    pass.found.pages++;
    list.pages++;
    if (list.pages === 1 && list.look === 1) list.total = countOf(page);
    else if (page.count !== undefined && page.count !== list.total)
      pass.unsound ??= `its count went from ${list.total ?? '?'} to ${page.count} while it was read`;
    for (const { value } of page.items) {
      const uuid = bicycleUuid(value);
      const modifiedMs = readTime(value.modified);
      // A second look is for what moved to the head since. Within one second only versions tell which of two replicas is newer.
      const isMet = uuid === undefined || list.met.has(uuid);
      const isOld = (modifiedMs ?? 0) <= list.floorMs && value.concurrency_version == null;
      const isSeen = list.look > 1 && isMet && isOld;
      if (uuid !== undefined) list.met.add(uuid);
      list.headMs ??= modifiedMs;
      // In a list that is out of order once, nothing proves that the rest is older.
      const { lastMs } = list;
      list.lastMs =
        modifiedMs === undefined || lastMs === undefined || modifiedMs > lastMs
          ? undefined
          : modifiedMs;
      if (!isSeen && (pass.missing === undefined || pass.missing.delete(uuid ?? '')))
        this.#takeListed(pass, value, list.organization, mergedBefore);
    }
  }

  /** One item of a list or of its own address: learned at the start, compared after a gap. */
  #takeListed(pass: Pass, item: Bicycle, followed: string, mergedBefore: number) {
    const { mark, found } = pass;
    const comparison = this.takeItem(item, mark, mergedBefore, { followed });
    if (comparison === undefined) return;
    const { change, isUnknown, isUncertain, isStale } = comparison;
    if (isUnknown) found.unknown++;
    if (isUncertain) found.doubt ??= 'for some bicycles it is unclear whether they changed';
    if (isStale) pass.unsound ??= 'the list is older than the pushed updates';
    if (change !== undefined) found.changes++;
  }

  /** The bicycles followed by name that were known, and that the service does not have any more. */
  #absent({ missing, isToTheEnd, counts, mergedBefore }: Pass): string[] {
    // A list that does not say how many it has may have lost one between its pages.
    const isListProof = isToTheEnd && !counts.includes(undefined);
    if (missing === undefined || !(isListProof || this.#hasAddresses)) return [];
    return [...missing].filter((uuid) => {
      const entry = this.known.store.get(uuid);
      if (entry === undefined || entry.goneMs !== undefined || entry.merged > mergedBefore)
        return false;
      return (this.options.seesAll?.() ?? true) || !isHidden(entry);
    });
  }

  /** A list that cannot be read is tried again later, whatever the service says: page 2 of one that has become shorter is not found. */
  #takeFailure({ mark, sinceWallMs, mostPages }: Missed, error: FleetError, now: Moment) {
    this.stop();
    // The counts are compared again soon.
    if (mostPages === 0) return;
    this.#refusals = ['not-found', 'rejected'].includes(error.kind) ? this.#refusals + 1 : 1;
    const retryInMs = doublingPauseMs(this.#refusals, UNREAD_PAUSE_MS, LONGEST_REFUSED_PAUSE_MS);
    this.#dueMs = now.monotonicMs + retryInMs;
    // As it was taken: of one that a mirror had when the date was set back, the service's time of now says less.
    if (mark !== undefined) this.missFrom(mark.fromMs, mark);
    this.wanted = { sinceWallMs: earliest(this.wanted?.sinceWallMs, sinceWallMs), mostPages };
    this.emit({ type: 'unread', error, sinceWallMs, retryInMs });
  }
}

/** What a reading has brought so far, and why it is not complete, however often it is read. */
const newFound = () => ({
  pages: 0,
  changes: 0,
  unknown: 0,
  doubt: undefined as string | undefined,
});

/** One time through the lists. */
function newPass(
  missed: Missed,
  found: ReturnType<typeof newFound>,
  bicycles: ReadonlySet<string> | undefined,
  /** The number of messages when it began: a bicycle with a later message is not gone, whatever the list says. */
  mergedBefore: number,
) {
  return {
    ...{ ...missed, found, mergedBefore },
    /** The bicycles followed by name that were not met yet; undefined when all are followed. */
    missing: bicycles && new Set(bicycles),
    /** The service's counts of the lists that were read. */
    counts: [] as (number | undefined)[],
    /** Why it is not complete, and may be when it is read again. */
    unsound: undefined as string | undefined,
    /** Every list was read to its last page. */
    isToTheEnd: true,
  };
}

/** One organization's list; it may be looked at from its head again. */
type List = ReturnType<typeof newList>;

function newList(organization: string, mark: Mark | undefined) {
  return {
    organization,
    // By the machine's date alone, which may be ahead, changes would stand below the floor: then there is none.
    ...newLook(
      1,
      mark?.isProven === true ? mark.modifiedMs - DISORDER_MS : Number.NEGATIVE_INFINITY,
    ),
    /** The bicycles that it showed, each once: they move down while it is read. */
    met: new Set<string>(),
    /** The service's count on its first page. */
    total: undefined as number | undefined,
  };
}

/** What is older than the floor is not looked for. */
function newLook(look: number, floorMs: number) {
  return {
    ...{ look, floorMs, pages: 0 },
    /** The `modified` of the first item, and of the last one; undefined as soon as the order was not kept. */
    headMs: undefined as number | undefined,
    lastMs: Number.POSITIVE_INFINITY as number | undefined,
  };
}

function isPast({ lastMs, floorMs }: List): boolean {
  return lastMs !== undefined && lastMs < floorMs;
}

/** A bare array has no count, and came in one piece. */
function countOf({ count, next, items }: Page<Bicycle>): number | undefined {
  return count ?? (next === undefined ? items.length : undefined);
}

function earliest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : b === undefined ? a : Math.min(a, b);
}
