// What `fleet auth login` asks on a terminal; answers given before are offered again.

import type { Context } from '../../context.js';
import { asFleetError } from '../../errors.js';
import { type KeyName, parseForStore } from '../../settings/keys.js';
import { parseToken } from '../../settings/token.js';
import { askSecret, askText } from '../../terminal/prompt.js';

/** What to do where nobody can be asked. */
const INSTEAD = 'give the token on stdin: fleet auth login --with-token < FILE';

/** Takes an answer back that was given before. */
const NONE = '-';

/** A question for a setting that may be left open, unless it is needed. */
export interface SettingQuestion {
  key: KeyName;
  message: string;
  /** The answer given before. */
  before: string | undefined;
  isNeeded: boolean;
  /** Throws for a value that will not do. */
  check(value: string): void;
}

/** The value as config.json has it; undefined: left open. Throws a FleetError of kind `usage` where nobody can be asked. */
export async function askSetting(context: Context, question: SettingQuestion): Promise<string | undefined> {
  const { key, message, before, isNeeded, check } = question;
  const answer = await askText(context, {
    message: isNeeded ? message : `${message} ${openWord(before)}`,
    instead: INSTEAD,
    ...(before === undefined ? {} : { suggestion: before }),
    refuse(typed) {
      if (isOpen(typed)) return isNeeded ? 'an address is needed' : undefined;
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
  return isOpen(answer) || 'reason' in parsed ? undefined : String(parsed.value);
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
  return before === undefined ? '(Enter to leave it unset)' : `(${NONE} to leave it unset)`;
}

function isOpen(typed: string): boolean {
  return typed.trim() === '' || typed.trim() === NONE;
}
