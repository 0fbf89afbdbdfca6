// What one batch of the mirror's writer knows and writes: rows loaded from the database, compared, and written with their changes.

import type { Bicycle } from '../api/bicycle.js';
import type { FleetStore, KnownBicycle, ListPass, Origin } from '../follower/fleet-store.js';
import { BOOKKEEPING, versionOf } from '../follower/known-fleet.js';
import type { ClosedGap } from '../follower/open-gap.js';
import { exactValue, writeJson } from '../json/exact.js';
import { readTime } from '../terminal/time.js';
import type { Database, Row, Value } from './database.js';
import { bicycleRow, type RowFacts, utcOf, utcOfMs, versionValue } from './rows.js';

export type Writes = ReturnType<Ledger['take']>;

/** What a batch does to the tables beside its rows. */
export type WriteStep =
  | { readonly type: 'clear-listed' }
  | { readonly type: 'listed'; readonly uuids: readonly string[]; readonly pass: number }
  /** `verify` holds the whole reading against the table, once the batch is written. */
  | { readonly type: 'mark-gone' | 'verify'; readonly reading: ListPass }
  /** The open gap is over; or changes are not recorded, from the first to the last of them: moments that are near each other are one gap. */
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
  /** Undefined when `known` has become another, and between batches. */
  raw: string | undefined;
  isDirty: boolean;
}

/** Recent messages, kept until lists that were requested before them have been answered. */
type Recent = Pick<KnownBicycle, 'merged' | 'touchedMs' | 'unversioned'>;

/** Of so many bicycles: more than have messages while a page is in flight. */
const RECENT_LIMIT = 50_000;
/** Whose rows are kept from batch to batch, some 6 kB each with what waits for the garbage collector. */
const KEPT_LIMIT = 2_000;

const UNTOUCHED: Recent = {
  merged: 0,
  touchedMs: Number.NEGATIVE_INFINITY,
  unversioned: undefined,
};

/** A state that a bicycle left, by the machine's date; recorded once nobody says for a while which one it came to. */
export interface Leaving {
  readonly uuid: string;
  readonly state: unknown;
  readonly leftMs: number;
  isRecorded: boolean;
}

/** After "bicycle_leaving_state" the new state follows at once, where it is told at all. */
const LEAVING_MS = 10_000;
/** Of how many the next writer is told: far more rides than are hidden at once. */
const MOST_LEAVING = 5_000;

/** The rows of a batch, and of those before it what messages were about. */
export class Ledger implements FleetStore {
  /** Of the same version the list says more than a message. */
  readonly isTable = true;
  /** The longest untouched first. */
  readonly #entries = new Map<string, Entry>();
  readonly #recent = new Map<string, Recent>();
  readonly #leaving = new Map<string, Leaving>();
  #changes: (readonly Value[])[] = [];
  #steps: WriteStep[] = [];
  #size = 0;
  #found = 0;
  /** When the last change was made that left nothing to record, by the machine's date: all is as it was known before a change that was missed. */
  #undoneMs = Number.NEGATIVE_INFINITY;

  /** Loads the rows of these bicycles, those that are loaded already apart. */
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
    // List items repeat pushed data; of what a mirror has shown nothing needs to be kept.
    const shown = { ...known, isSilent: false, caughtUp: [] };
    if (entry === undefined) this.#insert(uuid, shown, origin, isPlausible);
    else this.#update(entry, shown, origin, isPlausible);
    return true;
  }

  /** How many bicycles the mirror has that are not gone. */
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

  /** Something to write with the batch. */
  add(step: WriteStep) {
    // A change that undid one that was missed has nothing to record: the gap lasts until the last of these.
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

  /** It left this state: what it is now may be for its rider alone. */
  leave(uuid: string, state: unknown, leftMs: number) {
    // A writer that takes over may receive again what the one before has recorded.
    if (
      this.#entries.get(uuid)?.known.bicycle.state === state &&
      this.#leaving.get(uuid)?.state !== state
    )
      this.#leaving.set(uuid, { uuid, state, leftMs, isRecorded: false });
  }

  /** What was said to leave its state had come to another before: the message was sent again. */
  settle(uuid: string) {
    if (this.#leaving.get(uuid)?.isRecorded === false) this.#leaving.delete(uuid);
  }

  /** Those that left a state and of which nothing more was said, the latest: the next writer goes on with them. */
  leaving(): readonly Leaving[] {
    return [...this.#leaving.values()].slice(-MOST_LEAVING);
  }

  resumeLeaving(before: readonly Leaving[]) {
    for (const leaving of before) this.#leaving.set(leaving.uuid, { ...leaving });
  }

  /** Records who left a state and did not come to another: from then on it is not known. */
  recordLeft(nowMs: number) {
    for (const leaving of this.#leaving.values()) {
      if (leaving.isRecorded || Math.abs(nowMs - leaving.leftMs) < LEAVING_MS) continue;
      this.#recordLeft(leaving);
    }
  }

  #recordLeft(leaving: Leaving) {
    const at = utcOfMs(leaving.leftMs);
    this.#record(
      at,
      at,
      leaving.uuid,
      null,
      'state',
      JSON.stringify(leaving.state),
      'null',
      'push',
    );
    leaving.isRecorded = true;
  }

  /** What was changed since the last time; of the rows those that messages were about are kept, as they are written now. */
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
    // Rows as BICYCLE_COLUMNS and CHANGE_COLUMNS; the steps beside them are in their order.
    const writes = { bicycles, changes: this.#changes, steps: this.#steps };
    this.#changes = [];
    this.#steps = [];
    this.forget(KEPT_LIMIT);
    return writes;
  }

  /** Forgets the rows that are kept beyond so many; all of them where the table was changed past the ledger. */
  forget(limit = 0) {
    for (const [uuid, { known }] of this.#entries) {
      if (this.#entries.size <= limit) return;
      this.#entries.delete(uuid);
      const { merged, touchedMs, unversioned } = known;
      this.#recent.delete(uuid);
      this.#recent.set(uuid, { merged, touchedMs, unversioned });
      const [oldest = ''] = this.#recent.keys();
      if (this.#recent.size > RECENT_LIMIT) this.#recent.delete(oldest);
    }
  }

  /** As CHANGE_COLUMNS. */
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
      // It came back to the state that it left: what it was meanwhile nobody said.
      if (after.state === left.state && !left.isRecorded) this.#recordLeft(left);
    }
    const recorded = this.#changes.length;
    for (const field in after) {
      const old = field === 'state' && left?.isRecorded ? null : before[field];
      const now = after[field];
      if (old === now) continue;
      const [oldJson, json] = [old === undefined ? null : writeJson(old), writeJson(now)];
      if (oldJson === json) continue;
      isChanged = true;
      // A message came before the first reading, which fills in what it left out.
      if (BOOKKEEPING.has(field) || (from.isFirstReading && old === undefined)) continue;
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
  // As this program wrote it, numbers as they were sent.
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

/** When the service says that a change was made; undefined where it does not say, or cannot be believed. */
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
