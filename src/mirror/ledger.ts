// What one batch of the mirror's writer knows and writes: rows loaded from the database, compared, and written with their changes.

import type { Bicycle } from '../api/bicycle.js';
import { needsExactReading, readExact, writeJson } from '../json/exact.js';
import { readTime } from '../terminal/time.js';
import type { Database, Row, Value } from './database.js';
import { DIALECTS } from './dialect.js';
import { BOOKKEEPING, type Known, type Memory, versionOf } from './knowledge.js';
import { bicycleRow, MOVED_COLUMNS, movedRow, type RowFacts, utcOf, utcOfMs, versionValue } from './rows.js';

/** Where the next statement about a bicycle comes from. */
export interface Origin {
  readonly source: 'push' | 'list';
  /** By the machine's date, in milliseconds. */
  readonly receivedMs: number;
  /** The organization whose list or topic it is. */
  readonly followed: string;
  /** The object as it came, where it came alone. */
  readonly json: string | undefined;
  /** Whether it says when it was modified: a message may leave that out. */
  readonly saysModified: boolean;
  /** A bicycle that was not known was there already: it is no change. */
  readonly isFirstReading: boolean;
  /** Whether a `modified` can be the time of a change. */
  isPlausible(modifiedMs: number | undefined): boolean;
}

/** What a batch writes, in the order of the columns. */
export interface Writes {
  /** As BICYCLE_COLUMNS. */
  readonly bicycles: readonly (readonly Value[])[];
  /** Of bicycles that only moved, as MOVED_COLUMNS: most indexes need not be touched for them. */
  readonly moved: readonly (readonly Value[])[];
  /** As CHANGE_COLUMNS. */
  readonly changes: readonly (readonly Value[])[];
}

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

export interface Ledger extends Memory {
  /** Loads the rows of these bicycles, those that are loaded already apart. */
  load(database: Database, uuids: Iterable<string>): Promise<void>;
  /** Asks the database what `latestModifiedMs` answers next: of what was seen before that moment of the machine's date. */
  loadLatest(database: Database, fromWallMs: number): Promise<void>;
  /** What the next calls of the knowledge are about. */
  from(origin: Origin): void;
  /** What was changed since the last time; of the rows those that messages were about are kept, as they are written now. */
  take(): Writes;
  /** The table was changed past the ledger: what is kept of it is forgotten. */
  forget(): void;
  /** How many bicycles the mirror has that are not gone. */
  setSize(count: number): void;
  /** Changes that lists showed, counted for ever. */
  found(): number;
  /** When the last change was made that left nothing to record, by the machine's date: all is as it was known before a change that was missed. */
  undoneMs(): number;
}

interface Entry extends Omit<RowFacts, 'raw'> {
  known: Known;
  /** Undefined when `known` has become another. */
  raw: string | undefined;
  isDirty: boolean;
  /** Whether a column beside those that a bicycle on its way changes is another. */
  isOther: boolean;
}

/** What is remembered of a message until the lists that were asked for before it have come. */
type Recent = Pick<Known, 'heard' | 'touchedMs' | 'loose'>;

/** Of how many bicycles that is remembered: more than messages come while a page is in flight. */
const RECENT_LIMIT = 50_000;
/** Whose rows are kept from batch to batch, some 2 kB each. */
const KEPT_LIMIT = 5_000;

/** A `modified` further ahead of the moment that it was seen is a mistake. */
const AHEAD_MS = 5_000;

const UNTOUCHED: Recent = { heard: 0, touchedMs: Number.NEGATIVE_INFINITY, loose: undefined };

export function openLedger(): Ledger {
  const entries = new Map<string, Entry>();
  /** What batches before have written, the longest untouched first. */
  const kept = new Map<string, Entry>();
  const recent = new Map<string, Recent>();
  let changes: Value[][] = [];
  let origin: Origin | undefined;
  let size = 0;
  let found = 0;
  let latestModifiedMs: number | undefined;
  let undoneMs = Number.NEGATIVE_INFINITY;

  const remember = (uuid: string, { heard, touchedMs, loose }: Known) => {
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

  const record = (uuid: string, at: string, received: string, change: Change) => {
    const { version, field, old, now } = change;
    changes.push([at, received, uuid, version, field, old, now, origin?.source ?? 'list']);
    if (origin?.source === 'list') found++;
  };

  const add = (uuid: string, known: Known, from: Origin) => {
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
    const at = timeOf(undefined, known.bicycle, from) ?? received;
    record(uuid, at, received, { version, field: '*', old: null, now: raw });
  };

  const update = (uuid: string, entry: Entry, known: Known, from: Origin) => {
    const before = entry.known.bicycle;
    const after = known.bicycle;
    entry.known = known;
    const received = utcOfMs(from.receivedMs);
    const version = versionValue(after.concurrency_version);
    // A push about a bicycle that no list shows any more does not bring it back.
    if (entry.gone !== null && from.source === 'list') {
      const old = JSON.stringify(entry.gone);
      record(uuid, received, received, { version, field: 'gone', old, now: 'null' });
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
      at ??= timeOf(before, after, from) ?? received;
      record(uuid, at, received, { version, field, old: texts[0], now: texts[1] });
    }
    const isMoved = after.modified !== before.modified || after.concurrency_version !== before.concurrency_version;
    if (isMoved && changes.length === recorded && !from.isFirstReading) {
      const saidMs = from.source === 'list' ? readTime(timeOf(before, after, from)) : undefined;
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
    keep(uuid, known) {
      if (origin === undefined) throw new Error('nobody said where it comes from');
      const entry = entries.get(uuid);
      // Lists say again what messages said; of what a mirror has shown nothing needs to be kept.
      const shown = { ...known, isSilent: false, caughtUp: [] };
      if (entry === undefined) add(uuid, shown, origin);
      else update(uuid, entry, shown, origin);
      return true;
    },
    size: () => size,
    isFull: () => false,
    isTable: true,
    latestModifiedMs: () => latestModifiedMs,
    *entries() {
      for (const { known } of entries.values()) yield known;
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
    async loadLatest(database, fromWallMs) {
      const [row] = await database.all(LATEST, [utcOfMs(fromWallMs + AHEAD_MS), utcOfMs(fromWallMs)]);
      latestModifiedMs = row === undefined ? undefined : readTime(row['modified_utc']);
    },
    from(next) {
      origin = next;
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
      const writes = { bicycles, moved, changes };
      changes = [];
      entries.clear();
      forget(KEPT_LIMIT);
      return writes;
    },
    forget: () => forget(0),
    setSize(count) {
      size = count;
    },
    found: () => found,
    undoneMs: () => undoneMs,
  };
}

interface Change {
  readonly version: Value;
  readonly field: string;
  readonly old: string | null;
  readonly now: string;
}

const ROWS = 'SELECT uuid, followed, gone, first_seen, last_seen, raw FROM bicycles WHERE uuid IN';

const LATEST =
  'SELECT modified_utc FROM bicycles WHERE modified_utc <= ? AND last_seen <= ? ORDER BY modified_utc DESC LIMIT 1';

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
function timeOf(before: Bicycle | undefined, after: Bicycle, from: Origin): string | undefined {
  const { modified } = after;
  if (typeof modified !== 'string') return undefined;
  const isSaid = modified !== before?.modified || after.concurrency_version !== before?.concurrency_version;
  const modifiedMs = readTime(modified);
  if (!from.saysModified || !isSaid || modifiedMs === undefined || !from.isPlausible(modifiedMs)) return undefined;
  const beforeMs = readTime(before?.modified);
  return beforeMs !== undefined && modifiedMs < beforeMs ? undefined : utcOf(modified);
}
