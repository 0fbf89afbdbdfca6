// SQLite: `node:sqlite` where Node has it, else the package libsql; one file, that others may read while it is written.

import type { Stats } from 'node:fs';
import { chmod, open, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { configError, FleetError, reasonOf, usageError } from '../errors.js';
import { makeFolder, OWN_FOLDER_MODE } from '../folder.js';
import {
  type Answer,
  CHUNK_ROWS,
  type Database,
  type OpenOptions,
  objectsOf,
  onConflict,
  openTransactions,
  storable,
  type Value,
} from './engine.js';
import { QUERY_HINT } from './statement.js';

type Cell = string | number | bigint | null | Uint8Array | ArrayBuffer;

interface Statement {
  run(values: readonly unknown[]): void;
  rows(values: readonly unknown[]): Iterator<readonly Cell[]>;
  readonly names: readonly string[];
}

interface Driver {
  prepare(sql: string): Statement;
  exec(sql: string): void;
  /** Throws a usage error for a query that could write another file. */
  check(sql: string): void;
  close(): void;
}

type OpenDriver = (path: string, isReadOnly: boolean) => Driver;

/** How long SQLite itself waits for another writer: short, for nothing else runs meanwhile. */
const BUSY_MS = 250;
/** How often a transaction is begun anew when another program writes: 15 s in all. */
const MOST_BUSY_TRIES = 60;
const MOST_STATEMENTS = 200;
/** Of one insert. */
const MOST_PARAMETERS = 500;
/** A checkpoint waits for the disk: one for 32 MB of changes. Indexes of a million rows are read again and again: 8 MB are kept. */
const FAST_WRITES = 'pragma wal_autocheckpoint = 8000; pragma cache_size = -8000';
const OWN_FILE = 0o600;

/** Opens the file. With access to write it is made, with its folder, for the user alone. */
export async function openSqlite(path: string, { access, signal }: OpenOptions): Promise<Database> {
  signal.throwIfAborted();
  const openDriver = findDriver();
  const isReadOnly = access === 'read';
  if (isReadOnly) await refuseMissing(path);
  else await makeFile(path);
  const understand = (error: unknown) => asSqliteError(error, path);
  const run = <T>(work: () => T): T => {
    signal.throwIfAborted();
    try {
      return work();
    } catch (error) {
      throw understand(error);
    }
  };
  const driver = run(() => {
    const opened = openDriver(path, isReadOnly);
    try {
      opened.exec(`pragma busy_timeout = ${BUSY_MS}`);
      if (!isReadOnly) opened.exec(`pragma journal_mode = wal; pragma synchronous = normal; ${FAST_WRITES}`);
      // Reads the first page: a file that is no database is refused here.
      takeAll(opened.prepare('select count(*) from sqlite_master').rows([]));
    } catch (error) {
      opened.close();
      throw error;
    }
    return opened;
  });
  if (!isReadOnly) await keepOwn(path);
  return databaseOf(driver, run, isReadOnly);
}

type Run = <T>(work: () => T) => T;

function databaseOf(driver: Driver, run: Run, isReadOnly: boolean): Database {
  const kept = new Map<string, Statement>();
  const prepare = (sql: string): Statement => {
    const found = kept.get(sql);
    if (found !== undefined) return found;
    if (kept.size >= MOST_STATEMENTS) kept.clear();
    const statement = driver.prepare(sql);
    kept.set(sql, statement);
    return statement;
  };
  const { transaction, join } = openTransactions(
    () => begin(driver, run),
    () => run(() => driver.exec('commit')),
    () => driver.exec('rollback'),
  );
  return {
    kind: 'sqlite',
    all: async (sql, values = []) =>
      run(() => {
        const statement = prepare(sql);
        return objectsOf(statement.names, takeAll(statement.rows(bind(values))));
      }),
    async *each(sql, values = []) {
      const { columns, chunks } = read(driver, run, sql, values);
      const names = columns.map(({ name }) => name);
      for await (const chunk of chunks) yield objectsOf(names, chunk);
    },
    query: async (sql) => {
      queryRun(run)(() => driver.check(sql));
      return read(driver, queryRun(run), sql, []);
    },
    transaction,
    write: async (table, columns, rows, key) => {
      if (rows.length === 0) return;
      const insert = async () =>
        run(() => {
          const most = Math.max(1, Math.floor(MOST_PARAMETERS / columns.length));
          const one = insertText(table, columns, key, 1);
          const many = rows.length < most ? one : insertText(table, columns, key, most);
          for (let from = 0; from < rows.length; ) {
            // Many rows at once: each call of a statement costs as much as several rows. Two sizes, so that two statements are kept.
            const count = rows.length - from >= most ? most : 1;
            const statement = prepare(count === 1 ? one : many);
            statement.run(count === 1 ? bind(rows[from] ?? []) : rows.slice(from, from + count).flatMap(bind));
            from += count;
          }
        });
      await join(insert);
    },
    async close() {
      kept.clear();
      try {
        // libsql lets go of the file when its statements are collected, and leaves what was written beside it until then.
        if (!isReadOnly) driver.exec('pragma wal_checkpoint(truncate)');
        driver.close();
      } catch {
        // One that is in trouble has said so before.
      }
    },
  };
}

/** An error of a query is the operator's: the same with exit code 2, unless the database itself is at fault. */
function queryRun(run: Run): Run {
  return (work) => {
    try {
      return run(work);
    } catch (error) {
      if (!(error instanceof FleetError)) throw error;
      if (codeOf(error.cause) === CODES.readOnly)
        throw usageError(`a query only reads: ${(error.cause as Error).message}`);
      if (error.kind === 'internal') throw usageError(error.message, QUERY_HINT);
      throw error;
    }
  };
}

async function begin(driver: Driver, run: Run): Promise<void> {
  for (let left = MOST_BUSY_TRIES; ; left -= 1) {
    try {
      return run(() => driver.exec('begin immediate'));
    } catch (error) {
      if (left === 0 || codeOf((error as Error).cause) !== CODES.busy) throw error;
    }
    await nextTurn();
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function insertText(
  table: string,
  columns: readonly string[],
  key: readonly string[] | undefined,
  rows: number,
): string {
  const row = `(${columns.map(() => '?').join(', ')})`;
  const insert = `insert into ${table} (${columns.join(', ')}) values ${Array.from({ length: rows }, () => row).join(', ')}`;
  return insert + onConflict(columns, key);
}

/** A statement of its own, for its rows are read between other calls. */
function read(driver: Driver, run: Run, sql: string, values: readonly Value[]): Answer {
  const { statement, rows } = run(() => {
    const prepared = driver.prepare(sql);
    return { statement: prepared, rows: prepared.rows(bind(values)) };
  });
  async function* chunks() {
    try {
      for (;;) {
        const chunk = run(() => take(rows, CHUNK_ROWS));
        if (chunk.length > 0) yield chunk;
        if (chunk.length < CHUNK_ROWS) return;
        await nextTurn();
      }
    } finally {
      rows.return?.();
    }
  }
  return { columns: statement.names.map((name) => ({ name, isDecimal: false, isJson: false })), chunks: chunks() };
}

function take(rows: Iterator<readonly Cell[]>, most: number): Value[][] {
  const taken: Value[][] = [];
  while (taken.length < most) {
    const next = rows.next();
    if (next.done === true) break;
    taken.push(next.value.map(readCell));
  }
  return taken;
}

/** A statement that is not read to its end would keep the connection at what it saw. */
function takeAll(rows: Iterator<readonly Cell[]>): Value[][] {
  try {
    return take(rows, Number.POSITIVE_INFINITY);
  } finally {
    rows.return?.();
  }
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
  if (typeof cell === 'object' && cell !== null) {
    return `\\x${Buffer.from(cell instanceof ArrayBuffer ? new Uint8Array(cell) : cell).toString('hex')}`;
  }
  return cell;
}

async function refuseMissing(path: string): Promise<void> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => error);
  if (!(found instanceof Error)) return refuseOther(path, found);
  if (found.code === 'ENOENT' || found.code === 'ENOTDIR')
    throw configError(`there is no mirror at ${path}`, 'start one: fleet mirror run, or fleet mirror once');
  throw configError(`${path} cannot be opened: ${found.message}`, undefined, found);
}

/** SQLite waits for ever for a pipe. */
function refuseOther(path: string, found: Stats | undefined): void {
  if (found?.isDirectory() === true) throw configError(`${path} is a folder, not a database`);
  if (found?.isFile() === false) throw configError(`${path} is not a regular file`);
}

/** Makes the file before SQLite does, whose own would be readable by all; what SQLite puts beside it gets the same mode. */
async function makeFile(path: string): Promise<void> {
  refuseOther(path, await stat(path).catch(() => undefined));
  try {
    await makeFolder(dirname(path), OWN_FOLDER_MODE);
    await (await open(path, 'a', OWN_FILE)).close();
  } catch (error) {
    throw new FleetError('output', `${path} cannot be written: ${reasonOf(error)}`, { cause: error });
  }
}

/** Files that an earlier version left readable. */
async function keepOwn(path: string): Promise<void> {
  for (const each of [`${path}-wal`, `${path}-shm`])
    await chmod(each, (await stat(path)).mode & 0o777).catch(() => undefined);
}

/** Primary result codes (https://sqlite.org/rescode.html). */
const CODES = {
  perm: 3,
  busy: 5,
  locked: 6,
  readOnly: 8,
  io: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  notDatabase: 26,
} as const;

function codeOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const { errcode, rawCode, message } = error as { errcode?: unknown; rawCode?: unknown; message?: unknown };
  // libsql names the code of a connection that failed at the end of its text alone.
  const last = /: (\d+)"\)$/.exec(String(message))?.[1];
  const code = [errcode, rawCode, last && Number(last)].find((each) => typeof each === 'number');
  return code === undefined ? undefined : code & 0xff;
}

function asSqliteError(error: unknown, path: string): unknown {
  const code = codeOf(error);
  if (error instanceof FleetError || code === undefined) return error;
  const { message } = error as Error;
  const output = (what: string) => new FleetError('output', `${path} ${what}`, { cause: error });
  if (code === CODES.corrupt || code === CODES.notDatabase) {
    const hint = 'move it away, and start a new one: fleet mirror run';
    return configError(`${path} is damaged or not a database: ${message}`, hint, error);
  }
  if (code === CODES.full) return output('cannot be written: the disk is full');
  if (code === CODES.busy || code === CODES.locked) return output('is locked by another program');
  if (code === CODES.cannotOpen) return output(`cannot be opened: ${message}`);
  if (code === CODES.perm || code === CODES.readOnly || code === CODES.io)
    return output(`cannot be written: ${message}`);
  return new FleetError('internal', `the database says: ${message}`, { cause: error });
}

/** What both drivers have. */
interface Prepared {
  run(...values: unknown[]): unknown;
  iterate(...values: unknown[]): Iterator<readonly Cell[]>;
  columns(): readonly { readonly name: string }[];
}

interface Connection<Kind extends Prepared> {
  prepare(sql: string): Kind;
  exec(sql: string): unknown;
  close(): void;
}

interface NodeStatement extends Prepared {
  setReadBigInts(isOn: boolean): void;
  setReturnArrays(isOn: boolean): void;
}

interface NodeSqlite {
  readonly DatabaseSync: new (path: string, options: { readOnly: boolean }) => Connection<NodeStatement>;
  readonly StatementSync: { readonly prototype: object };
}

/** It takes its values as one array. */
interface LibsqlStatement extends Prepared {
  raw(): LibsqlStatement;
}

type Libsql = new (path: string) => Connection<LibsqlStatement> & { defaultSafeIntegers(): unknown };

/** What this Node offers. */
function findDriver(): OpenDriver {
  const own = process.getBuiltinModule('node:sqlite') as NodeSqlite | undefined;
  // Before 22.16 it could not tell columns of the same name apart.
  if (own !== undefined && 'setReturnArrays' in own.StatementSync.prototype)
    return (path, readOnly) => openNodeSqlite(own, path, readOnly);
  let Libsql: Libsql;
  try {
    Libsql = createRequire(import.meta.url)('libsql');
  } catch (error) {
    throw configError(
      `this Node (${process.versions.node}) has no SQLite, and the package libsql is not installed`,
      'use Node 22.16 or later, install libsql beside fleet, or keep the mirror in PostgreSQL: --to postgres://…',
      error,
    );
  }
  return (path, isReadOnly) => openLibsql(Libsql, path, isReadOnly);
}

function openNodeSqlite({ DatabaseSync }: NodeSqlite, path: string, readOnly: boolean): Driver {
  const database = new DatabaseSync(path, { readOnly });
  return {
    prepare(sql) {
      const statement = database.prepare(sql);
      statement.setReadBigInts(true);
      statement.setReturnArrays(true);
      return {
        run: (values) => void statement.run(...values),
        rows: (values) => statement.iterate(...values),
        names: statement.columns().map(({ name }) => name),
      };
    },
    exec: (sql) => void database.exec(sql),
    check: () => {},
    close: () => database.close(),
  };
}

function openLibsql(LibsqlDatabase: Libsql, path: string, isReadOnly: boolean): Driver {
  const database = new LibsqlDatabase(isReadOnly ? `${pathToFileURL(path).href}?mode=ro` : path);
  database.defaultSafeIntegers();
  return {
    prepare(sql) {
      const statement = database.prepare(sql);
      const names = statement.columns().map(({ name }) => name);
      // Only what has columns can be read raw.
      const reading = names.length > 0 ? statement.raw() : statement;
      return { run: (values) => void statement.run(values), rows: (values) => reading.iterate(values), names };
    },
    exec: (sql) => void database.exec(sql),
    check(sql) {
      let program: LibsqlStatement;
      try {
        program = database.prepare(`explain ${sql}`).raw();
      } catch {
        // What cannot be explained, an explanation for instance, does nothing, or fails when it is run.
        return;
      }
      refuseFileWriting(program.iterate([]));
    },
    close: () => database.close(),
  };
}

/** libsql comes with the functions of the shell of SQLite, which a name in quotes calls too: the program of the statement has it plainly. */
function refuseFileWriting(program: Iterator<readonly Cell[]>): void {
  for (const [, operation, , , , name] of takeAll(program)) {
    if (/^(?:Pure)?Func/.test(String(operation)) && /^writefile\(/i.test(String(name)))
      throw usageError('a query only reads: writefile is refused');
  }
}
