// Reads the settings of a PostgreSQL connection from the URL, the service file and the environment
// in the same way as libpq. The library `pg` supports only some of them.

import { X509Certificate } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type ConnectionOptions, createSecureContext } from 'node:tls';
import { configError, messageOf, reasonOf } from '../errors.js';
import { systemClock } from '../system/clock.js';
import { openNamedFile } from '../system/named-file.js';
import { holdsNamedSecret } from '../system/typed-secrets.js';
import { homeOfUser, nameOfUser } from '../system/user.js';
import { readAll } from '../terminal/stdin.js';
import { isPort, postgresParameters } from './address.js';

/** The settings of a connection. */
export type Connection = Awaited<ReturnType<typeof readConnection>>;

type Named = { readonly [name: string]: string | undefined };
type Find = (name: string) => string | undefined;
/**
 * The TLS settings to try, in order. False means a connection without TLS. For the modes `prefer`
 * and `allow`, the list has two entries.
 */
type Tls = readonly (false | ConnectionOptions)[];

const DEFAULT_PORT = '5432';
const CONNECT_TIMEOUT_S = 10;
/** The maximum size of a service file or certificate file. Real files are much smaller. */
const LIMIT_BYTES = 1_000_000;

/**
 * The environment variables that do not follow the usual pattern. The usual name is `PG` followed
 * by the parameter's name (PostgreSQL 17, section 32.15).
 */
const VARIABLES: Named = {
  dbname: 'PGDATABASE',
  application_name: 'PGAPPNAME',
  target_session_attrs: 'PGTARGETSESSIONATTRS',
};

/**
 * Reads the settings from the URL, the service file and the environment. Throws a FleetError of
 * kind `config` for an unusable file or value.
 */
export async function readConnection(
  url: string,
  env: NodeJS.ProcessEnv,
  signal = new AbortController().signal,
) {
  const address: Named = postgresParameters(url) ?? {};
  const variable: Find = (name) => env[VARIABLES[name] ?? `PG${name.toUpperCase()}`] || undefined;
  const service = address['service'] ?? variable('service');
  refuseSecrets((name) => ({ service, PGSERVICEFILE: env['PGSERVICEFILE'] })[name]);
  const section = service === undefined ? {} : await readService(service, env, signal);
  const find: Find = (name) => address[name] ?? section[name] ?? variable(name);
  refuseSecrets(find);
  const user = find('user') ?? nameOfUser() ?? 'postgres';
  const database = find('dbname') ?? user;
  const servers: Server[] = [];
  for (const { host, port } of readServers(find)) {
    // A host that is a folder path means a connection through a Unix socket, which never uses TLS.
    const tls = host.startsWith('/') ? [false as const] : await readTls(find, host, signal);
    servers.push({ host, port, tls });
  }
  return {
    /** The servers, in the order in which they are tried. */
    servers,
    target: readTarget(find),
    password: find('password'),
    /** The path of the password file. The file is read when no password is set. */
    passwordFile: find('passfile') ?? defaultPasswordFile(env),
    database,
    user,
    connectionTimeoutMillis: (Number(find('connect_timeout')) || CONNECT_TIMEOUT_S) * 1000,
    application_name: find('application_name') ?? 'fleet',
    options: find('options'),
  };
}

/** The settings whose values appear in error messages. */
const SHOWN_SETTINGS: readonly string[] = [
  ...['service', 'PGSERVICEFILE', 'host', 'port', 'user', 'dbname', 'sslmode'],
  ...['target_session_attrs', 'sslrootcert', 'sslcert', 'sslkey', 'passfile'],
];
/**
 * Matches a URL, or the contents of a file such as a key. The contents can be plain text or base64.
 */
const IS_ADDRESS_OR_TEXT = /:\/\/|[\r\n]|^LS0tLS1CRUdJTi/;

/**
 * Throws for a setting that was filled in by mistake with a URL, with several settings, or with a
 * file's contents instead of its path. The error does not repeat the text of the setting, because
 * it can contain a password or a private key.
 */
function refuseSecrets(find: Find): void {
  for (const name of SHOWN_SETTINGS) {
    const value = find(name) ?? '';
    if (!IS_ADDRESS_OR_TEXT.test(value) && !holdsNamedSecret(value)) continue;
    throw configError(
      `the setting "${name}" of PostgreSQL contains an address, several settings or the text of a file`,
      'set each setting by its own variable, such as PGHOST and PGPASSWORD; PGSSLKEY and other files are paths',
    );
  }
}

/** A server, with the TLS settings to try. */
export interface Server {
  readonly host: string;
  readonly port: number;
  readonly tls: Tls;
}

/**
 * Returns the hosts and their ports. A single port applies to all hosts (PostgreSQL 17, section
 * 32.1.1.3).
 */
function readServers(find: Find): { host: string; port: number }[] {
  const hosts = (find('host') ?? '').split(',').map((each) => each.trim() || 'localhost');
  const ports = (find('port') ?? '').split(',').map((each) => each.trim() || DEFAULT_PORT);
  const invalid = ports.find((port) => !isPort(port));
  if (invalid !== undefined)
    throw configError(`the database's port is not a number from 1 to 65535: "${invalid}"`);
  if (ports.length > 1 && ports.length !== hosts.length)
    throw configError(
      `the database has ${hosts.length} hosts and ${ports.length} ports`,
      'name one port for all hosts, or one for each',
    );
  return hosts.map((host, index) => ({ host, port: Number(ports[index] ?? ports[0]) }));
}

/** The state that a server must be in to be used (`target_session_attrs`). */
export type Target = (typeof TARGETS)[number];

const TARGETS = ['any', 'read-write', 'read-only', 'primary', 'standby', 'prefer-standby'] as const;

/** Returns the required server state, or undefined when it is not set. */
function readTarget(find: Find): Target | undefined {
  const text = find('target_session_attrs');
  const target = TARGETS.find((each) => each === text);
  if (text === undefined || target !== undefined) return target;
  throw configError(
    `"${text}" is not a value of target_session_attrs`,
    `values: ${TARGETS.join(', ')}`,
  );
}

/** Returns the default path of the user's password file (PostgreSQL 17, section 32.16). */
function defaultPasswordFile(env: NodeJS.ProcessEnv): string | undefined {
  if (process.platform === 'win32') {
    const folder = env['APPDATA'];
    return folder === undefined ? undefined : join(folder, 'postgresql', 'pgpass.conf');
  }
  const home = homeOfUser(env);
  return home === undefined ? undefined : join(home, '.pgpass');
}

/** Reads a file. `name` is the parameter that contains the path. Error messages show this name. */
async function readNamed(path: string, name: string, signal: AbortSignal): Promise<string> {
  try {
    const { chunks } = await openNamedFile(path, {
      clock: systemClock(),
      signal,
      silenceMs: CONNECT_TIMEOUT_S * 1000,
    });
    const bytes = await readAll(chunks, LIMIT_BYTES, 'it holds more than a megabyte');
    return bytes.toString('utf8');
  } catch (error) {
    signal.throwIfAborted();
    throw configError(`${path} (${name}) cannot be read: ${reasonOf(error)}`, undefined, error);
  }
}

/**
 * Returns a service's parameters from the service file. The section of a service starts with the
 * line `[name]`, followed by `key=value` lines (PostgreSQL 17, section 32.17).
 */
async function readService(
  name: string,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<Named> {
  // Without a home folder, the path is one that does not exist. It is not a relative path, because
  // fleet would then read a file in the current directory.
  const path = env['PGSERVICEFILE'] || join(homeOfUser(env) ?? '/nonexistent', '.pg_service.conf');
  const found = parseService(await readNamed(path, 'PGSERVICEFILE', signal), name);
  if (found !== undefined) return found;
  throw configError(
    `there is no service "${name}" of PostgreSQL in ${path}`,
    'see PGSERVICE and PGSERVICEFILE',
  );
}

/** Returns a service's parameters, or undefined when the text does not contain the service. */
export function parseService(text: string, name: string): Named | undefined {
  const section = text.split(/^\s*\[/m).find((part) => part.startsWith(`${name}]`));
  const lines = section
    ?.split(/\r?\n/)
    .map((line) => line.split(/=(.*)/s).map((side) => side.trim()));
  return (
    lines &&
    Object.fromEntries(
      lines.filter(([key = '', value]) => /^[^#]/.test(key) && value !== undefined),
    )
  );
}

/**
 * File permissions that a client key must not have. If root owns the key, the group may read it.
 */
const OPEN_TO_OTHERS = 0o077;
const OPEN_TO_ALL = 0o037;

/**
 * Throws for a client key that other users can read, as libpq does (PostgreSQL 17, section 32.19).
 */
async function refuseOpenKey(path: string | undefined): Promise<void> {
  if (path === undefined || process.platform === 'win32') return;
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return;
  const isOfRoot = found.uid === 0 && process.geteuid?.() !== 0;
  if ((found.mode & (isOfRoot ? OPEN_TO_ALL : OPEN_TO_OTHERS)) === 0) return;
  throw configError(`${path} (sslkey) can be read by other users`, `run: chmod 600 ${path}`);
}

const MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'];

/**
 * Returns the TLS settings for libpq's `sslmode` (PostgreSQL 17, section 32.19). `prefer` and
 * `allow` also try a connection without TLS.
 */
async function readTls(find: Find, host: string, signal: AbortSignal): Promise<Tls> {
  const root = find('sslrootcert');
  const mode = find('sslmode') ?? (root === 'system' ? 'verify-full' : 'prefer');
  if (!MODES.includes(mode))
    throw configError(`"${mode}" is not an sslmode`, `modes: ${MODES.join(', ')}`);
  if (mode === 'disable') return [false];
  if (root === 'system' ? mode !== 'verify-full' : root === undefined && mode === 'verify-ca')
    throw configError(
      `sslmode=${mode} needs the file of an authority in sslrootcert`,
      'sslmode=verify-full takes those of the system',
    );
  const read = async (name: string, path = find(name)) =>
    path === undefined || path === 'system' ? undefined : readNamed(path, name, signal);
  await refuseOpenKey(find('sslkey'));
  const [ca, cert, key] = [await read('sslrootcert'), await read('sslcert'), await read('sslkey')];
  // libpq: "If a root CA file exists, the behavior of sslmode=require will be the same as that of
  // verify-ca."
  const isChecked = mode.startsWith('verify') || (mode === 'require' && ca !== undefined);
  // `rejectUnauthorized` is always set, so that NODE_TLS_REJECT_UNAUTHORIZED has no effect. Only
  // `sslmode` decides, as in psql.
  const checked = { host, ca, cert, key, rejectUnauthorized: isChecked };
  const tls =
    isChecked && mode !== 'verify-full'
      ? { ...checked, checkServerIdentity: () => undefined }
      : checked;
  try {
    // Checks the files now, because the errors of a failed TLS handshake are hard to understand.
    if (ca !== undefined) new X509Certificate(ca);
    createSecureContext(tls);
  } catch (error) {
    const hint = 'set PGSSLROOTCERT, PGSSLCERT and PGSSLKEY to matching PEM files';
    throw configError(
      `PostgreSQL's files for TLS cannot be used: ${messageOf(error)}`,
      hint,
      error,
    );
  }
  return mode === 'prefer' ? [tls, false] : mode === 'allow' ? [false, tls] : [tls];
}
