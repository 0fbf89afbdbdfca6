// Parses a token: its text, claims, subject and expiry.

import { wholeUuid } from '../api/links.js';
import { configError } from '../errors.js';
import { isObject, parseJson } from '../json/parse.js';
import type { Secrets } from '../system/secrets.js';

/** The maximum distance of a JavaScript date from the epoch, in milliseconds. */
const LAST_DATE_MS = 8.64e15;

/**
 * Extracts the token from text that a person pasted or a program printed. Removes white space
 * around the text and a scheme in front of it (`Authorization: JWT …`). The rest must be one word
 * of printable ASCII, because other characters could break the header or add another one. Error
 * messages never quote the text.
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

/**
 * Returns the token in the text, and adds it to the secrets that fleet hides. Throws a FleetError
 * of kind `config` for an invalid token. The message says why the token is invalid.
 */
export function readToken(
  text: string,
  what: string,
  hint: string,
  secrets: Secrets,
  failure = configError,
): string {
  const parsed = parseToken(text);
  if ('reason' in parsed) throw failure(`${what} ${parsed.reason}`, hint);
  secrets.addToken(parsed.value);
  return parsed.value;
}

/**
 * Returns the claims of a JWT. Does not verify them, because only the service can do this. Returns
 * undefined when the token is not a JWT.
 */
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
 * Returns the organizations in a token, and the user's roles in each of them. The result is in
 * lower case and in the order of the token. It is empty when the token does not contain the claim
 * `affs`. Assumed: this claim has the form `{organization: [roles]}`, where each organization is a
 * UUID or a URL.
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

/** Returns the organizations in a token without duplicates. */
export function organizationsOf(token: string): string[] {
  return [...affiliationsOf(token).keys()];
}

/**
 * Returns the expiry of a token in milliseconds since the epoch, or undefined without a valid `exp`
 * (RFC 7519 section 4.1.4).
 */
export function readExpiry(token: string): number | undefined {
  const seconds = readClaims(token)?.['exp'];
  if (typeof seconds !== 'number' || !(Math.abs(seconds * 1000) <= LAST_DATE_MS)) return undefined;
  return seconds * 1000;
}
