// Reads the states of every bicycle from the mirror and adds them to the tallies. Keeps the changes
// of only one bicycle in memory at a time.

import { parseJson } from '../../json/parse.js';
import type { Database, Row, Value } from '../../mirror/database.js';
import { utcOfMs } from '../../mirror/rows.js';
import { readTime } from '../../terminal/time.js';
import type { Sight } from './gaps.js';
import type { Interval } from './parts.js';
import {
  type FigureDoubt,
  type FleetTally,
  SHARED_STATES,
  type SharedState,
  type TallyTable,
} from './tally.js';

const RENTED = 'rented';
const RETIRED = 'retired';
const AVAILABLE = 'available';
/** The maximum number of bicycles in the list of idle bicycles. */
const MOST_IDLE = 10;

/** A bicycle that has been available without interruption until the end of the period. */
export interface IdleBicycle {
  readonly uuid: string;
  readonly name: string | null;
  /**
   * When the bicycle became available. If that time is unknown, the time when the mirror first saw
   * the bicycle.
   */
  readonly sinceMs: number;
  readonly isCertain: boolean;
}

export interface HistoryInput {
  readonly database: Database;
  readonly table: TallyTable;
  readonly sight: Sight;
  /**
   * The interval for the list of idle bicycles, which shows the bicycles that are idle at its end.
   * It is one of the intervals in `table`.
   */
  readonly period: Interval;
  groupsOf(bicycle: Row): readonly string[];
}

/**
 * The query for all bicycles, with the last state changes before the period and the first change
 * from its end on. Its parameters are the period's start, five times, and then the period's end.
 */
const BEFORE = `FROM changes p WHERE p.bicycle = b.uuid AND p.field = 'state' AND p.at < ?`;
const NEWEST = 'ORDER BY p.at DESC, p.id DESC LIMIT 1';
const BICYCLES = `SELECT b.uuid, b.name, b.model, b.state, b.latitude, b.longitude, b.created_utc, b.first_seen, b.gone,
  (SELECT p.at ${BEFORE} ${NEWEST}) AS before_at,
  (SELECT p.new ${BEFORE} ${NEWEST}) AS before_new,
  (SELECT p.source ${BEFORE} ${NEWEST}) AS before_source,
  (SELECT p.at ${BEFORE} AND p.old = '"rented"' ${NEWEST}) AS returned_at,
  (SELECT p.source ${BEFORE} AND p.old = '"rented"' ${NEWEST}) AS returned_source,
  (SELECT coalesce(n.old, 'null') FROM changes n WHERE n.bicycle = b.uuid AND n.field = 'state' AND n.at >= ?
    ORDER BY n.at, n.id LIMIT 1) AS after_old
  FROM bicycles b`;

/**
 * The query for the state changes of a period, sorted by bicycle. SQLite reads the rows in storage
 * order and then sorts them. This is twice as fast as finding each row through an index.
 */
const CHANGES = {
  sqlite: `SELECT bicycle, at, old, new, source FROM changes NOT INDEXED
    WHERE id >= (SELECT min(id) FROM changes WHERE at >= ? AND at < ?)
    AND id <= (SELECT max(id) FROM changes WHERE at >= ? AND at < ?)
    AND at >= ? AND at < ? AND field = 'state' ORDER BY bicycle, at, id`,
  postgres: `SELECT bicycle, at, old, new, source FROM changes
    WHERE at >= ? AND at < ? AND field = 'state' ORDER BY bicycle, at, id`,
};

interface StateChange {
  readonly atMs: number;
  readonly old: string | null;
  readonly state: string | null;
  readonly isFromList: boolean;
}

/**
 * Adds the history of all bicycles to the table. Returns the bicycles that were idle the longest.
 */
export async function tallyHistory(input: HistoryInput): Promise<IdleBicycle[]> {
  const { database, table } = input;
  const startMs = Math.min(...table.intervals.map(({ fromMs }) => fromMs));
  const endMs = Math.max(...table.intervals.map(({ untilMs }) => untilMs));
  const [start, end] = [utcOfMs(startMs), utcOfMs(endMs)];
  const bicycles = new Map<string, Row>();
  for await (const rows of database.each(BICYCLES, [start, start, start, start, start, end]))
    for (const row of rows) bicycles.set(String(row['uuid']), row);
  const absences = await readAbsences(database, start);
  const idle: IdleBicycle[] = [];
  const tally = (bicycle: Row, changes: readonly StateChange[]) => {
    const { uuid } = bicycle;
    const more = { changes, absences: absences.get(String(uuid)) ?? [] };
    const found = tallyBicycle(input, { bicycle, endMs, ...more });
    if (found === undefined) return;
    idle.push(found);
    idle.sort((one, other) => one.sinceMs - other.sinceMs || compare(one.uuid, other.uuid));
    if (idle.length > MOST_IDLE) idle.pop();
  };
  let open: { uuid: Value; changes: StateChange[] } | undefined;
  const close = () => {
    const bicycle = open && bicycles.get(String(open.uuid));
    if (open === undefined || bicycle === undefined) return;
    tally(bicycle, open.changes);
    bicycles.delete(String(open.uuid));
  };
  const limits = [start, end];
  const values = database.kind === 'sqlite' ? [...limits, ...limits, ...limits] : limits;
  for await (const rows of database.each(CHANGES[database.kind], values)) {
    for (const row of rows) {
      const uuid = row['bicycle'] ?? null;
      if (open?.uuid !== uuid) {
        close();
        open = { uuid, changes: [] };
      }
      open?.changes.push(changeOf(row));
    }
  }
  close();
  for (const bicycle of bicycles.values()) tally(bicycle, []);
  return idle;
}

function compare(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

function changeOf(row: Row): StateChange {
  return {
    atMs: msOf(row['at']),
    old: stateOf(row['old']),
    state: stateOf(row['new']),
    isFromList: row['source'] === 'list',
  };
}

/** Parses a time from the mirror. `Date.parse` is the fastest way for this format. */
function msOf(value: Value | undefined): number {
  return Date.parse(String(value));
}

/**
 * The parsed state for each JSON text of a state. There are only a few different states, so they
 * are cached.
 */
const STATES = new Map<string, string | null>();

function stateOf(json: Value | undefined): string | null {
  if (typeof json !== 'string') return null;
  const known = STATES.get(json);
  if (known !== undefined) return known;
  const value = parseJson(json);
  const state = typeof value === 'string' ? value : null;
  if (STATES.size < 100) STATES.set(json, state);
  return state;
}

/**
 * Reads the absences of bicycles: the times between leaving the list and coming back. Returns the
 * absences by UUID.
 */
async function readAbsences(database: Database, start: string): Promise<Map<string, Interval[]>> {
  const absences = new Map<string, Interval[]>();
  const [first] = await database.all('SELECT min(id) AS id FROM changes WHERE at >= ?', [start]);
  if (first?.['id'] === null || first?.['id'] === undefined) return absences;
  // The `+` prevents SQLite from using the time index. Reading the rows in the order of `id` is
  // faster.
  const isLater = database.kind === 'sqlite' ? '+at >= ?' : 'at >= ?';
  const sql = `SELECT bicycle, at, old FROM changes WHERE id >= ? AND ${isLater} AND field = 'gone' AND old <> 'null'`;
  for await (const rows of database.each(sql, [first['id'], start])) {
    for (const { bicycle, at, old } of rows) {
      const leftMs = readTime(stateOf(old ?? null));
      if (leftMs === undefined) continue;
      const key = String(bicycle);
      const known = absences.get(key) ?? [];
      absences.set(key, [...known, { fromMs: leftMs, untilMs: msOf(at) }]);
    }
  }
  return absences;
}

interface BicycleHistory {
  readonly bicycle: Row;
  readonly changes: readonly StateChange[];
  readonly absences: readonly Interval[];
  /** The end of the last interval. */
  readonly endMs: number;
}

/** A span of time in which a bicycle was in one state. */
interface Span {
  readonly state: string | null;
  /** When the state began. Undefined when it began before the history of the mirror. */
  readonly startMs: number | undefined;
  readonly isStartFromList: boolean;
}

/**
 * Adds one bicycle to the tallies. Returns the bicycle when it is idle at the end of the period.
 */
function tallyBicycle(input: HistoryInput, history: BicycleHistory): IdleBicycle | undefined {
  const { bicycle, changes, endMs } = history;
  const adder = new BicycleAdder(input, history);
  let span = firstSpan(bicycle, changes);
  adder.doubtUnknownRental(span);
  for (const { atMs, state, isFromList } of changes) {
    adder.endSpan(span, { timeMs: atMs, atMs, isFromList });
    if (isFromList || state === null) adder.doubtAt(atMs, ALL_DOUBTS);
    if (state === RENTED) adder.startRental(atMs);
    span = { state, startMs: atMs, isStartFromList: isFromList };
  }
  const goneMs = adder.goneMs ?? Number.POSITIVE_INFINITY;
  const isLast = bicycle['after_old'] === null;
  const lastMs = isLast ? goneMs : Number.POSITIVE_INFINITY;
  adder.endSpan(span, { timeMs: Math.min(goneMs, endMs), atMs: lastMs, isFromList: true });
  return adder.idle;
}

const ALL_DOUBTS: readonly FigureDoubt[] = ['states', 'rentals', 'lengths', 'pauses', 'idle'];

interface SpanEnd {
  /**
   * The time up to which the span is counted. It is not after the end of the period, because the
   * tallies count only times within the period.
   */
  readonly timeMs: number;
  /** When the next state began. Infinity when the bicycle is still in this state. */
  readonly atMs: number;
  readonly isFromList: boolean;
}

/** Adds the states of one bicycle to the tallies, in order of time. */
class BicycleAdder {
  idle: IdleBicycle | undefined;
  /** When the bicycle left the list. Undefined while it is in the list. */
  readonly goneMs: number | undefined;
  readonly #input: HistoryInput;
  readonly #bicycle: Row;
  readonly #absences: readonly Interval[];
  /**
   * The tallies that include this bicycle: the tallies of the whole fleet, and the tallies of each
   * of the bicycle's groups. Each inner array has one tally per interval.
   */
  readonly #tallies: readonly (readonly FleetTally[])[];
  readonly #firstSeenMs: number;
  /** Whether the mirror has the whole history of the bicycle, except for gaps. */
  readonly #isKnownFromBirth: boolean;
  /** When the last rental ended. */
  #returnedMs: number | undefined;
  #isReturnCertain: boolean;

  constructor(input: HistoryInput, { bicycle, absences }: BicycleHistory) {
    this.#input = input;
    this.#bicycle = bicycle;
    this.#absences = absences;
    this.#tallies = input.table.talliesOf(input.groupsOf(bicycle));
    this.#firstSeenMs = msOf(bicycle['first_seen']);
    this.goneMs = bicycle['gone'] === null ? undefined : msOf(bicycle['gone']);
    const createdMs = readTime(bicycle['created_utc']);
    const beginMs = input.sight.beginMs ?? Number.POSITIVE_INFINITY;
    this.#isKnownFromBirth = createdMs !== undefined && createdMs >= beginMs;
    const { returned_at: returned, returned_source: source } = bicycle;
    this.#returnedMs = returned === null ? undefined : msOf(returned);
    this.#isReturnCertain = source !== 'list';
  }

  /** Adds a completed time span, during which the bicycle had a single state, to the tallies. */
  endSpan(span: Span, { timeMs, atMs, isFromList }: SpanEnd): void {
    this.#addTime(span, timeMs);
    this.#noteIdle(span, atMs);
    if (span.state !== RENTED) return;
    // The bicycle may have been returned while it was missing from the list, so the length of the
    // rental is uncertain.
    for (const { fromMs } of this.#absences)
      if (fromMs >= this.#startOf(span) && fromMs < atMs) this.doubtAt(fromMs, ['lengths']);
    if (atMs !== Number.POSITIVE_INFINITY) this.#endRental(span, atMs, isFromList);
  }

  startRental(atMs: number): void {
    const before = this.#returnedMs;
    const isCertain =
      before === undefined
        ? this.#isKnownFromBirth
        : this.#isReturnCertain && this.#input.sight.sawWhole(before, atMs);
    this.#forEachAt(atMs, (tally) => {
      tally.rentals += 1;
      if (before !== undefined) tally.pauses.push(atMs - before);
      if (!isCertain) tally.doubts.add('pauses');
    });
  }

  /**
   * Marks numbers as uncertain when the bicycle was already rented at the time when the mirror
   * first saw it. The start of such a rental is unknown.
   */
  doubtUnknownRental({ state, startMs }: Span): void {
    const { beginMs = this.#firstSeenMs } = this.#input.sight;
    if (state !== RENTED || startMs !== undefined || this.#isKnownFromBirth) return;
    if (this.#firstSeenMs > beginMs) this.doubtAt(this.#firstSeenMs, ['rentals', 'pauses']);
  }

  doubtAt(atMs: number, doubts: readonly FigureDoubt[]): void {
    this.#forEachAt(atMs, (tally) => {
      for (const doubt of doubts) tally.doubts.add(doubt);
    });
  }

  /** Calls `work` with each of this bicycle's tallies whose interval contains the time. */
  #forEachAt(atMs: number, work: (tally: FleetTally) => void): void {
    for (const [index, { fromMs, untilMs }] of this.#input.table.intervals.entries()) {
      if (atMs < fromMs || atMs >= untilMs) continue;
      this.#forEachTally(index, work);
    }
  }

  #forEachTally(interval: number, work: (tally: FleetTally) => void): void {
    for (const tallies of this.#tallies) {
      const tally = tallies[interval];
      if (tally !== undefined) work(tally);
    }
  }

  /**
   * Returns the start of a state. If the state began before the mirror first saw the bicycle,
   * returns the time when the mirror first saw it.
   */
  #startOf({ startMs }: Span): number {
    return startMs ?? this.#firstSeenMs;
  }

  #addTime(span: Span, untilMs: number): void {
    const { state } = span;
    if (state === RETIRED) return;
    const { sight, table } = this.#input;
    const fromMs = Math.max(this.#startOf(span), sight.beginMs ?? Number.NEGATIVE_INFINITY);
    for (const [index, interval] of table.intervals.entries()) {
      const start = Math.max(fromMs, interval.fromMs);
      const end = Math.min(untilMs, interval.untilMs);
      if (end <= start) continue;
      const away = this.#absences.reduce((sum, each) => sum + overlap(each, start, end), 0);
      this.#forEachTally(index, (tally) => {
        if (state === null) tally.doubts.add('states');
        else tally.fleetMs += end - start - away;
        if (isShared(state)) tally.stateMs[state] += end - start - away;
      });
    }
  }

  #endRental(span: Span, atMs: number, isFromList: boolean): void {
    const { startMs, isStartFromList } = span;
    const isSeen = startMs !== undefined && this.#input.sight.sawWhole(startMs, atMs);
    const wasAway = this.#absences.some((each) => overlap(each, this.#startOf(span), atMs) > 0);
    const isCertain = isSeen && !isStartFromList && !isFromList && !wasAway;
    this.#returnedMs = atMs;
    this.#isReturnCertain = !isFromList && !wasAway;
    this.#forEachAt(atMs, (tally) => {
      if (startMs !== undefined) tally.rentalLengths.push(atMs - startMs);
      if (!isCertain) tally.doubts.add('lengths');
    });
  }

  /**
   * For each interval that ends within the span, records how long the bicycle has been available at
   * the end of the interval.
   */
  #noteIdle(span: Span, untilMs: number): void {
    if (span.state !== AVAILABLE) return;
    const { sight, table, period } = this.#input;
    const startMs = this.#startOf(span);
    const lastMs = Math.min(untilMs, this.goneMs ?? Number.POSITIVE_INFINITY);
    for (const [index, { untilMs: atMs }] of table.intervals.entries()) {
      if (startMs > atMs || lastMs <= atMs) continue;
      if (this.#absences.some((each) => each.fromMs <= atMs && each.untilMs > atMs)) continue;
      const returns = this.#absences.map((each) => each.untilMs).filter((ms) => ms <= atMs);
      const sinceMs = Math.max(startMs, ...returns);
      const isKnown = span.startMs !== undefined || sinceMs > startMs || this.#isKnownFromBirth;
      const isCertain = isKnown && !span.isStartFromList && sight.sawWhole(sinceMs, atMs);
      this.#forEachTally(index, (tally) => {
        tally.idleMs = Math.max(tally.idleMs ?? 0, atMs - sinceMs);
        if (!isCertain) tally.doubts.add('idle');
      });
      if (atMs !== period.untilMs) continue;
      const name = this.#bicycle['name'];
      const uuid = String(this.#bicycle['uuid']);
      this.idle = { uuid, name: typeof name === 'string' ? name : null, sinceMs, isCertain };
    }
  }
}

/** Returns the state span that was in progress when the first interval began. */
function firstSpan(bicycle: Row, changes: readonly StateChange[]): Span {
  const { before_at: at, before_new: state, before_source: source } = bicycle;
  if (at !== null)
    return { state: stateOf(state), startMs: msOf(at), isStartFromList: source === 'list' };
  const unknown = { startMs: undefined, isStartFromList: false };
  if (changes[0] !== undefined) return { ...unknown, state: changes[0].old };
  if (bicycle['after_old'] !== null) return { ...unknown, state: stateOf(bicycle['after_old']) };
  const present = bicycle['state'];
  return { ...unknown, state: typeof present === 'string' ? present : null };
}

function isShared(state: string | null): state is SharedState {
  return SHARED_STATES.some((each) => each === state);
}

/** Returns how long a bicycle was absent between two times. */
function overlap({ fromMs, untilMs }: Interval, start: number, end: number): number {
  return Math.max(0, Math.min(untilMs, end) - Math.max(fromMs, start));
}
