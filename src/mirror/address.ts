// The address of a mirror's database, `sqlite:PATH` or `postgres://…`: read, checked, and what it is when nobody names one.

import { isAbsolute, join, resolve } from 'node:path';
import { configError, usageError } from '../errors.js';
import { isWholePath } from '../system/folder.js';

/** Where a mirror is kept. It holds no secret: a password in an address is refused. */
export type MirrorAddress =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string };

/** A text that became an address, or why not. */
export type ParsedAddress = { readonly value: MirrorAddress } | { readonly reason: string; readonly hint?: string };

/** The flag that names the database, wherever a mirror answers; `readTo` reads it. */
export const TO = [
  '--to <address>',
  'database of the mirror: sqlite:PATH or postgres://… (default: from the profile)',
] as const;

/** The flag of what a mirror can answer; `--to` goes with it. */
export const OFFLINE = ['--offline', 'answer from the mirror; nothing is sent'] as const;

/** Parses `--to`; a relative path is below the current directory. Throws a usage error. */
export function readTo(text: string): MirrorAddress {
  const parsed = parseMirrorAddress(text, process.cwd());
  if ('reason' in parsed) throw usageError(`--to: ${parsed.reason}`, parsed.hint);
  return parsed.value;
}

/** The file of a profile for which nobody names a database. Throws a FleetError of kind `config` where there is no folder of state. */
export function defaultAddress(folder: string | undefined, profile: string): MirrorAddress {
  if (folder !== undefined) return { kind: 'sqlite', path: join(folder, `${profile}.db`) };
  throw configError('there is no folder for the mirror', 'set HOME, or name a database: --to sqlite:PATH');
}

const SQLITE = /^sqlite:(?:\/\/(?=\/))?(.*)$/is;
const POSTGRES = /^postgres(?:ql)?:\/\//i;
/** User, hosts, database and parameters; several hosts are no URL. */
const POSTGRES_PARTS = /^[a-z]+:\/\/(?:([^@/?#]*)@)?([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/i;
const SERVER = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/;
/** Parameters of an address that are secrets. */
const SECRET_PARAMETERS = ['password', 'sslpassword'];
const FORMS = 'write sqlite:PATH or postgres://USER@HOST:PORT/DATABASE';
const PASSWORD_HINT = 'leave it out, and set PGPASSWORD, PGPASSFILE or PGSERVICE, or keep it in ~/.pgpass';

/**
 * Reads an address.
 * @param folder what a relative path is below; without it one is refused, for settings do not depend on the current directory
 */
export function parseMirrorAddress(text: string, folder?: string): ParsedAddress {
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
  if (path === '' || path.includes('\0') || path === ':memory:')
    return { reason: 'sqlite: needs the path of a file', hint: FORMS };
  if (path.startsWith('~'))
    return { reason: `"${path}" begins with ~, which only shells expand`, hint: 'write the whole path' };
  if (isWholePath(path)) return { value: { kind: 'sqlite', path } };
  if (folder !== undefined && !isAbsolute(path)) return { value: { kind: 'sqlite', path: resolve(folder, path) } };
  return { reason: `"${path}" is not an absolute path`, hint: `write the whole path: sqlite:${resolve(path)}` };
}

/** Never repeats the text: a password may stand anywhere in it. */
function parsePostgres(url: string): ParsedAddress {
  const parameters = postgresParameters(url);
  const { user = '', dbname = '', port = '', ...others } = parameters ?? {};
  const isSecret = Object.keys(others).some((name) => SECRET_PARAMETERS.includes(name.toLowerCase()));
  if (url.includes('#')) return { reason: 'the address of a database must not hold #', hint: 'write it as %23' };
  if (user.includes(':') || isSecret)
    return { reason: 'the address of a database must not hold a password: process lists show it', hint: PASSWORD_HINT };
  const refusal =
    parameters === undefined
      ? 'something in it is not percent-encoded as UTF-8'
      : dbname.includes('@')
        ? 'the name of its database holds @'
        : port.split(',').every((each) => each === '' || isPort(each))
          ? undefined
          : 'a port is a number from 1 to 65535';
  if (refusal === undefined) return { value: { kind: 'postgres', url } };
  const reason = `the address of the database cannot be read: ${refusal}`;
  return { reason, hint: `${FORMS}, without a password` };
}

export function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535;
}

/** The parameters of an address under libpq's names; several hosts and their ports with commas. Undefined where it cannot be decoded. */
export function postgresParameters(url: string): Readonly<Record<string, string>> | undefined {
  const [, user = '', servers = '', database = '', query = ''] = POSTGRES_PARTS.exec(url) ?? [];
  const places = servers.split(',').map((each) => SERVER.exec(each) ?? []);
  const ports = places.map(([, , port = '']) => port);
  try {
    const named = {
      user: decodeURIComponent(user),
      host: places.map(([, host = '']) => decodeURIComponent(host).replace(/^\[(.*)\]$/, '$1')).join(','),
      port: ports.every((port) => port === '') ? '' : ports.join(','),
      dbname: decodeURIComponent(database),
    };
    const given = Object.entries(named).filter(([, value]) => value !== '');
    // A space is %20 there: libpq knows no +.
    const parameters = query.split('&').map((each) => each.split(/=(.*)/s).map(decodeURIComponent));
    return Object.fromEntries([...given, ...parameters.filter(([, value = '']) => value !== '')]);
  } catch {
    return undefined;
  }
}

/** The address as it is shown, and as `--to` takes it. */
export function showMirrorAddress(address: MirrorAddress): string {
  return address.kind === 'sqlite' ? `sqlite:${address.path}` : address.url;
}
