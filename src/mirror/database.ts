// The database of a mirror: statements, rows and transactions. Also defines the interface that the
// SQLite and PostgreSQL drivers implement.

import { type ErrorKind, FleetError, usageError } from '../errors.js';
import { DIALECTS } from './dialect.js';

/**
 * The value of a cell. PostgreSQL returns decimals (`numeric`) as text, and SQLite returns booleans
 * as 0 and 1. Both return times as ISO 8601 text in UTC.
 */
export type Value = string | number | bigint | boolean | null;

export type Row = Readonly<Record<string, Value>>;

export type Rows = readonly (readonly Value[])[];

export interface TableColumn {
  readonly name: string;
  /** Whether the column contains exact decimals as text. */
  readonly isDecimal: boolean;
  /** Whether the column contains JSON as text. */
  readonly isJson: boolean;
}

export interface Answer {
  readonly columns: readonly TableColumn[];
  readonly chunks: AsyncIterable<Rows>;
}

/** One connection to a database. Its methods throw the driver's errors. */
export interface Engine {
  readonly kind: 'sqlite' | 'postgres';
  /** Runs one statement and returns its rows. */
  run(sql: string, values: readonly Value[]): Promise<{ names: readonly string[]; rows: Rows }>;
  /** Reads rows in chunks, which bounds the memory. Other calls can run between the chunks. */
  read(sql: string, values: readonly Value[]): Promise<Answer>;
  /**
   * Inserts one or more rows within a transaction. `conflict` is the SQL clause after the values.
   */
  insert(table: string, columns: readonly string[], rows: Rows, conflict: string): Promise<void>;
  begin(): Promise<void>;
  /** Commits the transaction, or rolls it back. */
  end(isCommitted: boolean): Promise<void>;
  /** Converts an error of the driver. `isQuery` means that the user wrote the statement. */
  understand(error: unknown, isQuery: boolean): unknown;
  close(): Promise<void>;
}

export interface OpenOptions {
  /**
   * `write` creates the database file and its folder. `read` does not change the database. `look`
   * neither changes the database nor creates files next to it, such as a WAL.
   */
  readonly access: 'read' | 'write' | 'look';
  readonly signal: AbortSignal;
  /** The environment, for PGPASSWORD and similar variables. */
  readonly env: NodeJS.ProcessEnv;
}

/** The number of rows in a chunk. More rows need more memory; fewer rows are slower. */
export const CHUNK_ROWS = 500;
/**
 * The maximum length of a single value in the result of a query. It equals the size limit for
 * service responses.
 */
export const MOST_VALUE_CHARACTERS = 64 * 1024 * 1024;

/**
 * A database. Transactions and statements run sequentially. Other calls can run while `each` and
 * `query` read their rows.
 */
export type Database = ReturnType<typeof databaseOf>;

export function databaseOf(engine: Engine, signal: AbortSignal) {
  const inTurn = queue();
  let isOpen = false;
  const understand = (error: unknown, isQuery: boolean) =>
    signal.aborted ? signal.reason : engine.understand(error, isQuery);
  const ask = async <T>(work: () => Promise<T>, isQuery = false): Promise<T> => {
    signal.throwIfAborted();
    return work().catch((error: unknown) => Promise.reject(understand(error, isQuery)));
  };
  const read = async (sql: string, values: readonly Value[], isQuery: boolean): Promise<Answer> => {
    const { columns, chunks } = await ask(() => engine.read(sql, values), isQuery);
    async function* understood() {
      try {
        for await (const rows of chunks) {
          if (rows.some((row) => row.some(isTooLong))) throw tooLong();
          yield rows;
        }
      } catch (error) {
        throw understand(error, isQuery);
      }
    }
    return { columns, chunks: understood() };
  };
  /** Runs a transaction after all earlier transactions. Rolls it back when `work` throws. */
  const transaction = <T>(work: () => Promise<T>): Promise<T> =>
    inTurn(async () => {
      await ask(engine.begin);
      isOpen = true;
      try {
        const result = await work();
        await ask(() => engine.end(true));
        return result;
      } catch (error) {
        // The rollback fails when the database has already rolled back, for example on a full disk.
        await engine.end(false).catch(() => undefined);
        throw error;
      } finally {
        isOpen = false;
      }
    });
  return {
    kind: engine.kind,
    dialect: DIALECTS[engine.kind],
    transaction,
    close: engine.close,
    /** Runs a read-only statement exactly as the user wrote it. */
    query: (sql: string) => read(sql, [], true),
    /**
     * Runs one of fleet's own statements and returns its rows. Each `?` is a placeholder for a
     * value.
     */
    async all(sql: string, values: readonly Value[] = []) {
      const { names, rows } = await ask(() => engine.run(sql, values));
      return objectsOf(names, rows);
    },
    /**
     * Reads rows in chunks, which bounds the memory. May miss the rows of a transaction that is
     * still open.
     */
    async *each(sql: string, values: readonly Value[] = []) {
      const { columns, chunks } = await read(sql, values, false);
      const names = columns.map(({ name }) => name);
      for await (const rows of chunks) yield objectsOf(names, rows);
    },
    /**
     * Inserts rows atomically. With `key`, updates an existing row that has the same key. The keys
     * of `rows` must be distinct.
     */
    async write(
      table: string,
      columns: readonly string[],
      rows: Rows,
      key?: readonly string[],
    ): Promise<void> {
      if (rows.length === 0) return;
      const insert = () => ask(() => engine.insert(table, columns, rows, onConflict(columns, key)));
      await (isOpen ? insert() : transaction(insert));
    },
  };
}

/** Returns a function that runs tasks sequentially. */
export function queue(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const next = last.then(work, work);
    last = next.catch(() => undefined);
    return next;
  };
}

/** Returns the `on conflict …` clause of an insert. SQLite and PostgreSQL share its syntax. */
function onConflict(columns: readonly string[], key: readonly string[] | undefined): string {
  if (key === undefined) return '';
  const others = columns.filter((name) => !key.includes(name));
  const action =
    others.length === 0
      ? 'nothing'
      : `update set ${others.map((name) => `${name} = excluded.${name}`).join(', ')}`;
  return ` on conflict (${key.join(', ')}) do ${action}`;
}

/** Converts rows to objects. When several columns have the same name, the last value is used. */
function objectsOf(names: readonly string[], rows: Rows): Row[] {
  return rows.map((row) => {
    const object: Record<string, Value> = {};
    for (let index = 0; index < names.length; index += 1)
      object[names[index] ?? ''] = row[index] ?? null;
    return object;
  });
}

/** Replaces NUL, which a text column of PostgreSQL cannot store. */
export function storable(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text;
}

/**
 * Returns the error for a statement that the database refused. It is a usage error when the user
 * wrote the statement.
 */
export function refusal(message: string, isQuery: boolean, cause: unknown): FleetError {
  const text = `the database reported an error: ${message}`;
  if (isQuery)
    return usageError(text, 'for the tables, the columns and examples, run: fleet help mirror');
  return new FleetError('internal', text, { cause });
}

/** Maps error codes of a database to errors. The first matching pattern is used. */
export type Failures = readonly (readonly [
  codes: RegExp,
  kind: ErrorKind,
  what: string,
  hint?: string,
])[];

/**
 * Returns the error for an error code of a database. Returns undefined for an unknown code. Such a
 * code means that the statement is invalid. `lasting` matches codes of errors that a retry cannot
 * fix.
 */
export function errorOfCode(
  failures: Failures,
  code: string,
  where: string,
  text: string,
  cause: unknown,
  lasting: RegExp,
) {
  const [, kind, what, hint] = failures.find(([codes]) => codes.test(code)) ?? [];
  const details = { hint, cause, isLasting: lasting.test(code) };
  return kind && new FleetError(kind, `${where} ${what}: ${text}`, details);
}

function isTooLong(value: Value): boolean {
  return typeof value === 'string' && value.length > MOST_VALUE_CHARACTERS;
}

export function tooLong(): FleetError {
  return usageError(
    `the query returned a value of more than ${MOST_VALUE_CHARACTERS / 1024 / 1024} MB`,
    'select fewer columns, or a part of each value with substr()',
  );
}
