// Finds the source of the token.

import { type FleetError, lastingError } from '../errors.js';
import type { Client } from '../http/client.js';
import type { Clock } from '../system/clock.js';
import { hideLikelyTokens, type Secrets } from '../system/secrets.js';
import { unsetVariable } from '../system/shell-words.js';
import type { TimeZone } from '../system/time-zone.js';
import { profileFlag, type Settings } from './resolve.js';
import { SANDBOX_PROFILE } from './sandbox-profile.js';
import { type Login, loadTokens, type Stored } from './store.js';

/** The source of the token. */
export interface TokenPlace {
  readonly kind: 'variable' | 'file' | 'command' | 'stored';
  /**
   * The name of the source in messages: `FLEET_TOKEN`, `file /run/token (FLEET_TOKEN_FILE)`,
   * `command of profile "default"`, `stored by auth login`.
   */
  readonly origin: string;
  /** Whether the source is set in the environment or in the profile. */
  readonly level: 'environment' | 'profile';
  /**
   * A hint for the user when the source returns no token, or when the service refuses the token.
   * The hint mentions only this source.
   */
  readonly refusalHint: string;
  /**
   * The token, the path of the token file, or the token command, depending on the source. Empty for
   * a stored token, because fleet reads a stored token from its file each time.
   */
  readonly text: string;
  /** The login that returned a stored token. */
  readonly login?: Login | undefined;
}

/** The input of the functions that find and read a token. */
export interface TokenInput {
  env: NodeJS.ProcessEnv;
  stored: Stored;
  settings: Pick<Settings, 'profile' | 'tokenCommand' | 'timeout'>;
  clock: Clock;
  /** The time zone for times in notices. Default: the machine's zone. */
  zone?: TimeZone;
  /** Stops a running token command. The command then fails with this signal's reason. */
  signal: AbortSignal;
  /** Receives the stderr of a token command, such as the address of a login page. */
  notice(line: string): Promise<void> | void;
  /** The secrets of the run, to which every token is added. */
  secrets: Secrets;
  /**
   * Opens a client that sends no token. A token renewal needs such a client. `signal` aborts the
   * client's requests.
   */
  anonymous(signal: AbortSignal): Promise<Client>;
}

/** Reads tokens from a source. `fetch` gets another token, if the source supports this. */
export interface TokenReader {
  /**
   * Returns the current token and the time at which a new one must be fetched. Undefined before the
   * first fetch.
   */
  read(): Promise<{ token: string; dueMs: number } | undefined>;
  /**
   * Gets another token from the source. Later calls to `read` also return this token. `refused` is
   * the token that the service refused, if any.
   */
  fetch?(refused: string | undefined): Promise<string>;
}

/** The size limit of a token file. It is far above the size of any token. */
export const TOKEN_LIMIT_BYTES = 65_536;

/**
 * Returns the path as messages show it. Hides it when it may be a token that the user put into
 * FLEET_TOKEN_FILE by mistake.
 */
export function showTokenFile(path: string): string {
  return hideLikelyTokens(path);
}

/**
 * Returns the source of the token: FLEET_TOKEN, FLEET_TOKEN_FILE, the token command
 * (FLEET_TOKEN_COMMAND, then the profile's), or the token stored by `auth login`. Returns undefined
 * when none is configured. Does not run or check the source.
 */
export async function findTokenPlace(
  env: NodeJS.ProcessEnv,
  stored: Stored,
  { profile: { value: profile }, tokenCommand }: Pick<Settings, 'profile' | 'tokenCommand'>,
): Promise<TokenPlace | undefined> {
  const { FLEET_TOKEN: token = '', FLEET_TOKEN_FILE: path = '' } = env;
  if (token.trim() !== '') {
    const refusalHint = `FLEET_TOKEN is set, so fleet uses no other token; set it to a new token, or: ${unsetVariable('FLEET_TOKEN')}`;
    return {
      kind: 'variable',
      level: 'environment',
      origin: 'FLEET_TOKEN',
      refusalHint,
      text: token,
    };
  }
  if (path !== '') {
    const shown = showTokenFile(path);
    const refusalHint = `write a new token into ${shown} (FLEET_TOKEN_FILE)`;
    return {
      kind: 'file',
      level: 'environment',
      origin: `file ${shown} (FLEET_TOKEN_FILE)`,
      refusalHint,
      text: path,
    };
  }
  const { value: text, from, origin: setBy } = tokenCommand;
  if (text !== undefined) {
    const level = setBy === 'environment' ? setBy : 'profile';
    const show =
      level === 'profile'
        ? `; to see the command, run: fleet config get token_command${profileFlag(profile)}`
        : '';
    const refusalHint = `try the command of ${from} by hand${show}`;
    const origin = level === 'environment' ? from : `command of ${from}`;
    return { kind: 'command', level, origin, refusalHint, text };
  }
  const found = (await loadTokens(stored)).get(profile);
  if (found === undefined) return undefined;
  const { login } = found;
  const email = login === undefined ? '' : ` --email ${login.email}`;
  const refusalHint = `run "fleet auth login${email}${profileFlag(profile)}" for a new token`;
  const stores = profile === SANDBOX_PROFILE ? 'sandbox' : 'auth login';
  const origin = login === undefined ? `stored by ${stores}` : `logged in as ${login.email}`;
  return { kind: 'stored', level: 'profile', origin, refusalHint, text: '', login };
}

/** Returns the error for a profile without a token. */
export function missingToken(profile: string): FleetError {
  const hint = `run "fleet auth login${profileFlag(profile)}" or set FLEET_TOKEN`;
  return lastingError(`no access token for profile "${hideLikelyTokens(profile)}"`, hint);
}
