// Finds where the token comes from.

import { type FleetError, lastingError } from '../errors.js';
import type { Client } from '../http/client.js';
import type { Clock } from '../system/clock.js';
import type { Secrets } from '../system/secrets.js';
import { unsetVariable } from '../system/shell-words.js';
import type { TimeZone } from '../system/time-zone.js';
import { profileFlag, type Settings } from './resolve.js';
import { SANDBOX_PROFILE } from './sandbox-profile.js';
import { type Login, loadTokens, type Stored } from './store.js';

/** Where the token comes from. */
export interface TokenPlace {
  readonly kind: 'variable' | 'file' | 'command' | 'stored';
  /** For people: `FLEET_TOKEN`, `file /run/token (FLEET_TOKEN_FILE)`, `command of profile "default"`, `stored by auth login`. */
  readonly origin: string;
  /** Whether the environment or the profile points to it. */
  readonly level: 'environment' | 'profile';
  /** What to do when it gives no token, or one that the service refuses; only that source is named. */
  readonly refusalHint: string;
  /** The token, the path of the file, or the command; '' for a stored token, which is read anew. */
  readonly text: string;
  /** The login that a stored token came from. */
  readonly login?: Login | undefined;
}

/** What reading a token needs. */
export interface TokenInput {
  env: NodeJS.ProcessEnv;
  stored: Stored;
  settings: Pick<Settings, 'profile' | 'tokenCommand' | 'timeout'>;
  clock: Clock;
  /** The zone of times in notices; the machine's when absent. */
  zone?: TimeZone;
  /** Stops a token command that runs; its reason is thrown. */
  signal: AbortSignal;
  /** Takes what a token command prints on its stderr (a login page to open, for instance). */
  notice(line: string): Promise<void> | void;
  /** Gets every token that is read. */
  secrets: Secrets;
  /** Opens a client that sends no token, for renewing one. `signal` ends its requests. */
  anonymous(signal: AbortSignal): Promise<Client>;
}

/** How a source is read, and asked for another token where it can give one. */
export interface TokenReader {
  /** The token it has now, and from when on another one should be fetched; undefined before the first. */
  read(): Promise<{ token: string; dueMs: number } | undefined>;
  /** Fetches a token, which `read` gives from then on. `refused`: the one that the service refused. */
  fetch?(refused: string | undefined): Promise<string>;
}

/** Far above the size of any token. */
export const TOKEN_LIMIT_BYTES = 65_536;

/**
 * Where the token will come from: FLEET_TOKEN, FLEET_TOKEN_FILE, the command of the settings (FLEET_TOKEN_COMMAND, else the profile's), the
 * token stored by `auth login`; undefined when there is none. Nothing is run or checked yet.
 */
export async function findTokenPlace(
  env: NodeJS.ProcessEnv,
  stored: Stored,
  { profile: { value: profile }, tokenCommand }: Pick<Settings, 'profile' | 'tokenCommand'>,
): Promise<TokenPlace | undefined> {
  const { FLEET_TOKEN: token = '', FLEET_TOKEN_FILE: path = '' } = env;
  if (token.trim() !== '') {
    const refusalHint = `FLEET_TOKEN is set and wins over every other token; set it to a new one, or: ${unsetVariable('FLEET_TOKEN')}`;
    return {
      kind: 'variable',
      level: 'environment',
      origin: 'FLEET_TOKEN',
      refusalHint,
      text: token,
    };
  }
  if (path !== '') {
    const refusalHint = `write a new token into ${path} (FLEET_TOKEN_FILE)`;
    return {
      kind: 'file',
      level: 'environment',
      origin: `file ${path} (FLEET_TOKEN_FILE)`,
      refusalHint,
      text: path,
    };
  }
  const { value: text, from, origin: setBy } = tokenCommand;
  if (text !== undefined) {
    const level = setBy === 'environment' ? setBy : 'profile';
    const show =
      level === 'profile'
        ? `; this shows it: fleet config get token_command${profileFlag(profile)}`
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

/** The error for a missing token. */
export function missingToken(profile: string): FleetError {
  const hint = `run "fleet auth login${profileFlag(profile)}" or set FLEET_TOKEN`;
  return lastingError(`no access token for profile "${profile}"`, hint);
}
