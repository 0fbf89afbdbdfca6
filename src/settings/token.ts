// Where the access token comes from, and how it is renewed (interface.md section 5 leaves obtaining it open).

import { promises as files } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { configError, reasonOf } from '../errors.js';
import { isObject, parseJson } from '../json/parse.js';
import { KEYS } from './keys.js';
import { profileFlag } from './resolve.js';
import { loadTokens } from './store.js';
import {
  type CommandPlace,
  findTokenPlace,
  missingToken,
  TOKEN_LIMIT_BYTES,
  type TokenInput,
  type TokenPlace,
} from './token-place.js';

/** A source of access tokens. The token itself is never printed but by `auth token`. */
export interface TokenSource {
  /** For people: `FLEET_TOKEN`, `file /run/token (FLEET_TOKEN_FILE)`, `command of profile "default"`, `stored by auth login`. */
  readonly origin: string;
  /** What to do when the service refuses the token: how just this source is renewed. */
  readonly refusalHint: string;
  /** The token to send now. Throws a FleetError of kind `config` when there is none or it cannot be had; may be asked again. */
  get(): Promise<string>;
  /** Called after a 401: fetches anew. Undefined when the source has no other token than the refused one. */
  renew(refused: string): Promise<string | undefined>;
}

/** A token that ends sooner is fetched anew before it is used: clocks differ, and a request takes its time. */
const RENEW_BEFORE_EXPIRY_MS = 60_000;
/** Beyond this many milliseconds a Date is invalid. */
const LAST_DATE_MS = 8.64e15;

/**
 * The source of tokens for this run. Throws a FleetError of kind `config` when there is none. FLEET_TOKEN stays as it is; a file and
 * the stored token are read anew each time; a command's token is kept until it is about to expire or was refused, and parallel
 * callers share one run of the command. No failure is kept: who asks again is answered anew.
 */
export async function findToken(input: TokenInput): Promise<TokenSource> {
  const { env, stored, settings } = input;
  const place = await findTokenPlace(env, stored, settings);
  if (place === undefined) throw stored.problem ?? missingToken(settings.profile.value);
  return { origin: place.origin, refusalHint: place.refusalHint, ...readingOf(place, input) };
}

function readingOf(place: TokenPlace, input: TokenInput): Reading {
  switch (place.kind) {
    case 'variable':
      return rereading(async () => readToken(place.token, place.origin, 'set FLEET_TOKEN to the token alone', input));
    case 'file':
      return rereading(fileReader(place.path, input));
    case 'command':
      return runCommand(place, input);
    case 'stored':
      return rereading(storedReader(input));
  }
}

type Reading = Pick<TokenSource, 'get' | 'renew'>;

function rereading(read: () => Promise<string>): Reading {
  return {
    get: read,
    async renew(refused) {
      const token = await read();
      return token === refused ? undefined : token;
    },
  };
}

function fileReader(path: string, input: TokenInput): () => Promise<string> {
  let kept: string | undefined;
  return async () => {
    if (kept !== undefined) return kept;
    let read: { text: string; isRegular: boolean };
    try {
      read = await readBeginning(path);
    } catch (error) {
      const message = `the token file ${path} cannot be read: ${reasonOf(error)}`;
      throw configError(message, 'check the path in FLEET_TOKEN_FILE', error);
    }
    const token = readToken(
      read.text,
      `the file ${path}`,
      'let the file of FLEET_TOKEN_FILE hold the token alone',
      input,
    );
    // A pipe (`FLEET_TOKEN_FILE=<(…)`) can be read once.
    if (!read.isRegular) kept = token;
    return token;
  };
}

/** As much of a file as a token may have, and a byte more. */
async function readBeginning(path: string): Promise<{ text: string; isRegular: boolean }> {
  const file = await files.open(path);
  try {
    const bytes = await buffer(file.createReadStream({ end: TOKEN_LIMIT_BYTES, autoClose: false }));
    if (bytes.length > TOKEN_LIMIT_BYTES) throw new Error('it holds more than a token');
    return { text: bytes.toString('utf8'), isRegular: (await file.stat()).isFile() };
  } finally {
    await file.close();
  }
}

function storedReader(input: TokenInput): () => Promise<string> {
  const profile = input.settings.profile.value;
  return async () => {
    const token = (await loadTokens(input.stored)).get(profile);
    if (token === undefined) throw missingToken(profile);
    const remedy = `run "fleet auth login${profileFlag(profile)}" again`;
    return readToken(token, `the stored token of profile "${profile}"`, remedy, input);
  };
}

function runCommand(place: TokenPlace & CommandPlace, input: TokenInput): Reading {
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

/** The token in the text, registered as a secret. Throws a FleetError of kind `config` that says what is wrong with it. */
function readToken(text: string, what: string, remedy: string, { secrets }: Pick<TokenInput, 'secrets'>): string {
  const parsed = parseToken(text);
  if ('reason' in parsed) throw configError(`${what} ${parsed.reason}`, remedy);
  secrets.add(parsed.value);
  return parsed.value;
}

/** The claims of a JWT, read and not verified: only the service can do that. Undefined when the token is no JWT. */
export function readClaims(token: string): { [claim: string]: unknown } | undefined {
  const parts = token.split('.');
  const payload = parts[1];
  if (parts.length !== 3 || payload === undefined) return undefined;
  try {
    const claims = parseJson(Buffer.from(payload, 'base64url').toString('utf8'));
    return isObject(claims) ? claims : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The organizations that a token names: the UUIDs of its claim `affs`, in lower case, each once and in the token's order; none for
 * a token that says nothing of them. Assumed: the claim is `{organization: [roles]}`, the organization a UUID or its URL.
 */
export function organizationsOf(token: string): string[] {
  const affiliations = readClaims(token)?.['affs'];
  if (!isObject(affiliations)) return [];
  const parsed = Object.keys(affiliations).map((name) => KEYS.organization.parse(name));
  return [...new Set(parsed.flatMap((organization) => ('value' in organization ? [organization.value] : [])))];
}

/** When the token ends, in milliseconds since the epoch; undefined when it does not say (`exp`, RFC 7519 section 4.1.4). */
export function readExpiry(token: string): number | undefined {
  const seconds = readClaims(token)?.['exp'];
  if (typeof seconds !== 'number' || !(Math.abs(seconds * 1000) <= LAST_DATE_MS)) return undefined;
  return seconds * 1000;
}
