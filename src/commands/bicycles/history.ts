// `fleet bicycles history`: the changes of one bicycle that the mirror recorded, and the gaps in which it could record none.

import type { Context } from '../../context.js';
import { FleetError } from '../../errors.js';
import type { Item } from '../../http/types.js';
import { readExact } from '../../json/exact.js';
import type { MirrorAddress } from '../../mirror/address.js';
import type { Row, Value } from '../../mirror/database.js';
import { type Gap, type Mirror, readGaps } from '../../mirror/open.js';
import { clean } from '../../terminal/clean.js';
import type { Shape } from '../../terminal/formats.js';
import { age, showDuration } from '../../terminal/time.js';
import { MISSING, textOf } from '../../terminal/values.js';
import { lookOf } from '../../views/bicycle.js';
import { readSince } from '../alerts/plan.js';
import { openResult } from '../list/result.js';
import { describeAge, withMirror } from '../offline.js';
import { ambiguous, describe } from './find.js';
import { findRemembered } from './remembered.js';

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
      const { uuid, name } = await findOne(mirror, text);
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
        count === 0 ? [`No changes of ${name} are recorded${since === undefined ? span : ` since ${since}`}`] : [],
      );
    },
    options.to,
  );
}

async function findOne({ database }: Mirror, text: string): Promise<{ uuid: string; name: string }> {
  const matches = await findRemembered(database, text, { withGone: true });
  const [only] = matches;
  if (matches.length > 1) throw ambiguous(text, matches);
  if (only === undefined) {
    throw new FleetError('not-found', `the mirror knows no bicycle "${text.slice(0, LONGEST_CELL_CHARACTERS)}"`, {
      hint: 'give a UUID, its first four or more digits, or an exact name, serial number or bleid',
    });
  }
  return { uuid: String(only.value.uuid), name: describe(only.value) };
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
  return entryOf({
    at: started,
    field: null,
    old: 'null',
    new: 'null',
    source: null,
    version: null,
    note: `gap, ${length}: ${reason}`,
  });
}

function changeEntry(row: Row): Item<Entry> {
  const [field, old, now] = [String(row['field']), row['old'] ?? null, row['new'] ?? null];
  const isGone = field === 'gone' && (now === null || now === 'null');
  const note = field === '*' ? 'first seen' : field !== 'gone' ? null : isGone ? 'came back' : 'left the list';
  return entryOf({
    at: String(row['at']),
    field,
    old: old === null ? 'null' : String(old),
    new: now === null ? 'null' : String(now),
    source: String(row['source']),
    version: row['version'] ?? null,
    note,
  });
}

/** `old` and `new` are JSON already. */
function entryOf(entry: Entry & { old: string; new: string }): Item<Entry> {
  const { at, field, old, new: now, source, version, note } = entry;
  const text = (value: unknown) => (typeof value === 'bigint' ? String(value) : JSON.stringify(value));
  const json = `{"at":${text(at)},"field":${text(field)},"old":${old},"new":${now},"source":${text(source)},"version":${text(version)},"note":${text(note)}}`;
  return {
    json,
    get value() {
      return readExact(json) as Entry;
    },
  };
}
