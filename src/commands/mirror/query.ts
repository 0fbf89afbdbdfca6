// `fleet mirror query`: runs one read-only SQL statement, and prints its rows in any format as they
// arrive.

import type { Context } from '../../context.js';
import { configError, usageError } from '../../errors.js';
import { readExact } from '../../json/exact.js';
import { parseJson } from '../../json/parse.js';
import { noticeOldMirror, openChosen, withMirror } from '../../list/offline.js';
import { openResult } from '../../list/result.js';
import type { MirrorAddress } from '../../mirror/address.js';
import type { Answer, Database, TableColumn, Value } from '../../mirror/database.js';
import { lateItem } from '../../mirror/rows.js';
import { clean } from '../../terminal/clean.js';
import type { ListedItem, Shape } from '../../terminal/formats.js';
import { readStdin } from '../../terminal/stdin.js';
import { isJsonNumber, MISSING, pointOf, textOf } from '../../terminal/values.js';

/** A row as an object. The JSON columns are parsed. */
type Record = { readonly [column: string]: unknown };

/**
 * Columns of the mirror that contain JSON. Their values are printed as JSON instead of as strings.
 */
const JSON_COLUMNS: readonly string[] = ['raw', 'old', 'new', 'extra', 'roles'];

/**
 * Matches quoted strings, quoted names, comments and dollar-quoted strings. A semicolon inside them
 * does not end a statement.
 */
const SKIPPED =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|--[^\n]*|\/\*(?:[^*]|\*(?!\/))*(?:\*\/|$)|\$([A-Za-z_]\w*)?\$[\s\S]*?(?:\$\1\$|$)/g;
/** Matches one statement, and captures its first word. */
const STATEMENT = /^\W*(\w*)[^;]*/;
/** The first words of statements that cannot write. */
const READING = ['SELECT', 'WITH', 'VALUES', 'EXPLAIN', 'PRAGMA', 'SHOW', 'TABLE'];
/**
 * Matches functions of libsql that access files or extensions and cannot be disabled. A query
 * cannot hide these names, because SQL has no other spelling for them.
 */
const BEYOND = /\b(writefile|readfile|fsdir|fts3_tokenizer|sqlite3mc_\w+)\b/i;
const LONGEST_CHARACTERS = 100_000;

/**
 * Returns the only statement of a query, without its final semicolon. Throws a usage error when the
 * query has no statement, has more than one statement, or writes.
 */
export function readStatement(text: string): string {
  if (text.length > LONGEST_CHARACTERS)
    throw usageError(`the query is longer than ${LONGEST_CHARACTERS} characters`);
  const bare = text.replace(SKIPPED, (skipped) => ' '.repeat(skipped.length));
  const [statement = '', first = ''] = STATEMENT.exec(bare) ?? [];
  if (first === '')
    throw usageError(
      'the query is empty',
      'write a query such as "select state, count(*) from bicycles group by state"',
    );
  if (/[^\s;]/.test(bare.slice(statement.length)))
    throw usageError('a query must be a single statement', 'run the statements one after another');
  if (!READING.includes(first.toUpperCase()))
    throw usageError(
      `a query must be read-only: "${first}" is refused`,
      `a query must begin with one of: ${READING.join(', ')}`,
    );
  if (first.toUpperCase() === 'PRAGMA' && text.includes('='))
    throw usageError(
      'a query must be read-only: a PRAGMA that sets a value is refused',
      'remove the value to read the setting',
    );
  const [beyond] = BEYOND.exec(text) ?? [];
  if (beyond !== undefined)
    throw usageError(`a query can read only the mirror: "${beyond}" is refused`);
  return text.slice(0, statement.length).trim();
}

/**
 * Runs the statement and prints its rows. Throws a usage error for a statement that writes, for
 * several statements, and for database errors.
 */
export async function runQuery(
  context: Context,
  text: string,
  { to, allowSuperuser = false }: { to?: MirrorAddress; allowSuperuser?: boolean },
): Promise<void> {
  const sql = readStatement(text === '-' ? (await readStdin(context)).toString() : text);
  await withMirror(openChosen(context, to), async (mirror) => {
    const { database } = mirror;
    // SQLite blocks this thread, so fleet cannot react to a signal here. Without a handler, the
    // signal ends the process.
    if (database.kind === 'sqlite') context.leaveSignals();
    else if (!allowSuperuser) await refuseSuperuser(database);
    // A failure is ignored, because the database role of the user may not be allowed to read the
    // status tables.
    const status = await mirror.status().catch(() => undefined);
    context.signal.throwIfAborted();
    if (status !== undefined) await noticeOldMirror(context, status);
    await print(context, await database.query(sql));
  });
}

/**
 * Whether the session's user is a superuser or a member of a superuser role. A member could switch
 * to the superuser role inside the query.
 */
const IS_SUPERUSER =
  "SELECT 1 FROM pg_roles WHERE rolsuper AND pg_has_role(session_user, oid, 'MEMBER') LIMIT 1";

/**
 * Refuses superusers, because their queries can read the server's files and change settings even in
 * a read-only transaction.
 */
async function refuseSuperuser(database: Database): Promise<void> {
  if ((await database.all(IS_SUPERUSER)).length === 0) return;
  throw configError(
    'the role of this connection is a superuser, whose queries can read files and change the server',
    'use a role that can only read, such as a member of pg_read_all_data, or pass --allow-superuser',
  );
}

async function print(context: Context, { columns, chunks }: Answer): Promise<void> {
  if (columns.length === 0) throw usageError('the statement returned no rows');
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

/**
 * Makes column names unique, because an object cannot have the same key twice. For example, the
 * second column named `id` becomes `id_2`.
 */
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

/**
 * Returns a row as JSON, in which numbers keep all their digits. This JSON is parsed only when the
 * output format needs single columns.
 */
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
  // The text is checked before it is treated as JSON. The mirror's column of this name contains
  // JSON, but a column of another table can have the same name and contain other text.
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
