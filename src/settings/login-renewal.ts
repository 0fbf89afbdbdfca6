// Renews the token of a login before it ends.

import { postForToken } from '../api/login.js';
import { FleetError, messageOf } from '../errors.js';
import { readExpiry, readToken } from './parse-token.js';
import { renewToken, type StoredToken } from './store.js';
import {
  TOKEN_LIMIT_BYTES,
  type TokenInput,
  type TokenPlace,
  type TokenReader,
} from './token-place.js';

/** How long a token is good that had ended by this machine's clock when it came. */
const LEAST_LIFE_MS = 60_000;

/**
 * A stored token that is renewed at half its life, so that a command every quarter of an hour keeps one of 30 minutes alive. `load` gives the
 * token that is stored now. A renewal that fails throws a FleetError of kind `auth` that names the login.
 */
export function openRenewal(
  load: () => Promise<StoredToken>,
  { refusalHint }: TokenPlace,
  input: TokenInput,
): TokenReader {
  const { clock, signal, stored, settings } = input;
  const profile = settings.profile.value;

  async function renew(old: StoredToken): Promise<StoredToken | undefined> {
    const { login, token } = old;
    if (login === undefined) return undefined;
    try {
      const answer = await postForToken(await input.anonymous(), login.refreshPath, { token });
      const renewed = readToken(answer, 'the renewed token', refusalHint, input.secrets);
      refuseWorse(renewed, token);
      return { token: renewed, login: { ...login, sinceMs: clock.wallMs() } };
    } catch (thrown) {
      signal.throwIfAborted();
      const hasEnded = (readExpiry(token) ?? Number.POSITIVE_INFINITY) <= clock.wallMs();
      const message = `the token of profile "${profile}"${hasEnded ? ' has ended and' : ''} could not be renewed: ${messageOf(thrown)}`;
      // A refusal is final; a service that is down comes back.
      const isLasting =
        thrown instanceof FleetError && ['auth', 'rejected', 'not-found'].includes(thrown.kind);
      throw new FleetError('auth', message, { hint: refusalHint, isLasting, cause: thrown });
    }
  }

  return {
    async read() {
      const found = await load();
      return { token: found.token, dueMs: dueMs(found) };
    },
    async fetch(refused) {
      const { login, token } = await load();
      // Nothing renews it, so nothing is locked: the folder may be one that cannot be written.
      if (login === undefined) return token;
      // Another run may have renewed it meanwhile.
      const isDue = (found: StoredToken) =>
        found.token === refused || dueMs(found) <= clock.wallMs();
      await renewToken(
        stored,
        profile,
        async (found) => (isDue(found) ? renew(found) : undefined),
        signal,
      );
      return (await load()).token;
    },
  };
}

/** The middle of a token's life, in milliseconds since the epoch. */
function dueMs({ token, login }: StoredToken): number {
  const endsAtMs = readExpiry(token);
  if (login === undefined || endsAtMs === undefined) return Number.POSITIVE_INFINITY;
  const { sinceMs } = login;
  return endsAtMs <= sinceMs ? sinceMs + LEAST_LIFE_MS : (sinceMs + endsAtMs) / 2;
}

/** Throws where a renewal would take a good token away: for one that ends sooner, or for what is none. */
function refuseWorse(token: string, old: string): void {
  if (token.length > TOKEN_LIMIT_BYTES)
    throw new Error('the renewed token is longer than any token');
  if ((readExpiry(token) ?? 0) < (readExpiry(old) ?? 0))
    throw new Error('the renewed token ends before the old one');
}
