// Logging in with an e-mail address and a password, and renewing the token. Assumed: as observed,
// since interface.md section 5 leaves it open.

import type { Client } from '../http/client.js';
import { isObject, parseJson } from '../json/parse.js';

/** Where e-mail address and password are posted. */
export const LOGIN_PATH = '/jwt/login/';

/** Where a token is renewed: beside the login. */
export function refreshPathOf(loginPath: string): string {
  return loginPath.replace(/[^/]+\/?$/, 'refresh_token/');
}

type Credentials = { email: string; password: string } | { token: string };

/**
 * The text of the token that the service answers; empty for an answer without one. Throws the
 * service's refusal.
 */
export async function postForToken(
  client: Client,
  path: string,
  body: Credentials,
): Promise<string> {
  const subject = 'email' in body ? 'the login' : 'the renewal of the token';
  const request = { method: 'POST', path, body: JSON.stringify(body), hidesBody: true, subject };
  const { text } = await client.send(request);
  try {
    const answer = parseJson(text);
    return isObject(answer) && typeof answer['token'] === 'string' ? answer['token'] : '';
  } catch {
    // What it is instead may hold the token: it is not quoted.
    return '';
  }
}
