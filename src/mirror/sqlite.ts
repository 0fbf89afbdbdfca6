// SQLite: one file that others can read while it is written. Uses `node:sqlite` if Node has it,
// otherwise the package libsql.

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

/**
 * How long SQLite waits for another writer. The time is short, because the wait blocks the process.
 */
const BUSY_MS = 250;
/** The maximum number of parameters of one insert. */
const MOST_PARAMETERS = 500;
/**
 * Settings for writing: a checkpoint after 32 MB of changes, because each checkpoint waits for the
 * disk, and a cache of 8 MB for indexes.
 */
const FOR_WRITING =
  'pragma journal_mode = wal; pragma synchronous = normal; pragma wal_autocheckpoint = 8000; pragma cache_size = -8000';
/** Settings for reading: SQLite sorts on the disk, not in memory. */
const FOR_READING = 'pragma temp_store = file';

/**
 * Opens the file. For writing, the file and its folder are created, and only this user can read
 * them.
 */
export async function openSqlite(path: string, { access, signal }: OpenOptions): Promise<Database> {
  const isReadOnly = access !== 'write';
  await checkFile(path, isReadOnly);
  // A file without a WAL is opened as immutable, because SQLite would otherwise create files next
  // to it.
  const isUntouched = access === 'look' && !existsSync(`${path}-wal`);
  const query = isReadOnly ? '?mode=ro' : '';
  const opened = openChecked(path, isUntouched ? IMMUTABLE : query, isReadOnly);
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
    end: async (isCommitted) => void opened.exec(isCommitted ? 'commit' : 'rollback'),
    understand: (error, isQuery) => asSqliteError(error, path, isQuery),
    async close() {
      try {
        // libsql keeps the file open until its statements are collected, so the WAL is written back
        // to the file now.
        if (!isReadOnly) opened.exec('pragma wal_checkpoint(truncate)');
        opened.close();
      } catch {
        // The error is ignored: a damaged connection has already reported it.
      }
    },
  };
  return databaseOf(engine, signal);
}

/** A mirror that no program has open can be read without creating files next to it. */
const IMMUTABLE = '?mode=ro&immutable=1';

/** Opens the file and reads its first page, so that a file that is not a database is refused. */
function openChecked(path: string, query: string, isReadOnly: boolean): Driver {
  let driver: Driver | undefined;
  try {
    driver = openDriver(path, query);
    driver.exec(`pragma busy_timeout = ${BUSY_MS}; ${isReadOnly ? FOR_READING : FOR_WRITING}`);
    Array.from(driver.prepare('select count(*) from sqlite_master').rows([]));
    return driver;
  } catch (error) {
    driver?.close();
    // On a read-only file system SQLite cannot create the index of the WAL.
    const isRefused = CANNOT_CREATE.includes(codeOf(error)) && isReadOnly && query !== IMMUTABLE;
    if (isRefused && !hasWal(path)) return openChecked(path, IMMUTABLE, isReadOnly);
    throw asSqliteError(error, path, false);
  }
}

/** Whether the WAL next to the file may contain the newest data of the mirror. */
function hasWal(path: string): boolean {
  return (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/**
 * Inserts many rows with one statement. There are only two sizes of batches, so that two prepared
 * statements are enough.
 */
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

/**
 * Returns a function that throws a permanent error when the file or the WAL was replaced. SQLite
 * itself does not notice that.
 */
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

/** Uses a separate statement, because other calls can run between two rows. */
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

/** Converts integers to bigint, because both drivers bind a number as a real. */
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
 * Refuses everything except a regular file, because SQLite waits forever for a pipe. For writing,
 * the file is created first, because SQLite would make it readable for all users. SQLite gives the
 * same mode to the files next to it.
 */
async function checkFile(path: string, isReadOnly: boolean): Promise<void> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => error);
  if (!(found instanceof Error)) {
    // Closing another file descriptor of the file would release this process's locks
    // (https://sqlite.org/howtocorrupt.html, 2.2).
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
  // The error of libsql has the code of a failed connection only at the end of its text.
  const last = /: (\d+)"\)$/.exec(String(message))?.[1];
  const code = [errcode, rawCode, last && Number(last)].find((each) => typeof each === 'number');
  return code === undefined ? undefined : code & 0xff;
}

const READ_ONLY = 8;
/** Result codes for a file that cannot be created: read-only and cannot open. */
const CANNOT_CREATE: readonly unknown[] = [READ_ONLY, 14];
/** Permission, read-only and cannot open: a retry cannot fix them. */
const LASTING = /^(3|8|14)$/;
/** Result codes for out of memory and too big. */
const TOO_LONG: readonly unknown[] = [7, 18];
/**
 * Failures by primary result code (https://sqlite.org/rescode.html): corrupt and not a database;
 * permission, read-only, I/O and full; busy and locked; cannot open.
 */
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
  if (isQuery && code === READ_ONLY) return usageError(`a query must be read-only: ${text}`);
  return (
    errorOfCode(FAILURES, String(code), path, text, error, LASTING) ?? refusal(text, isQuery, error)
  );
}

/**
 * The common interface of `node:sqlite` and libsql, with both ways of requesting integers, and rows
 * as arrays.
 */
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

/**
 * Opens the file with the driver that is available. For reading, `query` is the query of the file
 * URL.
 */
function openDriver(path: string, query: string) {
  const place = query === '' ? path : new URL(`${pathToFileURL(path).href}${query}`);
  type DatabaseSync = new (path: string | URL, options: { readOnly: boolean }) => Opened;
  type NodeSqlite = { DatabaseSync: DatabaseSync; StatementSync: { prototype: object } };
  const own = process.getBuiltinModule('node:sqlite') as NodeSqlite | undefined;
  // Before Node 22.16 `node:sqlite` could not return two columns with the same name.
  if (own !== undefined && 'setReturnArrays' in own.StatementSync.prototype)
    return driverOf(new own.DatabaseSync(place, { readOnly: query !== '' }), (values) => values);
  try {
    const Libsql: new (path: string) => Opened = createRequire(import.meta.url)('libsql');
    // libsql takes the values of a statement as one array.
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
    /** Prepares a statement. It runs when its rows are read. */
    prepare(sql: string) {
      const statement = database.prepare(sql);
      const names = statement.columns().map(({ name }) => name);
      statement.setReadBigInts?.(true);
      statement.setReturnArrays?.(true);
      // Only a statement with columns can return rows as arrays.
      if (names.length > 0) statement.raw?.();
      return { names, rows: (values: readonly unknown[]) => statement.iterate(...spread(values)) };
    },
    exec: (sql: string) => database.exec(sql),
    close: () => database.close(),
  };
}
