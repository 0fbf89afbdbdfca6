// Finds the source of the token, and how to refresh a token from that source.

import type { Clock } from '../clock.js';
import { type FleetError, lastingError } from '../errors.js';
import type { Client } from '../http/client.js';
import type { Secrets } from '../secrets.js';
import { unsetVariable } from '../shell-words.js';
import { profileFlag, type Settings } from './resolve.js';
import { SANDBOX_PROFILE } from './sandbox-profile.js';
import { type Login, loadLogin, loadTokens, type Stored } from './store.js';

/** Which of the five sources is used. */
export type TokenPlace = {
  /** In words, see TokenSource. */
  readonly origin: string;
  /** Whether the environment or the profile points to it. */
  readonly level: 'environment' | 'profile';
  /** What to do when the service refuses a token from there; only that source is named. */
  readonly refusalHint: string;
} & (
  | { readonly kind: 'variable'; readonly token: string }
  | { readonly kind: 'file'; readonly path: string }
  | CommandPlace
  /** `login`: the login that the token came from; undefined for a token that was given. */
  | { readonly kind: 'stored'; readonly login: Login | undefined }
);

/** `remedy`: how the operator looks at the command. */
export type CommandPlace = { readonly kind: 'command'; readonly command: string; readonly remedy: string };

/** What reading a token needs. */
export interface TokenInput {
  env: NodeJS.ProcessEnv;
  stored: Stored;
  settings: Pick<Settings, 'profile' | 'tokenCommand' | 'timeoutMs'>;
  clock: Clock;
  /** Stops a token command that runs; its reason is thrown. */
  signal: AbortSignal;
  /** Takes what a token command prints on its stderr (a login page to open, for instance). */
  notice(line: string): Promise<void> | void;
  /** Gets every token that is read. */
  secrets: Secrets;
  /** A client that sends no token, for renewing one. */
  anonymous(): Promise<Client>;
}

/** How a source gives a token. */
export interface TokenReader {
  /** The token to send now. Throws a FleetError when there is none or it cannot be read; may be called again. */
  get(): Promise<string>;
  /** Called after a 401: fetches anew. Undefined when the source has no other token than the refused one. */
  renew(refused: string): Promise<string | undefined>;
}

/** Far above the size of any token. */
export const TOKEN_LIMIT_BYTES = 65_536;

/**
 * Where the token will come from: FLEET_TOKEN, FLEET_TOKEN_FILE, FLEET_TOKEN_COMMAND, the profile's token_command, the
 * token stored by `auth login`; undefined when there is none. Nothing is run or checked yet.
 */
export async function findTokenPlace(
  env: NodeJS.ProcessEnv,
  stored: Stored,
  settings: Pick<Settings, 'profile' | 'tokenCommand'>,
): Promise<TokenPlace | undefined> {
  const token = env['FLEET_TOKEN'] ?? '';
  if (token.trim() !== '') {
    const refusalHint = `FLEET_TOKEN is set and wins over every other token; set it to a new one, or: ${unsetVariable('FLEET_TOKEN')}`;
    return { kind: 'variable', level: 'environment', origin: 'FLEET_TOKEN', refusalHint, token };
  }
  const path = env['FLEET_TOKEN_FILE'] ?? '';
  if (path !== '') {
    const refusalHint = `write a new token into ${path} (FLEET_TOKEN_FILE)`;
    return { kind: 'file', level: 'environment', origin: `file ${path} (FLEET_TOKEN_FILE)`, refusalHint, path };
  }
  const command = (env['FLEET_TOKEN_COMMAND'] ?? '').trim();
  if (command !== '') {
    const remedy = 'try the command of FLEET_TOKEN_COMMAND by hand';
    const refusalHint = `the service refuses what the command of FLEET_TOKEN_COMMAND prints; ${remedy}`;
    return { kind: 'command', level: 'environment', origin: 'FLEET_TOKEN_COMMAND', refusalHint, command, remedy };
  }
  const profile = settings.profile.value;
  if (settings.tokenCommand.value !== undefined) {
    const remedy = `try the command by hand; this shows it: fleet config get token_command${profileFlag(profile)}`;
    const origin = `command of profile "${profile}"`;
    const refusalHint = `the service refuses what the ${origin} prints; ${remedy}`;
    return { kind: 'command', level: 'profile', origin, refusalHint, command: settings.tokenCommand.value, remedy };
  }
  if (!(await loadTokens(stored)).has(profile)) return undefined;
  const login = await loadLogin(stored, profile);
  const refusalHint = `run "${loginCommand(profile, login)}" for a new token`;
  const stores = profile === SANDBOX_PROFILE ? 'sandbox' : 'auth login';
  const origin = login === undefined ? `stored by ${stores}` : `logged in as ${login.email}`;
  return { kind: 'stored', level: 'profile', origin, refusalHint, login };
}

/** The login that gives the profile a new token. */
export function loginCommand(profile: string, login: Login | undefined): string {
  return `fleet auth login${login === undefined ? '' : ` --email ${login.email}`}${profileFlag(profile)}`;
}

/** The error for a missing token. */
export function missingToken(profile: string): FleetError {
  return lastingError(
    `no access token for profile "${profile}"`,
    `run "fleet auth login${profileFlag(profile)}" or set FLEET_TOKEN`,
  );
}
