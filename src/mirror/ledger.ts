// What one batch of the mirror's writer knows and writes: rows loaded from the database, compared, and written with their changes.

import type { Bicycle } from '../api/bicycle.js';
import { BOOKKEEPING, versionOf } from '../follower/known-fleet.js';
import type { ClosedGap } from '../follower/open-gap.js';
import type { FleetStore, KnownBicycle, ListPass, Origin } from '../follower/store.js';
import { needsExactReading, readExact, writeJson } from '../json/exact.js';
import { readTime } from '../terminal/time.js';
import type { Database, Row, Value } from './database.js';
import { DIALECTS } from './dialect.js';
import { bicycleRow, MOVED_COLUMNS, movedRow, type RowFacts, utcOf, utcOfMs, versionValue } from './rows.js';

/** What a batch writes, in the order of the columns. */
export interface Writes {
  /** As BICYCLE_COLUMNS. */
  readonly bicycles: readonly (readonly Value[])[];
  /** Of bicycles that only moved, as MOVED_COLUMNS: most indexes need not be touched for them. */
  readonly moved: readonly (readonly Value[])[];
  /** As CHANGE_COLUMNS. */
  readonly changes: readonly (readonly Value[])[];
  /** What is written beside these, in its order. */
  readonly steps: readonly WriteStep[];
}

/** What a batch does to the tables beside its rows. `started` is UTC, as the rows have it. */
export type WriteStep =
  | { readonly type: 'clear-listed' }
  | { readonly type: 'listed'; readonly uuids: readonly string[]; readonly pass: number }
  | { readonly type: 'mark-gone'; readonly started: string }
  /** Holds the whole reading against the table, once the batch is written. */
  | { readonly type: 'verify'; readonly id: number; readonly pass: number; readonly started: string }
  /** The open gap is over; or changes are not recorded, from the first to the last of them: moments that are near each other are one gap. */
  | ClosedGap
  | (Omit<ClosedGap, 'type'> & { readonly type: 'gap-moment' });

export const CHANGE_COLUMNS: readonly string[] = [
  'at',
  'received',
  'bicycle',
  'version',
  'field',
  'old',
  'new',
  'source',
];

export interface Ledger extends FleetStore {
  /** Loads the rows of these bicycles, those that are loaded already apart. */
  load(database: Database, uuids: Iterable<string>): Promise<void>;
  /** Something to write with the batch. */
  add(step: WriteStep): void;
  /** What was changed since the last time; of the rows those that messages were about are kept, as they are written now. */
  take(): Writes;
  /** The table was changed past the ledger: what is kept of it is forgotten. */
  forget(): void;
  /** How many bicycles the mirror has that are not gone. */
  setSize(count: number): void;
}

interface Entry extends Omit<RowFacts, 'raw'> {
  known: KnownBicycle;
  /** Undefined when `known` has become another. */
  raw: string | undefined;
  isDirty: boolean;
  /** Whether a column beside those that a bicycle on its way changes is another. */
  isOther: boolean;
}

/** What is remembered of a message until the lists that were asked for before it have come. */
type Recent = Pick<KnownBicycle, 'heard' | 'touchedMs' | 'loose'>;

/** Of how many bicycles that is remembered: more than messages come while a page is in flight. */
const RECENT_LIMIT = 50_000;
/** Whose rows are kept from batch to batch, some 2 kB each. */
const KEPT_LIMIT = 5_000;

const UNTOUCHED: Recent = { heard: 0, touchedMs: Number.NEGATIVE_INFINITY, loose: undefined };

export function openLedger(): Ledger {
  const entries = new Map<string, Entry>();
  /** What batches before have written, the longest untouched first. */
  const kept = new Map<string, Entry>();
  const recent = new Map<string, Recent>();
  let changes: Value[][] = [];
  let steps: WriteStep[] = [];
  let size = 0;
  let found = 0;
  /** When the last change was made that left nothing to record, by the machine's date: all is as it was known before a change that was missed. */
  let undoneMs = Number.NEGATIVE_INFINITY;

  const remember = (uuid: string, { heard, touchedMs, loose }: KnownBicycle) => {
    recent.delete(uuid);
    recent.set(uuid, { heard, touchedMs, loose });
    if (recent.size <= RECENT_LIMIT) return;
    const [oldest = ''] = recent.keys();
    recent.delete(oldest);
  };

  const forget = (limit: number) => {
    for (const [uuid, { known }] of kept) {
      if (kept.size <= limit) return;
      kept.delete(uuid);
      remember(uuid, known);
    }
  };

  const record = (uuid: string, at: string, { source, receivedMs }: Origin, change: Change) => {
    const { version, field, old, now } = change;
    changes.push([at, utcOfMs(receivedMs), uuid, version, field, old, now, source]);
    if (source === 'list') found++;
  };

  const add = (uuid: string, known: KnownBicycle, from: Origin, isPlausible: boolean) => {
    const received = utcOfMs(from.receivedMs);
    const raw = from.json ?? writeJson(known.bicycle);
    entries.set(uuid, {
      uuid,
      known,
      raw,
      followed: from.followed,
      gone: null,
      firstSeen: received,
      lastSeen: received,
      isDirty: true,
      isOther: true,
    });
    size++;
    if (from.isFirstReading) return;
    const version = versionValue(known.bicycle.concurrency_version);
    const at = timeOf(undefined, known.bicycle, from, isPlausible) ?? received;
    record(uuid, at, from, { version, field: '*', old: null, now: raw });
  };

  const update = (uuid: string, entry: Entry, known: KnownBicycle, from: Origin, isPlausible: boolean) => {
    const before = entry.known.bicycle;
    const after = known.bicycle;
    entry.known = known;
    const received = utcOfMs(from.receivedMs);
    const version = versionValue(after.concurrency_version);
    if (entry.gone !== null && known.goneMs === undefined) {
      const old = JSON.stringify(entry.gone);
      record(uuid, received, from, { version, field: 'gone', old, now: 'null' });
      entry.gone = null;
      entry.isOther = true;
      entry.isDirty = true;
      size++;
    }
    if (from.source === 'list' && entry.followed !== from.followed) {
      entry.followed = from.followed;
      entry.isOther = true;
    }
    let at: string | undefined;
    let isChanged = false;
    const recorded = changes.length;
    for (const field in after) {
      const [old, now] = [before[field], after[field]];
      if (old === now) continue;
      const texts = [old === undefined ? null : writeJson(old), writeJson(now)] as const;
      if (texts[0] === texts[1]) continue;
      isChanged = true;
      entry.isOther ||= !MOVED_COLUMNS.includes(field);
      // A message came before the first reading, which fills in what it left out.
      if (BOOKKEEPING.has(field) || (from.isFirstReading && old === undefined)) continue;
      at ??= timeOf(before, after, from, isPlausible) ?? received;
      record(uuid, at, from, { version, field, old: texts[0], now: texts[1] });
    }
    const isMoved = after.modified !== before.modified || after.concurrency_version !== before.concurrency_version;
    if (isMoved && changes.length === recorded && !from.isFirstReading) {
      const saidMs = from.source === 'list' ? readTime(timeOf(before, after, from, isPlausible)) : undefined;
      undoneMs = Math.max(undoneMs, Math.min(saidMs ?? from.receivedMs, from.receivedMs));
    }
    if (isChanged) entry.raw = undefined;
    if (!isChanged && from.source === 'list') return;
    entry.lastSeen = received;
    entry.isDirty = true;
  };

  return {
    get(uuid) {
      return entries.get(uuid)?.known;
    },
    keep(uuid, known, origin, isPlausible) {
      const entry = entries.get(uuid);
      // List items repeat pushed data; of what a mirror has shown nothing needs to be kept.
      const shown = { ...known, isSilent: false, caughtUp: [] };
      if (entry === undefined) add(uuid, shown, origin, isPlausible);
      else update(uuid, entry, shown, origin, isPlausible);
      return true;
    },
    size: () => size,
    hidden: () => undefined,
    isFull: () => false,
    isTable: true,
    beginList: () => void steps.push({ type: 'clear-listed' }),
    addListed: (uuids, { pass }) => void steps.push({ type: 'listed', uuids, pass }),
    meet({ id, pass, started }) {
      steps.push({ type: 'verify', id, pass, started: utcOfMs(started.wallMs) });
      return undefined;
    },
    removeMissing({ started }: ListPass) {
      steps.push({ type: 'mark-gone', started: utcOfMs(started.wallMs) });
      return [];
    },
    add(step) {
      // A change that undid one that was missed has nothing to record: the gap lasts until the last of these.
      const isGap = step.type === 'gap-close';
      steps.push(isGap ? { ...step, endedMs: Math.max(step.endedMs, undoneMs) } : step);
    },
    async load(database, uuids) {
      const wanted: string[] = [];
      for (const uuid of new Set(uuids)) {
        const entry = kept.get(uuid);
        if (entry !== undefined) entries.set(uuid, entry);
        else if (!entries.has(uuid)) wanted.push(uuid);
      }
      if (wanted.length === 0) return;
      const rows = await database.all(`${ROWS} (${DIALECTS[database.kind].texts})`, [JSON.stringify(wanted)]);
      for (const row of rows) {
        const uuid = String(row['uuid']);
        entries.set(uuid, entryOf(row, recent.get(uuid) ?? UNTOUCHED));
      }
    },
    take() {
      const bicycles: Value[][] = [];
      const moved: Value[][] = [];
      for (const [uuid, entry] of entries) {
        const { known } = entry;
        if (entry.isDirty) {
          entry.raw ??= writeJson(known.bicycle);
          const row = bicycleRow(known.bicycle, { ...entry, raw: entry.raw });
          if (entry.isOther) bicycles.push(row);
          else moved.push(movedRow(row));
          entry.isDirty = false;
          entry.isOther = false;
        }
        kept.delete(uuid);
        if (known.heard > 0) kept.set(uuid, entry);
      }
      const writes = { bicycles, moved, changes, steps };
      changes = [];
      steps = [];
      entries.clear();
      forget(KEPT_LIMIT);
      return writes;
    },
    forget: () => forget(0),
    setSize(count) {
      size = count;
    },
    found: () => found,
  };
}

interface Change {
  readonly version: Value;
  readonly field: string;
  readonly old: string | null;
  readonly now: string;
}

const ROWS = 'SELECT uuid, followed, gone, first_seen, last_seen, raw FROM bicycles WHERE uuid IN';

function entryOf(row: Row, recent: Recent): Entry {
  const [uuid, raw] = [String(row['uuid']), String(row['raw'])];
  const bicycle = readRaw(raw);
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
    followed: textOf(row['followed']),
    gone: textOf(row['gone']),
    firstSeen: String(row['first_seen']),
    lastSeen: String(row['last_seen']),
    isDirty: false,
    isOther: false,
  };
}

function textOf(value: Value | undefined): string | null {
  return value === null || value === undefined ? null : String(value);
}

/** An object as this program wrote it, numbers as they were sent. */
export function readRaw(raw: string): Bicycle {
  return (needsExactReading(raw) ? readExact(raw) : JSON.parse(raw)) as Bicycle;
}

/** When the service says that a change was made; undefined where it does not say, or cannot be believed. */
function timeOf(
  before: Bicycle | undefined,
  after: Bicycle,
  { saysModified }: Origin,
  isPlausible: boolean,
): string | undefined {
  const { modified } = after;
  if (typeof modified !== 'string') return undefined;
  const isSaid = modified !== before?.modified || after.concurrency_version !== before?.concurrency_version;
  const modifiedMs = readTime(modified);
  if (!saysModified || !isSaid || modifiedMs === undefined || !isPlausible) return undefined;
  const beforeMs = readTime(before?.modified);
  return beforeMs !== undefined && modifiedMs < beforeMs ? undefined : utcOf(modified);
}
