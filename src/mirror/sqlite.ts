// SQLite: a single file that others can read while it is written. Uses `node:sqlite`, or the
// package libsql when Node has no suitable `node:sqlite`.

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
 * How long SQLite waits for another writer. The time is short, because this process cannot do
 * anything else while it waits.
 */
const BUSY_MS = 250;
/** The maximum number of parameters of one insert statement. */
const MOST_PARAMETERS = 500;
/**
 * Settings for writing. A checkpoint happens only after 32 MB of changes, because each checkpoint
 * must wait for the disk. A cache of 8 MB speeds up index updates.
 */
const FOR_WRITING =
  'pragma journal_mode = wal; pragma synchronous = normal; pragma wal_autocheckpoint = 8000; pragma cache_size = -8000';
/** Settings for reading. Large sorts use files instead of memory. */
const FOR_READING = 'pragma temp_store = file';

/**
 * Opens an SQLite file. For writing, creates the file and its folder with permissions for this user
 * only.
 */
export async function openSqlite(path: string, { access, signal }: OpenOptions): Promise<Database> {
  const isReadOnly = access !== 'write';
  await checkFile(path, isReadOnly);
  // With `look`, a file without a WAL is opened as immutable, so that SQLite creates no files next
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
        // Copies the WAL into the database file now. libsql does not do this when the database is
        // closed. It keeps the file open until its statements are garbage-collected.
        if (!isReadOnly) opened.exec('pragma wal_checkpoint(truncate)');
        opened.close();
      } catch {
        // The error is ignored, because the earlier failure of the damaged connection was already
        // reported.
      }
    },
  };
  return databaseOf(engine, signal);
}

/**
 * URL parameters that prevent SQLite from creating files next to the database. The parameters must
 * not be used while another process has the file open.
 */
const IMMUTABLE = '?mode=ro&immutable=1';

/** Opens a file and reads its first page. If the file is not a database, this fails immediately. */
function openChecked(path: string, query: string, isReadOnly: boolean): Driver {
  let driver: Driver | undefined;
  try {
    driver = openDriver(path, query);
    driver.exec(`pragma busy_timeout = ${BUSY_MS}; ${isReadOnly ? FOR_READING : FOR_WRITING}`);
    Array.from(driver.prepare('select count(*) from sqlite_master').rows([]));
    return driver;
  } catch (error) {
    driver?.close();
    // SQLite cannot create the shared-memory file of the WAL on a read-only file system. Without a
    // WAL, the file can be opened as immutable.
    const isRefused = CANNOT_CREATE.includes(codeOf(error)) && isReadOnly && query !== IMMUTABLE;
    if (isRefused && !hasWal(path)) return openChecked(path, IMMUTABLE, isReadOnly);
    throw asSqliteError(error, path, false);
  }
}

/** Whether there is a WAL file with content. It may contain newer data than the database file. */
function hasWal(path: string): boolean {
  return (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/**
 * Inserts rows in batches of the maximum size, and the remaining rows one by one. SQLite then has
 * to prepare only two different statements.
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
 * Returns a function that throws a permanent error when the database file or its WAL was replaced.
 * SQLite does not notice this.
 */
function watchFiles(path: string): () => void {
  const known = new Map<string, bigint>();
  return () => {
    for (const each of [path, `${path}-wal`]) {
      const now = statSync(each, { throwIfNoEntry: false, bigint: true })?.ino;
      const what = `${each} was deleted or replaced while the mirror was written`;
      const hint = 'run "fleet mirror run" again to read the missing changes';
      if ((known.get(each) ?? now) !== now)
        throw new FleetError('output', what, { hint, isLasting: true });
      if (now !== undefined) known.set(each, now);
    }
  };
}

/**
 * Reads rows in chunks. Prepares its own statement, because other calls can run between the chunks
 * and must not use the same statement.
 */
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

/**
 * Converts values for the driver. Integers are converted to bigint, because both drivers would
 * store a JavaScript number as a floating-point number.
 */
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
 * Throws unless the path is a regular file. This check is needed because SQLite would wait forever
 * for a pipe. For writing, creates the file with permissions for this user only. SQLite gives the
 * same permissions to the files that it creates next to it.
 */
async function checkFile(path: string, isReadOnly: boolean): Promise<void> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => error);
  if (!(found instanceof Error)) {
    // An existing file is not opened here. Closing the file again would release the locks that this
    // process holds on it (https://sqlite.org/howtocorrupt.html, 2.2).
    if (found.isFile()) return;
    throw configError(
      `${path} is ${found.isDirectory() ? 'a folder' : 'not a regular file'}, not a database`,
    );
  }
  if (isReadOnly && ['ENOENT', 'ENOTDIR'].includes(found.code ?? ''))
    throw configError(
      `there is no mirror at ${path}`,
      'to start a mirror, run "fleet mirror run" or "fleet mirror once"',
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
  // When opening a file fails, libsql puts the code only at the end of the message.
  const last = /: (\d+)"\)$/.exec(String(message))?.[1];
  const code = [errcode, rawCode, last && Number(last)].find((each) => typeof each === 'number');
  return code === undefined ? undefined : code & 0xff;
}

const READ_ONLY = 8;
/** Result codes when a file cannot be created: read-only, and cannot open. */
const CANNOT_CREATE: readonly unknown[] = [READ_ONLY, 14];
/** Result codes that a retry cannot fix: no permission, read-only, and cannot open. */
const LASTING = /^(3|8|14)$/;
/** Result codes of values that are too large: out of memory, and too big. */
const TOO_LONG: readonly unknown[] = [7, 18];
/**
 * Errors by primary result code (https://sqlite.org/rescode.html), in four groups: corrupt, not a
 * database; permission, read-only, I/O, full; busy, locked; cannot open.
 */
const FAILURES: Failures = [
  [
    /^(11|26)$/,
    'config',
    'is damaged or not a database',
    'move the file away, and to start a new mirror, run: fleet mirror run',
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
 * A prepared statement of `node:sqlite` or libsql. The optional methods make the statement return
 * integers as bigint and rows as arrays. Each of them exists in only one of the two libraries.
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
 * Opens a file with the available driver. `query` contains the parameters of a file URL, for
 * reading.
 */
function openDriver(path: string, query: string) {
  const place = query === '' ? path : new URL(`${pathToFileURL(path).href}${query}`);
  type DatabaseSync = new (path: string | URL, options: { readOnly: boolean }) => Opened;
  type NodeSqlite = { DatabaseSync: DatabaseSync; StatementSync: { prototype: object } };
  const own = process.getBuiltinModule('node:sqlite') as NodeSqlite | undefined;
  // `node:sqlite` is used from Node 22.16 on. Earlier versions cannot return two columns with the
  // same name.
  if (own !== undefined && 'setReturnArrays' in own.StatementSync.prototype)
    return driverOf(new own.DatabaseSync(place, { readOnly: query !== '' }), (values) => values);
  try {
    const Libsql: new (path: string) => Opened = createRequire(import.meta.url)('libsql');
    // libsql expects the values of a statement as a single array.
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
    /** Prepares a statement. The statement runs when its rows are read. */
    prepare(sql: string) {
      const statement = database.prepare(sql);
      const names = statement.columns().map(({ name }) => name);
      statement.setReadBigInts?.(true);
      statement.setReturnArrays?.(true);
      // In libsql, `raw` makes the statement return its rows as arrays. Only a statement that
      // returns columns accepts `raw`.
      if (names.length > 0) statement.raw?.();
      return { names, rows: (values: readonly unknown[]) => statement.iterate(...spread(values)) };
    },
    exec: (sql: string) => database.exec(sql),
    close: () => database.close(),
  };
}
