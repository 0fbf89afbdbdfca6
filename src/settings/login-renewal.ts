// Renews the token of a login before it expires.

import { isFinalRefusal, postRenewal, type TokenAnswer } from '../api/login.js';
import { describeError, FleetError, messageOf } from '../errors.js';
import type { Clock } from '../system/clock.js';
import { readExpiry, readToken } from './parse-token.js';
import { isRenewable, type Login, renewToken, type StoredToken } from './store.js';
import {
  TOKEN_LIMIT_BYTES,
  type TokenInput,
  type TokenPlace,
  type TokenReader,
} from './token-place.js';

/**
 * How long fleet uses a new token that, by this machine's clock, has already expired. The token may
 * still be valid, because the clock may be wrong.
 */
const LEAST_LIFE_MS = 60_000;

/**
 * How long a renewal in progress may take after Ctrl-C. The renewal must be able to complete,
 * because its answer may contain the only valid refresh token.
 */
const GRACE_MS = 1000;

/** The token to store after a renewal, and the error if the renewal failed. */
interface Renewed {
  stored: StoredToken;
  failure?: unknown;
}

/**
 * Reads a stored token and renews it at half its lifetime. For example, a command that runs every
 * 15 minutes keeps a 30-minute token valid. `load` reads the currently stored token. A failed
 * renewal throws a FleetError of kind `auth` that names the login.
 */
export function openRenewal(
  load: () => Promise<StoredToken>,
  { refusalHint }: TokenPlace,
  input: TokenInput,
): TokenReader {
  const { clock, signal, stored, settings } = input;
  const profile = settings.profile.value;

  async function renew({ token, login }: StoredToken & { login: Login }): Promise<Renewed> {
    const grace = openGrace(clock, signal);
    let answer: TokenAnswer | undefined;
    try {
      const client = await input.anonymous(grace.signal);
      answer = await postRenewal(client, login.refreshPath, { ...login, token });
      const next = nextLogin(login, answer, input);
      const renewed = readToken(answer.token, 'the renewed token', refusalHint, input.secrets);
      refuseWorse(renewed, token);
      return { stored: { token: renewed, login: { ...next, sinceMs: clock.wallMs() } } };
    } catch (failure) {
      // The service may have returned a new refresh token and invalidated the old one. fleet
      // therefore stores the new refresh token even when it keeps the old access token.
      const kept = answer === undefined ? login : nextLogin(login, answer, input);
      const isRefused = isFinalRefusal(failure) ? true : kept.isRefused;
      return { stored: { token, login: { ...kept, isRefused } }, failure };
    } finally {
      grace.close();
    }
  }

  function explain(failure: unknown, { token, login }: StoredToken): FleetError {
    const hasEnded = (readExpiry(token) ?? Number.POSITIVE_INFINITY) <= clock.wallMs();
    const reason = failure instanceof FleetError ? describeError(failure) : messageOf(failure);
    const message = `the token of profile "${profile}"${hasEnded ? ' has expired and' : ''} could not be renewed: ${reason}`;
    const isLasting = isFinalRefusal(failure) || !isRenewable(login);
    return new FleetError('auth', message, { hint: refusalHint, isLasting, cause: failure });
  }

  return {
    async read() {
      const found = await load();
      return { token: found.token, dueMs: dueMs(found) };
    },
    async fetch(refused) {
      const before = await load();
      // A token that cannot be renewed is only read. This does not need a lock, so the folder may
      // be read-only.
      if (!canRenew(before)) return before.token;
      // Another process may have renewed the token in the meantime.
      const isDue = (found: StoredToken) =>
        found.token === refused || dueMs(found) <= clock.wallMs();
      let failure: unknown;
      const renewIfDue = async (found: StoredToken) => {
        if (!canRenew(found) || !isDue(found)) return undefined;
        const renewed = await renew(found);
        failure = renewed.failure;
        return renewed.stored;
      };
      await renewToken(stored, profile, renewIfDue, signal);
      const found = await load();
      // When the renewal has failed, the user may have logged in from another terminal in the
      // meantime. In that case, fleet uses the token from that login.
      if (failure === undefined || found.token !== before.token) return found.token;
      signal.throwIfAborted();
      throw explain(failure, found);
    },
  };
}

function canRenew(stored: StoredToken): stored is StoredToken & { login: Login } {
  return stored.login !== undefined && stored.login.refreshToken !== null;
}

/**
 * Returns the login with the refresh token from the response. If the response has no refresh token,
 * the login keeps the old one.
 */
function nextLogin(login: Login, { refreshToken }: TokenAnswer, { secrets }: TokenInput): Login {
  if (typeof refreshToken === 'string') secrets.addToken(refreshToken);
  return { ...login, refreshToken: refreshToken ?? login.refreshToken, isRefused: undefined };
}

/**
 * Returns a signal that is aborted one second after the given signal. During this second, a renewal
 * in progress can complete.
 */
function openGrace(clock: Clock, signal: AbortSignal) {
  const late = new AbortController();
  let cancel = () => {};
  const begin = () => {
    cancel = clock.after(GRACE_MS, () => late.abort(signal.reason));
  };
  if (signal.aborted) late.abort(signal.reason);
  else signal.addEventListener('abort', begin);
  return {
    signal: late.signal,
    close() {
      cancel();
      signal.removeEventListener('abort', begin);
    },
  };
}

/**
 * Returns when to renew a token, in milliseconds since the epoch. The token is renewed at half its
 * lifetime. If the service has already refused a renewal, the token is renewed when it expires.
 */
function dueMs({ token, login }: StoredToken): number {
  const endsAtMs = readExpiry(token);
  if (login === undefined || login.refreshToken === null || endsAtMs === undefined)
    return Number.POSITIVE_INFINITY;
  if (login.isRefused === true) return endsAtMs;
  const { sinceMs } = login;
  return endsAtMs <= sinceMs ? sinceMs + LEAST_LIFE_MS : (sinceMs + endsAtMs) / 2;
}

/** Throws when the renewed token is too long, or expires sooner than the old one. */
function refuseWorse(token: string, old: string): void {
  if (token.length > TOKEN_LIMIT_BYTES)
    throw new Error('the renewed token is longer than any token');
  if ((readExpiry(token) ?? 0) < (readExpiry(old) ?? 0))
    throw new Error('the renewed token expires before the old one');
}
