// What `fleet auth login` asks on a terminal; answers given before are offered again.

import type { Context } from '../../context.js';
import { KEYS, type Key } from '../../settings/keys.js';
import { refusePlainHttp } from '../../settings/resolve.js';
import { parseToken } from '../../settings/token.js';
import { askSecret, askText } from '../../terminal/prompt.js';

/** What to do where nobody can be asked. */
export const INSTEAD = 'give the token on stdin: fleet auth login --with-token < FILE';

/** Takes an answer back that was given before. */
const NONE = '-';

/** A question for an address. `allowHttp`: whether the profile lets the token travel unencrypted. */
export interface AddressQuestion {
  key: Key<URL>;
  message: string;
  /** The answer given before. */
  before: URL | undefined;
  isNeeded: boolean;
  allowHttp: boolean;
}

/** Undefined: left open. Throws a FleetError of kind `usage` where nobody can be asked. */
export async function askAddress(context: Context, question: AddressQuestion): Promise<URL | undefined> {
  const { key, message, before, isNeeded, allowHttp } = question;
  const answer = await askText(context, {
    message: isNeeded ? message : `${message} ${openWord(before)}`,
    instead: INSTEAD,
    ...(before === undefined ? {} : { suggestion: key.show(before) }),
    refuse(typed) {
      if (isOpen(typed)) return isNeeded ? 'an address is needed' : undefined;
      const parsed = key.parse(typed);
      if ('reason' in parsed) return parsed.hint === undefined ? parsed.reason : `${parsed.reason}; ${parsed.hint}`;
      return refusalOf(() => refusePlainHttp(parsed.value, message, allowHttp, ''));
    },
  });
  const parsed = key.parse(answer);
  return isOpen(answer) || 'reason' in parsed ? undefined : parsed.value;
}

/** Undefined: left open. */
export async function askOrganization(context: Context, before: string | undefined): Promise<string | undefined> {
  const { parse } = KEYS.organization;
  const answer = await askText(context, {
    message: `UUID of the organization ${openWord(before)}`,
    instead: INSTEAD,
    ...(before === undefined ? {} : { suggestion: before }),
    refuse(typed) {
      const parsed = parse(typed);
      return isOpen(typed) || 'value' in parsed ? undefined : parsed.reason;
    },
  });
  const parsed = parse(answer);
  return isOpen(answer) || 'reason' in parsed ? undefined : parsed.value;
}

/** The text that was typed, `before` for an empty one. `where` names profile and address. */
export async function askToken(context: Context, where: string, before: string | undefined): Promise<string> {
  const isKept = (typed: string) => before !== undefined && typed.trim() === '';
  const answer = await askSecret(context, {
    message: `Access token for ${where}${before === undefined ? '' : ' (Enter to keep the one you gave)'}`,
    instead: INSTEAD,
    refuse(typed) {
      const parsed = parseToken(typed);
      return 'value' in parsed || isKept(typed) ? undefined : `the token ${parsed.reason}`;
    },
  });
  return isKept(answer) ? (before ?? '') : answer;
}

function openWord(before: unknown): string {
  return before === undefined ? '(Enter to leave it open)' : `(${NONE} to leave it open)`;
}

function isOpen(typed: string): boolean {
  return typed.trim() === '' || typed.trim() === NONE;
}

function refusalOf(check: () => void): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
