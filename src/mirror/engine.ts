// What a mirror asks of its database, whichever it is: rows, many rows at once, transactions, and errors that say what to do.

/** A cell. PostgreSQL's decimals (`numeric`) come as text, times as ISO 8601 in UTC on both; a boolean is 0 or 1 in SQLite. */
export type Value = string | number | bigint | boolean | null;
export type Row = Readonly<Record<string, Value>>;

export interface Column {
  readonly name: string;
  /** Whether its texts are numbers, written exactly. */
  readonly isDecimal: boolean;
  /** Whether its texts are JSON. */
  readonly isJson: boolean;
}

export interface Answer {
  readonly columns: readonly Column[];
  readonly chunks: AsyncIterable<readonly (readonly Value[])[]>;
}

/** One connection. Its methods are called one after another, but `each` and `query`, whose rows may be read between other calls. */
export interface Database {
  readonly kind: 'sqlite' | 'postgres';
  /** Statements are written with `?`. They are prepared once and kept. */
  all(sql: string, values?: readonly Value[]): Promise<Row[]>;
  /** Rows in chunks, in bounded memory. What an open transaction wrote need not be among them. */
  each(sql: string, values?: readonly Value[]): AsyncIterable<readonly Row[]>;
  /** One statement of the operator's as it is: nothing in it is replaced. Only the way to read is open to it. */
  query(sql: string): Promise<Answer>;
  /** One transaction; it is rolled back when `work` throws. Several wait for each other. */
  transaction<T>(work: () => Promise<T>): Promise<T>;
  /** Inserts many rows; with `key`, a row of the same key gets the new values. Atomic. Of rows with the same key the last one counts. */
  write(
    table: string,
    columns: readonly string[],
    rows: readonly (readonly Value[])[],
    key?: readonly string[],
  ): Promise<void>;
  close(): Promise<void>;
}

export interface OpenOptions {
  /** `write` makes the file and its folder; `read` can change nothing. */
  readonly access: 'read' | 'write';
  readonly signal: AbortSignal;
  /** Where PGPASSWORD and its like are. */
  readonly env: NodeJS.ProcessEnv;
}

/** Rows of one chunk: few enough to hold, many enough that a chunk costs nothing. */
export const CHUNK_ROWS = 500;

/** Runs transactions one after another. */
export function queue(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const next = last.then(work, work);
    last = next.catch(() => undefined);
    return next;
  };
}

/** Transactions of one connection, one after another; `join` works in the one that is open, else in one of its own. */
export function openTransactions(begin: () => unknown, commit: () => unknown, rollback: () => unknown) {
  const inTurn = queue();
  let isOpen = false;
  const transaction = <T>(work: () => Promise<T>): Promise<T> =>
    inTurn(async () => {
      await begin();
      isOpen = true;
      try {
        const result = await work();
        await commit();
        return result;
      } catch (error) {
        // Some a database rolls back by itself, when the disk is full for instance.
        await Promise.resolve()
          .then(rollback)
          .catch(() => undefined);
        throw error;
      } finally {
        isOpen = false;
      }
    });
  const join = (work: () => Promise<void>): Promise<void> => (isOpen ? work() : transaction(work));
  return { transaction, join };
}

/** The texts of a parameter that is a JSON array, as rows: one parameter, however many. */
export const TEXTS_OF: { readonly [kind in Database['kind']]: string } = {
  sqlite: 'SELECT value FROM json_each(?)',
  postgres: 'SELECT json_array_elements_text(?::json)',
};

/** What a text column cannot hold in either database: a NUL, and half a surrogate pair. */
export function storable(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text;
}

/** The last row of each key. */
export function lastOfEach(
  columns: readonly string[],
  rows: readonly (readonly Value[])[],
  key: readonly string[],
): readonly (readonly Value[])[] {
  const places = key.map((name) => columns.indexOf(name));
  const found = new Map(rows.map((row) => [places.map((place) => String(row[place])).join('\0'), row]));
  return found.size === rows.length ? rows : [...found.values()];
}

/** `on conflict …`, the same words in both databases. */
export function onConflict(columns: readonly string[], key: readonly string[] | undefined): string {
  if (key === undefined) return '';
  const others = columns.filter((name) => !key.includes(name));
  const action =
    others.length === 0 ? 'nothing' : `update set ${others.map((name) => `${name} = excluded.${name}`).join(', ')}`;
  return ` on conflict (${key.join(', ')}) do ${action}`;
}

/** Rows as objects; of columns with the same name the last one counts. */
export function objectsOf(names: readonly string[], rows: readonly (readonly Value[])[]): Row[] {
  return rows.map((row) => {
    const object: Record<string, Value> = {};
    for (let index = 0; index < names.length; index += 1) object[names[index] ?? ''] = row[index] ?? null;
    return object;
  });
}
