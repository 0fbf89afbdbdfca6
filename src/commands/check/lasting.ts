// Finds the bicycles that a rule with `for` has selected without interruption. Uses a mirror's
// history.

import type { Bicycle } from '../../api/bicycle.js';
import type { Context } from '../../context.js';
import { parseJson } from '../../json/parse.js';
import { openChosen, withMirror } from '../../list/offline.js';
import type { Mirror } from '../../mirror/open.js';
import { readTime, showDuration } from '../../terminal/time.js';
import type { CompiledSelection } from './selection.js';

export interface LastingInput {
  context: Context;
  selection: CompiledSelection;
  /**
   * The bicycles to check, by UUID. An `unlocated` bicycle has no position, so it is unknown
   * whether the rule selects it.
   */
  candidates: ReadonlyMap<string, 'in' | 'unlocated'>;
  forMs: number;
  nowMs: number;
  bridgesGaps: boolean;
}

export interface Lasting {
  /**
   * The bicycles that the rule has selected without interruption for at least the duration in
   * `for`.
   */
  readonly uuids: ReadonlySet<string>;
  /**
   * The bicycles that had no position at some point. The rule may nevertheless have selected them
   * the whole time.
   */
  readonly uncertain: ReadonlySet<string>;
  /** The reason why the history cannot show how long the bicycles have been selected. */
  readonly doubt: string | undefined;
}

/**
 * Checks the history of the selected bicycles. Without a mirror, it is unknown how long they have
 * been selected.
 */
export async function findLasting(input: LastingInput): Promise<Lasting> {
  const { context } = input;
  const uncertain = new Set(
    [...input.candidates].flatMap(([uuid, now]) => (now === 'unlocated' ? [uuid] : [])),
  );
  const unknown = (doubt: string): Lasting => ({ uuids: new Set(), uncertain, doubt });
  if (context.flags.mirror === false)
    return unknown('"for" needs a mirror, and --no-mirror was given');
  const opened = await openChosen(context).catch(() => undefined);
  if (opened === undefined) return unknown('"for" needs a mirror: fleet mirror run');
  return withMirror(Promise.resolve(opened), (mirror) => readLasting(mirror, input));
}

async function readLasting(mirror: Mirror, input: LastingInput): Promise<Lasting> {
  const { candidates, forMs, nowMs, selection, context, bridgesGaps } = input;
  const fromMs = nowMs - forMs;
  const { rangeOf, readPast } = await import('../../mirror/past.js');
  const { readGaps } = await import('../../mirror/status.js');
  const range = rangeOf(fromMs);
  const uuids = new Set<string>();
  const uncertain = new Set<string>();
  const membershipAt = (bicycle: Bicycle, atMs: number) =>
    selection.membershipOf(bicycle, { ms: atMs, zone: context.zone });
  const past = await readPast(mirror.database, range);
  for (const [uuid, present] of candidates) {
    const known = past.get(uuid);
    if (known === undefined || known.isGone) continue;
    const membership = membershipAt(known.bicycle, fromMs);
    if (membership === 'out') continue;
    const isCertain = present === 'in' && membership === 'in';
    (isCertain ? uuids : uncertain).add(uuid);
  }
  const remove = (uuid: string) => {
    uuids.delete(uuid);
    uncertain.delete(uuid);
  };
  // A change can have several rows, for example one row for the latitude and one for the longitude.
  // All rows of a change are applied before the bicycle is checked.
  const checkChange = (uuid: string, time: unknown) => {
    const known = past.get(uuid);
    if (known === undefined) return;
    const membership = membershipAt(known.bicycle, readTime(time) ?? nowMs);
    if (membership === 'out') remove(uuid);
    if (membership === 'unlocated' && uuids.delete(uuid)) uncertain.add(uuid);
  };
  let last: { uuid: string; time: unknown } | undefined;
  const sql = 'SELECT bicycle, field, new, at FROM changes WHERE at >= ? ORDER BY id';
  for await (const rows of mirror.database.each(sql, [range.since])) {
    for (const row of rows) {
      const uuid = String(row['bicycle']);
      const { field, at: time } = row;
      if (last !== undefined && (last.uuid !== uuid || String(last.time) !== String(time))) {
        checkChange(last.uuid, last.time);
        last = undefined;
      }
      const known = past.get(uuid);
      if (known === undefined || !(uuids.has(uuid) || uncertain.has(uuid))) continue;
      if (field === 'gone' || field === '*') {
        remove(uuid);
        continue;
      }
      change(known.bicycle, String(field), row['new']);
      last = { uuid, time };
    }
  }
  if (last !== undefined) checkChange(last.uuid, last.time);
  const { isCurrent, keptSince } = await mirror.status();
  if (!isCurrent) return { uuids, uncertain, doubt: 'the mirror is not current' };
  const startMs = await historyStart(mirror, keptSince);
  if (startMs === undefined || startMs > fromMs)
    return {
      uuids,
      uncertain,
      doubt: `the history of the mirror is shorter than ${showDuration(forMs)}`,
    };
  const gaps = await readGaps(
    mirror.database,
    'WHERE ended IS NULL OR ended >= ? ORDER BY started LIMIT 1',
    range.since,
  );
  const doubt =
    gaps.length > 0 && !bridgesGaps
      ? 'the mirror has a gap in that time ("gaps: bridge" accepts it when both sides agree)'
      : undefined;
  return { uuids, uncertain, doubt };
}

/**
 * Returns when a mirror's history begins. This is the time when the mirror was first filled. If
 * --keep has deleted older history, it is the start of the remaining history.
 */
async function historyStart(
  mirror: Mirror,
  keptSince: string | undefined,
): Promise<number | undefined> {
  if (keptSince !== undefined) return readTime(keptSince);
  const [row] = await mirror.database.all('SELECT min(first_seen) AS first FROM bicycles');
  return readTime(row?.['first']);
}

function change(bicycle: Bicycle, field: string, value: unknown): void {
  if (value === null || value === undefined) delete bicycle[field];
  else bicycle[field] = parseJson(String(value));
}
