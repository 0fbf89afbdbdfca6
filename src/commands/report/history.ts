// Reads the states of every bicycle from the mirror and adds them to the tallies. It holds the
// changes of one bicycle at a time.

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
/** How many bicycles the list of idle bicycles has. */
const MOST_IDLE = 10;

/** A bicycle that has been available without a break at the end of the period. */
export interface IdleBicycle {
  readonly uuid: string;
  readonly name: string | null;
  /** When it became available; the first time that it was seen when that is not known. */
  readonly sinceMs: number;
  readonly isCertain: boolean;
}

export interface HistoryInput {
  readonly database: Database;
  readonly table: TallyTable;
  readonly sight: Sight;
  /** The interval of `table` that the list of idle bicycles is about. */
  readonly period: Interval;
  groupsOf(bicycle: Row): readonly string[];
}

/** The state changes of a bicycle. Parameters: the start five times, and the end. */
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
 * The state changes of a period, sorted by bicycle. SQLite reads the rows of the period in their
 * order on disk and sorts them, because looking each of them up in an index takes twice as long.
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

/** Adds the history of all bicycles to the table, and returns the bicycles that were idle longest. */
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

/** The time is in the form of the mirror, which is faster to read than any form. */
function msOf(value: Value | undefined): number {
  return Date.parse(String(value));
}

/** Decoded states by their JSON, because there are few of them. */
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

/** Reads when bicycles that returned had left the list, by UUID. */
async function readAbsences(database: Database, start: string): Promise<Map<string, Interval[]>> {
  const absences = new Map<string, Interval[]>();
  const [first] = await database.all('SELECT min(id) AS id FROM changes WHERE at >= ?', [start]);
  if (first?.['id'] === null || first?.['id'] === undefined) return absences;
  // Reading by id is sequential in SQLite, where the index of times would look up each row.
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

/** A time in one state. */
interface Span {
  readonly state: string | null;
  /** Undefined when the state began before the mirror. */
  readonly startMs: number | undefined;
  readonly isStartFromList: boolean;
}

/** Adds one bicycle. Returns it when it is idle at the end of the period. */
function tallyBicycle(
  input: HistoryInput,
  { bicycle, changes, absences, endMs }: BicycleHistory,
): IdleBicycle | undefined {
  const { table, sight, period } = input;
  const tallies = table.talliesOf(input.groupsOf(bicycle));
  const firstSeenMs = msOf(bicycle['first_seen']);
  const goneMs = bicycle['gone'] === null ? undefined : msOf(bicycle['gone']);
  // Nothing happened to a bicycle before it was created.
  const createdMs = readTime(bicycle['created_utc']);
  const isKnownFromBirth = createdMs !== undefined && createdMs >= (sight.beginMs ?? Infinity);
  let returnedMs = bicycle['returned_at'] === null ? undefined : msOf(bicycle['returned_at']);
  let isReturnCertain = bicycle['returned_source'] !== 'list';
  const wasAway = (fromMs: number, untilMs: number) =>
    absences.some((absence) => absence.fromMs < untilMs && absence.untilMs > fromMs);
  let idle: IdleBicycle | undefined;

  const forEachAt = (atMs: number, work: (tally: FleetTally) => void) => {
    for (const [index, { fromMs, untilMs }] of table.intervals.entries()) {
      if (atMs < fromMs || atMs >= untilMs) continue;
      for (const each of tallies) work(each[index] as FleetTally);
    }
  };
  const doubtAt = (atMs: number, doubts: readonly FigureDoubt[]) =>
    forEachAt(atMs, (tally) => {
      for (const doubt of doubts) tally.doubts.add(doubt);
    });

  const addTime = ({ state, startMs }: Span, untilMs: number) => {
    if (state === RETIRED) return;
    const fromMs = startMs ?? firstSeenMs;
    for (const [index, interval] of table.intervals.entries()) {
      const start = Math.max(fromMs, interval.fromMs, sight.beginMs ?? fromMs);
      const end = Math.min(untilMs, interval.untilMs);
      if (end <= start) continue;
      const away = absences.reduce((sum, each) => sum + overlap(each, start, end), 0);
      for (const each of tallies) {
        const tally = each[index] as FleetTally;
        if (state === null) tally.doubts.add('states');
        else tally.fleetMs += end - start - away;
        if (isShared(state)) tally.stateMs[state] += end - start - away;
      }
    }
  };

  /** A rental may have ended when the bicycle left the list. */
  const doubtAbsentEnds = ({ state, startMs }: Span, untilMs: number) => {
    if (state !== RENTED) return;
    for (const { fromMs } of absences)
      if (fromMs >= (startMs ?? firstSeenMs) && fromMs < untilMs) doubtAt(fromMs, ['lengths']);
  };

  const endRental = ({ startMs, isStartFromList }: Span, atMs: number, isFromList: boolean) => {
    const isSeen = startMs !== undefined && sight.sawWhole(startMs, atMs);
    // A rental may have ended while the bicycle was not in the list.
    const isAway = wasAway(startMs ?? firstSeenMs, atMs);
    const isCertain = isSeen && !isStartFromList && !isFromList && !isAway;
    returnedMs = atMs;
    isReturnCertain = !isFromList && !isAway;
    forEachAt(atMs, (tally) => {
      if (startMs !== undefined) tally.rentalLengths.push(atMs - startMs);
      if (!isCertain) tally.doubts.add('lengths');
    });
  };

  const startRental = (atMs: number) => {
    const before = returnedMs;
    const isCertain =
      before === undefined ? isKnownFromBirth : isReturnCertain && sight.sawWhole(before, atMs);
    forEachAt(atMs, (tally) => {
      tally.rentals += 1;
      if (before !== undefined) tally.pauses.push(atMs - before);
      if (!isCertain) tally.doubts.add('pauses');
    });
  };

  const noteIdle = (span: Span, untilMs: number) => {
    if (span.state !== AVAILABLE) return;
    const startMs = span.startMs ?? firstSeenMs;
    for (const [index, { untilMs: atMs }] of table.intervals.entries()) {
      if (absences.some((absence) => absence.fromMs <= atMs && absence.untilMs > atMs)) continue;
      const returns = absences.map((absence) => absence.untilMs).filter((ms) => ms <= atMs);
      const sinceMs = Math.max(startMs, ...returns);
      if (sinceMs > atMs || untilMs <= atMs || (goneMs !== undefined && goneMs <= atMs)) continue;
      const isKnown = span.startMs !== undefined || sinceMs > startMs || isKnownFromBirth;
      const isCertain = isKnown && !span.isStartFromList && sight.sawWhole(sinceMs, atMs);
      for (const each of tallies) {
        const tally = each[index] as FleetTally;
        tally.idleMs = Math.max(tally.idleMs ?? 0, atMs - sinceMs);
        if (!isCertain) tally.doubts.add('idle');
      }
      if (atMs !== period.untilMs) continue;
      const name = bicycle['name'];
      const uuid = String(bicycle['uuid']);
      idle = { uuid, name: typeof name === 'string' ? name : null, sinceMs, isCertain };
    }
  };

  const first = firstSpan(bicycle, changes);
  let span = first;
  const appearedLate = firstSeenMs > (sight.beginMs ?? firstSeenMs) && !isKnownFromBirth;
  // The start of the rental of a bicycle that appeared as rented is not known.
  if (first.state === RENTED && first.startMs === undefined && appearedLate)
    doubtAt(firstSeenMs, ['rentals', 'pauses']);
  for (const { atMs, state, isFromList } of changes) {
    addTime(span, atMs);
    noteIdle(span, atMs);
    doubtAbsentEnds(span, atMs);
    if (span.state === RENTED) endRental(span, atMs, isFromList);
    if (isFromList || state === null)
      doubtAt(atMs, ['states', 'rentals', 'lengths', 'pauses', 'idle']);
    if (state === RENTED) startRental(atMs);
    span = { state, startMs: atMs, isStartFromList: isFromList };
  }
  const isLast = bicycle['after_old'] === null;
  const lastMs = isLast && goneMs !== undefined ? goneMs : Number.POSITIVE_INFINITY;
  addTime(span, Math.min(goneMs ?? Number.POSITIVE_INFINITY, endMs));
  noteIdle(span, lastMs);
  doubtAbsentEnds(span, lastMs);
  if (span.state === RENTED && lastMs < endMs) endRental(span, lastMs, true);
  return idle;
}

/** Returns the state at the start of the first interval. */
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

/** Returns how long an absence lasted between two moments. */
function overlap({ fromMs, untilMs }: Interval, start: number, end: number): number {
  return Math.max(0, Math.min(untilMs, end) - Math.max(fromMs, start));
}
