// Renews the token of a login before it ends.

import { postForToken } from '../api/login.js';
import { every } from '../clock.js';
import { FleetError, messageOf } from '../errors.js';
import type { Tokens } from '../http/types.js';
import { renewToken, type StoredToken } from './store.js';
import { loginCommand, shared, TOKEN_LIMIT_BYTES, type TokenInput } from './token-place.js';
import { readExpiry, readToken } from './token-text.js';

/** How often it is looked whether a renewal is due: a stream can live for weeks on one connection, and asks for no token meanwhile. */
const CHECK_EVERY_MS = 30_000;
/** The pause after a renewal that failed while the old token is good, or that brought one that has ended by this machine's clock. */
const PAUSE_MS = 60_000;

/**
 * A stored token that is renewed at half its life, so that a command every quarter of an hour keeps one of 30 minutes alive. `read` gives the
 * token that is stored now. A renewal that fails is reported once and tried again a minute later; when the token has ended, `get` throws a
 * FleetError of kind `auth` that names the login.
 */
export function openRenewal(read: () => Promise<StoredToken>, input: TokenInput): Tokens {
  const { clock, signal, stored, settings, notice } = input;
  const profile = settings.profile.value;
  let refused: string | undefined;
  let pausedUntilMs = 0;
  let isReported = false;
  const mustRenew = (one: StoredToken) => one.token === refused || dueMs(one) <= clock.wallMs();

  /** Asks for a new token, unless another run has done so meanwhile. */
  const renew = shared(async () => {
    const fetch = async (old: StoredToken) => {
      const { login } = old;
      if (login === undefined || !mustRenew(old)) return undefined;
      const answer = await postForToken(await input.anonymous(), login.refreshPath, { token: old.token });
      const token = readToken(answer ?? '', 'the renewed token', `run "${loginCommand(profile, login)}"`, input);
      refuseWorse(token, old.token);
      return { token, login: { ...login, sinceMs: clock.wallMs() } };
    };
    await renewToken(stored, profile, fetch, signal);
    return (await read()).token;
  });

  async function get(): Promise<string> {
    const old = await read();
    const endsAtMs = readExpiry(old.token) ?? Number.POSITIVE_INFINITY;
    const hasEnded = endsAtMs <= clock.wallMs();
    if (!mustRenew(old) || (clock.monotonicMs() < pausedUntilMs && !hasEnded)) return old.token;
    try {
      return await renew();
    } catch (thrown) {
      signal.throwIfAborted();
      const run = `run "${loginCommand(profile, old.login)}"`;
      if (hasEnded) {
        const message = `the token of profile "${profile}" has ended and could not be renewed: ${messageOf(thrown)}`;
        // A refusal is final; a service that is down comes back.
        const isLasting = thrown instanceof FleetError && ['auth', 'rejected', 'not-found'].includes(thrown.kind);
        throw new FleetError('auth', message, { hint: `${run} for a new one`, isLasting, cause: thrown });
      }
      pausedUntilMs = clock.monotonicMs() + PAUSE_MS;
      const ends = new Date(endsAtMs).toISOString();
      const warning = `warning: the token could not be renewed, and ends at ${ends}: ${messageOf(thrown)}; if that stays, ${run}`;
      if (!isReported) await notice(warning);
      isReported = true;
      return old.token;
    }
  }

  every(clock, CHECK_EVERY_MS, signal, async () => void (await get().catch(() => {})));
  return {
    get,
    async renew(token) {
      refused = token;
      const renewed = await renew().catch(() => signal.throwIfAborted());
      return renewed === token ? undefined : (renewed ?? undefined);
    },
  };
}

/** The middle of a token's life, in milliseconds since the epoch. One that had ended when it came is good for a pause: the clocks differ. */
function dueMs({ token, login }: StoredToken): number {
  const endsAtMs = readExpiry(token);
  if (login === undefined || endsAtMs === undefined) return Number.POSITIVE_INFINITY;
  const { sinceMs } = login;
  return endsAtMs <= sinceMs ? sinceMs + PAUSE_MS : (sinceMs + endsAtMs) / 2;
}

/** Throws where a renewal would take a good token away: for one that ends sooner, or for what is none. */
function refuseWorse(token: string, old: string): void {
  const [endsAtMs, oldEndsAtMs] = [readExpiry(token), readExpiry(old)];
  let problem: string | undefined;
  if (token.length > TOKEN_LIMIT_BYTES) problem = 'is longer than any token';
  else if (oldEndsAtMs !== undefined && endsAtMs === undefined) problem = 'does not say when it ends';
  else if (endsAtMs !== undefined && endsAtMs < (oldEndsAtMs ?? 0)) problem = 'ends before the old one';
  if (problem !== undefined) throw new FleetError('service', `the renewed token ${problem}`);
}
