// Holds the data for one batch of the mirror's writer. It loads rows from the database, compares
// them with new data, and collects the changes to write.

import type { Bicycle } from '../api/bicycle.js';
import type { FleetStore, KnownBicycle, ListPass, Origin } from '../follower/fleet-store.js';
import { BOOKKEEPING, versionOf } from '../follower/known-fleet.js';
import type { ClosedGap } from '../follower/open-gap.js';
import { exactValue, writeJson } from '../json/exact.js';
import { readTime } from '../terminal/time.js';
import type { Database, Row, Value } from './database.js';
import { bicycleRow, type RowFacts, utcOf, utcOfMs, versionValue } from './rows.js';

export type Writes = ReturnType<Ledger['take']>;

/** A change to another table. It is written in the same transaction as the batch. */
export type WriteStep =
  | { readonly type: 'clear-listed' }
  | { readonly type: 'listed'; readonly uuids: readonly string[]; readonly pass: number }
  /**
   * `mark-gone` marks the bicycles that a read of the whole list did not return. `verify` compares
   * the bicycles from such a read with the table, after the batch was written.
   */
  | { readonly type: 'mark-gone' | 'verify'; readonly reading: ListPass }
  /**
   * `gap-close` is a gap that ended. `gap-moment` is a single moment at which changes were not
   * recorded. Consecutive moments are stored as one gap.
   */
  | ClosedGap
  | (Omit<ClosedGap, 'type'> & { readonly type: 'gap-moment' });

export const CHANGE_COLUMNS = [
  'at',
  'received',
  'bicycle',
  'version',
  'field',
  'old',
  'new',
  'source',
];

interface Entry extends Omit<RowFacts, 'raw' | 'gone'> {
  known: KnownBicycle;
  /**
   * The bicycle as JSON text. Undefined until a batch is prepared, and again after `known` has
   * changed.
   */
  raw: string | undefined;
  isDirty: boolean;
}

/**
 * The content of recent messages about a bicycle. It is kept until all lists that were requested
 * before the messages have arrived.
 */
type Recent = Pick<KnownBicycle, 'merged' | 'touchedMs' | 'unversioned'>;

/**
 * The maximum number of bicycles whose recent messages are kept. Messages about this many different
 * bicycles never arrive during a single request.
 */
const RECENT_LIMIT = 50_000;
/** Keeps at most this many rows between two batches. A row needs about 6 kB of memory. */
const KEPT_LIMIT = 2_000;

const UNTOUCHED: Recent = {
  merged: 0,
  touchedMs: Number.NEGATIVE_INFINITY,
  unversioned: undefined,
};

/**
 * A bicycle that left a state. If no message about the new state arrives in time, the mirror
 * records that the bicycle left its state.
 */
export interface Leaving {
  readonly uuid: string;
  readonly state: unknown;
  /** When the message arrived, by the system clock. */
  readonly leftMs: number;
  /** The same moment by the service's clock. Missing in data from older versions. */
  readonly serviceMs?: number;
  isRecorded: boolean;
}

/**
 * How long the mirror waits for a message with the new state. The service usually publishes the new
 * state directly after "bicycle_leaving_state".
 */
const LEAVING_MS = 10_000;
/**
 * A state that a bicycle can leave and enter again without another state in between. Observed: only
 * `take_over` does this.
 */
const REENTERED_STATE = 'in_maintenance';
/**
 * The maximum number of bicycles without a new state that are stored for the next writer. Each of
 * them left a state, and no message contained its new state. In practice, the number of such
 * bicycles stays below this limit.
 */
const MOST_LEAVING = 5_000;

/**
 * The rows of bicycles that the current batch needs. It also keeps recent facts about rows of
 * earlier batches.
 */
export class Ledger implements FleetStore {
  /**
   * Tells the follower that the mirror stores complete list items. A list item contains more fields
   * than a message with the same version.
   */
  readonly isTable = true;
  /** The rows that were loaded from the database. The least recently used row comes first. */
  readonly #entries = new Map<string, Entry>();
  readonly #recent = new Map<string, Recent>();
  readonly #leaving = new Map<string, Leaving>();
  #changes: (readonly Value[])[] = [];
  #steps: WriteStep[] = [];
  #size = 0;
  #found = 0;
  /**
   * The time (system clock) when a bicycle last arrived with a new `modified` or version but with
   * unchanged values. In this case, a value was changed and then changed back, and both changes
   * were missed.
   */
  #undoneMs = Number.NEGATIVE_INFINITY;

  /** Loads the rows of these bicycles, unless they are loaded already. */
  async load(database: Database, uuids: Iterable<string>): Promise<void> {
    const wanted: string[] = [];
    for (const uuid of new Set(uuids)) {
      const entry = this.#entries.get(uuid);
      if (entry === undefined) wanted.push(uuid);
      else if (this.#entries.delete(uuid)) this.#entries.set(uuid, entry);
    }
    if (wanted.length === 0) return;
    const rows = await database.all(`${ROWS} (${database.dialect.texts})`, [
      JSON.stringify(wanted),
    ]);
    for (const row of rows) {
      const uuid = String(row['uuid']);
      this.#entries.set(uuid, entryOf(row, this.#recent.get(uuid) ?? UNTOUCHED));
    }
  }

  get(uuid: string): KnownBicycle | undefined {
    return this.#entries.get(uuid)?.known;
  }

  keep(uuid: string, known: KnownBicycle, origin: Origin, isPlausible: boolean): boolean {
    const entry = this.#entries.get(uuid);
    // The mirror records each change immediately. It does not need the fields that tell `watch`
    // which changes it has already shown.
    const shown = { ...known, isSilent: false, caughtUp: [] };
    if (entry === undefined) this.#insert(uuid, shown, origin, isPlausible);
    else this.#update(entry, shown, origin, isPlausible);
    return true;
  }

  /** Returns the number of bicycles in the mirror, without those that are gone. */
  size(): number {
    return this.#size;
  }

  setSize(count: number) {
    this.#size = count;
  }

  found(): number {
    return this.#found;
  }

  hidden(): undefined {}

  isFull(): boolean {
    return false;
  }

  beginList() {
    this.#steps.push({ type: 'clear-listed' });
  }

  addListed(uuids: readonly string[], pass: number) {
    this.#steps.push({ type: 'listed', uuids, pass });
  }

  meet(reading: ListPass): undefined {
    this.#steps.push({ type: 'verify', reading });
  }

  removeMissing(reading: ListPass): [] {
    this.#steps.push({ type: 'mark-gone', reading });
    return [];
  }

  /** Adds a further step to the batch, such as a gap or the comparison with a list. */
  add(step: WriteStep) {
    // Some changes were not recorded, because a value changed and changed back before it was
    // written. The gap must not end before the last of these moments.
    if (step.type === 'gap-close')
      return void this.#steps.push({ ...step, endedMs: Math.max(step.endedMs, this.#undoneMs) });
    const last = this.#steps.at(-1);
    if (step.type !== 'gap-moment' || last?.type !== 'gap-moment')
      return void this.#steps.push(step);
    const [startedMs, endedMs] = [
      Math.min(last.startedMs, step.startedMs),
      Math.max(last.endedMs, step.endedMs),
    ];
    this.#steps[this.#steps.length - 1] = { ...step, startedMs, endedMs };
  }

  /**
   * Records that a bicycle left a state. The message about the new state may be sent only to the
   * bicycle's rider.
   */
  leave(uuid: string, state: unknown, leftMs: number, serviceMs: number) {
    // The message is ignored if its state is not the bicycle's current state. A new writer may
    // receive messages that an earlier writer has already recorded.
    if (
      this.#entries.get(uuid)?.known.bicycle.state === state &&
      this.#leaving.get(uuid)?.state !== state
    )
      this.#leaving.set(uuid, { uuid, state, leftMs, serviceMs, isRecorded: false });
  }

  /**
   * Forgets that a bicycle left a state. Called when the leaving-state message was a repeat, and
   * the bicycle had already reached another state.
   */
  settle(uuid: string) {
    if (this.#leaving.get(uuid)?.isRecorded === false) this.#leaving.delete(uuid);
  }

  /** Returns the bicycles that left a state and have no new state yet, for the next writer. */
  leaving(): readonly Leaving[] {
    return [...this.#leaving.values()].slice(-MOST_LEAVING);
  }

  resumeLeaving(before: readonly Leaving[]) {
    for (const leaving of before) this.#leaving.set(leaving.uuid, { ...leaving });
  }

  /**
   * Records an unknown state for bicycles that left their state and for which no message with a new
   * state arrived in time.
   */
  recordLeft(nowMs: number) {
    for (const leaving of this.#leaving.values()) {
      if (leaving.isRecorded || Math.abs(nowMs - leaving.leftMs) < LEAVING_MS) continue;
      this.#recordLeft(leaving);
    }
  }

  /**
   * Records that a bicycle left its last known state, and that its state has been unknown since
   * then. The time of this change comes from the service's clock, and is never later than the time
   * of the next state.
   */
  #recordLeft(leaving: Leaving, untilMs = Number.POSITIVE_INFINITY) {
    const { leftMs, serviceMs = leftMs } = leaving;
    this.#record(
      utcOfMs(Math.min(serviceMs, untilMs)),
      utcOfMs(leftMs),
      leaving.uuid,
      null,
      'state',
      JSON.stringify(leaving.state),
      'null',
      'push',
    );
    leaving.isRecorded = true;
  }

  /**
   * Returns the changes since the last call, to be written now. Keeps the rows of bicycles with
   * recent messages.
   */
  take() {
    const bicycles: Value[][] = [];
    for (const [uuid, entry] of this.#entries) {
      const { known } = entry;
      if (entry.isDirty) {
        entry.raw ??= writeJson(known.bicycle);
        const gone = known.goneMs === undefined ? null : utcOfMs(known.goneMs);
        bicycles.push(bicycleRow(known.bicycle, { ...entry, gone, raw: entry.raw }));
        entry.isDirty = false;
      }
      entry.raw = undefined;
      if (known.merged === 0) this.#entries.delete(uuid);
    }
    // The values in the rows are in the order of BICYCLE_COLUMNS and CHANGE_COLUMNS. The caller
    // must write the steps in the order of the array.
    const writes = { bicycles, changes: this.#changes, steps: this.#steps };
    this.#changes = [];
    this.#steps = [];
    this.forget(KEPT_LIMIT);
    return writes;
  }

  /**
   * Drops the least recently used rows until `limit` rows are left. Must be called with 0 after
   * other code has changed the table.
   */
  forget(limit = 0) {
    for (const [uuid, { known }] of this.#entries) {
      if (this.#entries.size <= limit) return;
      this.#entries.delete(uuid);
      const { merged, touchedMs, unversioned } = known;
      this.#recent.delete(uuid);
      this.#recent.set(uuid, { merged, touchedMs, unversioned });
      if (this.#recent.size > RECENT_LIMIT) this.#forgetOldestRecent();
    }
  }

  #forgetOldestRecent() {
    const [oldest = ''] = this.#recent.keys();
    this.#recent.delete(oldest);
  }

  /** Adds a change. Its values are in the order of CHANGE_COLUMNS. */
  #record(...change: readonly Value[]) {
    this.#changes.push(change);
    if (change.at(-1) === 'list') this.#found++;
  }

  #insert(uuid: string, known: KnownBicycle, from: Origin, isPlausible: boolean) {
    const received = utcOfMs(from.receivedMs);
    const raw = from.json ?? writeJson(known.bicycle);
    const { followed } = from;
    const facts = { uuid, raw, followed, firstSeen: received, lastSeen: received };
    this.#entries.set(uuid, { ...facts, known, isDirty: true });
    this.#size++;
    if (from.isFirstReading) return;
    const version = versionValue(known.bicycle.concurrency_version);
    const at = timeOf(undefined, known.bicycle, from, isPlausible) ?? received;
    this.#record(at, received, uuid, version, '*', null, raw, from.source);
  }

  #update(entry: Entry, known: KnownBicycle, from: Origin, isPlausible: boolean) {
    const { bicycle: before, goneMs } = entry.known;
    const after = known.bicycle;
    entry.known = known;
    const { source } = from;
    const received = utcOfMs(from.receivedMs);
    const version = versionValue(after.concurrency_version);
    if (goneMs !== undefined && known.goneMs === undefined) {
      this.#record(
        received,
        received,
        entry.uuid,
        version,
        'gone',
        JSON.stringify(utcOfMs(goneMs)),
        'null',
        source,
      );
      entry.isDirty = true;
      this.#size++;
    }
    if (source === 'list' && entry.followed !== from.followed) {
      entry.followed = from.followed;
      entry.isDirty = true;
    }
    let at: string | undefined;
    let isChanged = false;
    const isMoved =
      after.modified !== before.modified ||
      after.concurrency_version !== before.concurrency_version;
    const left = isMoved ? this.#leaving.get(entry.uuid) : undefined;
    if (left !== undefined) {
      this.#leaving.delete(entry.uuid);
      // The bicycle returned to the state that it had left. The state in between is unknown, so
      // null is recorded for it.
      const isBack = after.state === left.state && after.state !== REENTERED_STATE;
      if (isBack && !left.isRecorded)
        this.#recordLeft(left, readTime(timeOf(before, after, from, isPlausible)));
    }
    const recorded = this.#changes.length;
    for (const field in after) {
      const old = field === 'state' && left?.isRecorded ? null : before[field];
      const now = after[field];
      if (old === now) continue;
      const [oldJson, json] = [old === undefined ? null : writeJson(old), writeJson(now)];
      if (oldJson === json) continue;
      isChanged = true;
      // Messages omit some fields, such as links. A field that appears only because a list contains
      // it is not a change.
      const isAdded = old === undefined && (source === 'list' || now === null);
      if (BOOKKEEPING.has(field) || isAdded) continue;
      at ??= timeOf(before, after, from, isPlausible) ?? received;
      this.#record(at, received, entry.uuid, version, field, oldJson, json, source);
    }
    if (isMoved && this.#changes.length === recorded && !from.isFirstReading) {
      const saidMs =
        source === 'list' ? readTime(timeOf(before, after, from, isPlausible)) : undefined;
      this.#undoneMs = Math.max(
        this.#undoneMs,
        Math.min(saidMs ?? from.receivedMs, from.receivedMs),
      );
    }
    if (isChanged) entry.raw = undefined;
    if (!isChanged && source === 'list') return;
    entry.lastSeen = received;
    entry.isDirty = true;
  }
}

const ROWS = 'SELECT uuid, followed, gone, first_seen, last_seen, raw FROM bicycles WHERE uuid IN';

function entryOf(row: Row, recent: Recent): Entry {
  const [uuid, raw] = [String(row['uuid']), String(row['raw'])];
  // The program wrote this JSON itself, so `JSON.parse` accepts it. `exactValue` keeps the digits
  // of numbers.
  const bicycle = exactValue({ json: raw, value: JSON.parse(raw) as Bicycle });
  return {
    uuid,
    known: {
      ...recent,
      bicycle,
      version: versionOf(bicycle),
      modifiedMs: readTime(bicycle.modified),
      isSilent: false,
      caughtUp: [],
      isStatePushed: false,
      goneMs: typeof row['gone'] === 'string' ? Date.parse(row['gone']) : undefined,
    },
    raw,
    followed: row['followed'] as string | null,
    firstSeen: String(row['first_seen']),
    lastSeen: String(row['last_seen']),
    isDirty: false,
  };
}

/**
 * Returns the time of a change by the service's clock. Returns undefined when it is missing or
 * implausible.
 */
function timeOf(
  before: Bicycle | undefined,
  after: Bicycle,
  { saysModified }: Origin,
  isPlausible: boolean,
) {
  const { modified } = after;
  if (typeof modified !== 'string') return undefined;
  const isSaid =
    modified !== before?.modified || after.concurrency_version !== before?.concurrency_version;
  const modifiedMs = readTime(modified);
  if (!saysModified || !isSaid || modifiedMs === undefined || !isPlausible) return undefined;
  const beforeMs = readTime(before?.modified);
  return beforeMs !== undefined && modifiedMs < beforeMs ? undefined : utcOf(modified);
}
