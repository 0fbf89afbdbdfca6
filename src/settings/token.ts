// Where the access token comes from, and how it is renewed (interface.md section 5 leaves obtaining it open).

import { readFile, stat } from 'node:fs/promises';
import { configError, type FleetError } from '../errors.js';
import type { Secrets } from '../secrets.js';
import { profileFlag, type Settings } from './resolve.js';
import { loadTokens, type Stored } from './store.js';

/** A source of access tokens. The token itself is never printed but by `auth token`. */
export interface TokenSource {
  /** For people: `FLEET_TOKEN`, `file /run/token (FLEET_TOKEN_FILE)`, `command of profile "default"`, `stored by auth login`. */
  readonly origin: string;
  /** The token to send now. Throws a FleetError of kind `config` when there is none or it cannot be had. */
  get(): Promise<string>;
  /** Called after a 401: fetches anew. Undefined when the source has no other token than the refused one. */
  renew(refused: string): Promise<string | undefined>;
}

/** Which of the five sources is used. */
export type TokenPlace = {
  /** In words, see TokenSource. */
  readonly origin: string;
  /** Whether the environment or the profile points to it. */
  readonly said: 'environment' | 'profile';
} & (
  | { readonly kind: 'variable'; readonly token: string }
  | { readonly kind: 'file'; readonly path: string }
  | CommandPlace
  | { readonly kind: 'stored' }
);

export type CommandPlace = { readonly kind: 'command'; readonly command: string; readonly remedy: string };

export interface TokenFacts {
  env: NodeJS.ProcessEnv;
  stored: Stored;
  settings: Pick<Settings, 'profile' | 'tokenCommand'>;
  /** Milliseconds since the epoch. */
  now(): number;
  /** Stops a token command that runs; its reason is thrown. */
  signal: AbortSignal;
  /** Takes warnings, and what a token command says on its stderr (a login page to open, for instance). */
  notice(line: string): Promise<void> | void;
  /** Gets every token that is read. */
  secrets: Secrets;
}

/** A token that ends sooner is fetched anew before it is used: clocks differ, and a request takes its time. */
const RENEW_BEFORE_EXPIRY_MS = 60_000;
/** Beyond this many milliseconds a Date is invalid. */
const LAST_DATE_MS = 8.64e15;

/**
 * Where the token will come from: FLEET_TOKEN, FLEET_TOKEN_FILE, FLEET_TOKEN_COMMAND, the profile's token_command, the
 * token stored by `auth login`; undefined when there is none. Nothing is run or checked yet.
 */
export async function findTokenPlace(
  env: NodeJS.ProcessEnv,
  stored: Stored,
  profile: string,
  tokenCommand: string | undefined,
): Promise<TokenPlace | undefined> {
  const token = env['FLEET_TOKEN'] ?? '';
  if (token.trim() !== '') return { kind: 'variable', said: 'environment', origin: 'FLEET_TOKEN', token };
  const path = env['FLEET_TOKEN_FILE'] ?? '';
  if (path !== '') return { kind: 'file', said: 'environment', origin: `file ${path} (FLEET_TOKEN_FILE)`, path };
  const command = (env['FLEET_TOKEN_COMMAND'] ?? '').trim();
  if (command !== '') {
    const remedy = 'try the command of FLEET_TOKEN_COMMAND by hand';
    return { kind: 'command', said: 'environment', origin: 'FLEET_TOKEN_COMMAND', command, remedy };
  }
  if (tokenCommand !== undefined) {
    const remedy = `try the command by hand; this shows it: fleet config get token_command${profileFlag(profile)}`;
    const origin = `command of profile "${profile}"`;
    return { kind: 'command', said: 'profile', origin, command: tokenCommand, remedy };
  }
  const isStored = (await loadTokens(stored)).has(profile);
  return isStored ? { kind: 'stored', said: 'profile', origin: 'stored by auth login' } : undefined;
}

/**
 * The source of tokens for this run. Throws a FleetError of kind `config` when there is none. FLEET_TOKEN stays as it
 * is; a file and the stored token are read anew each time; a command's token is kept until it is about to expire or was
 * refused, and parallel callers share one run of the command.
 */
export async function findToken(facts: TokenFacts): Promise<TokenSource> {
  const { env, stored, settings } = facts;
  const profile = settings.profile.value;
  const place = await findTokenPlace(env, stored, profile, settings.tokenCommand.value);
  if (place === undefined) throw stored.problem ?? missingToken(profile);
  switch (place.kind) {
    case 'variable':
      return {
        origin: place.origin,
        get: async () => checkToken(place.token, place.origin, 'set FLEET_TOKEN to the token alone', facts.secrets),
        renew: async () => undefined,
      };
    case 'file':
      return rereadingSource(place.origin, fileReader(place.path, facts.secrets));
    case 'command':
      return commandSource(place, facts);
    case 'stored':
      return rereadingSource(place.origin, storedReader(facts));
  }
}

/** The error of a command that needs a token where there is none. */
export function missingToken(profile: string): FleetError {
  return configError(
    `there is no access token for profile "${profile}"`,
    `run "fleet auth login${profileFlag(profile)}" or set FLEET_TOKEN`,
  );
}

function rereadingSource(origin: string, read: () => Promise<string>): TokenSource {
  return {
    origin,
    get: read,
    async renew(refused) {
      const token = await read();
      return token === refused ? undefined : token;
    },
  };
}

function fileReader(path: string, secrets: Secrets): () => Promise<string> {
  let kept: string | undefined;
  return async () => {
    if (kept !== undefined) return kept;
    let text: string;
    let isRegular: boolean;
    try {
      isRegular = (await stat(path)).isFile();
      text = await readFile(path, 'utf8');
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw configError(`the token file cannot be read: ${reason}`, 'check the path in FLEET_TOKEN_FILE', error);
    }
    const token = checkToken(
      text,
      `the file ${path}`,
      'let the file of FLEET_TOKEN_FILE hold the token alone',
      secrets,
    );
    // A pipe (`FLEET_TOKEN_FILE=<(…)`) can be read once.
    if (!isRegular) kept = token;
    return token;
  };
}

function storedReader({ stored, settings, secrets }: TokenFacts): () => Promise<string> {
  const profile = settings.profile.value;
  return async () => {
    const token = (await loadTokens(stored)).get(profile);
    if (token === undefined) throw missingToken(profile);
    return checkToken(
      token,
      `the stored token of profile "${profile}"`,
      `run "fleet auth login${profileFlag(profile)}" again`,
      secrets,
    );
  };
}

function commandSource(place: TokenPlace & CommandPlace, facts: TokenFacts): TokenSource {
  let kept: { token: string; freshUntilMs: number } | undefined;
  let running: Promise<string> | undefined;

  async function run(): Promise<string> {
    const { runTokenCommand } = await import('./token-command.js');
    const output = await runTokenCommand(place, facts);
    const token = checkToken(output, `the output of the token command (${place.origin})`, place.remedy, facts.secrets);
    kept = { token, freshUntilMs: findFreshUntil(token, facts.now()) };
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
    origin: place.origin,
    get: async () => (kept !== undefined && facts.now() < kept.freshUntilMs ? kept.token : share()),
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

/**
 * The token in a text that people paste and programs print: white space around it and a scheme word in front
 * (`Authorization: JWT …`) are left out. What remains must be one word of printable ASCII, or it would break the header
 * or smuggle in another; the reason never repeats the text.
 */
export function parseToken(text: string): { value: string; leftOut?: string } | { reason: string } {
  const trimmed = text.trim();
  const scheme = /^(?:authorization:\s*)?(jwt|bearer|token)\s+(?=\S)/i.exec(trimmed);
  const token = trimmed.slice(scheme?.[0].length ?? 0);
  if (token === '') return { reason: 'is empty' };
  if (/[\r\n]/.test(token)) return { reason: 'has more than one line' };
  if (/^(["']).*\1$/.test(token)) return { reason: 'is in quotes (jq prints without them with -r)' };
  if (!/^[\x21-\x7e]+$/.test(token))
    return { reason: 'has characters that no token has (white space, or beyond ASCII)' };
  return scheme?.[1] === undefined ? { value: token } : { value: token, leftOut: scheme[1] };
}

function checkToken(text: string, what: string, remedy: string, secrets: Secrets): string {
  const parsed = parseToken(text);
  if ('value' in parsed) {
    secrets.add(parsed.value);
    return parsed.value;
  }
  throw configError(`${what} ${parsed.reason}`, remedy);
}

/** The claims of a JWT, read and not verified: only the service can do that. Undefined when the token is no JWT. */
export function readClaims(token: string): { [claim: string]: unknown } | undefined {
  const parts = token.split('.');
  const payload = parts[1];
  if (parts.length !== 3 || payload === undefined) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    if (typeof claims !== 'object' || claims === null || Array.isArray(claims)) return undefined;
    return Object.fromEntries(Object.entries(claims));
  } catch {
    return undefined;
  }
}

/** When the token ends, in milliseconds since the epoch; undefined when it does not say (`exp`, RFC 7519 section 4.1.4). */
export function readExpiry(token: string): number | undefined {
  return readDate(token, 'exp');
}

/** When the token was made, in milliseconds since the epoch; undefined when it does not say (`iat`, RFC 7519 section 4.1.6). */
export function readIssued(token: string): number | undefined {
  return readDate(token, 'iat');
}

function readDate(token: string, claim: 'exp' | 'iat'): number | undefined {
  const seconds = readClaims(token)?.[claim];
  if (typeof seconds !== 'number' || !(Math.abs(seconds * 1000) <= LAST_DATE_MS)) return undefined;
  return seconds * 1000;
}
