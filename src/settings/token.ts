// Reads the access token and refreshes it (interface.md section 5 leaves obtaining it open).

import { asFleetError, configError, lastingError, reasonOf } from '../errors.js';
import type { NamedFile } from '../named-file.js';
import { profileFlag } from './resolve.js';
import { SANDBOX_PROFILE } from './sandbox-profile.js';
import { type Login, loadProfiles, loadTokens } from './store.js';
import {
  type CommandPlace,
  findTokenPlace,
  missingToken,
  TOKEN_LIMIT_BYTES,
  type TokenInput,
  type TokenPlace,
  type TokenReader,
} from './token-place.js';
import { readExpiry, readToken } from './token-text.js';

export { affiliationsOf, organizationsOf, parseToken, readClaims, readExpiry } from './token-text.js';

/** A source of access tokens. The token itself is never printed but by `auth token`. */
export interface TokenSource extends TokenReader {
  /** For people: `FLEET_TOKEN`, `file /run/token (FLEET_TOKEN_FILE)`, `command of profile "default"`, `stored by auth login`. */
  readonly origin: string;
  /** What to do when the service refuses the token: how just this source is renewed. */
  readonly refusalHint: string;
  /** Whether another token can come from there while a command runs. */
  readonly isRenewable: boolean;
}

/** A token that ends sooner is fetched anew before it is used: clocks differ, and a request takes its time. */
const RENEW_BEFORE_EXPIRY_MS = 60_000;

/**
 * The source of tokens for this run. Throws a FleetError of kind `config` when there is none. FLEET_TOKEN stays as it is; a file and
 * the stored token are read anew each time; a command's token is kept until it is about to expire or was refused, and parallel
 * callers share one run of the command. No failure is kept: who asks again is answered anew.
 */
export async function findToken(input: TokenInput): Promise<TokenSource> {
  const { env, stored, settings } = input;
  const place = await findTokenPlace(env, stored, settings);
  if (place === undefined) throw stored.problem ?? missingToken(settings.profile.value);
  const { origin, refusalHint } = place;
  return { origin, refusalHint, isRenewable: isRenewable(place, settings.profile.value), ...readingOf(place, input) };
}

/** Whether another token can come from there while a command runs: `fleet sandbox` renews that of its own profile. */
function isRenewable(place: TokenPlace, profile: string): boolean {
  if (place.kind === 'stored') return place.login !== undefined || profile === SANDBOX_PROFILE;
  return place.kind !== 'variable';
}

/** Whether the token in use can be renewed while a command runs, and until when it lives by itself; undefined: it does not say. */
export async function lifeOf(source: TokenSource): Promise<{ isRenewable: boolean; endsAtMs: number | undefined }> {
  return { isRenewable: source.isRenewable, endsAtMs: readExpiry(await source.get()) };
}

function readingOf(place: TokenPlace, input: TokenInput): TokenReader {
  switch (place.kind) {
    case 'variable':
      return rereading(async () => readVariable(place.token, input));
    case 'file':
      return rereading(fileReader(place.path, input));
    case 'command':
      return runCommand(place, input);
    case 'stored':
      return storedReader(place, input);
  }
}

/** A variable stays as it is for as long as the program runs. */
function readVariable(text: string, input: TokenInput): string {
  try {
    return readToken(text, 'FLEET_TOKEN', 'set FLEET_TOKEN to the token alone', input);
  } catch (thrown) {
    const { message, hint } = asFleetError(thrown);
    throw lastingError(message, hint);
  }
}

type StoredPlace = TokenPlace & { kind: 'stored' };

function rereading(read: () => Promise<string>): TokenReader {
  return {
    get: read,
    async renew(refused) {
      const token = await read();
      return token === refused ? undefined : token;
    },
  };
}

/** Not there, no file, or not ours to read. */
const MISSING_FILE_CODES: readonly string[] = ['ENOENT', 'ENOTDIR', 'EISDIR', 'EACCES', 'EPERM'];

function fileReader(path: string, input: TokenInput): () => Promise<string> {
  let kept: string | undefined;
  return async () => {
    if (kept !== undefined) return kept;
    let read: NamedFile;
    try {
      const { clock, signal, settings } = input;
      const silenceMs = settings.timeoutMs.value;
      const { readNamedFile } = await import('../named-file.js');
      const tooLarge = 'it holds more than a token';
      read = await readNamedFile(path, { limitBytes: TOKEN_LIMIT_BYTES, tooLarge, clock, signal, silenceMs });
    } catch (error) {
      input.signal.throwIfAborted();
      const message = `the token file ${path} cannot be read: ${reasonOf(error)}`;
      const failure = MISSING_FILE_CODES.includes((error as NodeJS.ErrnoException).code ?? '')
        ? lastingError
        : configError;
      throw failure(message, 'check the path in FLEET_TOKEN_FILE', error);
    }
    const token = readToken(
      read.bytes.toString('utf8'),
      `the file ${path}`,
      'let the file of FLEET_TOKEN_FILE hold the token alone',
      input,
    );
    // A pipe (`FLEET_TOKEN_FILE=<(…)`) can be read once.
    if (!read.isRegular) kept = token;
    return token;
  };
}

function storedReader(place: StoredPlace, input: TokenInput): TokenReader {
  const profile = input.settings.profile.value;
  let checked: string | undefined;
  const read = async () => {
    const token = (await loadTokens(input.stored)).get(profile);
    if (token === undefined) throw missingToken(profile);
    // A run can last for weeks: a token that came with another address meanwhile is not for the one that this run asks.
    if (
      token !== checked &&
      (await addressOf(profile, input.stored)) !== input.stored.profiles.get(profile)?.['base_url']
    )
      throw lastingError(
        `profile "${profile}" was given another address while this command ran`,
        'start the command again',
      );
    checked = token;
    const remedy = `run "fleet auth login${profileFlag(profile)}" again`;
    return readToken(token, `the stored token of profile "${profile}"`, remedy, input);
  };
  return place.login === undefined ? rereading(read) : renewing(read, place.login, input);
}

/** The address of a profile in the settings now. */
async function addressOf(profile: string, place: TokenInput['stored']): Promise<unknown> {
  return (await loadProfiles(place)).get(profile)?.['base_url'];
}

/** The stored token of a login, renewed by whichever run first finds it half spent; loaded late, as most tokens are no such. */
function renewing(read: () => Promise<string>, login: Login, input: TokenInput): TokenReader {
  let opened: Promise<TokenReader> | undefined;
  const open = () => {
    opened ??= import('./renewal.js').then(({ Renewal }) => new Renewal(read, login, input));
    return opened;
  };
  return { get: async () => (await open()).get(), renew: async (refused) => (await open()).renew(refused) };
}

function runCommand(place: TokenPlace & CommandPlace, input: TokenInput): TokenReader {
  const { clock } = input;
  let kept: { token: string; freshUntilMs: number } | undefined;
  let running: Promise<string> | undefined;

  async function run(): Promise<string> {
    const { runTokenCommand } = await import('./token-command.js');
    const output = await runTokenCommand(place, input);
    const token = readToken(output, `the output of the token command (${place.origin})`, place.remedy, input);
    kept = { token, freshUntilMs: findFreshUntil(token, clock.wallMs()) };
    return token;
  }
  // One run for all who ask while it lasts: eight workers that are refused together need one new token, not eight.
  function share(): Promise<string> {
    running ??= run().finally(() => {
      running = undefined;
    });
    return running;
  }
  return {
    async get() {
      if (kept !== undefined && clock.wallMs() < kept.freshUntilMs) return kept.token;
      const old = kept?.token;
      try {
        return await share();
      } catch (error) {
        // It was asked ahead of time: until its end the old token is as good as before.
        if (old === undefined || input.signal.aborted || (readExpiry(old) ?? 0) <= clock.wallMs()) throw error;
        return old;
      }
    },
    async renew(refused) {
      // Another worker was refused before and has already fetched a newer one.
      if (running === undefined && kept !== undefined && kept.token !== refused) return kept.token;
      const token = await share();
      return token === refused ? undefined : token;
    },
  };
}

/** When the token should be fetched anew: a minute before its end, or at half its life when it lives less than two. */
function findFreshUntil(token: string, now: number): number {
  const expiry = readExpiry(token);
  if (expiry === undefined) return Number.POSITIVE_INFINITY;
  return expiry - Math.min(RENEW_BEFORE_EXPIRY_MS, Math.max(0, expiry - now) / 2);
}
