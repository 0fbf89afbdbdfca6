// SQLite: `node:sqlite` where Node has it, else the package libsql; one file, that others may read while it is written.

import { existsSync, statSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { configError, FleetError, messageOf, reasonOf, usageError } from '../errors.js';
import { hasCode, makeFolder, OWN_FILE_MODE, OWN_FOLDER_MODE } from '../system/folder.js';
import type { Answer, Database, Engine, Failures, OpenOptions, Rows, Value } from './database.js';
import {
  CHUNK_ROWS,
  databaseOf,
  errorOfCode,
  MOST_VALUE_CHARACTERS,
  refusal,
  storable,
  tooLong,
} from './database.js';

type Cell = string | number | bigint | null | Uint8Array | ArrayBuffer;

type Driver = ReturnType<typeof openDriver>;
type Statement = ReturnType<Driver['prepare']>;

/** How long SQLite waits for another writer: short, for nothing else runs meanwhile. */
const BUSY_MS = 250;
/** Of one insert. */
const MOST_PARAMETERS = 500;
/** A checkpoint waits for the disk: one for 32 MB of changes. Indexes of a million rows are read again and again: 8 MB are kept. */
const FOR_WRITING =
  'pragma journal_mode = wal; pragma synchronous = normal; pragma wal_autocheckpoint = 8000; pragma cache_size = -8000';
/** A query sorts on the disk. */
const FOR_READING = 'pragma temp_store = file';

/** Opens the file. With access to write it is made, with its folder, for the user alone. */
export async function openSqlite(path: string, { access, signal }: OpenOptions): Promise<Database> {
  const isReadOnly = access !== 'write';
  await checkFile(path, isReadOnly);
  // A file that SQLite only reads: otherwise it would make its own beside it.
  const isUntouched = access === 'look' && !existsSync(`${path}-wal`);
  let driver: Driver | undefined;
  try {
    driver = openDriver(path, isUntouched ? '?mode=ro&immutable=1' : isReadOnly ? '?mode=ro' : '');
    driver.exec(`pragma busy_timeout = ${BUSY_MS}; ${isReadOnly ? FOR_READING : FOR_WRITING}`);
    // Reads the first page: a file that is no database is refused here.
    Array.from(driver.prepare('select count(*) from sqlite_master').rows([]));
  } catch (error) {
    driver?.close();
    throw asSqliteError(error, path, false);
  }
  const opened = driver;
  const statements = new Map<string, Statement>();
  const prepare = (sql: string) => {
    const statement = statements.get(sql) ?? opened.prepare(sql);
    statements.set(sql, statement);
    return statement;
  };
  const refuseReplaced = watchFiles(path);
  const engine: Engine = {
    kind: 'sqlite',
    async run(sql, values) {
      const { names, rows } = prepare(sql);
      return { names, rows: Array.from(rows(bind(values)), (row) => row.map(readCell)) };
    },
    read: async (sql, values) => read(opened, sql, values),
    insert: async (table, columns, rows, conflict) =>
      insertRows(prepare, `insert into ${table} (${columns.join(', ')}) values`, rows, conflict),
    async begin() {
      refuseReplaced();
      opened.exec('begin immediate');
    },
    understand: (error, isQuery) => asSqliteError(error, path, isQuery),
    async close() {
      try {
        // libsql lets go of the file when its statements are collected, and leaves what was written beside it until then.
        if (!isReadOnly) opened.exec('pragma wal_checkpoint(truncate)');
        opened.close();
      } catch {
        // One that is in trouble has said so before.
      }
    },
  };
  return databaseOf(engine, signal);
}

/** Many rows at once: each call of a statement costs as much as several rows. Two sizes, so that two statements are kept. */
function insertRows(
  prepare: (sql: string) => Statement,
  into: string,
  rows: Rows,
  conflict: string,
): void {
  const width = rows[0]?.length ?? 1;
  const most = Math.max(1, Math.floor(MOST_PARAMETERS / width));
  const row = `(${Array(width).fill('?').join(', ')})`;
  for (let from = 0; from < rows.length; ) {
    const count = rows.length - from >= most ? most : 1;
    const statement = prepare(`${into} ${Array(count).fill(row).join(', ')}${conflict}`);
    Array.from(statement.rows(rows.slice(from, from + count).flatMap(bind)));
    from += count;
  }
}

/** What throws a lasting error where the file, or what SQLite keeps beside it, is no longer what it was: SQLite would not notice. */
function watchFiles(path: string): () => void {
  const known = new Map<string, bigint>();
  return () => {
    for (const each of [path, `${path}-wal`]) {
      const now = statSync(each, { throwIfNoEntry: false, bigint: true })?.ino;
      const what = `${each} was deleted or replaced while the mirror was written`;
      const hint = 'start again: fleet mirror run reads what is missing';
      if ((known.get(each) ?? now) !== now)
        throw new FleetError('output', what, { hint, isLasting: true });
      if (now !== undefined) known.set(each, now);
    }
  };
}

/** A statement of its own, for its rows are read between other calls. */
function read(driver: Driver, sql: string, values: readonly Value[]): Answer {
  const statement = driver.prepare(sql);
  const rows = statement.rows(bind(values));
  async function* chunks() {
    let chunk: Value[][] = [];
    let characters = 0;
    for (const cells of rows) {
      const row = cells.map(readCell);
      for (const value of row) if (typeof value === 'string') characters += value.length;
      chunk.push(row);
      if (chunk.length < CHUNK_ROWS && characters < MOST_VALUE_CHARACTERS) continue;
      yield chunk;
      [chunk, characters] = [[], 0];
      await nextTurn();
    }
    if (chunk.length > 0) yield chunk;
  }
  return {
    columns: statement.names.map((name) => ({ name, isDecimal: false, isJson: false })),
    chunks: chunks(),
  };
}

/** Whole numbers must be bound as such: both drivers bind a number as a real one. */
function bind(values: readonly Value[]): unknown[] {
  return values.map((value) => {
    if (typeof value === 'string') return storable(value);
    if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
    return typeof value === 'boolean' ? BigInt(value) : value;
  });
}

function readCell(cell: Cell): Value {
  if (typeof cell === 'bigint')
    return cell >= Number.MIN_SAFE_INTEGER && cell <= Number.MAX_SAFE_INTEGER ? Number(cell) : cell;
  if (typeof cell !== 'object' || cell === null) return cell;
  return `\\x${Buffer.from(cell instanceof ArrayBuffer ? new Uint8Array(cell) : cell).toString('hex')}`;
}

/**
 * Refuses what is no file, for SQLite waits for ever for a pipe. A file to write is made before SQLite does, whose own would be readable by all;
 * what SQLite puts beside it gets the same mode.
 */
async function checkFile(path: string, isReadOnly: boolean): Promise<void> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => error);
  if (!(found instanceof Error)) {
    // Closing any file descriptor of it would let go of this process's locks (https://sqlite.org/howtocorrupt.html, 2.2).
    if (found.isFile()) return;
    throw configError(
      `${path} is ${found.isDirectory() ? 'a folder' : 'not a regular file'}, not a database`,
    );
  }
  if (isReadOnly && ['ENOENT', 'ENOTDIR'].includes(found.code ?? ''))
    throw configError(
      `there is no mirror at ${path}`,
      'start one: fleet mirror run, or fleet mirror once',
    );
  if (isReadOnly) throw configError(`${path} cannot be opened: ${found.message}`, undefined, found);
  try {
    await makeFolder(dirname(path), OWN_FOLDER_MODE);
    await (await open(path, 'a', OWN_FILE_MODE)).close();
  } catch (error) {
    throw new FleetError('output', `${path} cannot be written: ${reasonOf(error)}`, {
      cause: error,
    });
  }
}

function codeOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const { errcode, rawCode, message } = error as {
    errcode?: unknown;
    rawCode?: unknown;
    message?: unknown;
  };
  // libsql names the code of a connection that failed at the end of its text alone.
  const last = /: (\d+)"\)$/.exec(String(message))?.[1];
  const code = [errcode, rawCode, last && Number(last)].find((each) => typeof each === 'number');
  return code === undefined ? undefined : code & 0xff;
}

const READ_ONLY = 8;
/** Out of memory, and too big. */
const TOO_LONG: readonly unknown[] = [7, 18];
/** By the primary result code (https://sqlite.org/rescode.html): corrupt and no database; permission, read-only, I/O and full; busy and locked; cannot open. */
const FAILURES: Failures = [
  [
    /^(11|26)$/,
    'config',
    'is damaged or not a database',
    'move it away, and start a new one: fleet mirror run',
  ],
  [/^(3|8|10|13)$/, 'output', 'cannot be written'],
  [/^(5|6)$/, 'output', 'is locked by another program'],
  [/^14$/, 'output', 'cannot be opened'],
];

function asSqliteError(error: unknown, path: string, isQuery: boolean): unknown {
  const code = codeOf(error);
  if (hasCode(error, 'ERR_STRING_TOO_LONG') || (isQuery && TOO_LONG.includes(code)))
    return tooLong();
  if (error instanceof FleetError || code === undefined) return error;
  const text = messageOf(error);
  if (isQuery && code === READ_ONLY) return usageError(`a query only reads: ${text}`);
  return errorOfCode(FAILURES, String(code), path, text, error) ?? refusal(text, isQuery, error);
}

/** What `node:sqlite` and libsql have in common, and by what each is told to hand out whole numbers and rows as arrays. */
interface Prepared {
  iterate(...values: unknown[]): Iterable<readonly Cell[]>;
  columns(): readonly { readonly name: string }[];
  setReadBigInts?(isOn: boolean): void;
  setReturnArrays?(isOn: boolean): void;
  raw?(): void;
}

interface Opened {
  prepare(sql: string): Prepared;
  exec(sql: string): unknown;
  close(): void;
  defaultSafeIntegers?(): void;
}

/** Opens the file with what this Node offers; `query` is that of its address where it is only read. */
function openDriver(path: string, query: string) {
  const place = query === '' ? path : new URL(`${pathToFileURL(path).href}${query}`);
  type DatabaseSync = new (path: string | URL, options: { readOnly: boolean }) => Opened;
  type NodeSqlite = { DatabaseSync: DatabaseSync; StatementSync: { prototype: object } };
  const own = process.getBuiltinModule('node:sqlite') as NodeSqlite | undefined;
  // Before 22.16 it could not tell columns of the same name apart.
  if (own !== undefined && 'setReturnArrays' in own.StatementSync.prototype)
    return driverOf(new own.DatabaseSync(place, { readOnly: query !== '' }), (values) => values);
  try {
    const Libsql: new (path: string) => Opened = createRequire(import.meta.url)('libsql');
    // It takes the values of a statement as one array.
    return driverOf(new Libsql(String(place)), (values) => [values]);
  } catch (error) {
    if (codeOf(error) !== undefined) throw error;
    throw configError(
      `this Node (${process.versions.node}) has no SQLite, and the package libsql is not installed`,
      'use Node 22.16 or later, install libsql beside fleet, or keep the mirror in PostgreSQL: --to postgres://…',
      error,
    );
  }
}

function driverOf(database: Opened, spread: (values: readonly unknown[]) => readonly unknown[]) {
  database.defaultSafeIntegers?.();
  return {
    /** A statement is carried out by taking its rows. */
    prepare(sql: string) {
      const statement = database.prepare(sql);
      const names = statement.columns().map(({ name }) => name);
      statement.setReadBigInts?.(true);
      statement.setReturnArrays?.(true);
      // Only what has columns can be read raw.
      if (names.length > 0) statement.raw?.();
      return { names, rows: (values: readonly unknown[]) => statement.iterate(...spread(values)) };
    },
    exec: (sql: string) => database.exec(sql),
    close: () => database.close(),
  };
}
