// The database of a mirror, whichever it is: statements, rows, transactions; each engine is loaded when it is asked for.

import { FleetError } from '../errors.js';
import type { MirrorAddress } from './address.js';
import { DIALECTS } from './dialect.js';
import {
  type Answer,
  type Engine,
  MOST_VALUE_CHARACTERS,
  type OpenOptions,
  type Rows,
  tooLong,
  type Value,
} from './engine.js';

export type { Answer, OpenOptions, TableColumn, Value } from './engine.js';

export type Row = Readonly<Record<string, Value>>;

/** One connection. Its methods are called one after another, but `each` and `query`, whose rows may be read between other calls. */
export type Database = ReturnType<typeof databaseOf>;

/**
 * Opens the database. Throws a FleetError: 8 (`network`) out of reach, 10 (`output`) it cannot be written, 3 (`config`) it is
 * damaged, no database, not there, or the access is refused; 2 (`usage`) a query that the database refuses.
 */
export async function openDatabase(address: MirrorAddress, options: OpenOptions): Promise<Database> {
  options.signal.throwIfAborted();
  const engine =
    address.kind === 'sqlite'
      ? await (await import('./sqlite.js')).openSqlite(address.path, options)
      : await (await import('./postgres.js')).openPostgres(address.url, options);
  return databaseOf(engine, options.signal);
}

function databaseOf(engine: Engine, signal: AbortSignal) {
  const inTurn = queue();
  let isOpen = false;
  const understand = (error: unknown, isQuery: boolean) => {
    if (signal.aborted) return signal.reason;
    return error instanceof FleetError ? error : engine.understand(error, isQuery);
  };
  const ask = async <T>(work: () => Promise<T>, isQuery = false): Promise<T> => {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      throw understand(error, isQuery);
    }
  };
  const read = async (sql: string, values: readonly Value[], isQuery: boolean): Promise<Answer> => {
    const { columns, chunks } = await ask(() => engine.read(sql, values), isQuery);
    return { columns, chunks: understood(chunks, (error) => understand(error, isQuery)) };
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
    async write(table: string, columns: readonly string[], rows: Rows, key?: readonly string[]): Promise<void> {
      if (rows.length === 0) return;
      const insert = () => ask(() => engine.insert(table, columns, rows, onConflict(columns, key)));
      await (isOpen ? insert() : transaction(insert));
    },
  };
}

/** Chunks of rows, whose values can be held, and what an error means that comes between them. */
async function* understood(chunks: Answer['chunks'], understand: (error: unknown) => unknown) {
  try {
    for await (const rows of chunks) {
      for (const row of rows)
        for (const value of row) if (typeof value === 'string' && value.length > MOST_VALUE_CHARACTERS) throw tooLong();
      yield rows;
    }
  } catch (error) {
    throw understand(error);
  }
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
    others.length === 0 ? 'nothing' : `update set ${others.map((name) => `${name} = excluded.${name}`).join(', ')}`;
  return ` on conflict (${key.join(', ')}) do ${action}`;
}

/** Rows as objects; of columns with the same name the last one counts. */
function objectsOf(names: readonly string[], rows: Rows): Row[] {
  return rows.map((row) => {
    const object: Record<string, Value> = {};
    for (let index = 0; index < names.length; index += 1) object[names[index] ?? ''] = row[index] ?? null;
    return object;
  });
}
