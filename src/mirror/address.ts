// The address of a mirror's database, `sqlite:PATH` or `postgres://…`: read, checked, and what it is when nobody names one.

import { join, posix, win32 } from 'node:path';
import { configError } from '../errors.js';
import { fromGitBash, isDeviceName, isWholePath } from '../system/folder.js';

/** Where a mirror is kept. It holds no secret: a password in an address is refused. */
export type MirrorAddress =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string };

/** A text that became an address, or why not. */
export type ParsedAddress =
  | { readonly value: MirrorAddress }
  | { readonly reason: string; readonly hint?: string };

/** The file of a profile for which nobody names a database. Throws a FleetError of kind `config` where there is no folder of state. */
export function defaultAddress(folder: string | undefined, profile: string): MirrorAddress {
  if (folder !== undefined) return { kind: 'sqlite', path: join(folder, `${profile}.db`) };
  throw configError(
    'there is no folder for the mirror',
    'set HOME, or name a database: --to sqlite:PATH',
  );
}

const SQLITE = /^sqlite:(?:\/\/(?=\/))?(.*)$/is;
const POSTGRES = /^postgres(?:ql)?:\/\//i;
/** Parameters of an address that are secrets. */
const SECRET_PARAMETERS = ['password', 'sslpassword'];
const FORMS = 'write sqlite:PATH or postgres://USER@HOST:PORT/DATABASE';
const PASSWORD_HINT =
  'leave it out, and set PGPASSWORD, PGPASSFILE or PGSERVICE, or keep it in ~/.pgpass';

/**
 * Reads an address.
 * @param folder what a relative path is below; without it one is refused, for settings do not depend on the current directory
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
  if (path === '' || path.includes('\0') || path === ':memory:')
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
  // On Windows `/c/mirror.db` is absolute and not whole: it has no drive.
  if (folder !== undefined && !isAbsolute(path))
    return { value: { kind: 'sqlite', path: resolve(folder, path) } };
  const whole = resolve(platform === 'win32' ? fromGitBash(path) : path);
  return {
    reason: `"${path}" is not an absolute path`,
    hint: `write the whole path: sqlite:${whole}`,
  };
}

/** Never repeats the text: a password may stand anywhere in it. */
function parsePostgres(url: string): ParsedAddress {
  const parameters = postgresParameters(url);
  if (parameters === undefined) {
    const rules =
      'it names one host, a port is a number from 1 to 65535, and what has a meaning in a URL is percent-encoded';
    return {
      reason: `the address of the database cannot be read: ${rules}`,
      hint: `${FORMS}, without a password`,
    };
  }
  if (!Object.keys(parameters).some((name) => SECRET_PARAMETERS.includes(name.toLowerCase())))
    return { value: { kind: 'postgres', url } };
  return {
    reason: 'the address of a database must not hold a password: process lists show it',
    hint: PASSWORD_HINT,
  };
}

export function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535;
}

/** Stands for a host that is left out behind a user: without any it would be no URL. */
const NO_HOST = 'none.invalid';

/** The parameters of an address under libpq's names. Undefined where it cannot be read, or something in it stands in the wrong place. */
export function postgresParameters(url: string): Readonly<Record<string, string>> | undefined {
  try {
    const { username, password, hostname, port, pathname, hash, searchParams } = new URL(
      url.replace('@/', `@${NO_HOST}/`).replaceAll('+', '%2B'),
    );
    const host = hostname === NO_HOST ? '' : hostname.replace(/^\[(.*)\]$/, '$1');
    const named = Object.entries({
      user: username,
      password,
      host,
      port,
      dbname: pathname.slice(1),
    });
    const given = [
      ...named.map(([name, value]) => [name, decodeURIComponent(value)]),
      ...searchParams,
    ];
    const parameters = Object.fromEntries(given.filter(([, value]) => value !== ''));
    const { dbname = '', port: number = '1' } = parameters;
    return hash === '' && !host.includes(',') && !dbname.includes('@') && isPort(number)
      ? parameters
      : undefined;
  } catch {
    return undefined;
  }
}

/** The address as it is shown, and as `--to` takes it. */
export function showMirrorAddress(address: MirrorAddress): string {
  return address.kind === 'sqlite' ? `sqlite:${address.path}` : address.url;
}
