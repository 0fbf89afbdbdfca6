// Checks the headers of `fleet api`: which are allowed, and in what form.

import { usageError } from '../../errors.js';

/** Headers that are not the operator's to give: the token's and the address's, and those of the connection. */
const OURS =
  /^(?:authorization|proxy-authorization|cookie|host|accept-encoding|content-length|transfer-encoding|connection|keep-alive|upgrade|expect|te|trailer)$/;

/** RFC 9110, 5.6.2 and 5.5: a token; a value without control characters. */
const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i;
const VALUE = /^[\t\x20-\x7E\x80-\xFF]*$/;

/** Reads `Name: value`, each; names in lower case, a name that comes twice with both values. Throws a usage error. */
export function readHeaders(lines: readonly string[]): Record<string, string> {
  // A map, for a header may have any name: `__proto__` as well.
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(0, colon)).trim().toLowerCase();
    const value = line.slice(colon + 1).trim();
    if (!NAME.test(name)) throw usageError(`a header is "Name: value", not "${line}"`);
    if (!VALUE.test(value)) throw usageError(`the header ${name} has a character that no header may have`);
    if (OURS.test(name))
      throw usageError(`the header ${name} cannot be given`, 'fleet sets it; the token comes from the settings');
    const before = headers.get(name);
    headers.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return Object.fromEntries(headers);
}
