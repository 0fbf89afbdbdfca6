// Checks the headers of `fleet api`: which are allowed, and in what form.

import { usageError } from '../../errors.js';

/** Headers that are not the operator's to give, and why. */
const REFUSED = new Map([
  ['authorization', 'the token comes from FLEET_TOKEN or "fleet auth login", so that it is not in the process list'],
  ['proxy-authorization', 'put it into the address in HTTPS_PROXY'],
  ['cookie', 'the service knows its users by their token'],
  ['host', 'it follows from the address'],
  ['accept-encoding', 'fleet asks for what it can decompress'],
]);

/** Those of the connection and of how a body is sent. */
const OF_HTTP = /^(?:content-length|transfer-encoding|connection|keep-alive|upgrade|expect|te|trailer)$/;

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
    const reason = OF_HTTP.test(name) ? 'fleet speaks HTTP itself' : REFUSED.get(name);
    if (reason !== undefined) throw usageError(`the header ${name} cannot be given`, reason);
    const before = headers.get(name);
    headers.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return Object.fromEntries(headers);
}
