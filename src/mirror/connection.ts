// How a PostgreSQL server is reached: address, then service file, then environment, as libpq does; `pg` itself reads few of them.

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type ConnectionOptions, createSecureContext } from 'node:tls';
import { configError, messageOf, reasonOf } from '../errors.js';
import { hasCode } from '../folder.js';
import { homeOfUser, nameOfUser } from '../user.js';
import { isPort, postgresParameters } from './address.js';

/** As `pg` takes it, but for `servers`. */
export interface Connection {
  /** Each is tried in turn. */
  readonly servers: readonly Server[];
  readonly user: string;
  /** Undefined: the one in ~/.pgpass. */
  readonly password: string | undefined;
  readonly database: string;
  readonly connectionTimeoutMillis: number;
  readonly application_name: string;
  readonly options: string | undefined;
}

export interface Server {
  readonly host: string;
  readonly port: number;
  /** Each is tried in turn, as `prefer` and `allow` ask; false is without TLS. */
  readonly ssl: readonly (false | ConnectionOptions)[];
}

type Named = { readonly [name: string]: string | undefined };

const DEFAULT_PORT = '5432';
const CONNECT_TIMEOUT_S = 10;
const OTHERS_BITS = 0o077;

/** Parameters whose variable is not `PG` and their name (PostgreSQL 17, section 32.15). */
const VARIABLES: Named = { dbname: 'PGDATABASE', application_name: 'PGAPPNAME' };

/** Reads address, files and environment. Throws a FleetError of kind `config` for a file or value that is no use. */
export async function readConnection(url: string, env: NodeJS.ProcessEnv): Promise<Connection> {
  const fromAddress: Named = postgresParameters(url) ?? {};
  const fromEnvironment = (name: string) => env[VARIABLES[name] ?? `PG${name.toUpperCase()}`] || undefined;
  const service = fromAddress['service'] ?? fromEnvironment('service');
  const fromService = service === undefined ? {} : await readService(service, env);
  const find = (name: string) => fromAddress[name] ?? fromService[name] ?? fromEnvironment(name);
  const user = find('user') ?? nameOfUser() ?? 'postgres';
  const database = find('dbname') ?? user;
  const places = placesOf(find('host') ?? 'localhost', find('port') ?? '');
  const tls = await readTls(find, join(home(env), '.postgresql'));
  const servers = places.map((place) => ({
    ...place,
    ssl: place.host.startsWith('/') ? [false as const] : tls.map((each) => each && { ...each, host: place.host }),
  }));
  const timeoutS = find('connect_timeout') ?? String(CONNECT_TIMEOUT_S);
  if (!/^\d{1,6}$/.test(timeoutS)) throw configError(`the database's connect_timeout is not a number: "${timeoutS}"`);
  return {
    servers,
    password: find('password'),
    database,
    user,
    connectionTimeoutMillis: Number(timeoutS) * 1000,
    application_name: find('application_name') ?? 'fleet',
    options: find('options'),
  };
}

/** Several hosts have one port, or one each (PostgreSQL 17, section 32.1.1.3). */
function placesOf(hostText: string, portText: string): { host: string; port: number }[] {
  const [hosts, ports] = [hostText.split(','), portText.split(',')];
  if (ports.length > 1 && ports.length !== hosts.length)
    throw configError(
      `the database has ${hosts.length} hosts and ${ports.length} ports`,
      'give one port, or one for each',
    );
  return hosts.map((host, index) => {
    const port = (ports[index] ?? ports[0]) || DEFAULT_PORT;
    if (!isPort(port)) throw configError(`the database's port is not a number from 1 to 65535: "${port}"`);
    return { host: host || 'localhost', port: Number(port) };
  });
}

/** Where nobody has a home, nothing is read: never from the current directory. */
function home(env: NodeJS.ProcessEnv): string {
  return homeOfUser(env) ?? '/nonexistent';
}

/** The text of a file; undefined where there is none. */
async function readSmall(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR')) return undefined;
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
  const section = text.split(/^\s*\[/m).find((part) => part.startsWith(`${name}]`));
  if (section === undefined) return undefined;
  const lines = section.split(/\r?\n/).map((line) => line.split(/=(.*)/s).map((side) => side.trim()));
  return Object.fromEntries(
    lines.filter(([key = '', value]) => key !== '' && !key.startsWith('#') && value !== undefined),
  );
}

/** A file of secrets is its owner's alone; root's may be read by its group, as libpq has it for keys. */
async function refuseShared(path: string): Promise<void> {
  const { mode, uid } = await stat(path);
  if (process.platform === 'win32' || (mode & (uid === 0 ? 0o027 : OTHERS_BITS)) === 0) return;
  throw configError(`${path} can be read by others, and is not used`, `run: chmod 600 ${path}`);
}

/** The files of the user's folder are taken where no parameter names others (PostgreSQL 17, section 32.19). */
async function readTls(find: (name: string) => string | undefined, folder: string): Promise<Server['ssl']> {
  const mode = find('sslmode') ?? 'prefer';
  if (mode === 'disable') return [false];
  const own: { ca?: string; cert?: string; key?: string } = {};
  for (const [option, name, file] of TLS_FILES) {
    const named = find(name);
    // The system's own authorities are those of Node.
    if (named === 'system') continue;
    const path = named ?? join(folder, file);
    const text = await readSmall(path);
    if (text !== undefined) own[option] = text;
    else if (named !== undefined) throw configError(`there is no file ${path} (${name})`);
    if (text !== undefined && option === 'key') await refuseShared(path);
  }
  checkTls(own);
  const unchecked = { ...own, rejectUnauthorized: false };
  // The mode alone decides, as with psql: without a word NODE_TLS_REJECT_UNAUTHORIZED would.
  const checked = { ...own, rejectUnauthorized: true };
  const chain = { ...checked, checkServerIdentity: () => undefined };
  const modes: { readonly [mode: string]: Server['ssl'] } = {
    allow: [false, unchecked],
    prefer: [unchecked, false],
    // "If a root CA file exists, the behavior of sslmode=require will be the same as that of verify-ca."
    require: [own.ca === undefined ? unchecked : chain],
    'verify-ca': [chain],
    'verify-full': [checked],
  };
  const ssl = Object.hasOwn(modes, mode) ? modes[mode] : undefined;
  if (ssl !== undefined) return ssl;
  throw configError(`"${mode}" is not an sslmode`, `modes: disable, ${Object.keys(modes).join(', ')}`);
}

/** What cannot be read fails here, by its name, and not in the middle of a handshake. */
function checkTls({ ca, cert, key }: { ca?: string; cert?: string; key?: string }): void {
  const check = (what: string, use: () => unknown) => {
    try {
      use();
    } catch (error) {
      const hint = 'set PGSSLROOTCERT, PGSSLCERT and PGSSLKEY to files in PEM';
      throw configError(`PostgreSQL's ${what}: ${messageOf(error)}`, hint, error);
    }
  };
  if (ca !== undefined) check('root certificate (sslrootcert) cannot be read', () => new X509Certificate(ca));
  if (key !== undefined) check('client key (sslkey) cannot be read', () => createPrivateKey(key));
  if (cert !== undefined) check('client certificate (sslcert) does not fit', () => createSecureContext({ cert, key }));
}

const TLS_FILES = [
  ['ca', 'sslrootcert', 'root.crt'],
  ['cert', 'sslcert', 'postgresql.crt'],
  ['key', 'sslkey', 'postgresql.key'],
] as const;
