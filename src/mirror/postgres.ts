// Connects to PostgreSQL and compatible databases. Uses one connection for statements, and a
// separate connection for each large query.

import type { Socket } from 'node:net';
import type { CustomTypesConfig, FieldDef } from 'pg';
import { configError, FleetError, messageOf, reasonOf, usageError } from '../errors.js';
import { openSecrets, type Secrets } from '../system/secrets.js';
import { type Connection, readConnection, type Server, type Target } from './connection.js';
import type {
  Answer,
  Database,
  Engine,
  Failures,
  OpenOptions,
  Rows,
  TableColumn,
  Value,
} from './database.js';
import { CHUNK_ROWS, databaseOf, errorOfCode, queue, refusal, storable } from './database.js';
import { readPasswordFile } from './password-file.js';
import { LEASE_MS } from './writers.js';

type Client = import('pg').Client;

/**
 * The settings of each transaction. They make the server return times in UTC and in one format.
 * They must be set again in each transaction, because PgBouncer in transaction mode lends the
 * connection to other programs in between.
 */
const SETTINGS =
  "set local timezone to 'UTC'; set local datestyle to 'ISO, YMD'; set local intervalstyle to 'iso_8601'";

const BEGIN_READING = `begin read only; ${SETTINGS}`;
/**
 * Starts a write transaction. When a writer hangs, the timeout ends its transaction, so that
 * another writer can take over.
 */
const BEGIN_WRITING = `begin; ${SETTINGS}; set local idle_in_transaction_session_timeout to ${LEASE_MS}`;

/**
 * Makes the server end a query when its client disconnects. PostgreSQL 14 and later versions
 * support this on some platforms.
 */
const CHECK_CONNECTION =
  "do $$ begin perform set_config('client_connection_check_interval', '1s', true); exception when others then null; end $$";

/** The connection's database, for error messages. */
interface Place {
  readonly host: string;
  readonly port: number;
  readonly database: string;
}

interface Pool {
  readonly connection: Connection;
  readonly options: OpenOptions;
  /** All open connections: the one for statements, and those that are reading many rows. */
  readonly clients: Set<Client>;
  /**
   * The password, which must be hidden because a server or a connection pooler may repeat it in an
   * error.
   */
  readonly secrets: Secrets;
}

/** Connects to a PostgreSQL database. Errors never contain the password. */
export async function openPostgres(url: string, options: OpenOptions): Promise<Database> {
  const connection = await readConnection(url, options.env, options.signal);
  const secrets = openSecrets();
  const pool: Pool = { connection, options, clients: new Set(), secrets };
  const client = await connect(pool);
  const place: Place = { host: client.host, port: client.port, database: connection.database };
  if (options.access === 'write') await checkSuitable(client, place, secrets);
  const inTurn = queue();
  let isOpen = false;
  // An unnamed statement ends with its transaction. A named statement would stay on the server's
  // connection.
  const run: Engine['run'] = async (sql, values) => {
    const found = await client.query({
      text: numberParameters(sql),
      values: values.map(bind),
      rowMode: 'array',
      types: TYPES,
    });
    return { names: found.fields.map(({ name }) => name), rows: found.rows };
  };
  const begin = () => client.query(options.access === 'write' ? BEGIN_WRITING : BEGIN_READING);
  const rollBack = () => client.query('rollback').catch(() => undefined);
  const runAlone: Engine['run'] = async (sql, values) => {
    try {
      await begin();
      const result = await run(sql, values);
      await client.query('commit');
      return result;
    } catch (error) {
      await rollBack();
      throw error;
    }
  };
  const engine: Engine = {
    kind: 'postgres',
    async run(sql, values) {
      if (isOpen) return run(sql, values);
      return inTurn(() => (isOpen ? run(sql, values) : runAlone(sql, values)));
    },
    read: (sql, values) => read(pool, sql, values),
    async insert(table, columns, rows, conflict) {
      const names = columns.join(', ');
      if (conflict === '') return copyRows(client, `${table} (${names})`, rows);
      // COPY cannot update existing rows, so the rows first go into a temporary table.
      const incoming = `incoming_${table}`;
      await run(
        `create temp table if not exists ${incoming} on commit drop as select ${names} from ${table} limit 0`,
        [],
      );
      await copyRows(client, `${incoming} (${names})`, rows);
      await run(`insert into ${table} (${names}) select ${names} from ${incoming}${conflict}`, []);
      await run(`delete from ${incoming}`, []);
    },
    begin: () =>
      inTurn(async () => {
        try {
          await begin();
          isOpen = true;
        } catch (error) {
          await rollBack();
          throw error;
        }
      }),
    async end(isCommitted) {
      isOpen = false;
      await client.query(isCommitted ? 'commit' : 'rollback');
    },
    understand(error, isQuery) {
      hideInError(error, secrets);
      return asPostgresError(error, place, options.access, isQuery);
    },
    close: async () => {
      await Promise.allSettled([...pool.clients].map((each) => each.end()));
    },
  };
  return databaseOf(engine, options.signal);
}

/**
 * Throws when the database cannot hold a mirror, after closing the connection. The FleetError has
 * the kind `config`. For a read-only server, it has the kind `output`.
 */
async function checkSuitable(client: Client, place: Place, secrets: Secrets): Promise<void> {
  const sql =
    "select current_setting('server_encoding') as encoding, current_schema() as schema, current_setting('transaction_read_only') as read_only";
  try {
    const { rows } = await client.query(sql);
    const unsuitable = unsuitableBy(rows[0], nameOf(place));
    if (unsuitable !== undefined) throw unsuitable;
  } catch (error) {
    await client.end().catch(() => undefined);
    hideInError(error, secrets);
    throw asPostgresError(error, place, 'write', false);
  }
}

/** Encodings that can store all strings from the service. SQL_ASCII stores bytes unchanged. */
const ENCODINGS = ['UTF8', 'SQL_ASCII'];

function unsuitableBy(
  { encoding, schema, read_only: readOnly }: { [name: string]: string | null },
  where: string,
): FleetError | undefined {
  if (!ENCODINGS.includes(encoding ?? ''))
    return configError(
      `${where} has the encoding ${encoding}, which cannot store all names`,
      'to create a database with UTF8, run: createdb --encoding UTF8 --template template0 NAME',
    );
  if (schema === null)
    return configError(
      `${where} has no schema for the tables: the search_path contains no existing schema`,
      'set a schema, for example: PGOPTIONS="-c search_path=public"',
    );
  if (readOnly !== 'on') return undefined;
  return new FleetError('output', `${where} is read-only`, {
    hint: 'use the address of the primary server; a standby server is read-only',
  });
}

/** Replaces the `?` in a statement with `$1`, `$2` and so on. */
function numberParameters(sql: string): string {
  let count = 0;
  return sql.replaceAll('?', () => `$${++count}`);
}

/** Inserts rows with COPY. Measured: COPY halves the server's work compared with INSERT. */
async function copyRows(client: Client, into: string, rows: Rows): Promise<void> {
  const { from } = await import('pg-copy-streams');
  const { pipeline } = await import('node:stream/promises');
  const lines = rows.map((row) => `${row.map(copyCell).join('\t')}\n`);
  await pipeline([lines.join('')], client.query(from(`copy ${into} from stdin`)));
}

/** Characters that must be escaped in the text format of COPY. */
const SPECIAL = /[\\\t\n\r]/;

function copyCell(value: Value): string {
  if (value === null) return '\\N';
  if (typeof value !== 'string') return String(value);
  const text = storable(value);
  if (!SPECIAL.test(text)) return text;
  return text
    .replaceAll('\\', '\\\\')
    .replaceAll('\t', '\\t')
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r');
}

/** Reads rows through a cursor. Uses a separate connection, so that other calls do not wait. */
async function read(pool: Pool, sql: string, values: readonly Value[]): Promise<Answer> {
  const Cursor = (await import('pg-cursor')).default;
  const client = await connect(pool);
  const end = () => {
    pool.clients.delete(client);
    return client.end().catch(() => undefined);
  };
  try {
    // The transaction is read-only and never committed, so that even "explain analyze create table"
    // changes nothing.
    await client.query(`${BEGIN_READING}; ${CHECK_CONNECTION}`);
    // The values of a statement replace its `?`. Statements from the user have no values, and a `?`
    // in them can mean something else.
    const text = values.length === 0 ? sql : numberParameters(sql);
    const cursor = client.query(
      new Cursor<Value[]>(text, values.map(bind), { rowMode: 'array', types: TYPES }),
    );
    const next = () =>
      new Promise<{ rows: Rows; fields: readonly FieldDef[] }>((resolve, reject) => {
        cursor.read(
          CHUNK_ROWS,
          (error: Error | undefined, rows, result?: { fields?: FieldDef[] }) =>
            error ? reject(error) : resolve({ rows, fields: result?.fields ?? [] }),
        );
      });
    const first = await next();
    async function* chunks() {
      try {
        for (let { rows } = first; rows.length > 0; { rows } = await next()) yield rows;
        // The transaction must end first. If the connection were closed within the transaction,
        // PgBouncer would also close its connection to the server.
        await client.query('rollback');
      } finally {
        await end();
      }
    }
    return { columns: first.fields.map(columnOf), chunks: chunks() };
  } catch (error) {
    await end();
    throw error;
  }
}

function streamOf(client: Client): Socket {
  return (client as unknown as { connection: { stream: Socket } }).connection.stream;
}

/** The type OIDs of numeric, json and jsonb (pg_type.dat). */
const [NUMERIC, JSON_TYPES] = [1700, [114, 3802]];

function columnOf({ name, dataTypeID: type }: FieldDef): TableColumn {
  return { name, isDecimal: type === NUMERIC, isJson: JSON_TYPES.includes(type) };
}

function bind(value: Value): unknown {
  if (typeof value === 'string') return storable(value);
  return typeof value === 'bigint' ? String(value) : value;
}

const readFloat = (text: string) => (Number.isFinite(Number(text)) ? Number(text) : text);

/** The parsers for PostgreSQL data types, by type OID. Values of other types stay strings. */
const READERS: { readonly [type: number]: (text: string) => Value } = {
  16: (text) => text === 't', // the type bool
  20: (text) => (Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text)), // the type int8
  ...{ 21: Number, 23: Number }, // the types int2 and int4
  ...{ 700: readFloat, 701: readFloat },
  // the type timestamptz
  1184: (text) => text.replace(/^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)\+00$/, '$1T$2Z'),
};
const TYPES = {
  getTypeParser: (type: number) => READERS[type] ?? String,
} as unknown as CustomTypesConfig;

/** Connects to the first server that answers and has the required state. */
async function connect(pool: Pool): Promise<Client> {
  const { connection, options } = pool;
  const { servers } = connection;
  // With several servers, a writer looks for one that accepts writes. With a single server, a later
  // check explains why the server refuses writes.
  const isChoice = options.access === 'write' && servers.length > 1;
  const target = connection.target ?? (isChoice ? 'read-write' : 'any');
  const wanted: Target[] = target === 'prefer-standby' ? ['standby', 'any'] : [target];
  const failures: FleetError[] = [];
  for (const state of wanted) {
    for (const server of servers) {
      try {
        return await connectTo(pool, server, state);
      } catch (error) {
        if (!(error instanceof FleetError) || error.kind !== 'network') throw error;
        failures.push(error);
      }
    }
  }
  const [first, ...others] = new Map(failures.map((each) => [each.message, each])).values();
  throw new FleetError('network', first?.message ?? '', {
    hint: first?.hint,
    more: others.map(({ message }) => message),
    cause: first?.cause,
  });
}

/** Connects to a server with the first TLS setting that it accepts. */
async function connectTo(
  { connection, options, clients, secrets }: Pool,
  { host, port, tls }: Server,
  state: Target,
): Promise<Client> {
  const { default: pg } = await import('pg');
  const { password, passwordFile, database, user } = connection;
  const place = { host, port, database, user };
  let failure: unknown;
  let ignored: string | undefined;
  const findPassword = async () => {
    if (password !== undefined || passwordFile === undefined) return password ?? '';
    const found = await readPasswordFile(passwordFile, place);
    ignored = found.ignored;
    return found.password ?? '';
  };
  const givePassword = async () => {
    const found = await findPassword();
    secrets.add(found, true);
    return found;
  };
  for (const ssl of tls) {
    // The signal may have been aborted while the library was loaded.
    options.signal.throwIfAborted();
    // The password is a function, so that `pg` does not read PGPASSWORD itself.
    const client = new pg.Client({
      ...place,
      ssl,
      password: givePassword,
      keepAlive: true,
      connectionTimeoutMillis: connection.connectionTimeoutMillis,
      application_name: connection.application_name,
      options: connection.options,
    });
    // A connection error makes the next call fail. This listener prevents an uncaught error.
    client.on('error', () => undefined);
    listenForAbort(client, options.signal);
    try {
      await client.connect();
      if (!(await isInState(client, state)))
        throw new FleetError('network', `${nameOf(place)} is not ${STATES[state]}`);
      clients.add(client);
      return client;
    } catch (error) {
      // The socket is destroyed, because `client.end()` never settles for an unestablished
      // connection.
      streamOf(client).destroy();
      options.signal.throwIfAborted();
      failure = error;
      // Tries the next TLS setting only if the server refused this one. 28000 is one of the codes
      // for this refusal.
      if (!/does not support SSL/i.test(messageOf(error)) && codeOf(error) !== '28000') break;
    }
  }
  hideInError(failure, secrets);
  const error = asPostgresError(failure, place, options.access, false);
  if (!(error instanceof FleetError) || ignored === undefined || error.kind !== 'config')
    throw error;
  throw configError(error.message, `the password file is ignored: ${ignored}`, failure);
}

/** Hides secrets in the message and stack of a driver's error. `--verbose` prints the stack. */
function hideInError(error: unknown, secrets: Secrets): void {
  if (!(error instanceof Error)) return;
  const { stack } = error;
  error.message = secrets.hide(error.message);
  if (stack !== undefined) error.stack = secrets.hide(stack);
  if (!(error instanceof AggregateError)) return;
  for (const inner of error.errors) hideInError(inner, secrets);
}

/** The names of the states in error messages. */
const STATES: { readonly [state in Target]: string } = {
  any: 'a server',
  'read-write': 'a server that can be written',
  'read-only': 'a read-only server',
  primary: 'a primary server',
  standby: 'a standby server',
  'prefer-standby': 'a standby server',
};

/** Whether the server is in the required state (`target_session_attrs`). */
async function isInState(client: Client, state: Target): Promise<boolean> {
  if (state === 'any') return true;
  const sql =
    "select pg_is_in_recovery() as standby, current_setting('transaction_read_only') = 'on' as read_only";
  const { rows } = await client.query(sql);
  const { standby, read_only: readOnly } = rows[0];
  if (state === 'read-write') return !readOnly;
  if (state === 'read-only') return readOnly;
  return standby === (state !== 'primary');
}

/** Closes the connection when the signal is aborted, even while a statement runs. */
function listenForAbort(client: Client, signal: AbortSignal): void {
  const abort = () => streamOf(client).destroy();
  signal.addEventListener('abort', abort, { once: true });
  client.once('end', () => signal.removeEventListener('abort', abort));
}

function codeOf(error: unknown): string {
  return (error as { code?: string }).code ?? '';
}

/** Codes of temporary errors: a lock, a statement timeout, a deadlock, a serialization failure. */
const PASSING = /^(57014|55P03|40001|40P01)$/;
/**
 * Codes that mean that the database cannot be reached: codes that are not an SQLSTATE, and closed
 * connections. EPIPE looks like an SQLSTATE but is not one. 25P03 means that the server ended a
 * transaction because the client did not respond.
 */
const OUT_OF_REACH = /^(?![0-9A-DF-Z][0-9A-Z]{4}$)|^08(?!P01)|^57P|^25P03/;
const READ_ONLY = /^25006$/;
/** The code when the role lacks a permission. */
const FORBIDDEN = '42501';
const GRANT_HINT = 'grant it the tables: GRANT SELECT ON ALL TABLES IN SCHEMA public TO …';
/** The error code for a missing permission, which a retry cannot fix. */
const LASTING = /^42501/;
const TLS_HINT =
  'name the file of its authority: PGSSLROOTCERT=PATH, and use the host name of the certificate; PGSSLMODE=verify-ca accepts any name';

/**
 * The PostgreSQL errors that have their own message. They are recognised by SQLSTATE or its class
 * (PostgreSQL 17, appendix A), or by the network error code.
 */
const FAILURES: Failures = [
  [/^(22P05|22021)/, 'config', 'cannot hold a text', 'use a database with the encoding UTF8'],
  [
    /^3F/,
    'config',
    'has no schema for the tables',
    'set a schema, for example: PGOPTIONS="-c search_path=public"',
  ],
  [
    /^28/,
    'config',
    'refuses the login',
    'check the user, and PGPASSWORD, PGPASSFILE, PGSERVICE or ~/.pgpass',
  ],
  [/^ERR_TLS_CERT_ALTNAME/, 'network', 'shows the certificate of another host', TLS_HINT],
  [/CERT|ISSUER|SIGNATURE/, 'network', 'shows a certificate of an unknown authority', TLS_HINT],
  [PASSING, 'network', 'is busy'],
  [/^53300/, 'network', 'takes no more connections'],
  [/^(42501|25006|53|58030)/, 'output', 'cannot be written'],
  [/^3D000/, 'config', 'is not there', 'create it with createdb'],
  [
    OUT_OF_REACH,
    'network',
    'cannot be reached',
    'start the server, or name another with --to, PGHOST or PGPORT',
  ],
];

/** Returns a database's name for error messages. */
function nameOf({ host, port, database }: Place): string {
  return `the database "${database}" at ${host.startsWith('/') ? host : `${host}:${port}`}`;
}

function asPostgresError(
  error: unknown,
  place: Place,
  access: OpenOptions['access'],
  isQuery: boolean,
): unknown {
  if (error instanceof FleetError) return error;
  // When a host name has several addresses, the error contains one error for each address. The
  // first one describes the problem.
  const text = reasonOf(messageOf(error) === '' ? (error as AggregateError).errors?.[0] : error);
  // `pg` sets no error code when the server asks for a password and no password is set.
  const code = text.startsWith('SASL') ? '28000' : codeOf(error);
  if (isQuery && READ_ONLY.test(code)) return usageError(`a query must be read-only: ${text}`);
  const where = nameOf(place);
  if (access !== 'write' && !isQuery && code === FORBIDDEN)
    return configError(`${where} refuses this role: ${text}`, GRANT_HINT, error);
  const isOwn = isQuery && (PASSING.test(code) || code === FORBIDDEN);
  const found = isOwn ? undefined : errorOfCode(FAILURES, code, where, text, error, LASTING);
  return found ?? refusal(text, isQuery, error);
}
