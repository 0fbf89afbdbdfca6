// PostgreSQL, and what speaks its protocol: one connection that writes, and one more for each reading of many rows.

import type { CustomTypesConfig } from 'pg';
import { configError, FleetError, usageError } from '../errors.js';
import { type Connection, readConnection } from './connection.js';
import {
  type Answer,
  CHUNK_ROWS,
  type Column,
  type Database,
  lastOfEach,
  type OpenOptions,
  objectsOf,
  onConflict,
  openTransactions,
  storable,
  type Value,
} from './engine.js';
import { numberParameters, QUERY_HINT } from './statement.js';

type Pg = typeof import('pg').default;
type Client = InstanceType<Pg['Client']>;

/** Rows of one statement. */
const BATCH_ROWS = 5000;
const OID = {
  bool: 16,
  bytes: 17,
  int8: 20,
  int2: 21,
  int4: 23,
  json: 114,
  float4: 700,
  float8: 701,
  timestamptz: 1184,
  numeric: 1700,
  jsonb: 3802,
} as const;

/** What both connections agree on: times in UTC in one spelling. */
const SESSION = "set timezone to 'UTC'; set datestyle to 'ISO, YMD'; set intervalstyle to 'iso_8601'";

const ONLY_READS = 'set default_transaction_read_only to on';
/** A writer that froze within a transaction, or whose machine did, would lock out the one that replaces it. */
const ENDS_WHEN_FROZEN = "set idle_in_transaction_session_timeout to '15s'";

interface Server {
  readonly pg: Pg;
  readonly connection: Connection;
  readonly options: OpenOptions;
}

/** Connects. The password is never part of an error. */
export async function openPostgres(url: string, options: OpenOptions): Promise<Database> {
  options.signal.throwIfAborted();
  const server: Server = {
    pg: (await import('pg')).default,
    connection: await readConnection(url, options.env),
    options,
  };
  const client = await connect(server);
  return databaseOf(client, server);
}

function databaseOf(client: Client, server: Server): Database {
  const statements = new Map<string, { name: string; text: string }>();
  const kept = (sql: string) => {
    const found = statements.get(sql) ?? { name: `fleet_${statements.size + 1}`, text: numberParameters(sql) };
    statements.set(sql, found);
    return found;
  };
  const run = <T>(work: () => Promise<T>): Promise<T> => understood(work, server);
  const { transaction, join } = openTransactions(
    () => run(() => client.query('begin')),
    () => run(() => client.query('commit')),
    () => client.query('rollback'),
  );
  const typesOf = typeReader(client, run);
  return {
    kind: 'postgres',
    all: (sql, values = []) =>
      run(async () => {
        const found = await client.query({ ...kept(sql), values: values.map(bind), rowMode: 'array', types: TYPES });
        return objectsOf(
          found.fields.map(({ name }) => name),
          found.rows,
        );
      }),
    async *each(sql, values = []) {
      const { columns, chunks } = await read(server, numberParameters(sql), values);
      const names = columns.map(({ name }) => name);
      for await (const chunk of chunks) yield objectsOf(names, chunk);
    },
    query: (sql) => read(server, sql, [], asQueryError),
    transaction,
    write: async (table, columns, rows, key) => {
      if (rows.length === 0) return;
      const types = await typesOf(table);
      const distinct = key === undefined ? rows : lastOfEach(columns, rows, key);
      const arrays = columns.map((name, index) => `$${index + 1}::${types.get(name) ?? 'text'}[]`);
      const text = `insert into ${table} (${columns.join(', ')}) select * from unnest(${arrays.join(', ')})${onConflict(columns, key)}`;
      const insert = async () => {
        for (let from = 0; from < distinct.length; from += BATCH_ROWS) {
          const batch = distinct.slice(from, from + BATCH_ROWS);
          const values = columns.map((_, index) => batch.map((row) => bind(row[index] ?? null)));
          await run(() => client.query({ ...kept(text), text, values }));
        }
      };
      await (distinct.length <= BATCH_ROWS ? insert() : join(insert));
    },
    close: () => client.end().catch(() => undefined),
  };
}

/** An error of a query is the operator's: the same with exit code 2, unless the database itself is at fault. */
function asQueryError(error: FleetError): FleetError {
  const { code } = (error.cause ?? {}) as { code?: string };
  if (code === '25006' || code === '42501') return usageError(`a query only reads: ${(error.cause as Error).message}`);
  // A parameter that has no value.
  if (code === '08P01') return usageError(`the database says: ${(error.cause as Error).message}`);
  return error.kind === 'internal' ? usageError(error.message, QUERY_HINT) : error;
}

/** The types of a table's columns, asked once. */
function typeReader(client: Client, run: <T>(work: () => Promise<T>) => Promise<T>) {
  const known = new Map<string, ReadonlyMap<string, string>>();
  return async (table: string): Promise<ReadonlyMap<string, string>> => {
    const before = known.get(table);
    if (before !== undefined) return before;
    const text =
      'select attname, format_type(atttypid, atttypmod) from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped';
    const { rows } = await run(() => client.query({ text, values: [table], rowMode: 'array' }));
    const types = new Map(rows as [string, string][]);
    known.set(table, types);
    return types;
  };
}

/** Reads rows through a cursor of a connection of its own, so that other calls need not wait for it. */
async function read(
  server: Server,
  text: string,
  values: readonly Value[],
  explain: (error: FleetError) => FleetError = (error) => error,
): Promise<Answer> {
  const Cursor = (await import('pg-cursor')).default;
  const client = await connect(server);
  const run = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await understood(work, server);
    } catch (error) {
      throw error instanceof FleetError ? explain(error) : error;
    }
  };
  // Only PostgreSQL 14 and later know it: a query whose reader is gone ends on the server, too.
  await client.query("set client_connection_check_interval to '1s'").catch(() => undefined);
  const end = () => client.end().catch(() => undefined);
  // Never committed: "explain analyze create table" is not refused as a write.
  await run(() => client.query('begin read only'));
  const cursor = client.query(new Cursor(text, values.map(bind), { rowMode: 'array', types: TYPES }));
  let columns: Column[] = [];
  const next = () =>
    run(
      () =>
        new Promise<Value[][]>((resolve, reject) => {
          cursor.read(CHUNK_ROWS, (error: Error | undefined, rows: Value[][], result: { fields?: Field[] }) => {
            if (error) return reject(error);
            columns = (result?.fields ?? []).map(columnOf);
            resolve(rows);
          });
        }),
    );
  const first = await next().catch(async (error: unknown) => {
    await end();
    throw error;
  });
  async function* chunks() {
    try {
      for (let chunk = first; chunk.length > 0; chunk = await next()) {
        yield chunk;
        if (chunk.length < CHUNK_ROWS) return;
      }
    } finally {
      await end();
    }
  }
  return { columns, chunks: chunks() };
}

interface Field {
  readonly name: string;
  readonly dataTypeID: number;
}

function columnOf({ name, dataTypeID }: Field): Column {
  return {
    name,
    isDecimal: dataTypeID === OID.numeric,
    isJson: dataTypeID === OID.json || dataTypeID === OID.jsonb,
  };
}

function bind(value: Value): unknown {
  if (typeof value === 'string') return storable(value);
  return typeof value === 'bigint' ? String(value) : value;
}

const TYPES = {
  getTypeParser: (oid: number) => (text: string) => readValue(oid, text),
} as unknown as CustomTypesConfig;

function readValue(oid: number, text: string): Value {
  switch (oid) {
    case OID.bool:
      return text === 't';
    case OID.int2:
    case OID.int4:
      return Number(text);
    case OID.int8:
      return Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text);
    case OID.float4:
    case OID.float8:
      return Number.isFinite(Number(text)) ? Number(text) : text;
    case OID.timestamptz:
      return text.replace(/^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)\+00$/, '$1T$2Z');
    default:
      return text;
  }
}

async function connect({ pg, connection, options }: Server): Promise<Client> {
  const { ssl, password = '', connectTimeoutMs, applicationName, options: sessionOptions, ...where } = connection;
  let failure: unknown;
  for (const each of ssl) {
    const client = new pg.Client({
      ...where,
      // A function keeps pg from reading the environment and a password file by itself.
      password: () => password,
      ssl: each,
      connectionTimeoutMillis: connectTimeoutMs,
      application_name: applicationName,
      ...(sessionOptions === undefined ? {} : { options: sessionOptions }),
      keepAlive: true,
    });
    // What breaks a connection fails the call that is made next.
    client.on('error', () => undefined);
    listenForAbort(client, options.signal);
    try {
      await client.connect();
      await client.query(`${SESSION}; ${options.access === 'read' ? ONLY_READS : ENDS_WHEN_FROZEN}`);
      return client;
    } catch (error) {
      await client.end().catch(() => undefined);
      options.signal.throwIfAborted();
      failure = error;
      if (!/does not support SSL/i.test((error as Error).message)) break;
    }
  }
  throw asPostgresError(failure, connection);
}

/** An abort ends the connection, whatever runs on it. */
function listenForAbort(client: Client, signal: AbortSignal): void {
  const { stream } = (client as unknown as { connection: { stream: { destroy(): void } } }).connection;
  const abort = () => stream.destroy();
  signal.addEventListener('abort', abort, { once: true });
  client.once('end', () => signal.removeEventListener('abort', abort));
}

async function understood<T>(work: () => Promise<T>, { connection, options: { signal } }: Server): Promise<T> {
  signal.throwIfAborted();
  try {
    return await work();
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw asPostgresError(error, connection);
  }
}

/** By SQLSTATE (PostgreSQL 17, appendix A), its class or the code of the network. */
function asPostgresError(error: unknown, { host, port, database }: Connection): unknown {
  if (error instanceof FleetError) return error;
  const { code = '', message = '' } = error as { code?: string; message?: string };
  const where = `the database "${database}" at ${host.startsWith('/') ? host : `${host}:${port}`}`;
  // A name with several addresses: each failed, and the first says why.
  const failure = (kind: FleetError['kind'], what: string) => new FleetError(kind, what, { cause: error });
  const text = message || ((error as AggregateError).errors?.[0] as Error | undefined)?.message || code;
  // pg's own word for a password that was asked for and not given.
  if (text.startsWith('SASL')) return refusedLogin(where, 'it asks for a password', error);
  if (!/^[0-9A-Z]{5}$/.test(code)) return failure('network', `${where} is out of reach: ${text}`);
  if (code.startsWith('28')) return refusedLogin(where, text, error);
  if (code === '3D000') return configError(`${where} is not there: ${text}`, `create it: createdb ${database}`, error);
  if (code === '53300') return failure('network', `${where} takes no more connections: ${text}`);
  if (code === '42501' || code === '25006' || code.startsWith('53') || code === '58030')
    return failure('output', `${where} cannot be written: ${text}`);
  // 25P03: it was frozen within a transaction, which the server ended.
  if (code.startsWith('08') || code.startsWith('57P') || code === '25P03')
    return failure('network', `${where} is out of reach: ${text}`);
  return failure('internal', `the database says: ${text}`);
}

function refusedLogin(where: string, why: string, cause: unknown): FleetError {
  return configError(
    `${where} refuses the login: ${why}`,
    'check the user, and PGPASSWORD, PGPASSFILE, PGSERVICE or ~/.pgpass',
    cause,
  );
}
