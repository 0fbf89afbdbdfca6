// The questions of `fleet auth login` on a terminal.

import { wholeUuid } from '../../api/links.js';
import { NAMED } from '../../api/named.js';
import type { Context } from '../../context.js';
import { readNames } from '../../list/find-named.js';
import { describe } from '../../list/pick-one.js';
import { KEYS } from '../../settings/keys.js';
import { organizationsOf, parseToken } from '../../settings/token.js';
import { askSecret, askText } from '../../terminal/prompt.js';
import { clientOfLogin, type LoginPlace } from './check.js';

/** The end of an error message, which says how to log in without a terminal. */
const INSTEAD =
  'pass the token on stdin: fleet auth login --with-token < FILE; or a password: --email ADDRESS --password-stdin < FILE';

/** Asks for a URL. Returns undefined when the user enters nothing. */
export async function askAddress(
  context: Context,
  message: string,
  { isNeeded = true } = {},
): Promise<URL | undefined> {
  const answer = await askText(context, {
    message: isNeeded ? message : `${message} (Enter to leave it unset)`,
    instead: INSTEAD,
    refuse(typed) {
      const parsed = KEYS.base_url.parse(typed);
      if ('value' in parsed || (!isNeeded && typed.trim() === '')) return undefined;
      return [parsed.reason, parsed.hint].filter(Boolean).join('; ');
    },
  });
  const parsed = KEYS.base_url.parse(answer);
  return 'value' in parsed ? parsed.value : undefined;
}

/** Asks for a token. `where` describes the profile and the URL. */
export async function askToken(context: Context, where: string): Promise<string> {
  return askSecret(context, {
    message: `Access token for ${where}`,
    instead: INSTEAD,
    refuse(typed) {
      const parsed = parseToken(typed);
      return 'value' in parsed ? undefined : `the token ${parsed.reason}`;
    },
  });
}

export async function askPassword(context: Context, email: string, where: string): Promise<string> {
  return askSecret(context, {
    message: `Password of ${email} for ${where}`,
    instead: `pass the password on stdin: fleet auth login --email ${email} --password-stdin < FILE`,
    refuse(typed) {
      if (typed === '') return 'the password is empty';
      // The terminal sent bytes that are not UTF-8, so the password would be sent incorrectly.
      return typed.includes('\uFFFD') ? 'the password is not UTF-8' : undefined;
    },
  });
}

/**
 * Asks for the default organization. Offers the organizations in the token. If the token does not
 * contain any, offers the organizations in the service's list. Returns undefined when the user does
 * not choose an organization.
 *
 * When no organization is known, asks only if the address is new. `place` contains the address and
 * the token. Without `place`, sends no request.
 */
export async function askOrganization(
  context: Context,
  token: string,
  place: LoginPlace | undefined,
  isNewPlace: boolean,
): Promise<string | undefined> {
  const client = place === undefined ? undefined : await clientOfLogin(context, place);
  // The names of the organizations. If they cannot be read, the question shows only UUIDs.
  const names = await (client &&
    readNames(client, NAMED.organization).catch(() => context.signal.throwIfAborted()));
  const ofToken = organizationsOf(token);
  const known = ofToken.length > 0 ? ofToken : [...(names?.keys() ?? [])];
  if (known.length === 0 && !isNewPlace) return undefined;
  const nameOf = (uuid: string) => names?.get(uuid)?.[0];
  const find = (typed: string): string | undefined => {
    const text = typed.trim();
    const byName = known.filter((uuid) => nameOf(uuid)?.toLowerCase() === text.toLowerCase());
    return (
      known[Number(text) - 1] ?? (byName.length === 1 ? byName[0] : undefined) ?? wholeUuid(text)
    );
  };
  for (const [index, uuid] of known.entries())
    await context.notice(`  ${index + 1}  ${describe(uuid, nameOf(uuid))}`);
  const ways = known.length > 0 ? 'number, name or UUID' : 'UUID';
  const answer = await askText(context, {
    message: `Organization (${ways}; Enter to leave it unset)`,
    instead: INSTEAD,
    refuse: (typed) =>
      typed.trim() === '' || find(typed) !== undefined ? undefined : `use its ${ways}`,
  });
  return find(answer);
}
