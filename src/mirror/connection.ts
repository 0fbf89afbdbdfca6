// How a PostgreSQL server is reached: address, then service file, then environment, as libpq does; `pg` itself reads few of them.

import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ConnectionOptions } from 'node:tls';
import { configError, reasonOf } from '../errors.js';
import { homeOfUser, nameOfUser } from '../user.js';

export interface Connection {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  readonly password: string | undefined;
  /** Each is tried in turn, as `prefer` asks; false is without TLS. */
  readonly ssl: readonly (false | ConnectionOptions)[];
  /** Milliseconds. */
  readonly connectTimeoutMs: number;
  readonly applicationName: string;
  readonly options: string | undefined;
}

type Named = { readonly [name: string]: string | undefined };

const DEFAULT_PORT = 5432;
const CONNECT_TIMEOUT_S = 10;
/** A file of settings is small. */
const MOST_BYTES = 1_000_000;
const OTHERS_BITS = 0o077;

/** The variable of each parameter (PostgreSQL 17, section 32.15). */
const VARIABLES: { readonly [name: string]: string } = {
  host: 'PGHOST',
  port: 'PGPORT',
  dbname: 'PGDATABASE',
  user: 'PGUSER',
  password: 'PGPASSWORD',
  passfile: 'PGPASSFILE',
  service: 'PGSERVICE',
  options: 'PGOPTIONS',
  application_name: 'PGAPPNAME',
  sslmode: 'PGSSLMODE',
  sslrootcert: 'PGSSLROOTCERT',
  sslcert: 'PGSSLCERT',
  sslkey: 'PGSSLKEY',
  connect_timeout: 'PGCONNECT_TIMEOUT',
};

/** Reads address, files and environment. Throws a FleetError of kind `config` for a file or value that is no use. */
export async function readConnection(url: string, env: NodeJS.ProcessEnv): Promise<Connection> {
  const fromAddress = parametersOf(new URL(url));
  const fromEnvironment: Named = Object.fromEntries(
    Object.entries(VARIABLES).map(([name, variable]) => [name, env[variable] || undefined]),
  );
  const service = fromAddress['service'] ?? fromEnvironment['service'];
  const fromService = service === undefined ? {} : await readService(service, env);
  const find = (name: string) => fromAddress[name] ?? fromService[name] ?? fromEnvironment[name];
  const user = find('user') ?? nameOfUser() ?? 'postgres';
  const host = find('host') ?? 'localhost';
  const port = wholeNumber('port', find('port') ?? String(DEFAULT_PORT));
  const database = find('dbname') ?? user;
  const passfile = find('passfile') ?? defaultPassfile(env);
  return {
    host,
    port,
    user,
    database,
    password: find('password') ?? (await readPassword(passfile, { host, port, database, user })),
    ssl: await readTls(find, host, env),
    connectTimeoutMs: wholeNumber('connect_timeout', find('connect_timeout') ?? String(CONNECT_TIMEOUT_S)) * 1000,
    applicationName: find('application_name') ?? 'fleet',
    options: find('options'),
  };
}

function parametersOf(url: URL): Named {
  const path = decodeURIComponent(url.pathname.replace(/^\//, ''));
  const named: Named = {
    host: decodeURIComponent(url.hostname).replace(/^\[(.*)\]$/, '$1') || undefined,
    port: url.port || undefined,
    user: decodeURIComponent(url.username) || undefined,
    dbname: path || undefined,
  };
  return { ...named, ...Object.fromEntries(url.searchParams) };
}

function wholeNumber(name: string, text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw configError(`the database's ${name} is not a number: "${text}"`);
}

/** Where nobody has a home, nothing is read: never from the current directory. */
function home(env: NodeJS.ProcessEnv): string {
  return homeOfUser(env) ?? '/nonexistent';
}

function defaultPassfile(env: NodeJS.ProcessEnv): string {
  if (process.platform === 'win32') return join(env['APPDATA'] ?? home(env), 'postgresql', 'pgpass.conf');
  return join(home(env), '.pgpass');
}

/** The text of a file; undefined where there is none. */
async function readSmall(path: string): Promise<string | undefined> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined || !found.isFile()) return undefined;
  if (found.size > MOST_BYTES) throw configError(`${path} is larger than ${MOST_BYTES} bytes, and is not read`);
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw configError(`${path} cannot be read: ${reasonOf(error)}`, undefined, error);
  }
}

/** The parameters of a service: `[name]`, then `key=value` lines (PostgreSQL 17, section 32.17). */
async function readService(name: string, env: NodeJS.ProcessEnv): Promise<Named> {
  const folder = env['PGSYSCONFDIR'];
  const paths = [
    env['PGSERVICEFILE'] || join(home(env), '.pg_service.conf'),
    ...(folder === undefined
      ? ['/etc/pg_service.conf', '/etc/postgresql-common/pg_service.conf']
      : [join(folder, 'pg_service.conf')]),
  ];
  for (const path of paths) {
    const found = parseService((await readSmall(path)) ?? '', name);
    if (found !== undefined) return found;
  }
  throw configError(
    `there is no service "${name}" of PostgreSQL`,
    `looked in ${paths.join(', ')}; see PGSERVICE and PGSERVICEFILE`,
  );
}

/** The section of one service; undefined when the text has none of that name. */
export function parseService(text: string, name: string): Named | undefined {
  let found: { [name: string]: string } | undefined;
  for (const line of text.split(/\r?\n/).map((each) => each.trim())) {
    if (line.startsWith('[')) {
      if (found !== undefined) return found;
      if (line === `[${name}]`) found = {};
    } else if (found !== undefined && !line.startsWith('#')) {
      const equals = line.indexOf('=');
      if (equals > 0) found[line.slice(0, equals).trim()] = line.slice(equals + 1).trim();
    }
  }
  return found;
}

interface Wanted {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
}

async function readPassword(path: string, wanted: Wanted): Promise<string | undefined> {
  const text = await readSmall(path);
  if (text === undefined) return undefined;
  const { mode } = await stat(path);
  if (process.platform !== 'win32' && (mode & OTHERS_BITS) !== 0)
    throw configError(`${path} can be read by others, and is not used`, `run: chmod 600 ${path}`);
  return findPassword(text, wanted);
}

/** The first line that fits, `host:port:database:user:password`, with `*` for anything and `\` before `:` and `\`. */
export function findPassword(text: string, { host, port, database, user }: Wanted): string | undefined {
  // A socket's folder is written as localhost (PostgreSQL 17, section 32.16).
  const values = [host.startsWith('/') ? 'localhost' : host, String(port), database, user];
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith('#')) continue;
    const parts = [...line.matchAll(/((?:\\.|[^\\:])*)(?::|$)/g)].map(([, part = '']) => part.replace(/\\(.)/g, '$1'));
    const [password] = parts.slice(values.length);
    const fits = values.every((value, index) => parts[index] === '*' || parts[index] === value);
    if (fits && password !== undefined && password !== '') return password;
  }
  return undefined;
}

async function readTls(
  find: (name: string) => string | undefined,
  host: string,
  env: NodeJS.ProcessEnv,
): Promise<Connection['ssl']> {
  const mode = find('sslmode') ?? 'prefer';
  if (host.startsWith('/') || mode === 'disable') return [false];
  const folder = join(home(env), '.postgresql');
  const rootPath = find('sslrootcert');
  const ca = rootPath === 'system' ? undefined : await readSmall(rootPath ?? join(folder, 'root.crt'));
  if (rootPath !== undefined && rootPath !== 'system' && ca === undefined)
    throw configError(`there is no file ${rootPath} (sslrootcert)`);
  const cert = await readSmall(find('sslcert') ?? join(folder, 'postgresql.crt'));
  const key = cert === undefined ? undefined : await readSmall(find('sslkey') ?? join(folder, 'postgresql.key'));
  const own = {
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(ca === undefined ? {} : { ca }),
  };
  const unchecked = { ...own, rejectUnauthorized: false };
  switch (mode) {
    case 'allow':
      return [false, unchecked];
    case 'prefer':
      return [unchecked, false];
    case 'require':
      // "If a root CA file exists, the behavior of sslmode=require will be the same as that of verify-ca."
      return [ca === undefined ? unchecked : { ...own, checkServerIdentity: () => undefined }];
    case 'verify-ca':
      return [{ ...own, checkServerIdentity: () => undefined }];
    case 'verify-full':
      return [own];
    default:
      throw configError(
        `"${mode}" is not an sslmode`,
        'modes: disable, allow, prefer, require, verify-ca, verify-full',
      );
  }
}
