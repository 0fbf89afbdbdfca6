// Reads and renews the access token (interface.md section 5 does not define how to obtain it).

import { asFleetError, configError, lastingError, reasonOf } from '../errors.js';
import type { Tokens } from '../http/types.js';
import { every } from '../system/clock.js';
import { MACHINE_ZONE, showLocalTime } from '../system/time-zone.js';
import { openRenewal } from './login-renewal.js';
import { readExpiry, readToken } from './parse-token.js';
import { SANDBOX_PROFILE } from './sandbox-profile.js';
import {
  isRenewable as canRenew,
  loadProfiles,
  loadTokens,
  type Stored,
  type StoredToken,
} from './store.js';
import type { TokenInput, TokenPlace, TokenReader } from './token-place.js';
import { findTokenPlace, missingToken, showTokenFile, TOKEN_LIMIT_BYTES } from './token-place.js';
import { warnOfReaders } from './trust.js';

export {
  affiliationsOf,
  organizationsOf,
  parseToken,
  readClaims,
  readExpiry,
} from './parse-token.js';

/** A source of access tokens. Only `auth token` prints the token itself. */
export interface TokenSource extends Tokens, Pick<TokenPlace, 'origin'> {
  readonly refusalHint: string;
  /** Whether this source can return a new token while a command runs. */
  readonly isRenewable: boolean;
  /**
   * Waits for a renewal that is in progress, because its response may contain the only refresh
   * token that is still valid.
   */
  settle(): Promise<void>;
}

/**
 * Returns the token source of this run. Throws a FleetError of kind `config` when no source is
 * configured.
 *
 * The token in FLEET_TOKEN never changes. A token in a file and a stored token are read again each
 * time a token is needed. A token from a command or a login is used until it must be renewed or the
 * service refuses it.
 */
export async function findToken(input: TokenInput): Promise<TokenSource> {
  const { env, stored, settings } = input;
  const profile = settings.profile.value;
  const place = await findTokenPlace(env, stored, settings);
  if (place === undefined) throw missingToken(profile);
  const { kind, login, origin, refusalHint } = place;
  const warning = kind === 'stored' ? warnOfReaders(stored.credentialsPath) : undefined;
  if (warning !== undefined) await input.notice(warning);
  // `fleet sandbox` itself renews its profile's token.
  const isRenewable =
    kind === 'stored' ? canRenew(login) || profile === SANDBOX_PROFILE : kind !== 'variable';
  const tokens = keepFresh(await openReader(place, input), input);
  // A stream can keep one connection for weeks without asking for a token. fleet therefore checks
  // the token regularly, so that the login does not expire.
  if (login !== undefined)
    every(
      input.clock,
      CHECK_EVERY_MS,
      input.signal,
      async () => void (await tokens.get().catch(() => {})),
    );
  return { ...tokens, origin, refusalHint, isRenewable };
}

/** How often fleet checks whether a login's token must be renewed. */
const CHECK_EVERY_MS = 30_000;
/**
 * The pause before the next attempt to fetch a token. It applies when a fetch has failed while the
 * old token is still valid.
 */
const PAUSE_MS = 60_000;

/**
 * Adds automatic renewal to a token reader. When a renewal fails while the old token is still
 * valid, reports the failure once and tries again a minute later. When there is no valid token,
 * throws the error. The next call then tries again.
 */
function keepFresh(
  { read, fetch }: TokenReader,
  { clock, zone = MACHINE_ZONE, signal, notice }: TokenInput,
): Tokens & Pick<TokenSource, 'settle'> {
  let running: Promise<string> | undefined;
  let pausedUntilMs = 0;
  let isReported = false;
  /**
   * Concurrent callers share one fetch. For example, when a token expires, eight workers share one
   * new token.
   */
  const fetchOnce = (work: NonNullable<typeof fetch>, refused?: string) => {
    running ??= work(refused).finally(() => {
      running = undefined;
    });
    return running;
  };
  return {
    async get() {
      const { token = '', dueMs = 0 } = (await read()) ?? {};
      if (fetch === undefined || clock.wallMs() < dueMs) return token;
      const endsAtMs = token === '' ? 0 : (readExpiry(token) ?? Number.POSITIVE_INFINITY);
      const isGood = clock.wallMs() < endsAtMs;
      if (isGood && clock.monotonicMs() < pausedUntilMs) return token;
      try {
        return await fetchOnce(fetch);
      } catch (thrown) {
        signal.throwIfAborted();
        if (!isGood) throw thrown;
        pausedUntilMs = clock.monotonicMs() + PAUSE_MS;
        const { message, hint } = asFleetError(thrown);
        const ends = showLocalTime(endsAtMs, zone);
        if (!isReported)
          await notice(
            `warning: ${message}; the old token is used until it ends at ${ends}; ${hint}`,
          );
        isReported = true;
        return token;
      }
    },
    async renew(refused) {
      // Another worker or process may already have fetched a newer token. That token is then
      // returned.
      const token = (await read())?.token;
      if (token !== refused || fetch === undefined) return token === refused ? undefined : token;
      const renewed = await fetchOnce(fetch, refused);
      return renewed === refused ? undefined : renewed;
    },
    async settle() {
      await running?.catch(() => {});
    },
  };
}

async function openReader(place: TokenPlace, input: TokenInput): Promise<TokenReader> {
  const { kind, text, origin, refusalHint } = place;
  if (kind === 'command') return (await import('./token-command.js')).openCommand(place, input);
  if (kind === 'stored') return openRenewal(storedReader(place, input), place, input);
  // An environment variable does not change while the program runs, so each read returns the same
  // token.
  const readVariable = async () =>
    readToken(text, origin, refusalHint, input.secrets, lastingError);
  const read = kind === 'file' ? fileReader(place, input) : readVariable;
  return { read: async () => ({ token: await read(), dueMs: Number.POSITIVE_INFINITY }) };
}

function fileReader(
  { text: path, refusalHint }: TokenPlace,
  input: TokenInput,
): () => Promise<string> {
  let kept: string | undefined;
  return async () => {
    if (kept !== undefined) return kept;
    const { bytes, isRegular } = await readTokenFile(path, input);
    const what = `the file ${showTokenFile(path)}`;
    const token = readToken(bytes.toString('utf8'), what, refusalHint, input.secrets);
    // A pipe (`FLEET_TOKEN_FILE=<(…)`) can only be read once.
    if (!isRegular) kept = token;
    return token;
  };
}

async function readTokenFile(path: string, { clock, signal, settings }: TokenInput) {
  const { openNamedFile } = await import('../system/named-file.js');
  const { readAll } = await import('../terminal/stdin.js');
  try {
    const { isRegular, chunks } = await openNamedFile(path, {
      clock,
      signal,
      silenceMs: settings.timeout.value,
    });
    return {
      isRegular,
      bytes: await readAll(chunks, TOKEN_LIMIT_BYTES, 'it holds more than a token'),
    };
  } catch (error) {
    signal.throwIfAborted();
    // A retry does not fix a file system error, such as a missing file.
    const failure =
      (error as NodeJS.ErrnoException).code === undefined ? configError : lastingError;
    const message = `the token file ${showTokenFile(path)} cannot be read: ${reasonOf(error)}`;
    throw failure(message, 'check the path in FLEET_TOKEN_FILE', error);
  }
}

function storedReader({ refusalHint }: TokenPlace, input: TokenInput): () => Promise<StoredToken> {
  const { stored, settings } = input;
  const profile = settings.profile.value;
  const address = (profiles: Stored['profiles']) => profiles.get(profile)?.['base_url'];
  let checked: string | undefined;
  return async () => {
    const found = (await loadTokens(stored)).get(profile);
    if (found === undefined) throw missingToken(profile);
    // A run can last for weeks. If the profile's URL has changed since the start of the run, a new
    // token belongs to the new URL. It must not be sent to the old URL, which this run still uses.
    if (found.token !== checked && address(await loadProfiles(stored)) !== address(stored.profiles))
      throw lastingError(
        `profile "${profile}" was given another address while this command ran`,
        'start the command again',
      );
    checked = found.token;
    const refreshToken = found.login?.refreshToken;
    if (typeof refreshToken === 'string') input.secrets.addToken(refreshToken);
    const what = `the stored token of profile "${profile}"`;
    return { ...found, token: readToken(found.token, what, refusalHint, input.secrets) };
  };
}
