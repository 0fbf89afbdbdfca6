// Logging in with an e-mail address and a password, and renewing the token. Assumed: as observed, since interface.md section 5 leaves it open.

import type { Client } from '../http/client.js';
import { isObject, parseJson } from '../json/parse.js';

/** Where e-mail address and password are posted. */
export const LOGIN_PATH = '/jwt/login/';

/** Where a token is renewed: beside the login. */
export function refreshPathOf(loginPath: string): string {
  return loginPath.replace(/[^/]+\/?$/, 'refresh_token/');
}

/** The text of the token that the service answers; undefined for an answer without one. Throws the service's refusal. */
export async function postForToken(
  client: Client,
  path: string,
  body: { email: string; password: string } | { token: string },
): Promise<string | undefined> {
  const subject = 'email' in body ? 'the login' : 'the renewal of the token';
  const { text } = await client.send({ method: 'POST', path, body: JSON.stringify(body), hidesBody: true, subject });
  try {
    const answer = parseJson(text);
    return isObject(answer) && typeof answer['token'] === 'string' ? answer['token'] : undefined;
  } catch {
    return undefined;
  }
}
