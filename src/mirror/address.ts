// Parses and checks a mirror database address: `sqlite:PATH` or `postgres://…`.

import { join, posix, win32 } from 'node:path';
import { configError } from '../errors.js';
import { fromGitBash, isDeviceName, isWholePath } from '../system/folder.js';
import { isSecretName } from '../system/secret-names.js';
import { holdsNamedSecret } from '../system/typed-secrets.js';

/** A mirror database address. It contains no secret, because passwords in addresses are refused. */
export type MirrorAddress =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string };

/** The result of parsing a mirror address: the address, or the reason why it is invalid. */
export type ParsedAddress =
  | { readonly value: MirrorAddress }
  | { readonly reason: string; readonly hint?: string };

/**
 * Returns the default database of a profile. Throws a FleetError of kind `config` when there is no
 * state folder.
 */
export function defaultAddress(folder: string | undefined, profile: string): MirrorAddress {
  if (folder !== undefined) return { kind: 'sqlite', path: join(folder, `${profile}.db`) };
  throw configError(
    'there is no folder for the mirror',
    'set HOME, or name a database: --to sqlite:PATH',
  );
}

const SQLITE = /^sqlite:(?:\/\/(?=\/))?(.*)$/is;
const POSTGRES = /^postgres(?:ql)?:\/\//i;
/**
 * Matches the text after `sqlite:` when it is the address of a server, which is invalid. Errors
 * must not quote it, because it may contain a password.
 */
const IS_SERVER = /:\/\/|^(?:\/\/)?[^\s/@]*:[^\s@]*@/;
const FORMS = 'write sqlite:PATH or postgres://USER@HOST:PORT/DATABASE';
const PASSWORD_HINT =
  'remove it, and set PGPASSWORD, PGPASSFILE or PGSERVICE, or keep it in ~/.pgpass';

/**
 * Parses the address of a mirror's database.
 *
 * @param folder the base of a relative path. When omitted, relative paths are refused, because
 *   settings must not depend on the current directory.
 */
export function parseMirrorAddress(
  text: string,
  folder?: string,
  platform = process.platform,
): ParsedAddress {
  const trimmed = text.trim();
  if (POSTGRES.test(trimmed)) return parsePostgres(trimmed);
  const path = SQLITE.exec(trimmed)?.[1];
  if (path === undefined) {
    const isPath = /^[./~]|\.(db|sqlite3?)$/i.test(trimmed) && !/[@?]/.test(trimmed);
    return {
      reason: 'the address of a database begins with sqlite: or postgres://',
      hint: isPath ? `did you mean sqlite:${trimmed}?` : FORMS,
    };
  }
  const isOther = IS_SERVER.test(path) || holdsNamedSecret(path);
  if (path === '' || path.includes('\0') || path === ':memory:' || isOther)
    return { reason: 'sqlite: needs the path of a file', hint: FORMS };
  if (path.startsWith('~'))
    return {
      reason: `"${path}" begins with ~, which only shells expand`,
      hint: 'write the whole path',
    };
  const { isAbsolute, resolve } = platform === 'win32' ? win32 : posix;
  if (isDeviceName(path, platform))
    return { reason: `"${path}" is the name of a device on Windows`, hint: FORMS };
  if (isWholePath(path, platform)) return { value: { kind: 'sqlite', path } };
  // On Windows, the path `/c/mirror.db` counts as absolute although it does not name a drive.
  if (folder !== undefined && !isAbsolute(path))
    return { value: { kind: 'sqlite', path: resolve(folder, path) } };
  const whole = resolve(platform === 'win32' ? fromGitBash(path) : path);
  return {
    reason: `"${path}" is not an absolute path`,
    hint: `write the whole path: sqlite:${whole}`,
  };
}

/** Parses a PostgreSQL URL. Errors do not quote the URL, because it may contain a password. */
function parsePostgres(url: string): ParsedAddress {
  const parameters = postgresParameters(url);
  if (parameters === undefined) {
    const rules =
      'a port is a number from 1 to 65535, and what has a meaning in a URL is percent-encoded';
    return {
      reason: `the address of the database cannot be read: ${rules}`,
      hint: `${FORMS}; the password is not a part of the address`,
    };
  }
  const isSecret = ([name, value]: [string, string]) => {
    if (name === 'user' && value.includes(':')) return true;
    // The value of a parameter can also contain a secret, as in `options=-c%20app.password=…`.
    return (isSecretName(name) && name !== 'require_auth') || holdsNamedSecret(value);
  };
  if (!Object.entries(parameters).some(isSecret)) return { value: { kind: 'postgres', url } };
  return {
    reason: 'the address of a database must not hold a password: process lists show it',
    hint: PASSWORD_HINT,
  };
}

export function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535;
}

/**
 * Splits a URL into three parts: the text before the hosts, the hosts, and the text after the
 * hosts.
 */
const HOSTS = /^([a-z]+:\/\/(?:[^/?#]*@)?)([^/?#@]*)(.*)$/is;
/** Splits a host and its port. An IPv6 address is in brackets. */
const HOST = /^(\[[^[\]]*\]|[^:[\]]*)(?::(\d*))?$/;
/** Replaces the hosts in a URL while it is parsed, because `URL` accepts only one host. */
const ANY_HOST = 'any.invalid';

/**
 * Parses a list of hosts with ports. Returns the hosts and the ports, each separated by commas, or
 * undefined when one of them is invalid.
 */
function readHosts(text: string): { host: string; port: string } | undefined {
  const hosts: string[] = [];
  const ports: string[] = [];
  for (const each of text.split(',')) {
    const [, host, port = ''] = HOST.exec(each) ?? [];
    if (host === undefined || (port !== '' && !isPort(port))) return undefined;
    hosts.push(decodeURIComponent(host.replace(/^\[(.*)\]$/, '$1')));
    ports.push(port);
  }
  const hasPorts = ports.some((port) => port !== '');
  return { host: hosts.join(','), port: hasPorts ? ports.join(',') : '' };
}

/**
 * Returns the connection parameters that a PostgreSQL URL contains, with the names that libpq uses.
 * `host` and `port` can be comma-separated lists. Returns undefined for an invalid address.
 */
export function postgresParameters(url: string): Readonly<Record<string, string>> | undefined {
  try {
    const [, before = '', hosts = '', after = ''] = HOSTS.exec(url) ?? [];
    const place = readHosts(hosts);
    if (place === undefined) return undefined;
    const { username, password, pathname, hash, searchParams } = new URL(
      `${before}${ANY_HOST}${after}`.replaceAll('+', '%2B'),
    );
    const named = Object.entries({ user: username, password, dbname: pathname.slice(1) });
    const given = [
      ...named.map(([name, value]) => [name, decodeURIComponent(value)]),
      ...Object.entries(place),
      ...searchParams,
    ];
    const parameters = Object.fromEntries(given.filter(([, value]) => value !== ''));
    const { dbname = '', port = '' } = parameters;
    const arePorts = port.split(',').every((each: string) => each === '' || isPort(each));
    return hash === '' && !dbname.includes('@') && arePorts ? parameters : undefined;
  } catch {
    return undefined;
  }
}

/** Formats an address for messages and for `--to`. */
export function showMirrorAddress(address: MirrorAddress): string {
  return address.kind === 'sqlite' ? `sqlite:${address.path}` : address.url;
}
