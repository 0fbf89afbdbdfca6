// The address of a mirror's database, `sqlite:PATH` or `postgres://…`, read and checked.

import { isAbsolute, resolve } from 'node:path';

/** Where a mirror is kept. It holds no secret: a password in an address is refused. */
export type MirrorAddress =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string };

/** A text that became an address, or why not. */
export type ParsedAddress = { readonly value: MirrorAddress } | { readonly reason: string; readonly hint?: string };

const SQLITE = /^sqlite:(?:\/\/(?=\/))?(.*)$/is;
const POSTGRES = /^postgres(?:ql)?:\/\//i;
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
    return { reason: `"${path}" begins with ~, which only a shell knows`, hint: 'write the whole path' };
  if (isAbsolute(path)) return { value: { kind: 'sqlite', path } };
  if (folder !== undefined) return { value: { kind: 'sqlite', path: resolve(folder, path) } };
  return { reason: `"${path}" is not an absolute path`, hint: `write the whole path: sqlite:${resolve(path)}` };
}

/** Never repeats the text: a password may stand anywhere in it. */
function parsePostgres(text: string): ParsedAddress {
  if (!URL.canParse(text)) {
    // A password with characters that no address may hold is the usual reason.
    if (/^[^?]*@/.test(text))
      return { reason: 'the address of the database cannot be read', hint: `${FORMS}, without a password` };
    return { reason: 'the address of the database cannot be read', hint: FORMS };
  }
  const url = new URL(text);
  const names = [...url.searchParams.keys()].map((name) => name.toLowerCase());
  if (url.password !== '' || names.some((name) => SECRET_PARAMETERS.includes(name)))
    return { reason: 'the address of a database must not hold a password: process lists show it', hint: PASSWORD_HINT };
  if (url.hash !== '') return { reason: 'the address of a database must not hold #', hint: 'write it as %23' };
  return { value: { kind: 'postgres', url: url.href } };
}

/** The address as it is shown, and as `--to` takes it. */
export function showMirrorAddress(address: MirrorAddress): string {
  return address.kind === 'sqlite' ? `sqlite:${address.path}` : address.url;
}
