// What `fleet auth login` asks on a terminal.

import { wholeUuid } from '../../api/links.js';
import { NAMED } from '../../api/named.js';
import type { Context } from '../../context.js';
import { asFleetError, FleetError } from '../../errors.js';
import { type KeyName, parseForStore } from '../../settings/keys.js';
import type { Settings } from '../../settings/resolve.js';
import { organizationsOf, parseToken } from '../../settings/token.js';
import { askSecret, askText } from '../../terminal/prompt.js';
import { readNames } from '../named/find.js';
import { describe } from '../shared/list/pick-one.js';
import { limitsOfLogin } from './check.js';

/** What to do without a terminal. */
const INSTEAD =
  'give the token on stdin: fleet auth login --with-token < FILE; or a password: --email ADDRESS --password-stdin < FILE';

/** A question for an address; all but that of the service may be left open. */
export interface SettingQuestion {
  key: KeyName;
  message: string;
  /** Throws for an invalid value. */
  check(value: string): void;
}

/** The value as config.json has it; undefined: left open. Throws a FleetError of kind `usage` without a terminal. */
export async function askSetting(context: Context, question: SettingQuestion): Promise<string | undefined> {
  const { key, message, check } = question;
  const isNeeded = key === 'base_url';
  const answer = await askText(context, {
    message: isNeeded ? message : `${message} (Enter to leave it unset)`,
    instead: INSTEAD,
    refuse(typed) {
      if (typed.trim() === '') return isNeeded ? 'an address is needed' : undefined;
      const parsed = parseForStore(key, typed);
      if ('reason' in parsed) return parsed.hint === undefined ? parsed.reason : `${parsed.reason}; ${parsed.hint}`;
      try {
        check(String(parsed.value));
        return undefined;
      } catch (error) {
        return asFleetError(error).message;
      }
    },
  });
  const parsed = parseForStore(key, answer);
  return answer.trim() === '' || 'reason' in parsed ? undefined : String(parsed.value);
}

/** The text that was typed. `where` names profile and address. */
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
    instead: `give the password on stdin: fleet auth login --email ${email} --password-stdin < FILE`,
    refuse: (typed) => (typed === '' ? 'the password is empty' : undefined),
  });
}

/**
 * The organization that commands use by default: one of those that the token names, or that the service lists where it names none; undefined: left
 * open. Where none is known it is asked for with a new address alone.
 */
export async function askOrganization(
  context: Context,
  settings: Settings,
  token: string,
  { maySend, isNewPlace }: { maySend: boolean; isNewPlace: boolean },
): Promise<string | undefined> {
  const names = maySend && settings.baseUrl.value !== undefined ? await namesFor(context, settings, token) : undefined;
  const ofToken = organizationsOf(token);
  const known = ofToken.length > 0 ? ofToken : [...(names?.keys() ?? [])];
  if (known.length === 0 && !isNewPlace) return undefined;
  const find = (typed: string): string | undefined => {
    const text = typed.trim();
    const byName = known.filter((uuid) => names?.get(uuid)?.[0]?.toLowerCase() === text.toLowerCase());
    return known[Number(text) - 1] ?? (byName.length === 1 ? byName[0] : undefined) ?? wholeUuid(text);
  };
  for (const [index, uuid] of known.entries())
    await context.notice(`  ${index + 1}  ${describe(uuid, names?.get(uuid)?.[0])}`);
  const ways = known.length > 0 ? 'number, name or UUID' : 'UUID';
  const answer = await askText(context, {
    message: `Organization (${ways}; Enter to leave it unset)`,
    instead: INSTEAD,
    refuse: (typed) => (typed.trim() === '' || find(typed) !== undefined ? undefined : `give its ${ways}`),
  });
  return find(answer);
}

/** What the service calls its organizations; undefined where it does not say, or not soon. */
async function namesFor(context: Context, settings: Settings, token: string) {
  const tokens = { get: async () => token, renew: async () => undefined };
  const client = await context.client({ ...limitsOfLogin(settings), settings, token: tokens });
  return readNames(client, NAMED.organization).catch((thrown) => {
    context.signal.throwIfAborted();
    if (thrown instanceof FleetError) return undefined;
    throw thrown;
  });
}
