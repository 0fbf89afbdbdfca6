// Reads the list, newest first, to learn what changed during a gap, and at the start. No I/O.
//
// After a gap the list is read in `-modified` order. Everything that changed in the gap stands above the first bicycle that was
// modified well before it, so the reading is complete when it gets there, or to the end of the list. A list that changed while it was
// read, or that is older than what had been pushed, is read again, twice at most. An order that is not kept, a bound that is reached, or
// a bicycle of which it cannot be said whether it changed make the reading incomplete.

import { type Bicycle, bicycleUuid } from '../api/bicycle.js';
import type { Moment } from '../clock.js';
import type { FleetError } from '../errors.js';
import type { Page, Query } from '../http/types.js';
import { readTime } from '../terminal/time.js';
import type { AnswerOf, Emit, FollowerOptions, Report } from './events.js';
import { DISORDER_MS, type KnownFleet, type Mark } from './known-fleet.js';
import { isHidden } from './store.js';

/** A reading that ended, for the follower. */
export interface EndedReading {
  readonly report: Report;
  readonly mark: Mark | undefined;
  /** The service's count of each organization whose list was read. */
  readonly totals: ReadonlyMap<string, number | undefined>;
  /** The counts alone were read. */
  readonly isCount: boolean;
}

/** Of one organization's list. */
interface ListState {
  /** From the head, and how often that was begun. */
  pages: number;
  looks: number;
  /** The `modified` of its first item, and of the last one that is looked for. */
  headMs: number | undefined;
  floorMs: number;
  /** The bicycles that it showed, each once: they move down while it is read. */
  readonly met: Set<string>;
  /** The service's count on its first page. */
  total: number | undefined;
  /** The `modified` of the last item; undefined as soon as the order was not kept. */
  lastMs: number | undefined;
}

/** One reading, over as many requests as it takes. */
interface Reading {
  readonly id: number;
  /** Undefined at the start, when nothing can have been missed. */
  readonly mark: Mark | undefined;
  readonly sinceWallMs: number | undefined;
  /** 0: the counts alone. */
  readonly mostPages: number;
  readonly found: { pages: number; changes: number; unknown: number };
  readonly totals: Map<string, number | undefined>;
  /** How often the lists were read from their beginning. */
  attempt: number;
  pass: Pass;
  /** How many messages had been merged when the request in flight was made. */
  heardBefore: number;
  /** Why it is not complete, however often it is read. */
  incomplete: string | undefined;
}

/** One time through the lists. */
interface Pass {
  /** Bicycles that are still to be read at their own address, and organizations, the present one first. */
  names: readonly string[];
  organizations: readonly string[];
  /** The bicycles followed by name that were not met yet; undefined when all are followed. */
  readonly missing: Set<string> | undefined;
  list: ListState;
  /** What the lists of other organizations showed before. */
  readonly elsewhere: Set<string>;
  /** Why it is not complete, and may be when it is read again. */
  unsound: string | undefined;
  /** The number of messages when it began: a bicycle with a later message is not gone, whatever the list says. */
  readonly heardBefore: number;
  /** Every list was read to its last page. */
  isToTheEnd: boolean;
  /** When it is read again, on the monotonic clock. */
  againMs: number | undefined;
}

/** Two readings are at least this far apart: a connection that comes and goes must not become a crawl. */
const READING_PAUSE_MS = 10_000;
/** After a list that could not be read, the next try waits longer than the client's own tries took. */
const UNREAD_PAUSE_MS = 30_000;
/** A list that changed while it was read is read again after this, twice at most. */
const AGAIN_PAUSE_MS = 2_000;
const MOST_ATTEMPTS = 3;

const NO_ORDER = 'the list is not in the order of "modified"';
const BOUND_REACHED = 'only the last changed bicycles were read; raise --resync-pages to be sure';

export class CatchUp {
  readonly #known: KnownFleet;
  readonly #options: FollowerOptions;
  readonly #emit: Emit;
  readonly #onEnd: (ended: EndedReading, now: Moment) => void;
  /** What was known when the stream went silent; undefined once a reading for it has begun. */
  #mark: Mark | undefined;
  /** Since when, by the machine's date; undefined for the start. */
  #wanted: { readonly sinceWallMs: number | undefined; readonly mostPages: number } | undefined;
  #reading: Reading | undefined;
  /** Before this moment of the monotonic clock no reading begins. */
  #dueMs = Number.NEGATIVE_INFINITY;
  #readings = 0;
  /** The list was read from its beginning, as far as it is read. */
  #hasBaseline = false;
  /** Some bicycle was found at its own address, so that 404 there means something. */
  #hasAddresses = false;

  constructor(
    known: KnownFleet,
    options: FollowerOptions,
    emit: Emit,
    onEnd: (ended: EndedReading, now: Moment) => void,
  ) {
    this.#known = known;
    this.#options = options;
    this.#emit = emit;
    this.#onEnd = onEnd;
  }

  get isReading(): boolean {
    return this.#reading !== undefined;
  }

  get isWanted(): boolean {
    return this.#wanted !== undefined;
  }

  /** A gap waits for its reading. */
  get hasMark(): boolean {
    return this.#mark !== undefined;
  }

  /** Whether changes remain to be looked up. */
  get isBehind(): boolean {
    return this.#mark !== undefined || this.#reading?.mark !== undefined;
  }

  /** Messages may be missing from that moment of the monotonic clock on. */
  missFrom(fromMs: number) {
    this.#mark ??= this.#known.mark(fromMs);
  }

  /** Requests a reading of what was missed, in so many pages of an organization at most; 0: the counts alone. */
  want(sinceWallMs: number | undefined, mostPages: number, now: Moment) {
    // A gap without a mark is one event that could not be read.
    if (sinceWallMs !== undefined) this.missFrom(now.monotonicMs);
    this.#wanted = { sinceWallMs: earliest(this.#wanted?.sinceWallMs, sinceWallMs), mostPages };
  }

  /** Another reading has found what this one was to look for. */
  forget() {
    this.#mark = undefined;
    this.#wanted = undefined;
    this.#reading = undefined;
  }

  /** Begins the reading that is wanted, as soon as it may begin; one at a time. */
  begin(now: Moment) {
    const reading = this.#reading;
    if (reading !== undefined) {
      if (reading.pass.againMs === undefined || reading.pass.againMs > now.monotonicMs) return;
      reading.attempt++;
      reading.pass = this.#beginPass(reading.mark);
      return this.#ask(reading, undefined, now);
    }
    if (this.#wanted === undefined) return;
    if (now.monotonicMs < this.#dueMs) return;
    const mark = this.#mark;
    const { sinceWallMs, mostPages } = this.#wanted;
    this.forget();
    if (mark !== undefined) this.#dueMs = now.monotonicMs + READING_PAUSE_MS;
    const next: Reading = {
      ...{ id: ++this.#readings, mark, mostPages },
      // A first reading that comes after a gap has to be compared with what little is known.
      sinceWallMs: mark === undefined ? undefined : (sinceWallMs ?? now.wallMs),
      attempt: 1,
      pass: this.#beginPass(mark),
      found: { pages: 0, changes: 0, unknown: 0 },
      totals: new Map(),
      heardBefore: 0,
      incomplete: undefined,
    };
    this.#reading = next;
    this.#ask(next, undefined, now);
  }

  /** Takes an answer of the service; answers to an earlier reading are ignored. */
  take(answer: AnswerOf<'page' | 'bicycle' | 'failed'>, now: Moment) {
    const reading = this.#reading;
    if (reading === undefined || answer.id !== reading.id) return;
    if (answer.type === 'page') this.#takePage(reading, answer.page, now);
    else if (answer.type === 'bicycle') this.#takeOne(reading, answer.bicycle, now);
    else this.#takeFailure(reading, answer.error, now);
  }

  #beginPass(mark: Mark | undefined): Pass {
    const { bicycles, organizations } = this.#options;
    const names = [...(bicycles ?? [])];
    const missing = bicycles === undefined ? undefined : new Set(bicycles);
    const state = {
      list: newList(mark),
      elsewhere: new Set<string>(),
      unsound: undefined,
      isToTheEnd: true,
      againMs: undefined,
    };
    return { names, organizations, missing, heardBefore: this.#known.heard, ...state };
  }

  /** Asks for what comes next: the bicycle of the next name, a page; or all is read. */
  #ask(reading: Reading, next: Query | undefined, now: Moment) {
    const { id, pass } = reading;
    const [uuid] = pass.names;
    const [organization] = pass.organizations;
    reading.heardBefore = this.#known.heard;
    if (uuid !== undefined) return this.#emit({ type: 'read-bicycle', id, uuid });
    if (organization !== undefined && pass.missing?.size !== 0)
      return this.#emit({ type: 'read-page', id, organization, next, isCount: reading.mostPages === 0 });
    this.#end(reading, now);
  }

  /** One item of a list or of its own address: learned at the start, compared after a gap. */
  #takeItem(reading: Reading, item: Bicycle, now: Moment) {
    const { mark, heardBefore, pass } = reading;
    const [followed = ''] = pass.organizations;
    if (mark === undefined) return this.#emit({ type: 'learned', bicycle: this.#known.learn(item, now, { followed }) });
    const comparison = this.#known.compare(item, mark, heardBefore, now, { followed });
    const { change, isUnknown, isUncertain, isStale } = comparison;
    if (isUnknown) reading.found.unknown++;
    if (isUncertain) reading.incomplete ??= 'for some bicycles it is unclear whether they changed';
    if (isStale) pass.unsound ??= 'the list is older than the pushed updates';
    if (change === undefined) return;
    reading.found.changes++;
    this.#emit({ type: 'caught-up', change });
  }

  #takeOne(reading: Reading, bicycle: Bicycle | undefined, now: Moment) {
    const { mark, pass } = reading;
    const [uuid = ''] = pass.names;
    pass.names = pass.names.slice(1);
    if (bicycle !== undefined && bicycleUuid(bicycle) === uuid) {
      this.#hasAddresses = true;
      pass.missing?.delete(uuid);
      this.#takeItem(reading, bicycle, now);
      // Assumed: 404 and 405 are of a service without such an address as well; the list decides, unless one was found there before.
    } else if (this.#hasAddresses && mark !== undefined) pass.organizations = [];
    this.#ask(reading, undefined, now);
  }

  #takePage(reading: Reading, page: Page<Bicycle>, now: Moment) {
    const { list, elsewhere, missing } = reading.pass;
    // A bare array has no count, and came in one piece.
    const total = page.count ?? (page.next === undefined ? page.items.length : undefined);
    if (reading.mostPages === 0) {
      Object.assign(reading.pass, { isToTheEnd: false, list: { ...list, total } });
      return this.#endList(reading, now);
    }
    this.#emit({ type: 'counted', total: page.count });
    reading.found.pages++;
    list.pages++;
    if (list.pages === 1 && list.looks === 1) list.total = total;
    else if (page.count !== undefined && page.count !== list.total)
      reading.pass.unsound ??= `its count went from ${list.total ?? '?'} to ${page.count} while it was read`;
    for (const { value } of page.items) {
      const uuid = bicycleUuid(value);
      const modifiedMs = readTime(value.modified);
      // A second look is for what moved to the head since. Within one second only versions tell which of two replicas is newer.
      const isMet = uuid === undefined || list.met.has(uuid);
      const isOld = (modifiedMs ?? 0) <= list.floorMs && value.concurrency_version == null;
      const isSeen = list.looks > 1 && isMet && isOld;
      if (uuid !== undefined) list.met.add(uuid);
      // It is counted in both: one that left would not be missed.
      if (elsewhere.has(uuid ?? ''))
        reading.pass.unsound ??= 'a bicycle came from another organization while it was read';
      list.headMs ??= modifiedMs;
      // In a list that is out of order once, nothing proves that the rest is older.
      list.lastMs =
        modifiedMs === undefined || list.lastMs === undefined || modifiedMs > list.lastMs ? undefined : modifiedMs;
      if (!isSeen && (missing === undefined || missing.delete(uuid ?? ''))) this.#takeItem(reading, value, now);
    }
    this.#decide(reading, page.next, now);
  }

  /** After a page: the next one, or the next organization where this list is read as far as it has to be, or may be. */
  #decide(reading: Reading, next: Query | undefined, now: Moment) {
    const { mark, pass } = reading;
    const { list, missing } = pass;
    if (missing?.size === 0) return this.#endList(reading, now);
    if (next === undefined) {
      // Where a bicycle left the list meanwhile, another one may have slipped from a page to the one before.
      const met = list.met.size;
      if (met < (list.total ?? 0)) pass.unsound ??= `it showed ${met} of ${list.total} bicycles`;
      return this.#endList(reading, now);
    }
    const isPast = list.lastMs !== undefined && list.lastMs < list.floorMs;
    const isBoundReached = list.pages >= reading.mostPages;
    // What is further down is read once as well, as far as the bound: a bicycle that was never met cannot be missed.
    if (!isBoundReached && !(isPast && (this.#known.isWhole || this.#hasBaseline)))
      return this.#ask(reading, next, now);
    this.#hasBaseline = true;
    pass.isToTheEnd = false;
    // Of a list that lags, one may have moved to the head while the other pages were read.
    if (isPast && list.pages > 1 && list.headMs !== undefined && list.looks < MOST_ATTEMPTS) {
      Object.assign(list, {
        pages: 0,
        looks: list.looks + 1,
        floorMs: list.headMs,
        headMs: undefined,
        lastMs: Infinity,
      });
      return this.#ask(reading, undefined, now);
    }
    if (isPast) {
      // Those followed by name that were not met in the last organization stand further down, so they did not change.
      if (pass.organizations.length === 1) missing?.clear();
      if (mark?.isProven === false && !this.#known.isWhole)
        reading.incomplete ??= 'the time at the service is not known';
    } else reading.incomplete ??= list.lastMs === undefined ? NO_ORDER : BOUND_REACHED;
    this.#endList(reading, now);
  }

  /** Goes on with the next organization. */
  #endList(reading: Reading, now: Moment) {
    const { pass, totals } = reading;
    const [organization, ...organizations] = pass.organizations;
    if (organization !== undefined) totals.set(organization, pass.list.total);
    pass.organizations = organizations;
    for (const uuid of pass.list.met) pass.elsewhere.add(uuid);
    // Of the last one it says how far it was read.
    if (organizations.length > 0) pass.list = newList(reading.mark);
    this.#ask(reading, undefined, now);
  }

  #end(reading: Reading, now: Moment) {
    const { mark, sinceWallMs, attempt, pass, totals, found, mostPages } = reading;
    const absent = this.#absent(reading);
    const isAgain = pass.unsound !== undefined || (mark !== undefined && absent.length > 0);
    const isAbsentTwice = absent.length > 0 && attempt > 1 && pass.unsound === undefined;
    if (isAgain && !isAbsentTwice && attempt < MOST_ATTEMPTS) {
      pass.againMs = now.monotonicMs + AGAIN_PAUSE_MS;
      return;
    }
    const gone = isAbsentTwice ? absent : [];
    for (const uuid of gone) {
      const bicycle = this.#known.remove(uuid, now);
      if (bicycle !== undefined) this.#emit({ type: 'gone', uuid, bicycle });
    }
    this.#reading = undefined;
    const missing = [...(pass.missing ?? [])].filter((uuid) => this.#known.store.get(uuid)?.goneMs === undefined);
    const why = pass.unsound ?? reading.incomplete;
    const reason = why ?? (missing.length > 0 ? `it does not hold ${missing.join(', ')}` : undefined);
    const isWhole = pass.missing === undefined && pass.isToTheEnd && pass.unsound === undefined;
    if (isWhole && !this.#known.store.isTable) this.#known.setWhole();
    const report = { sinceWallMs, ...found, gone: gone.length, isComplete: reason === undefined, reason, missing };
    this.#onEnd({ report, mark, totals, isCount: mostPages === 0 }, now);
  }

  /** The bicycles followed by name that were known, and that the service does not have any more. */
  #absent({ pass, totals }: Reading): string[] {
    const { missing } = pass;
    // A list that does not say how many it has may have lost one between its pages.
    const isListProof = pass.isToTheEnd && ![...totals.values()].includes(undefined);
    if (missing === undefined || !(isListProof || this.#hasAddresses)) return [];
    return [...missing].filter((uuid) => {
      const entry = this.#known.store.get(uuid);
      return (
        entry !== undefined &&
        entry.goneMs === undefined &&
        entry.heard <= pass.heardBefore &&
        ((this.#options.seesAll?.() ?? true) || !isHidden(entry))
      );
    });
  }

  /** A list that cannot be read is tried again later; what was missed is still looked for. */
  #takeFailure(reading: Reading, error: FleetError, now: Moment) {
    // The counts are compared again soon.
    if (reading.mostPages === 0) return this.#end(reading, now);
    const isWorthRetrying = error.kind === 'network' || error.kind === 'service' || error.kind === 'auth';
    const { sinceWallMs, mark, mostPages } = reading;
    this.#dueMs = now.monotonicMs + UNREAD_PAUSE_MS;
    this.#reading = undefined;
    this.#mark = mark ?? this.#mark;
    if (isWorthRetrying) this.#wanted = { sinceWallMs: earliest(this.#wanted?.sinceWallMs, sinceWallMs), mostPages };
    this.#emit({ type: 'unread', error, sinceWallMs, retryInMs: isWorthRetrying ? UNREAD_PAUSE_MS : undefined });
  }
}

function newList(mark: Mark | undefined): ListState {
  const floorMs = (mark?.modifiedMs ?? Number.NEGATIVE_INFINITY) - DISORDER_MS;
  const position = { pages: 0, looks: 1, headMs: undefined, floorMs, lastMs: Number.POSITIVE_INFINITY };
  return { ...position, met: new Set(), total: undefined };
}

function earliest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : b === undefined ? a : Math.min(a, b);
}
