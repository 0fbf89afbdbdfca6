// What a mirror asks of SQLite and of PostgreSQL, and what both have in common: values, rows, and errors that say what to do.

import { FleetError, usageError } from '../errors.js';

/** A cell. PostgreSQL's decimals (`numeric`) come as text, times as ISO 8601 in UTC on both; a boolean is 0 or 1 in SQLite. */
export type Value = string | number | bigint | boolean | null;

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

/** One connection, in the manner of its database; `openDatabase` makes a Database of it. Throws what the driver throws. */
export interface Engine {
  readonly kind: 'sqlite' | 'postgres';
  /** One statement with its rows. It is prepared once and kept. */
  run(sql: string, values: readonly Value[]): Promise<{ names: readonly string[]; rows: Rows }>;
  /** Rows in chunks, in bounded memory; other calls may come in between. */
  read(sql: string, values: readonly Value[]): Promise<Answer>;
  /** Inserts many rows, at least one, within a transaction; `conflict` stands behind them. */
  insert(table: string, columns: readonly string[], rows: Rows, conflict: string): Promise<void>;
  begin(): Promise<void>;
  /** What an error of the driver's means; `isQuery`: the statement is the operator's. */
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

/** A writer that gave no heartbeat for so long may be replaced: by a standby that looks every second, on a busy machine, within 20 s. */
export const LEASE_MS = 15_000;

/** Rows of one chunk: few enough to hold, many enough that a chunk costs nothing. */
export const CHUNK_ROWS = 500;
/** The longest value that a query shows: as long as an answer of the service. */
export const MOST_VALUE_CHARACTERS = 64 * 1024 * 1024;

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

export function tooLong(): FleetError {
  return usageError(
    `the query has values of more than ${MOST_VALUE_CHARACTERS / 1024 / 1024} MB`,
    'select fewer columns, or a part of each value with substr()',
  );
}
