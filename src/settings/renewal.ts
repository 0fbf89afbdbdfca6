// Renews the token of a login before it expires.

import { postForToken } from '../api/login.js';
import { FleetError, messageOf } from '../errors.js';
import { type Login, renewAlone, saveToken } from './store.js';
import { loginCommand, TOKEN_LIMIT_BYTES, type TokenInput, type TokenReader } from './token-place.js';
import { readClaims, readExpiry, readToken } from './token-text.js';

/** The longest pause after a failed renewal while the old token is still valid. */
const PAUSE_AFTER_FAILURE_MS = 60_000;

/**
 * A stored token that is renewed at half its life, so that a command every quarter of an hour keeps one of 30 minutes alive. `read` gives the
 * token that is stored now. A renewal that fails is said once and tried again a minute later; when the token has ended, `get` throws a FleetError of
 * kind `auth` that names the login.
 */
export function openRenewal(read: () => Promise<string>, login: Login, input: TokenInput): TokenReader {
  const { clock, signal, stored, settings } = input;
  const profile = settings.profile.value;
  /** The token that was read last, and when it came. */
  let known: { token: string; sinceMs: number | undefined } | undefined;
  let waitsUntilMs = 0;
  let isSaid = false;
  /** The result of the last renewal. */
  let latest: string | undefined;
  let running: Promise<string> | undefined;
  let cancelTimer = () => {};
  signal.addEventListener('abort', () => cancelTimer(), { once: true });

  function dueOf(token: string): number | undefined {
    // One that another run renewed meanwhile came just now, as far as anybody knows.
    if (known?.token !== token) known = { token, sinceMs: known === undefined ? login.sinceMs : clock.wallMs() };
    return renewalDueMs(token, known.sinceMs);
  }

  /** A stream can live for weeks on one connection, and asks for no token meanwhile. */
  function keepAlive(token: string): string {
    cancelTimer();
    const dueMs = dueOf(token);
    if (dueMs === undefined || signal.aborted) return token;
    const inMs = Math.max(dueMs - clock.wallMs(), waitsUntilMs - clock.monotonicMs(), 1000);
    cancelTimer = clock.after(inMs, () => void get().catch(() => {}));
    return token;
  }

  /** Asks for a new token, unless another run has stored one that `isGood` meanwhile. */
  async function renewFor(isGood: (token: string) => boolean): Promise<string> {
    return renewAlone(stored, async () => {
      const old = await read();
      if (isGood(old)) return old;
      const answer = await postForToken(await input.anonymous(), login.refreshPath, { token: old });
      const token = readToken(answer ?? '', 'the renewed token', `run "${loginCommand(profile, login)}"`, input);
      refuseWorse(token, old);
      // Somebody may have logged out meanwhile, or in to another service.
      if (await saveToken(stored, profile, token, { ...login, sinceMs: clock.wallMs() }, old)) return token;
      return read();
    });
  }
  function share(isGood: (token: string) => boolean): Promise<string> {
    running ??= renewFor(isGood).finally(() => {
      running = undefined;
    });
    return running;
  }

  async function get(): Promise<string> {
    const token = await read();
    const isFresh = (one: string) => (dueOf(one) ?? Number.POSITIVE_INFINITY) > clock.wallMs();
    const isWaiting = clock.monotonicMs() < waitsUntilMs && (token === latest || !hasEnded(token));
    if (isFresh(token) || isWaiting) return keepAlive(token);
    try {
      const renewed = await share(isFresh);
      if (!isFresh(renewed)) waitsUntilMs = clock.monotonicMs() + pauseAfter(renewed);
      latest = renewed;
      return keepAlive(renewed);
    } catch (thrown) {
      signal.throwIfAborted();
      const run = `run "${loginCommand(profile, login)}"`;
      if (hasEnded(token)) {
        const message = `the token of profile "${profile}" has ended and could not be renewed: ${messageOf(thrown)}`;
        // A refusal is final; a service that is down comes back.
        const isLasting = thrown instanceof FleetError && ['auth', 'rejected', 'not-found'].includes(thrown.kind);
        throw new FleetError('auth', message, { hint: `${run} for a new one`, isLasting, cause: thrown });
      }
      waitsUntilMs = clock.monotonicMs() + Math.min(PAUSE_AFTER_FAILURE_MS, pauseAfter(token));
      const ends = new Date(readExpiry(token) ?? 0).toISOString();
      if (!isSaid)
        await input.notice(
          `warning: the token could not be renewed, and ends at ${ends}: ${messageOf(thrown)}; if that stays, ${run}`,
        );
      isSaid = true;
      return keepAlive(token);
    }
  }

  /**
   * How long a token is used that is due the moment it comes: one of a few minutes that does not say when it began, the old one again, or any where
   * the clocks differ. Without a pause every request would ask for another.
   */
  function pauseAfter(token: string): number {
    const leftMs = (readExpiry(token) ?? 0) - clock.wallMs();
    return leftMs > 0 ? Math.min(leftMs / 2, UNKNOWN_LIFE_MS / 2) : PAUSE_AFTER_FAILURE_MS;
  }

  function hasEnded(token: string): boolean {
    return (readExpiry(token) ?? Number.POSITIVE_INFINITY) <= clock.wallMs();
  }

  return {
    get,
    async renew(refused) {
      const token = await read();
      if (token !== refused) return token;
      return share((one) => one !== refused).catch(() => {
        signal.throwIfAborted();
        return undefined;
      });
    },
  };
}

/** Throws where a renewal would take a good token away: for one that ends sooner, or for what is none. */
function refuseWorse(token: string, old: string): void {
  if (token.length > TOKEN_LIMIT_BYTES) throw new FleetError('service', 'the renewed token is longer than any token');
  const endsAtMs = readExpiry(old);
  if (endsAtMs === undefined) return;
  const renewedAtMs = readExpiry(token);
  if (renewedAtMs === undefined) throw new FleetError('service', 'the renewed token does not say when it ends');
  if (renewedAtMs < endsAtMs) throw new FleetError('service', 'the renewed token ends before the old one');
}

/** The middle of a token's life, in milliseconds since the epoch; where nothing says when it began, a quarter of an hour before its end. */
function renewalDueMs(token: string, sinceMs: number | undefined): number | undefined {
  const endsAtMs = readExpiry(token);
  const issuedS = readClaims(token)?.['iat'];
  if (endsAtMs === undefined) return undefined;
  const beganMs = typeof issuedS === 'number' ? issuedS * 1000 : sinceMs;
  return beganMs === undefined ? endsAtMs - UNKNOWN_LIFE_MS / 2 : (beganMs + endsAtMs) / 2;
}

/** Observed: half an hour. */
const UNKNOWN_LIFE_MS = 1_800_000;
