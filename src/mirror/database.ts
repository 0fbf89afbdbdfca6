// The database of a mirror, whichever it is: statements, rows, transactions; and what SQLite and PostgreSQL do for it, each in its own manner.

import { type ErrorKind, FleetError, usageError } from '../errors.js';
import { DIALECTS } from './dialect.js';

/** A cell. PostgreSQL's decimals (`numeric`) come as text, times as ISO 8601 in UTC on both; a boolean is 0 or 1 in SQLite. */
export type Value = string | number | bigint | boolean | null;

export type Row = Readonly<Record<string, Value>>;

export type Rows = readonly (readonly Value[])[];

export interface TableColumn {
  readonly name: string;
  /** Whether its texts are numbers, written exactly. */
  readonly isDecimal: boolean;
  /** Whether its texts are JSON. */
  readonly isJson: boolean;
}

export interface Answer {
  readonly columns: readonly TableColumn[];
  readonly chunks: AsyncIterable<Rows>;
}

/** One connection, in the manner of its database. Throws what the driver throws. */
export interface Engine {
  readonly kind: 'sqlite' | 'postgres';
  /** One statement with its rows. It is prepared once and kept. */
  run(sql: string, values: readonly Value[]): Promise<{ names: readonly string[]; rows: Rows }>;
  /** Rows in chunks, in bounded memory; other calls may come in between. */
  read(sql: string, values: readonly Value[]): Promise<Answer>;
  /** Inserts many rows, at least one, within a transaction; `conflict` stands behind them. */
  insert(table: string, columns: readonly string[], rows: Rows, conflict: string): Promise<void>;
  begin(): Promise<void>;
  /** What an error means; `isQuery`: the statement is the operator's. */
  understand(error: unknown, isQuery: boolean): unknown;
  close(): Promise<void>;
}

export interface OpenOptions {
  /** `write` makes the file and its folder; `read` can change nothing, and `look` leaves nothing beside the file either. */
  readonly access: 'read' | 'write' | 'look';
  readonly signal: AbortSignal;
  /** Where PGPASSWORD and its like are. */
  readonly env: NodeJS.ProcessEnv;
}

/** Rows of one chunk: few enough to hold, many enough that a chunk costs nothing. */
export const CHUNK_ROWS = 500;
/** The longest value that a query shows: as long as an answer of the service. */
export const MOST_VALUE_CHARACTERS = 64 * 1024 * 1024;

/** One connection. Its methods are called one after another, but `each` and `query`, whose rows may be read between other calls. */
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
  /** One transaction; it is rolled back when `work` throws. Several wait for each other. */
  const transaction = <T>(work: () => Promise<T>): Promise<T> =>
    inTurn(async () => {
      await ask(engine.begin);
      isOpen = true;
      try {
        const result = await work();
        await ask(() => engine.run('commit', []));
        return result;
      } catch (error) {
        // Some a database rolls back by itself, when the disk is full for instance.
        await engine.run('rollback', []).catch(() => undefined);
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
    /** One statement of the operator's as it is: nothing in it is replaced. Only the way to read is open to it. */
    query: (sql: string) => read(sql, [], true),
    /** Statements of the program's own are written with `?`, which stands in no quotes. */
    async all(sql: string, values: readonly Value[] = []) {
      const { names, rows } = await ask(() => engine.run(sql, values));
      return objectsOf(names, rows);
    },
    /** Rows in chunks, in bounded memory. What an open transaction wrote need not be among them. */
    async *each(sql: string, values: readonly Value[] = []) {
      const { columns, chunks } = await read(sql, values, false);
      const names = columns.map(({ name }) => name);
      for await (const rows of chunks) yield objectsOf(names, rows);
    },
    /** Inserts many rows; with `key`, of which no two are the same, a row of the same key gets the new values. Atomic. */
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

/** Runs one thing after another. */
export function queue(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const next = last.then(work, work);
    last = next.catch(() => undefined);
    return next;
  };
}

/** `on conflict …`, the same words in both databases. */
function onConflict(columns: readonly string[], key: readonly string[] | undefined): string {
  if (key === undefined) return '';
  const others = columns.filter((name) => !key.includes(name));
  const action =
    others.length === 0
      ? 'nothing'
      : `update set ${others.map((name) => `${name} = excluded.${name}`).join(', ')}`;
  return ` on conflict (${key.join(', ')}) do ${action}`;
}

/** Rows as objects; of columns with the same name the last one counts. */
function objectsOf(names: readonly string[], rows: Rows): Row[] {
  return rows.map((row) => {
    const object: Record<string, Value> = {};
    for (let index = 0; index < names.length; index += 1)
      object[names[index] ?? ''] = row[index] ?? null;
    return object;
  });
}

/** What a text column cannot hold in either database: a NUL, and half a surrogate pair. */
export function storable(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text;
}

/** What the database says of a statement: the operator's mistake where it is the operator's. */
export function refusal(message: string, isQuery: boolean, cause: unknown): FleetError {
  const text = `the database says: ${message}`;
  if (isQuery) return usageError(text, 'tables, columns and ten examples: fleet help mirror');
  return new FleetError('internal', text, { cause });
}

/** Which codes of a database mean what: the first row that fits. */
export type Failures = readonly (readonly [
  codes: RegExp,
  kind: ErrorKind,
  what: string,
  hint?: string,
])[];

/** What a code means for the database `where`; undefined where it is about the statement. */
export function errorOfCode(
  failures: Failures,
  code: string,
  where: string,
  text: string,
  cause: unknown,
) {
  const [, kind, what, hint] = failures.find(([codes]) => codes.test(code)) ?? [];
  return kind && new FleetError(kind, `${where} ${what}: ${text}`, { hint, cause });
}

function isTooLong(value: Value): boolean {
  return typeof value === 'string' && value.length > MOST_VALUE_CHARACTERS;
}

export function tooLong(): FleetError {
  return usageError(
    `the query has values of more than ${MOST_VALUE_CHARACTERS / 1024 / 1024} MB`,
    'select fewer columns, or a part of each value with substr()',
  );
}
