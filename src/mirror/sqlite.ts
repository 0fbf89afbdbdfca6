// SQLite: `node:sqlite` where Node has it, else the package libsql; one file, that others may read while it is written.

import { existsSync, type Stats, statSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { configError, FleetError, reasonOf, usageError } from '../errors.js';
import { hasCode, makeFolder, OWN_FOLDER_MODE } from '../folder.js';
import {
  type Answer,
  CHUNK_ROWS,
  DatabaseGone,
  type Engine,
  MOST_VALUE_CHARACTERS,
  type OpenOptions,
  refusal,
  storable,
  tooLong,
  type Value,
} from './engine.js';

type Cell = string | number | bigint | null | Uint8Array | ArrayBuffer;

interface Statement {
  readonly names: readonly string[];
  run(values: readonly unknown[]): unknown;
  rows(values: readonly unknown[]): Iterable<readonly Cell[]>;
}

/** One of the two, as little of it as is used. */
interface Driver {
  prepare(sql: string): Statement;
  exec(sql: string): unknown;
  close(): void;
}

type OpenDriver = (path: string | URL, isReadOnly: boolean) => Driver;

/** How long SQLite itself waits for another writer: short, for nothing else runs meanwhile. */
const BUSY_MS = 250;
/** How often a transaction is begun anew when another program writes: 15 s in all. */
const MOST_BUSY_TRIES = 60;
const MOST_STATEMENTS = 200;
/** Of one insert. */
const MOST_PARAMETERS = 500;
/** A checkpoint waits for the disk: one for 32 MB of changes. Indexes of a million rows are read again and again: 8 MB are kept. */
const FOR_WRITING =
  'pragma journal_mode = wal; pragma synchronous = normal; pragma wal_autocheckpoint = 8000; pragma cache_size = -8000';
/** A query sorts on the disk. */
const FOR_READING = 'pragma temp_store = file';
const OWN_FILE = 0o600;

/** Opens the file. With access to write it is made, with its folder, for the user alone. */
export async function openSqlite(path: string, { access, signal }: OpenOptions): Promise<Engine> {
  const openDriver = findDriver();
  const isReadOnly = access !== 'write';
  if (isReadOnly) await refuseMissing(path);
  else await makeFile(path);
  let driver: Driver | undefined;
  try {
    driver = openDriver(access === 'look' && !existsSync(`${path}-wal`) ? untouched(path) : path, isReadOnly);
    driver.exec(`pragma busy_timeout = ${BUSY_MS}; ${isReadOnly ? FOR_READING : FOR_WRITING}`);
    // Reads the first page: a file that is no database is refused here.
    Array.from(driver.prepare('select count(*) from sqlite_master').rows([]));
  } catch (error) {
    driver?.close();
    throw asSqliteError(error, path, false);
  }
  const opened = driver;
  const prepare = keepStatements(opened);
  const refuseReplaced = watchFiles(path);
  return {
    kind: 'sqlite',
    async run(sql, values) {
      const statement = prepare(sql);
      const { names } = statement;
      if (names.length > 0)
        return { names, rows: Array.from(statement.rows(bind(values)), (row) => row.map(readCell)) };
      statement.run(bind(values));
      return { names, rows: [] };
    },
    read: async (sql, values) => read(opened, sql, values),
    insert: async (table, columns, rows, conflict) =>
      insertRows(prepare, `${table} (${columns.join(', ')})`, rows, conflict),
    async begin() {
      refuseReplaced();
      for (let left = MOST_BUSY_TRIES; ; left -= 1) {
        try {
          opened.exec('begin immediate');
          return;
        } catch (error) {
          if (left === 0 || codeOf(error) !== CODES.busy) throw error;
        }
        await nextTurn();
        signal.throwIfAborted();
      }
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
}

/** Many rows at once: each call of a statement costs as much as several rows. Two sizes, so that two statements are kept. */
function insertRows(
  prepare: (sql: string) => Statement,
  into: string,
  rows: readonly (readonly Value[])[],
  conflict: string,
): void {
  const width = rows[0]?.length ?? 1;
  const most = Math.max(1, Math.floor(MOST_PARAMETERS / width));
  const row = `(${Array(width).fill('?').join(', ')})`;
  for (let from = 0; from < rows.length; ) {
    const count = rows.length - from >= most ? most : 1;
    const statement = prepare(`insert into ${into} values ${Array(count).fill(row).join(', ')}${conflict}`);
    statement.run(rows.slice(from, from + count).flatMap(bind));
    from += count;
  }
}

/** The address of a file that SQLite only reads: otherwise it would make its own beside it. */
function untouched(path: string): URL {
  const url = pathToFileURL(path);
  url.search = 'mode=ro&immutable=1';
  return url;
}

/** What throws a DatabaseGone where the file, or what SQLite keeps beside it, is no longer what it was: SQLite would not notice. */
function watchFiles(path: string): () => void {
  const paths = [path, `${path}-wal`];
  const known = new Map<string, string>();
  return () => {
    for (const each of paths) {
      const found = statSync(each, { throwIfNoEntry: false, bigint: true });
      const now = found && `${found.dev}:${found.ino}`;
      const before = known.get(each);
      if (before !== undefined && before !== now)
        throw new DatabaseGone(`${each} was deleted or replaced while the mirror was written`);
      if (now !== undefined) known.set(each, now);
    }
  };
}

function keepStatements(driver: Driver): (sql: string) => Statement {
  const kept = new Map<string, Statement>();
  return (sql) => {
    const statement = kept.get(sql) ?? driver.prepare(sql);
    if (kept.size >= MOST_STATEMENTS) kept.clear();
    kept.set(sql, statement);
    return statement;
  };
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
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
  return { columns: statement.names.map((name) => ({ name, isDecimal: false, isJson: false })), chunks: chunks() };
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
  const found = await stat(path).catch(() => undefined);
  refuseOther(path, found);
  // Closing any file descriptor of it would let go of this process's locks (https://sqlite.org/howtocorrupt.html, 2.2).
  if (found !== undefined) return;
  try {
    await makeFolder(dirname(path), OWN_FOLDER_MODE);
    await (await open(path, 'a', OWN_FILE)).close();
  } catch (error) {
    throw new FleetError('output', `${path} cannot be written: ${reasonOf(error)}`, { cause: error });
  }
}

/** Primary result codes (https://sqlite.org/rescode.html). */
const CODES = {
  perm: 3,
  busy: 5,
  locked: 6,
  noMemory: 7,
  readOnly: 8,
  io: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  tooBig: 18,
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

function asSqliteError(error: unknown, path: string, isQuery: boolean): unknown {
  const code = codeOf(error);
  if (hasCode(error, 'ERR_STRING_TOO_LONG')) return tooLong();
  if (error instanceof FleetError || code === undefined) return error;
  const { message } = error as Error;
  const output = (what: string) => new FleetError('output', `${path} ${what}`, { cause: error });
  if (isQuery && code === CODES.readOnly) return usageError(`a query only reads: ${message}`);
  if (isQuery && (code === CODES.noMemory || code === CODES.tooBig)) return tooLong();
  if (code === CODES.corrupt || code === CODES.notDatabase) {
    const hint = 'move it away, and start a new one: fleet mirror run';
    return configError(`${path} is damaged or not a database: ${message}`, hint, error);
  }
  if (code === CODES.full) return output('cannot be written: the disk is full');
  if (code === CODES.busy || code === CODES.locked) return output('is locked by another program');
  if (code === CODES.cannotOpen) return output(`cannot be opened: ${message}`);
  if (code === CODES.perm || code === CODES.readOnly || code === CODES.io)
    return output(`cannot be written: ${message}`);
  return refusal(message, isQuery, error);
}

/** What both drivers have. */
interface Prepared {
  run(...values: unknown[]): unknown;
  iterate(...values: unknown[]): Iterable<readonly Cell[]>;
  columns(): readonly { readonly name: string }[];
}

interface Connection<Kind extends Prepared> {
  prepare(sql: string): Kind;
  exec(sql: string): unknown;
  close(): void;
}

interface NodeSqlite {
  readonly DatabaseSync: new (
    path: string | URL,
    options: { readOnly: boolean },
  ) => Connection<Prepared & { setReadBigInts(isOn: boolean): void; setReturnArrays(isOn: boolean): void }>;
  readonly StatementSync: { readonly prototype: object };
}

type Libsql = new (path: string) => Connection<Prepared & { raw(): void }> & { defaultSafeIntegers(): unknown };

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

function openNodeSqlite({ DatabaseSync }: NodeSqlite, path: string | URL, readOnly: boolean): Driver {
  const database = new DatabaseSync(path, { readOnly });
  return {
    prepare(sql) {
      const statement = database.prepare(sql);
      statement.setReadBigInts(true);
      statement.setReturnArrays(true);
      return {
        names: statement.columns().map(({ name }) => name),
        run: (values) => statement.run(...values),
        rows: (values) => statement.iterate(...values),
      };
    },
    exec: (sql) => database.exec(sql),
    close: () => database.close(),
  };
}

/** It takes the values of a statement as one array. */
function openLibsql(LibsqlDatabase: Libsql, path: string | URL, isReadOnly: boolean): Driver {
  const readable = typeof path === 'string' ? `${pathToFileURL(path).href}?mode=ro` : path.href;
  const database = new LibsqlDatabase(isReadOnly ? readable : String(path));
  database.defaultSafeIntegers();
  return {
    prepare(sql) {
      const statement = database.prepare(sql);
      const names = statement.columns().map(({ name }) => name);
      // Only what has columns can be read raw.
      if (names.length > 0) statement.raw();
      return { names, run: (values) => statement.run(values), rows: (values) => statement.iterate(values) };
    },
    exec: (sql) => database.exec(sql),
    close: () => database.close(),
  };
}
