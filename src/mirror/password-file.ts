// Reads PostgreSQL's password file as libpq does (PostgreSQL 17, section 32.16).

import { readFile, stat } from 'node:fs/promises';
import { reasonOf } from '../errors.js';

/** The connection for which a password is looked up. */
export interface PasswordOwner {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
}

/**
 * The password, or the reason for ignoring the file. Both are undefined when no line matches the
 * login.
 */
export interface FoundPassword {
  readonly password?: string;
  readonly ignored?: string;
}

/** File permissions for the group and other users. A password file must not have them. */
const OPEN_TO_OTHERS = 0o077;

/**
 * Reads the password of a login from the password file. Returns no password when the file is
 * missing.
 */
export async function readPasswordFile(path: string, login: PasswordOwner): Promise<FoundPassword> {
  try {
    const found = await stat(path);
    if (!found.isFile()) return { ignored: `${path} is not a regular file` };
    const isOpen = process.platform !== 'win32' && (found.mode & OPEN_TO_OTHERS) !== 0;
    if (isOpen) return { ignored: `${path} can be read by other users; run: chmod 600 ${path}` };
    const password = findPassword(await readFile(path, 'utf8'), login);
    return password === undefined ? {} : { password };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    return { ignored: `${path} cannot be read: ${reasonOf(error)}` };
  }
}

/** Matches a field and the colon after it. A backslash escapes a colon or a backslash. */
const FIELD = /((?:\\.|[^:\\])*)(?::|$)/gy;

/**
 * Returns the password in the first line that matches the connection. A line is
 * `host:port:database:user:password`.
 */
export function findPassword(text: string, login: PasswordOwner): string | undefined {
  // In the password file, `localhost` also means connections through a Unix socket.
  const host = login.host.startsWith('/') ? 'localhost' : login.host;
  const wanted = [host, String(login.port), login.database, login.user];
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith('#')) continue;
    const fields = Array.from(line.matchAll(FIELD), ([, field = '']) => field);
    const isFit = wanted.every((value, index) => {
      const field = fields[index];
      return field === '*' || (field !== undefined && unquote(field) === value);
    });
    const password = fields[wanted.length];
    if (isFit && password !== undefined && password !== '') return unquote(password);
  }
  return undefined;
}

function unquote(field: string): string {
  return field.replace(/\\(.)/g, '$1');
}
