// Parses the text of a token: its claims, its subject and its expiry.

import { wholeUuid } from '../api/links.js';
import { configError } from '../errors.js';
import { isObject, parseJson } from '../json/parse.js';
import type { Secrets } from '../system/secrets.js';

/** Beyond this many milliseconds a Date is invalid. */
const LAST_DATE_MS = 8.64e15;

/**
 * The token in a text that people paste and programs print: white space around it and a scheme word in front
 * (`Authorization: JWT …`) are left out. What remains must be one word of printable ASCII, or it would break the header
 * or smuggle in another; the reason never repeats the text.
 */
export function parseToken(text: string): { value: string } | { reason: string } {
  const token = text.trim().replace(/^(?:authorization:\s*)?(?:jwt|bearer|token)\s+(?=\S)/i, '');
  if (token === '') return { reason: 'is empty' };
  if (/[\r\n]/.test(token)) return { reason: 'has more than one line' };
  if (/^(["']).*\1$/.test(token))
    return { reason: 'is in quotes (jq prints without them with -r)' };
  if (!/^[\x21-\x7e]+$/.test(token))
    return { reason: 'has characters that no token has (white space, or beyond ASCII)' };
  return { value: token };
}

/** The token in the text, registered as a secret. Throws a FleetError of kind `config` that says what is wrong with it. */
export function readToken(
  text: string,
  what: string,
  hint: string,
  secrets: Secrets,
  failure = configError,
): string {
  const parsed = parseToken(text);
  if ('reason' in parsed) throw failure(`${what} ${parsed.reason}`, hint);
  secrets.add(parsed.value);
  return parsed.value;
}

/** The claims of a JWT, read and not verified: only the service can do that. Undefined when the token is no JWT. */
export function readClaims(token: string): { [claim: string]: unknown } | undefined {
  const [, payload = '', ...rest] = token.split('.');
  try {
    const claims = parseJson(Buffer.from(payload, 'base64url').toString('utf8'));
    return rest.length === 1 && isObject(claims) ? claims : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The organizations that a token names, in lower case and in the token's order, with the roles in each; none for a token that says nothing
 * of them. Assumed: the claim `affs` is `{organization: [roles]}`, the organization a UUID or its URL.
 */
export function affiliationsOf(token: string): Map<string, readonly string[]> {
  const affiliations = readClaims(token)?.['affs'];
  const found = new Map<string, readonly string[]>();
  for (const [name, roles] of Object.entries(isObject(affiliations) ? affiliations : {})) {
    const organization = wholeUuid(name);
    if (organization !== undefined)
      found.set(organization, Array.isArray(roles) ? roles.map(String) : []);
  }
  return found;
}

/** The organizations that a token names, each once. */
export function organizationsOf(token: string): string[] {
  return [...affiliationsOf(token).keys()];
}

/** When the token ends, in milliseconds since the epoch; undefined when it does not say (`exp`, RFC 7519 section 4.1.4). */
export function readExpiry(token: string): number | undefined {
  const seconds = readClaims(token)?.['exp'];
  if (typeof seconds !== 'number' || !(Math.abs(seconds * 1000) <= LAST_DATE_MS)) return undefined;
  return seconds * 1000;
}
