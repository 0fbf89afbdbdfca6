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
export class Renewal implements TokenReader {
  readonly #read: () => Promise<string>;
  readonly #login: Login;
  readonly #input: TokenInput;
  readonly #profile: string;
  /** The token that was read last, and when it came. */
  #known: { token: string; sinceMs: number | undefined } | undefined;
  #waitsUntilMs = 0;
  #isSaid = false;
  /** The result of the last renewal. */
  #latest: string | undefined;
  #running: Promise<string> | undefined;
  #cancelTimer = () => {};

  constructor(read: () => Promise<string>, login: Login, input: TokenInput) {
    this.#read = read;
    this.#login = login;
    this.#input = input;
    this.#profile = input.settings.profile.value;
    input.signal.addEventListener('abort', () => this.#cancelTimer(), { once: true });
  }

  async get(): Promise<string> {
    const { clock, signal } = this.#input;
    const token = await this.#read();
    const isFresh = (one: string) => (this.#dueOf(one) ?? Number.POSITIVE_INFINITY) > clock.wallMs();
    const isWaiting = clock.monotonicMs() < this.#waitsUntilMs && (token === this.#latest || !this.#hasEnded(token));
    if (isFresh(token) || isWaiting) return this.#keepAlive(token);
    try {
      const renewed = await this.#share(isFresh);
      if (!isFresh(renewed)) this.#waitsUntilMs = clock.monotonicMs() + this.#pauseAfter(renewed);
      this.#latest = renewed;
      return this.#keepAlive(renewed);
    } catch (thrown) {
      signal.throwIfAborted();
      return this.#useOld(token, thrown);
    }
  }

  async renew(refused: string): Promise<string | undefined> {
    const token = await this.#read();
    if (token !== refused) return token;
    return this.#share((one) => one !== refused).catch(() => {
      this.#input.signal.throwIfAborted();
      return undefined;
    });
  }

  /** The token whose renewal failed, for as long as it lasts. */
  async #useOld(token: string, thrown: unknown): Promise<string> {
    const { clock, notice } = this.#input;
    const run = `run "${loginCommand(this.#profile, this.#login)}"`;
    if (this.#hasEnded(token)) {
      const message = `the token of profile "${this.#profile}" has ended and could not be renewed: ${messageOf(thrown)}`;
      // A refusal is final; a service that is down comes back.
      const isLasting = thrown instanceof FleetError && ['auth', 'rejected', 'not-found'].includes(thrown.kind);
      throw new FleetError('auth', message, { hint: `${run} for a new one`, isLasting, cause: thrown });
    }
    this.#waitsUntilMs = clock.monotonicMs() + Math.min(PAUSE_AFTER_FAILURE_MS, this.#pauseAfter(token));
    const ends = new Date(readExpiry(token) ?? 0).toISOString();
    const failed = `the token could not be renewed, and ends at ${ends}: ${messageOf(thrown)}`;
    if (!this.#isSaid) await notice(`warning: ${failed}; if that stays, ${run}`);
    this.#isSaid = true;
    return this.#keepAlive(token);
  }

  #dueOf(token: string): number | undefined {
    // One that another run renewed meanwhile came just now, as far as anybody knows.
    if (this.#known?.token !== token) {
      const sinceMs = this.#known === undefined ? this.#login.sinceMs : this.#input.clock.wallMs();
      this.#known = { token, sinceMs };
    }
    return renewalDueMs(token, this.#known.sinceMs);
  }

  /** A stream can live for weeks on one connection, and asks for no token meanwhile. */
  #keepAlive(token: string): string {
    const { clock, signal } = this.#input;
    this.#cancelTimer();
    const dueMs = this.#dueOf(token);
    if (dueMs === undefined || signal.aborted) return token;
    const inMs = Math.max(dueMs - clock.wallMs(), this.#waitsUntilMs - clock.monotonicMs(), 1000);
    this.#cancelTimer = clock.after(inMs, () => void this.get().catch(() => {}));
    return token;
  }

  #share(isGood: (token: string) => boolean): Promise<string> {
    this.#running ??= this.#renewFor(isGood).finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Asks for a new token, unless another run has stored one that `isGood` meanwhile. */
  #renewFor(isGood: (token: string) => boolean): Promise<string> {
    const { clock, stored, anonymous } = this.#input;
    return renewAlone(stored, async () => {
      const old = await this.#read();
      if (isGood(old)) return old;
      const answer = await postForToken(await anonymous(), this.#login.refreshPath, { token: old });
      const run = `run "${loginCommand(this.#profile, this.#login)}"`;
      const token = readToken(answer ?? '', 'the renewed token', run, this.#input);
      refuseWorse(token, old);
      // Somebody may have logged out meanwhile, or in to another service.
      const login = { ...this.#login, sinceMs: clock.wallMs() };
      return (await saveToken(stored, this.#profile, token, login, old)) ? token : this.#read();
    });
  }

  /**
   * How long a token is used that is due the moment it comes: one of a few minutes that does not say when it began, the old one again, or any where
   * the clocks differ. Without a pause every request would ask for another.
   */
  #pauseAfter(token: string): number {
    const leftMs = (readExpiry(token) ?? 0) - this.#input.clock.wallMs();
    return leftMs > 0 ? Math.min(leftMs / 2, UNKNOWN_LIFE_MS / 2) : PAUSE_AFTER_FAILURE_MS;
  }

  #hasEnded(token: string): boolean {
    return (readExpiry(token) ?? Number.POSITIVE_INFINITY) <= this.#input.clock.wallMs();
  }
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
