// `fleet mirror query`: one SQL statement that only reads, its rows in every format as they come.

import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import { readExact } from '../../json/exact.js';
import { parseJson } from '../../json/parse.js';
import type { MirrorAddress } from '../../mirror/address.js';
import type { Answer, TableColumn, Value } from '../../mirror/database.js';
import { lateItem } from '../../mirror/rows.js';
import { clean } from '../../terminal/clean.js';
import type { ListedItem, Shape } from '../../terminal/formats.js';
import { readStdin } from '../../terminal/stdin.js';
import { isJsonNumber, MISSING, pointOf, textOf } from '../../terminal/values.js';
import { openResult } from '../shared/list/result.js';
import { openChosen, withMirror } from '../shared/offline.js';

/** A row as an object; JSON columns hold what their text says. */
type Record = { readonly [column: string]: unknown };

/** Columns of the mirror that hold JSON: it is part of the JSON that is printed, not a text in it. */
const JSON_COLUMNS: readonly string[] = ['raw', 'old', 'new', 'extra', 'roles'];

/** Quoted texts and names, comments, texts between dollars: nothing in them ends a statement. */
const SKIPPED =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|--[^\n]*|\/\*(?:[^*]|\*(?!\/))*(?:\*\/|$)|\$([A-Za-z_]\w*)?\$[\s\S]*?(?:\$\1\$|$)/g;
/** What stands before the first word, that word, the rest of the statement, and what ends it. */
const STATEMENT = /^\W*(\w*)[^;]*/;
/** What a statement that only reads begins with. */
const READING = ['SELECT', 'WITH', 'VALUES', 'EXPLAIN', 'PRAGMA', 'SHOW', 'TABLE'];
/** Functions of libsql that reach beyond the database, and that it cannot leave out; their names have no other spelling. */
const BEYOND = /\b(writefile|readfile|fsdir|fts3_tokenizer|sqlite3mc_\w+)\b/i;
const LONGEST_CHARACTERS = 100_000;

/** The one statement of a query, without the semicolon at its end. Throws a usage error for none, several, or one that writes. */
export function readStatement(text: string): string {
  if (text.length > LONGEST_CHARACTERS)
    throw usageError(`the query is longer than ${LONGEST_CHARACTERS} characters`);
  const bare = text.replace(SKIPPED, (skipped) => ' '.repeat(skipped.length));
  const [statement = '', first = ''] = STATEMENT.exec(bare) ?? [];
  if (first === '')
    throw usageError(
      'the query is empty',
      'write one such as "select state, count(*) from bicycles group by state"',
    );
  if (/[^\s;]/.test(bare.slice(statement.length)))
    throw usageError(
      'a query is one statement, and this text has several',
      'run them one after another',
    );
  if (!READING.includes(first.toUpperCase()))
    throw usageError(
      `a query must be read-only: "${first}" is refused`,
      `a query begins with one of: ${READING.join(', ')}`,
    );
  if (first.toUpperCase() === 'PRAGMA' && text.includes('='))
    throw usageError(
      'a query must be read-only: a PRAGMA that sets a value is refused',
      'leave the value out to read it',
    );
  const [beyond] = BEYOND.exec(text) ?? [];
  if (beyond !== undefined)
    throw usageError(`a query can read only the mirror: "${beyond}" is refused`);
  return text.slice(0, statement.length).trim();
}

/** Runs the statement and prints its rows. Throws a usage error for one that writes, several, and what the database refuses. */
export async function runQuery(
  context: Context,
  text: string,
  { to }: { to?: MirrorAddress },
): Promise<void> {
  const sql = readStatement(text === '-' ? (await readStdin(context)).toString() : text);
  await withMirror(openChosen(context, to), async ({ database }) => {
    // SQLite works in this thread: nothing here could end it.
    if (database.kind === 'sqlite') context.leaveSignals();
    await print(context, await database.query(sql));
  });
}

async function print(context: Context, { columns, chunks }: Answer): Promise<void> {
  if (columns.length === 0) throw usageError('the statement has no rows to show');
  const names = uniqueNames(columns);
  await context.io.startPager(context.notice);
  const result = await openResult(context, shapeOf(names));
  let count = 0;
  for await (const chunk of chunks) {
    count += chunk.length;
    await result.write(chunk.map((values) => rowOf(names, columns, values)));
  }
  await result.end(count === 0 && context.io.stdout.isTerminal ? ['No rows'] : []);
}

/** An object has each name once: a second `id` is `id_2`. */
function uniqueNames(columns: readonly TableColumn[]): string[] {
  const names: string[] = [];
  for (const { name } of columns) {
    let unique = name;
    for (let number = 2; names.includes(unique); number++) unique = `${name}_${number}`;
    names.push(unique);
  }
  return names;
}

function shapeOf(names: readonly string[]): Shape<Record> {
  const hasPosition = names.includes('latitude') && names.includes('longitude');
  return {
    noun: { one: 'row', many: 'rows' },
    fields: names,
    columns: names.map((name, index) => ({
      header: clean(name.toUpperCase()),
      field: name,
      keep: names.length - index,
      cell: (row: Record) => ({ text: clean(textOf(row[name]) ?? MISSING) }),
      ...(name === 'uuid' || name === 'bicycle' ? { minimum: 36 } : {}),
    })),
    ...(hasPosition && {
      position: (row: Record) => pointOf(row['longitude'], row['latitude']),
      positionFields: ['latitude', 'longitude'],
    }),
  };
}

/** The row as JSON, numbers with all their digits; its value is read when a table or a file of columns asks for it. */
function rowOf(
  names: readonly string[],
  columns: readonly TableColumn[],
  cells: readonly Value[],
): ListedItem<Record> {
  const fields = columns.map(
    (column, at) => `${JSON.stringify(names[at])}:${cellJson(cells[at] ?? null, column)}`,
  );
  return lateItem(`{${fields.join(',')}}`, readExact);
}

function cellJson(value: Value, { name, isDecimal, isJson }: TableColumn): string {
  if (typeof value === 'bigint' || (isDecimal && isJsonNumber(String(value)))) return String(value);
  if (typeof value !== 'string') return JSON.stringify(value);
  // A column of such a name may be none of ours.
  if ((isJson || JSON_COLUMNS.includes(name.toLowerCase())) && isValidJson(value)) return value;
  return JSON.stringify(value);
}

function isValidJson(text: string): boolean {
  try {
    parseJson(text);
    return true;
  } catch {
    return false;
  }
}
