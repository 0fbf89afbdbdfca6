// Who sends and who did something, compared by what the service calls people: a UUID, a number, an e-mail address, a user name.

import { wholeUuid } from '../../../api/links.js';
import { isObject } from '../../../json/parse.js';
import { readClaims } from '../../../settings/token.js';
import type { Person } from './records.js';

/** The ways of calling somebody, the surest first. */
const KINDS = ['uuid', 'id', 'email', 'username'] as const;

/** Longer than any name. */
const NAME_CHARACTERS = 300;

/** Who a text, a number or an object of the service means; nobody where it says nothing that can be compared. */
export function personOf(value: unknown): Person {
  if (isObject(value)) {
    const { uuid, url, id, email, username } = value;
    const named = { email: nameIn(email), username: nameIn(username) };
    return { ...named, ...identityIn(id), ...identityIn(url), ...identityIn(uuid) };
  }
  const name = nameIn(value);
  return identityIn(value) ?? (name === undefined ? {} : { [name.includes('@') ? 'email' : 'username']: name });
}

function nameIn(value: unknown): string | undefined {
  const isName = typeof value === 'string' && value.length <= NAME_CHARACTERS && /^[^\s/]+$/.test(value.trim());
  return isName ? value.trim().toLowerCase() : undefined;
}

/** The UUID or the number that a value is, or that a link ends in. */
function identityIn(value: unknown): Person | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  const text = String(value).slice(0, NAME_CHARACTERS).trim();
  const uuid = wholeUuid(text);
  if (uuid !== undefined) return { uuid };
  const [, id] = /(?:^|\/)(\d{1,18})\/?$/.exec(text) ?? [];
  return id === undefined ? undefined : { id };
}

/** Whether somebody is certainly one of these: the surest of the ways of calling somebody that both have says so. */
export function isOneOf(someone: Person, people: readonly Person[]): boolean {
  return people.some((one) => {
    const kind = KINDS.find((each) => one[each] !== undefined && someone[each] !== undefined);
    return kind !== undefined && one[kind] === someone[kind];
  });
}

/**
 * Whom a token names. Assumed: the claim is `sub` (RFC 7519 section 4.1.2) or `user_id`, a UUID, a number or the user's URL; `email` and
 * `username` are what they say.
 */
export function personOfToken(token: string): Person {
  const { sub, user_id, email, username } = readClaims(token) ?? {};
  return { ...personOf({ email, username }), ...personOf(user_id), ...personOf(sub) };
}
