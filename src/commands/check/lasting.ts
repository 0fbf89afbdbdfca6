// Finds the bicycles that a rule with `for` has selected without a break, in the history of a mirror.

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
  /** The bicycles that are selected now, by UUID. */
  selected: ReadonlySet<string>;
  forMs: number;
  nowMs: number;
  bridgesGaps: boolean;
}

export interface Lasting {
  /** Selected during the whole time. */
  readonly uuids: ReadonlySet<string>;
  /** Why the history cannot prove it. */
  readonly doubt: string | undefined;
}

/** Reads the history of the selected bicycles. Without a mirror the answer is not known. */
export async function findLasting(input: LastingInput): Promise<Lasting> {
  const { context } = input;
  const unknown = (doubt: string): Lasting => ({ uuids: new Set(), doubt });
  if (context.flags.mirror === false)
    return unknown('"for" needs a mirror, and --no-mirror was given');
  const opened = await openChosen(context).catch(() => undefined);
  if (opened === undefined) return unknown('"for" needs a mirror: fleet mirror run');
  return withMirror(Promise.resolve(opened), (mirror) => readLasting(mirror, input));
}

async function readLasting(mirror: Mirror, input: LastingInput): Promise<Lasting> {
  const { selected, forMs, nowMs, selection, context, bridgesGaps } = input;
  const fromMs = nowMs - forMs;
  const { rangeOf, readPast } = await import('../../mirror/past.js');
  const { readGaps } = await import('../../mirror/status.js');
  const range = rangeOf(fromMs);
  const uuids = new Set<string>();
  const at = (atMs: number) => ({ ms: atMs, zone: context.zone });
  const past = await readPast(mirror.database, range);
  for (const uuid of selected) {
    const known = past.get(uuid);
    if (known === undefined || known.isGone) continue;
    if (selection.membershipOf(known.bicycle, at(fromMs)) === 'in') uuids.add(uuid);
  }
  const sql = 'SELECT bicycle, field, new, at FROM changes WHERE at >= ? ORDER BY id';
  for await (const rows of mirror.database.each(sql, [range.since])) {
    for (const { bicycle: uuid, field, new: value, at: time } of rows) {
      const known = past.get(String(uuid));
      if (known === undefined || !uuids.has(String(uuid))) continue;
      change(known.bicycle, String(field), value);
      const isIn = selection.membershipOf(known.bicycle, at(readTime(time) ?? nowMs)) === 'in';
      if (!isIn || field === 'gone' || field === '*') uuids.delete(String(uuid));
    }
  }
  const { isCurrent } = await mirror.status();
  if (!isCurrent) return { uuids, doubt: 'the mirror is not current' };
  const startMs = await historyStart(mirror);
  if (startMs === undefined || startMs > fromMs)
    return { uuids, doubt: `the history of the mirror is shorter than ${showDuration(forMs)}` };
  const gaps = await readGaps(
    mirror.database,
    'WHERE ended IS NULL OR ended >= ? ORDER BY started LIMIT 1',
    range.since,
  );
  const doubt =
    gaps.length > 0 && !bridgesGaps
      ? 'the mirror has a gap in that time ("gaps: bridge" accepts it when both sides agree)'
      : undefined;
  return { uuids, doubt };
}

/** Returns when the history of a mirror begins: with its first reading, or with what --keep left. */
async function historyStart(mirror: Mirror): Promise<number | undefined> {
  const { keptSince } = await mirror.status();
  if (keptSince !== undefined) return readTime(keptSince);
  const [row] = await mirror.database.all('SELECT min(first_seen) AS first FROM bicycles');
  return readTime(row?.['first']);
}

function change(bicycle: Bicycle, field: string, value: unknown): void {
  if (field === 'gone' || field === '*') return;
  if (value === null || value === undefined) delete bicycle[field];
  else bicycle[field] = parseJson(String(value));
}
