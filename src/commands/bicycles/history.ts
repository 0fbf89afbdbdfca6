// `fleet bicycles history`: the changes of one bicycle that the mirror recorded, and the gaps in which it could record none.

import { BICYCLE } from '../../api/bicycle.js';
import type { Context } from '../../context.js';
import { FleetError } from '../../errors.js';
import type { Item } from '../../http/types.js';
import { readExact, writeJson } from '../../json/exact.js';
import type { MirrorAddress } from '../../mirror/address.js';
import type { Row, Value } from '../../mirror/database.js';
import { type Gap, type Mirror, readGaps } from '../../mirror/open.js';
import { clean } from '../../terminal/clean.js';
import type { Shape } from '../../terminal/formats.js';
import { age, showDuration } from '../../terminal/time.js';
import { MISSING, textOf } from '../../terminal/values.js';
import { lookOf } from '../../views/bicycle.js';
import { readSince } from '../alerts/plan.js';
import { describe, pickOne, shorten } from '../list/meant.js';
import { openResult } from '../list/result.js';
import { describeAge, withMirror } from '../offline.js';
import { findRemembered, readSide } from './remembered.js';

export interface HistoryOptions {
  /** A time or an age, as it was typed. */
  since?: string;
  field?: string[];
  to?: MirrorAddress;
}

/** One change, or with `field` null a gap. */
interface Entry {
  at: string;
  field: string | null;
  old: unknown;
  new: unknown;
  source: string | null;
  version: unknown;
  /** What a gap was, until when, and how the bicycle came and went. */
  note: string | null;
}

/** More gaps than a history is read for. */
const MOST_GAPS = 10_000;
const LONGEST_CELL_CHARACTERS = 200;

const HISTORY: Shape<Entry> = {
  noun: { one: 'change', many: 'changes' },
  fields: ['at', 'field', 'old', 'new', 'source', 'version', 'note'],
  columns: [
    {
      header: 'WHEN',
      programHeader: 'AT',
      field: 'at',
      keep: 6,
      cell: ({ at }, place) => ({ text: place.terminal && place.isWhole !== true ? age(at, place.now) : at }),
    },
    { header: 'FIELD', field: 'field', keep: 5, cell: ({ field }) => ({ text: clean(field ?? MISSING) }) },
    { header: 'OLD', field: 'old', keep: 3, cell: ({ field, old }) => showValue(field, old) },
    { header: 'NEW', field: 'new', keep: 4, cell: (entry) => showValue(entry.field, entry.new) },
    { header: 'SOURCE', field: 'source', keep: 1, cell: ({ source }) => ({ text: source ?? MISSING }) },
    { header: 'NOTE', field: 'note', keep: 2, cell: ({ note }) => ({ text: clean(note ?? '') }) },
  ],
};

function showValue(field: string | null, value: unknown) {
  const text = clean((textOf(value) ?? MISSING).slice(0, LONGEST_CELL_CHARACTERS));
  return field === 'state' ? { text, color: lookOf(value).color } : { text };
}

/** Prints what the mirror recorded of one bicycle, the oldest first. */
export async function showHistory(context: Context, text: string, options: HistoryOptions): Promise<void> {
  const sinceMs = options.since === undefined ? undefined : readSince(options.since, context.clock.wallMs());
  const since = sinceMs === undefined ? undefined : new Date(sinceMs).toISOString();
  await withMirror(
    context,
    async (mirror) => {
      const missing = new FleetError('not-found', `the mirror knows no bicycle "${shorten(text)}"`, {
        hint: 'give a UUID, its first four or more digits, or an exact name, serial number or bleid',
      });
      const matches = await findRemembered(mirror.database, text, { withGone: true });
      const { uuid, item } = pickOne(text, matches, BICYCLE, missing);
      const status = await mirror.status();
      if (!status.isCurrent) await context.notice(describeAge(status));
      const result = await openResult(context, HISTORY);
      let count = 0;
      for await (const entries of readEntries(mirror, uuid, since, options.field)) {
        count += entries.filter(({ value }) => value.field !== null).length;
        await result.write(entries);
      }
      const span = status.keptSince === undefined ? '' : ` since ${status.keptSince}`;
      await result.end(
        count === 0
          ? [
              `No changes of ${describe(uuid, item?.value.name)} are recorded${since === undefined ? span : ` since ${since}`}`,
            ]
          : [],
      );
    },
    options.to,
  );
}

/** Changes in the order in which they happened, gaps between them. */
async function* readEntries(
  { database }: Mirror,
  uuid: string,
  since: string | undefined,
  fields: readonly string[] | undefined,
): AsyncGenerator<Item<Entry>[], void, undefined> {
  const recent = since === undefined ? [] : [since];
  const which = since === undefined ? '' : 'WHERE ended IS NULL OR ended >= ?';
  const gaps = await readGaps(database, `${which} ORDER BY started LIMIT ?`, ...recent, MOST_GAPS);
  const conditions = ['bicycle = ?'];
  const values: Value[] = [uuid];
  if (since !== undefined) {
    conditions.push('at >= ?');
    values.push(since);
  }
  if (fields !== undefined) {
    conditions.push(`field IN (${fields.map(() => '?').join(', ')})`);
    values.push(...fields);
  }
  const sql = `SELECT at, field, old, new, source, version FROM changes WHERE ${conditions.join(' AND ')} ORDER BY at, id`;
  let next = 0;
  for await (const chunk of database.each(sql, values)) {
    const entries: Item<Entry>[] = [];
    for (const row of chunk) {
      for (let gap = gaps[next]; gap !== undefined && gap.started <= String(row['at']); gap = gaps[++next])
        entries.push(gapEntry(gap));
      entries.push(changeEntry(row));
    }
    yield entries;
  }
  yield gaps.slice(next).map(gapEntry);
}

function gapEntry({ started, ended, reason }: Gap): Item<Entry> {
  const length = ended === null ? 'still open' : showDuration(Date.parse(ended) - Date.parse(started));
  const note = `gap, ${length}: ${reason}`;
  return itemOf({ at: started, field: null, old: null, new: null, source: null, version: null, note });
}

function changeEntry(row: Row): Item<Entry> {
  const [field, old, now] = [String(row['field']), readSide(row['old']), readSide(row['new'])];
  const note = field === '*' ? 'first seen' : field !== 'gone' ? null : now === null ? 'came back' : 'left the list';
  const version = row['version'] === null ? null : readExact(String(row['version']));
  return itemOf({ at: String(row['at']), field, old, new: now, source: String(row['source']), version, note });
}

function itemOf(value: Entry): Item<Entry> {
  return { json: writeJson(value), value };
}
