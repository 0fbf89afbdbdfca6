// Logs in with an e-mail address and a password, and renews tokens. The requests are those that
// were observed, because interface.md section 5 does not describe them. Assumed: other services
// accept the same requests.

import { FleetError } from '../errors.js';
import type { Client } from '../http/client.js';
import { isObject, parseJson } from '../json/parse.js';

/** The path to which the e-mail address and the password are posted. */
export const LOGIN_PATH = '/jwt/login/';

/**
 * The default `client_id` for renewals; `--client-id` overrides it. Assumed: it only identifies the
 * program, because a login does not need it.
 */
export const DEFAULT_CLIENT_ID = 'fleet';

/**
 * Returns the path to which a renewal is posted. This path differs from the login path only in its
 * last part.
 */
export function refreshPathOf(loginPath: string): string {
  return loginPath.replace(/[^/]+\/?$/, 'refresh_token/');
}

/** The result of a login or a token renewal. */
export interface TokenAnswer {
  /** The access token as the service sent it; empty when the answer contains no token. */
  readonly token: string;
  /**
   * The refresh token. It is null when the service gives this user no refresh token. It is
   * undefined when the answers of the service have no such field.
   */
  readonly refreshToken: string | null | undefined;
}

/** The values from the last login or renewal. The next renewal sends them to get a new token. */
export interface RenewalInput {
  readonly token: string;
  readonly refreshToken?: string | null | undefined;
  readonly clientId?: string | undefined;
}

/**
 * Logs in. Throws a FleetError of kind `auth` when the service refuses the login. The error never
 * quotes the service's answer.
 */
export async function postLogin(
  client: Client,
  path: string,
  credentials: { email: string; password: string },
): Promise<TokenAnswer> {
  let refused = '';
  try {
    return await postForToken(client, path, 'the login', credentials, (text) => {
      refused = text;
    });
  } catch (thrown) {
    throw explainRefusedLogin(thrown, refused, credentials.password);
  }
}

/**
 * Renews a token. With a refresh token, sends `{client_id, refresh_token}`. When the service
 * refuses this, sends `{token}` as a second attempt. Without a refresh token, sends only `{token}`.
 * Throws the first refusal.
 */
export async function postRenewal(
  client: Client,
  path: string,
  { token, refreshToken, clientId = DEFAULT_CLIENT_ID }: RenewalInput,
): Promise<TokenAnswer> {
  const forms: object[] = [{ token }];
  if (typeof refreshToken === 'string')
    forms.unshift({ client_id: clientId, refresh_token: refreshToken });
  let refusal: unknown;
  for (const form of forms) {
    try {
      return await postForToken(client, path, 'the renewal of the token', form);
    } catch (thrown) {
      if (!isFinalRefusal(thrown)) throw thrown;
      refusal ??= thrown;
    }
  }
  throw refusal;
}

/**
 * Whether the service refused a request permanently, so that a retry cannot succeed. A service that
 * is down or limits the rate may accept the request later.
 */
export function isFinalRefusal(thrown: unknown): thrown is FleetError {
  return thrown instanceof FleetError && ['auth', 'rejected', 'not-found'].includes(thrown.kind);
}

async function postForToken(
  client: Client,
  path: string,
  subject: string,
  body: object,
  onRefusal: (text: string) => void = () => {},
): Promise<TokenAnswer> {
  const { text } = await client.send({
    method: 'POST',
    path,
    body: JSON.stringify(body),
    isSecret: true,
    answersToken: true,
    changesNothing: true,
    subject,
    onRefusal: (answer) => onRefusal(answer.text),
  });
  const answer = parseAnswer(text);
  const { token, refresh_token: refreshToken } = answer;
  return {
    token: typeof token === 'string' ? token : '',
    refreshToken: readRefreshToken(refreshToken),
  };
}

/** An answer that is not a JSON object may contain the token, so no part of it is quoted. */
function parseAnswer(text: string): { [field: string]: unknown } {
  try {
    const answer = parseJson(text);
    return isObject(answer) ? answer : {};
  } catch {
    return {};
  }
}

function readRefreshToken(value: unknown): TokenAnswer['refreshToken'] {
  if (value === undefined || value === null) return value;
  return typeof value === 'string' && value !== '' ? value : null;
}

/** Names the cause of a refused login in fleet's own words, because the answer may quote the password. */
function explainRefusedLogin(thrown: unknown, text: string, password: string): unknown {
  if (!isFinalRefusal(thrown) || thrown.kind === 'not-found') return thrown;
  const { reason, hint } = findCause(thrown.status, text, password);
  const message = `the service refused the login: ${reason}`;
  // The answer may quote the password, so its details are omitted.
  return thrown.with({ kind: 'auth', message, hint, detail: undefined });
}

/**
 * The names of fields that a service may require for a login. When a login is refused, fleet
 * searches the answer only for these names, because the answer may quote the password.
 */
const REQUIRED_FIELDS = ['username', 'otp', 'otp_token', 'captcha', 'client_id'];

/** Only this many characters of an answer are searched for the cause. */
const SEARCHED_CHARACTERS = 10_000;

function findCause(
  status: number | undefined,
  answer: string,
  password: string,
): { reason: string; hint: string } {
  const text = answer.slice(0, SEARCHED_CHARACTERS).replaceAll(password, '');
  const required = REQUIRED_FIELDS.filter((field) => text.includes(`"${field}"`));
  if (/\block(?:ed|out)?\b|too many|_locked\b/i.test(text)) return lockedCause(text);
  if (/inactive|disabled|deactivated|not active/i.test(text))
    return {
      reason: 'the account is not active',
      hint: 'ask the operators of the service to activate the account',
    };
  if (status === 401 || /credentials|password/i.test(text))
    return {
      reason: 'the e-mail address or the password is wrong',
      hint: 'check the e-mail address and the password, and log in again',
    };
  if (required.length > 0)
    return {
      reason: `it asks for more than an e-mail address and a password (${required.join(', ')})`,
      hint: 'get a token another way, and store it with "fleet auth login"',
    };
  if (status === 403)
    return {
      reason: 'this account is not allowed to log in, or it is locked for a few minutes',
      hint: 'wait a few minutes and log in again, or ask the operators of the service',
    };
  return {
    reason: 'its reason is not shown, because the answer may quote the password',
    hint: 'check the e-mail address and the password, and log in again',
  };
}

function lockedCause(text: string): { reason: string; hint: string } {
  const [time] = /\b\d{1,3} (?:second|minute|hour)s?\b/i.exec(text) ?? [];
  return {
    reason: `the account is locked${time === undefined ? '' : ` for ${time}`}`,
    hint: `wait ${time ?? 'some minutes'}, then log in again with the right password`,
  };
}
