// Reads the history of a mirror: the fleet at a past moment, and the events in the order in which
// they were recorded.

import type { Bicycle } from '../api/bicycle.js';
import { parseJson } from '../json/parse.js';
import { type Clock, sleep } from '../system/clock.js';
import type { Database, Value } from './database.js';
import { FIRST_YEAR_MS, LAST_YEAR_MS, utcOfMs } from './rows.js';

/** Changes of one bicycle that arrived together, in one message or in one list. */
export interface Happening {
  readonly bicycle: string;
  /**
   * When the change happened by the service's clock, and when fleet received the change. Both times
   * are in UTC.
   */
  readonly at: string;
  readonly received: string;
  readonly version: number | bigint | null;
  readonly source: string;
  /**
   * The changed fields with their new values as JSON text, in the order of recording. For a new
   * bicycle, the field is `*` and the value is the whole bicycle. The field `gone` records that the
   * bicycle disappeared from the list or returned to it.
   */
  readonly changes: (readonly [field: string, json: string])[];
}

/**
 * A time range in UTC by the service's clock. `since` is inclusive, and `until` is exclusive.
 * `since` and `until` have the same format as the times in the `changes` table.
 */
export interface Range {
  readonly since: string;
  readonly until: string;
}

export interface PastBicycle {
  readonly bicycle: Bicycle;
  readonly organization: string;
  /** Whether the bicycle had left the list. */
  isGone: boolean;
}

/**
 * Fields whose changes are not recorded, because these fields only describe the last message about
 * the bicycle.
 */
const BOOKKEEPING = ['modified', 'concurrency_version'];

/**
 * Returns the range between two times in milliseconds since the epoch. A missing time leaves that
 * end of the range open.
 */
export function rangeOf(sinceMs = FIRST_YEAR_MS, untilMs = LAST_YEAR_MS): Range {
  return { since: utcOfMs(sinceMs), until: utcOfMs(untilMs) };
}

/**
 * Returns the fleet at a past moment. Starts with the current fleet and undoes all changes after
 * that moment. Bicycles that did not exist yet are marked as gone.
 */
export async function readPast(
  database: Database,
  { since }: Pick<Range, 'since'>,
): Promise<Map<string, PastBicycle>> {
  const fleet = new Map<string, PastBicycle>();
  for await (const rows of database.each('SELECT uuid, followed, gone, raw FROM bicycles')) {
    for (const { uuid, followed, gone, raw } of rows) {
      const bicycle = parseJson(String(raw)) as Bicycle;
      for (const field of BOOKKEEPING) delete bicycle[field];
      fleet.set(String(uuid), {
        bicycle,
        organization: String(followed ?? ''),
        isGone: gone !== null,
      });
    }
  }
  const sql = 'SELECT bicycle, field, old FROM changes WHERE at >= ? ORDER BY id DESC';
  for await (const rows of database.each(sql, [since])) {
    for (const { bicycle: uuid, field, old } of rows)
      undo(fleet.get(String(uuid)), String(field), old ?? null);
  }
  return fleet;
}

function undo(past: PastBicycle | undefined, field: string, old: Value): void {
  if (past === undefined) return;
  if (field === '*') past.isGone = true;
  else if (field === 'gone') past.isGone = old !== null && old !== 'null';
  else if (old === null) delete past.bicycle[field];
  else past.bicycle[field] = parseJson(String(old));
}

/** Yields the events of a range in the order in which they were recorded. */
async function* readHappenings(database: Database, { since, until }: Range) {
  const sql = 'SELECT * FROM changes WHERE at >= ? AND at < ? ORDER BY id';
  let open: Happening | undefined;
  for await (const rows of database.each(sql, [since, until])) {
    for (const row of rows) {
      const change = [String(row['field']), String(row['new'])] as const;
      const [bicycle, received, source] = [
        String(row['bicycle']),
        String(row['received']),
        String(row['source']),
      ];
      if (open?.bicycle === bicycle && open.received === received && open.source === source) {
        open.changes.push(change);
        continue;
      }
      if (open !== undefined) yield open;
      const version = row['version'] as Happening['version'];
      open = { bicycle, at: String(row['at']), received, version, source, changes: [change] };
    }
  }
  if (open !== undefined) yield open;
}

/**
 * Yields the events of a range. The pauses between the events are the original pauses divided by
 * `speed`. Rejects with the signal's reason when the signal is aborted.
 */
export async function* playHappenings(
  database: Database,
  range: Range,
  { clock, signal, speed }: { clock: Clock; signal: AbortSignal; speed: number },
): AsyncGenerator<Happening, void, undefined> {
  const startedMs = clock.monotonicMs();
  let firstMs: number | undefined;
  for await (const happening of readHappenings(database, range)) {
    const atMs = Date.parse(happening.received);
    firstMs ??= atMs;
    const leftMs = (atMs - firstMs) / speed - (clock.monotonicMs() - startedMs);
    if (leftMs > 0) await sleep(clock, leftMs, signal);
    yield happening;
  }
}
