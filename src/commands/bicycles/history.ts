// `fleet bicycles history`: the changes of one bicycle that the mirror recorded, and the gaps in which it could record none.

import { BICYCLE } from '../../api/bicycle.js';
import type { Context } from '../../context.js';
import { FleetError } from '../../errors.js';
import type { Item } from '../../http/types.js';
import { readExact, writeJson } from '../../json/exact.js';
import type { MirrorAddress } from '../../mirror/address.js';
import type { Row } from '../../mirror/database.js';
import type { Mirror } from '../../mirror/open.js';
import { clean } from '../../terminal/clean.js';
import type { Shape } from '../../terminal/formats.js';
import { age, showDuration } from '../../terminal/time.js';
import { MISSING, textOf } from '../../terminal/values.js';
import { lookOf } from '../../views/bicycle.js';
import { readSince } from '../follow/flags.js';
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
    { header: 'FIELD', field: 'field', keep: 5 },
    { header: 'OLD', field: 'old', keep: 3, cell: ({ field, old }) => showValue(field, old) },
    { header: 'NEW', field: 'new', keep: 4, cell: (entry) => showValue(entry.field, entry.new) },
    { header: 'SOURCE', field: 'source', keep: 1 },
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
  fields: readonly string[] = [],
): AsyncGenerator<Item<Entry>[], void, undefined> {
  const isField = fields.length === 0 ? '' : ` AND field IN (${fields.map(() => '?').join(', ')})`;
  const [isRecent, isLate] = since === undefined ? ['', ''] : [' AND at >= ?', ' WHERE ended IS NULL OR ended >= ?'];
  const recent = since === undefined ? [] : [since];
  const sql = `SELECT at, id, field, old, new, source, version, NULL AS ended FROM changes WHERE bicycle = ?${isField}${isRecent}
    UNION ALL SELECT started, 0, NULL, NULL, NULL, reason, NULL, ended FROM gaps${isLate} ORDER BY at, id`;
  for await (const rows of database.each(sql, [uuid, ...fields, ...recent, ...recent]))
    yield rows.map((row) => itemOf(row['field'] === null ? gapOf(row) : changeOf(row)));
}

/** A gap has its reason where a change has its source. */
function gapOf(row: Row): Entry {
  const [at, ended] = [String(row['at']), row['ended']];
  const length = ended === null ? 'still open' : showDuration(Date.parse(String(ended)) - Date.parse(at));
  const note = `gap, ${length}: ${row['source']}`;
  return { at, field: null, old: null, new: null, source: null, version: null, note };
}

function changeOf(row: Row): Entry {
  const [field, old, now] = [String(row['field']), readSide(row['old']), readSide(row['new'])];
  const note = field === '*' ? 'first seen' : field !== 'gone' ? null : now === null ? 'came back' : 'left the list';
  const version = row['version'] === null ? null : readExact(String(row['version']));
  return { at: String(row['at']), field, old, new: now, source: String(row['source']), version, note };
}

function itemOf(value: Entry): Item<Entry> {
  return { json: writeJson(value), value };
}
