// The keys of a profile, with the flag, the variable, the default and the parser of each key.

import { otherResource, wholeUuid } from '../api/links.js';
import { unknownWord } from '../cli/nearest.js';
import { type MirrorAddress, parseMirrorAddress, showMirrorAddress } from '../mirror/address.js';
import { looksLikeToken } from '../system/secrets.js';
import { FORMATS, type Format } from '../terminal/formats.js';

/** The flags of settings. `GlobalFlags` is assignable to this type and uses the same names. */
export type SettingFlags = {
  [Flag in 'profile' | 'baseUrl' | 'sseUrl' | 'apiVersion' | 'output']?: string;
} & {
  /** The timeout in seconds, and the number of retries. */
  [Flag in 'timeout' | 'retries']?: number | string;
};

/** The parsed value, or the reason why the text is not valid. */
export type Parsed<T> = { value: T } | { reason: string; hint?: string };

/**
 * Describes a setting: its flag, its variable, its default, and functions that parse, store and
 * show its value.
 */
export interface SettingKey<T, Fallback extends T | undefined = T | undefined> {
  /** A description for help and for `auth login`. */
  readonly summary: string;
  /** The name of the flag in SettingFlags. */
  readonly flag: keyof SettingFlags | undefined;
  /** The name of the environment variable. Undefined when the setting has no variable. */
  readonly variable: string | undefined;
  readonly fallback: Fallback;
  /** Parses text. Ignores surrounding spaces. */
  parse(text: string): Parsed<T>;
  /**
   * Returns the value that is stored in config.json. `config set` accepts the same value as text.
   */
  store(value: T): string | number | boolean;
}

/**
 * A value type, such as seconds, with its parser and formats. Several settings can share a type.
 */
type Kind<T, Fallback> = {
  parse: SettingKey<T>['parse'];
  store?: SettingKey<T>['store'];
  fallback?: Fallback;
};

function key<T, Fallback extends T | undefined = undefined>(
  { parse, store = String, fallback }: Kind<T, Fallback>,
  flag: SettingKey<T>['flag'],
  variable: string | undefined,
  summary: string,
): SettingKey<T, Fallback> {
  const read = (text: string) => {
    const parsed = parse(text.trim());
    return 'reason' in parsed && looksLikeToken(text) ? PASTED : parsed;
  };
  return { summary, flag, variable, fallback: fallback as Fallback, parse: read, store };
}

/**
 * The error for a value that may be a token. It does not quote the value, because the user may have
 * pasted a token in the wrong place.
 */
const PASTED = {
  reason: 'this looks like a token, so it is not shown here',
  hint: 'to store a token, run "fleet auth login"',
};

/** Creates a parser whose errors quote the rejected value. */
function checked<T>(
  parse: (text: string) => T | undefined,
  what: string,
  hint: string,
): (text: string) => Parsed<T> {
  return (text) => {
    const value = parse(text);
    return value === undefined ? { reason: `"${text}" ${what}`, hint } : { value };
  };
}

const matching = (pattern: RegExp) => (text: string) => (pattern.test(text) ? text : undefined);

/**
 * The longest possible timeout. Node stores timeouts as signed 32-bit numbers of milliseconds.
 * Longer timeouts fire immediately.
 */
const LONGEST_TIMEOUT_S = 2_147_483;

/**
 * Parses an address of the service: absolute http or https, with an optional prefix such as /api.
 * Its errors never quote a user name or password.
 */
export function parseAddress(text: string): Parsed<URL> {
  const trimmed = text.trim();
  // The user name and password of an address are secret, and its query may contain a secret.
  if (/@/.test(trimmed)) return { reason: 'an address must not contain a user name or password' };
  if (/[?#]/.test(trimmed))
    return { reason: 'an address must end before the query (?) and the fragment (#)' };
  // new URL() would silently remove white space and control characters.
  if (/[\s\x00-\x1f\x7f]/.test(trimmed))
    return { reason: 'an address must not contain white space' };
  if (/^https?:\/\//i.test(trimmed) && URL.canParse(trimmed)) return { value: new URL(trimmed) };
  const guess = `${/^(localhost|127\.|\[::1\])/i.test(trimmed) ? 'http' : 'https'}://${trimmed}`;
  const isHostAlone = /^[\w.-]+(:\d+)?(\/.*)?$/.test(trimmed) && URL.canParse(guess);
  return {
    reason: `"${trimmed}" is not an absolute http or https address`,
    hint: isHostAlone
      ? `did you mean ${guess}?`
      : 'use an address such as https://bikes.example.com/api',
  };
}

/** Returns an address in the form that config.json stores. */
export function showAddress(url: URL): string {
  return url.pathname === '/' ? url.origin : url.href;
}

const ADDRESS: Kind<URL, undefined> = { parse: parseAddress, store: showAddress };

/** Whether the value of a boolean setting in a stored profile is true. */
export function isTrue(value: unknown): boolean {
  return String(value).toLowerCase() === 'true';
}

function parseBoolean(text: string): boolean | undefined {
  return /^(?:true|false)$/i.test(text) ? isTrue(text) : undefined;
}

const BOOLEAN: Kind<boolean, boolean> = {
  fallback: false,
  parse: checked(parseBoolean, 'is neither true nor false', 'write true or false'),
  store: (value) => value,
};

/** The variable FLEET_READ_ONLY also accepts the values 1 and 0. */
const READ_ONLY: Kind<boolean, boolean> = {
  ...BOOLEAN,
  parse: checked(
    (text) => (/^[01]$/.test(text) ? text === '1' : parseBoolean(text)),
    'is neither true nor false',
    'write true or false, or 1 or 0',
  ),
};

/**
 * Parses an organization. Returns the UUID or the name of the organization. A name is looked up
 * later, when it is used. Returns undefined for text that looks like an option or a token. Also
 * returns undefined for an address that is not the address of an organization.
 */
function parseOrganization(text: string): string | undefined {
  const isName = text !== '' && !/^-|:\/\/|[\x00-\x1f\x7f]/.test(text) && !looksLikeToken(text);
  if (otherResource(text, 'organizations') !== undefined) return undefined;
  return wholeUuid(text) ?? (isName ? text : undefined);
}

const ORGANIZATION: Kind<string, undefined> = {
  parse: checked(
    parseOrganization,
    'is neither a UUID nor the URL of an organization, nor a name',
    'use a UUID such as 0f8fad5b-d9cb-469f-a165-70867728950e, or to list the organizations, run: fleet organizations list',
  ),
};

// The API version is sent as a parameter of a header, so it must not contain a character that ends
// the parameter.
const VERSION: Kind<string, string> = {
  fallback: '1.0',
  parse: checked(
    matching(/^[0-9A-Za-z][\w.-]{0,31}$/),
    'is not a version',
    'use a version such as 1.0',
  ),
};

const FORMAT: Kind<Format, Format> = {
  fallback: 'table',
  parse(text) {
    const format = FORMATS.find((known) => known === text.toLowerCase());
    return format === undefined
      ? {
          reason: `"${text}" is not a format`,
          hint: unknownWord('format', text.toLowerCase(), FORMATS).hint ?? '',
        }
      : { value: format };
  },
};

function parseSeconds(text: string): number | undefined {
  const seconds = /^\d*\.?\d+$/.test(text) ? Number(text) : 0;
  const milliseconds = Math.round(seconds * 1000);
  return milliseconds > 0 && seconds <= LONGEST_TIMEOUT_S ? milliseconds : undefined;
}

/** A duration in milliseconds. The user types seconds, and config.json stores seconds. */
const SECONDS: Kind<number, number> = {
  fallback: 30_000,
  parse: checked(
    parseSeconds,
    'is not a number of seconds above 0',
    'use a number such as 30 or 2.5',
  ),
  store: (milliseconds) => milliseconds / 1000,
};

const RETRIES: Kind<number, number> = {
  fallback: 3,
  parse: checked(
    (text) => (/^\d{1,15}$/.test(text) ? Number(text) : undefined),
    'is not a whole number of 0 or more',
    'use a number such as 3, or 0 for none',
  ),
  store: (tries) => tries,
};

// A command must not contain a NUL, because the operating system would cut the command there and
// run only the first part.
const readCommand = checked(
  matching(/^[^\0]+$/),
  'is not a command',
  'write a command that prints a token',
);

/**
 * Matches a word that may be a token. Words of a header, such as `Authorization: JWT`, may precede
 * it.
 */
const ONLY_TOKEN = /^(?:authorization:\s*)?(?:(?:jwt|bearer|token)\s+)?[\w.+=-]+$/i;

const COMMAND: Kind<string, undefined> = {
  parse: (text) => (ONLY_TOKEN.test(text) && looksLikeToken(text) ? PASTED : readCommand(text)),
};

const MIRROR: Kind<MirrorAddress, undefined> = {
  parse: (text) => parseMirrorAddress(text),
  store: showMirrorAddress,
};

/**
 * All settings in the order in which they are listed. Each has a type, a flag, a variable and a
 * description.
 */
export const KEYS = {
  base_url: key(
    ADDRESS,
    'baseUrl',
    'FLEET_BASE_URL',
    'address of the service, prefix such as /api included',
  ),
  sse_url: key(ADDRESS, 'sseUrl', 'FLEET_SSE_URL', 'address of the push channel, for fleet watch'),
  organization: key(
    ORGANIZATION,
    undefined,
    'FLEET_ORGANIZATION',
    'organization that commands use by default: its UUID or name',
  ),
  api_version: key(VERSION, 'apiVersion', 'FLEET_API_VERSION', 'API version to request'),
  output: key(FORMAT, 'output', 'FLEET_OUTPUT', 'output format'),
  timeout: key(SECONDS, 'timeout', undefined, 'seconds without data before a request fails'),
  retries: key(RETRIES, 'retries', undefined, 'retries of a safe request'),
  token_command: key(
    COMMAND,
    undefined,
    'FLEET_TOKEN_COMMAND',
    'shell command that prints an access token',
  ),
  allow_http: key(BOOLEAN, undefined, undefined, 'allow plain http beyond this machine'),
  protected: key(BOOLEAN, undefined, undefined, 'ask before every change, or require --yes'),
  read_only: key(READ_ONLY, undefined, 'FLEET_READ_ONLY', 'refuse every change'),
  mirror: key(MIRROR, undefined, undefined, 'database of the mirror: sqlite:PATH or postgres://…'),
};

export type KeyName = keyof typeof KEYS;

export const KEY_NAMES = Object.keys(KEYS) as KeyName[];

/**
 * Returns the setting with this key, or undefined for an unknown key. Accepts `-` and `_` between
 * words.
 */
export function findKey(written: string): KeyName | undefined {
  const name = written.toLowerCase().replaceAll('-', '_');
  return KEY_NAMES.find((known) => known === name);
}

/**
 * Parses text for `config set`. Returns the checked value in the form and type in which config.json
 * stores it.
 */
export function parseForStore(name: KeyName, text: string): Parsed<string | number | boolean> {
  const found: SettingKey<unknown> = KEYS[name];
  const parsed = found.parse(text);
  return 'reason' in parsed ? parsed : { value: found.store(parsed.value) };
}
