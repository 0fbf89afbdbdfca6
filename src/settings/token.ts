// Reads the access token and refreshes it (interface.md section 5 leaves obtaining it open).

import { configError, lastingError, reasonOf } from '../errors.js';
import type { Tokens } from '../http/types.js';
import type { NamedFile } from '../named-file.js';
import { SANDBOX_PROFILE } from './sandbox-profile.js';
import { loadProfiles, loadTokens, type StoredToken } from './store.js';
import { findTokenPlace, missingToken, TOKEN_LIMIT_BYTES, type TokenInput, type TokenPlace } from './token-place.js';
import { readToken } from './token-text.js';

export { affiliationsOf, organizationsOf, parseToken, readClaims, readExpiry } from './token-text.js';

/** A source of access tokens. The token itself is never printed but by `auth token`. */
export interface TokenSource extends Tokens, Pick<TokenPlace, 'origin'> {
  readonly refusalHint: string;
  /** Whether another token can come from there while a command runs. */
  readonly isRenewable: boolean;
}

/**
 * The source of tokens for this run. Throws a FleetError of kind `config` when there is none. FLEET_TOKEN stays as it is; a file and
 * the stored token are read anew each time; a command's token is kept until it is about to expire or was refused. No failure is kept: who
 * asks again is answered anew.
 */
export async function findToken(input: TokenInput): Promise<TokenSource> {
  const { env, stored, settings } = input;
  const profile = settings.profile.value;
  const place = await findTokenPlace(env, stored, settings);
  if (place === undefined) throw stored.problem ?? missingToken(profile);
  const { kind, login, origin, refusalHint } = place;
  // `fleet sandbox` renews the token of its own profile.
  const isStoredOnce = kind === 'stored' && login === undefined && profile !== SANDBOX_PROFILE;
  const isRenewable = kind !== 'variable' && !isStoredOnce;
  return { ...(await openReader(place, input)), origin, refusalHint, isRenewable };
}

async function openReader(place: TokenPlace, input: TokenInput): Promise<Tokens> {
  const { kind, text, origin, refusalHint, login } = place;
  // A variable stays as it is for as long as the program runs.
  if (kind === 'variable') return rereading(async () => readToken(text, origin, refusalHint, input, lastingError));
  if (kind === 'file') return rereading(fileReader(place, input));
  if (kind === 'command') return (await import('./token-command.js')).openCommand(place, input);
  const read = storedReader(place, input);
  if (login === undefined) return rereading(async () => (await read()).token);
  return (await import('./renewal.js')).openRenewal(read, input);
}

function rereading(read: () => Promise<string>): Tokens {
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

function fileReader({ text: path, refusalHint }: TokenPlace, input: TokenInput): () => Promise<string> {
  const { clock, signal, settings } = input;
  const limits = { limitBytes: TOKEN_LIMIT_BYTES, tooLarge: 'it holds more than a token' };
  let kept: string | undefined;
  return async () => {
    if (kept !== undefined) return kept;
    let read: NamedFile;
    try {
      const { readNamedFile } = await import('../named-file.js');
      read = await readNamedFile(path, { ...limits, clock, signal, silenceMs: settings.timeoutMs.value });
    } catch (error) {
      signal.throwIfAborted();
      const message = `the token file ${path} cannot be read: ${reasonOf(error)}`;
      const isMissing = MISSING_FILE_CODES.includes((error as NodeJS.ErrnoException).code ?? '');
      throw (isMissing ? lastingError : configError)(message, 'check the path in FLEET_TOKEN_FILE', error);
    }
    const token = readToken(read.bytes.toString('utf8'), `the file ${path}`, refusalHint, input);
    // A pipe (`FLEET_TOKEN_FILE=<(…)`) can be read once.
    if (!read.isRegular) kept = token;
    return token;
  };
}

function storedReader({ refusalHint }: TokenPlace, input: TokenInput): () => Promise<StoredToken> {
  const { stored, settings } = input;
  const profile = settings.profile.value;
  const address = (profiles: TokenInput['stored']['profiles']) => profiles.get(profile)?.['base_url'];
  let checked: string | undefined;
  return async () => {
    const found = (await loadTokens(stored)).get(profile);
    if (found === undefined) throw missingToken(profile);
    // A run can last for weeks: a token that came with another address meanwhile is not for the one that this run asks.
    if (found.token !== checked && address(await loadProfiles(stored)) !== address(stored.profiles))
      throw lastingError(
        `profile "${profile}" was given another address while this command ran`,
        'start the command again',
      );
    checked = found.token;
    return { ...found, token: readToken(found.token, `the stored token of profile "${profile}"`, refusalHint, input) };
  };
}
