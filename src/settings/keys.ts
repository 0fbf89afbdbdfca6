// The keys of a profile: where else each can be said, and how its text becomes a value or is refused with the reason.

import { nearest } from '../cli/nearest.js';
import { FORMATS, type Format } from '../terminal/formats.js';

/** The flags that say a setting, by their names in `GlobalFlags`, which is assignable to this. */
export interface SettingFlags {
  profile?: string;
  baseUrl?: string;
  sseUrl?: string;
  apiVersion?: string;
  output?: string;
  /** `--json`, short for `-o json`. */
  json?: boolean;
  /** Seconds. */
  timeout?: number | string;
  retries?: number | string;
}

/** A text that became a value, or why not. */
export type Parsed<T> = { value: T } | { reason: string; hint?: string };

/** One setting: its name, its other places, its parser. */
export interface Key<T> {
  readonly name: KeyName;
  /** What it is, for help and for `auth login`. */
  readonly summary: string;
  readonly flag?: { readonly name: string; readonly field: keyof SettingFlags };
  /** The environment variable. */
  readonly variable?: string;
  parse(text: string): Parsed<T>;
  /** The value as it is shown, and as `config set` would take it. */
  show(value: T): string;
  /** The value as it stands in config.json; as it is shown when absent. */
  store?(value: T): number | boolean;
}

/** The keys in the order in which they are listed. */
export const KEY_NAMES = [
  'base_url',
  'sse_url',
  'organization',
  'api_version',
  'output',
  'timeout',
  'retries',
  'token_command',
  'allow_http',
  'protected',
] as const;

export type KeyName = (typeof KEY_NAMES)[number];

const UUID_AT_THE_END = /^(?:https?:\/\/\S+\/)?([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\/?$/i;

/** Node's timers hold 31 bits of milliseconds and fire at once beyond that. */
const LONGEST_TIMEOUT_S = 2_147_483;

/**
 * An address of the service: absolute http or https, a prefix such as /api kept. Never repeats a user name or password.
 */
export function parseAddress(text: string): Parsed<URL> {
  const trimmed = text.trim();
  // A user name with a password is a secret, and so may be what stands behind a question mark.
  if (/@/.test(trimmed)) return { reason: 'an address must not contain a user name or password' };
  if (/[?#]/.test(trimmed)) return { reason: 'an address must end before the query (?) and the fragment (#)' };
  // new URL() would leave white space and control characters out without a word.
  if (/[\s\x00-\x1f\x7f]/.test(trimmed)) return { reason: 'an address must not contain white space' };
  const url = URL.canParse(trimmed) ? new URL(trimmed) : undefined;
  if (url !== undefined && (url.protocol === 'http:' || url.protocol === 'https:') && /^https?:\/\//i.test(trimmed))
    return { value: url };
  const guess = `${/^(localhost|127\.|\[::1\])/i.test(trimmed) ? 'http' : 'https'}://${trimmed}`;
  const isHostAlone = /^[\w.-]+(:\d+)?(\/.*)?$/.test(trimmed) && URL.canParse(guess);
  return {
    reason: `"${trimmed}" is not an absolute http or https address`,
    hint: isHostAlone ? `did you mean ${guess}?` : 'write it like https://bikes.example.com/api',
  };
}

const showAddress = (url: URL): string => (url.pathname === '/' ? url.origin : url.href);

const BASE_URL: Key<URL> = {
  name: 'base_url',
  summary: 'address of the service, prefix such as /api included',
  flag: { name: '--base-url', field: 'baseUrl' },
  variable: 'FLEET_BASE_URL',
  parse: parseAddress,
  show: showAddress,
};

const SSE_URL: Key<URL> = {
  name: 'sse_url',
  summary: 'push address, from which fleet watch subscribes',
  flag: { name: '--sse-url', field: 'sseUrl' },
  variable: 'FLEET_SSE_URL',
  parse: parseAddress,
  show: showAddress,
};

const ORGANIZATION: Key<string> = {
  name: 'organization',
  summary: 'UUID of the organization that fleet watch follows',
  variable: 'FLEET_ORGANIZATION',
  parse(text) {
    const uuid = UUID_AT_THE_END.exec(text.trim())?.[1];
    if (uuid !== undefined) return { value: uuid.toLowerCase() };
    return {
      reason: `"${text.trim()}" is neither a UUID nor the URL of an organization`,
      hint: 'write it like 0f8fad5b-d9cb-469f-a165-70867728950e',
    };
  },
  show: (uuid) => uuid,
};

const API_VERSION: Key<string> = {
  name: 'api_version',
  summary: 'version asked for in Accept',
  flag: { name: '--api-version', field: 'apiVersion' },
  variable: 'FLEET_API_VERSION',
  parse(text) {
    const version = text.trim();
    // It becomes a parameter of a header: nothing in it may end the parameter.
    if (/^[0-9A-Za-z][\w.-]{0,31}$/.test(version)) return { value: version };
    return { reason: `"${version}" is not a version`, hint: 'write it like 1.0' };
  },
  show: (version) => version,
};

const OUTPUT: Key<Format> = {
  name: 'output',
  summary: 'format of the output',
  flag: { name: '--output', field: 'output' },
  variable: 'FLEET_OUTPUT',
  parse(text) {
    const written = text.trim().toLowerCase();
    const format = FORMATS.find((known) => known === written);
    if (format !== undefined) return { value: format };
    const meant = nearest(written, FORMATS);
    return {
      reason: `"${text.trim()}" is not a format`,
      hint: `${meant === undefined ? '' : `did you mean "${meant}"? `}formats: ${FORMATS.join(', ')}`,
    };
  },
  show: (format) => format,
};

const TIMEOUT: Key<number> = {
  name: 'timeout',
  summary: 'seconds that a request may take',
  flag: { name: '--timeout', field: 'timeout' },
  parse(text) {
    const seconds = /^\d*\.?\d+$/.test(text.trim()) ? Number(text.trim()) : Number.NaN;
    const milliseconds = Math.round(seconds * 1000);
    if (milliseconds > 0 && seconds <= LONGEST_TIMEOUT_S) return { value: milliseconds };
    return { reason: `"${text.trim()}" is not a number of seconds above 0`, hint: 'write it like 30 or 2.5' };
  },
  show: (milliseconds) => String(milliseconds / 1000),
  store: (milliseconds) => milliseconds / 1000,
};

const RETRIES: Key<number> = {
  name: 'retries',
  summary: 'extra tries of a safe request',
  flag: { name: '--retries', field: 'retries' },
  parse(text) {
    const tries = /^\d+$/.test(text.trim()) ? Number(text.trim()) : Number.NaN;
    if (Number.isSafeInteger(tries)) return { value: tries };
    return { reason: `"${text.trim()}" is not a whole number from 0 on`, hint: 'write it like 3, or 0 for none' };
  },
  show: String,
  store: (tries) => tries,
};

const TOKEN_COMMAND: Key<string> = {
  name: 'token_command',
  summary: 'shell command that prints an access token',
  parse(text) {
    const command = text.trim();
    // A NUL ends the text for the operating system, which would run half of the command.
    if (command !== '' && !command.includes('\0')) return { value: command };
    return { reason: 'the command is empty', hint: 'write a command that prints a token' };
  },
  show: (command) => command,
};

function parseBoolean(text: string): Parsed<boolean> {
  const word = text.trim().toLowerCase();
  if (['true', 'yes', 'on', '1'].includes(word)) return { value: true };
  if (['false', 'no', 'off', '0'].includes(word)) return { value: false };
  return { reason: `"${text.trim()}" is neither true nor false` };
}

const ALLOW_HTTP: Key<boolean> = {
  name: 'allow_http',
  summary: 'whether the token may travel unencrypted beyond this machine',
  parse: parseBoolean,
  show: String,
  store: (allowed) => allowed,
};

const PROTECTED: Key<boolean> = {
  name: 'protected',
  summary: 'whether every change asks first, or needs --yes',
  parse: parseBoolean,
  show: String,
  store: (isProtected) => isProtected,
};

/** Every key by its name. */
export const KEYS = {
  base_url: BASE_URL,
  sse_url: SSE_URL,
  organization: ORGANIZATION,
  api_version: API_VERSION,
  output: OUTPUT,
  timeout: TIMEOUT,
  retries: RETRIES,
  token_command: TOKEN_COMMAND,
  allow_http: ALLOW_HTTP,
  protected: PROTECTED,
} as const;

/** The key that the operator wrote, `-` or `_` between its words; undefined when there is none of that name. */
export function findKey(written: string): KeyName | undefined {
  const name = written.toLowerCase().replaceAll('-', '_');
  return KEY_NAMES.find((known) => known === name);
}

/** What `config set` writes into config.json: the text checked, brought to its usual spelling and typed. */
export function parseForStore(name: KeyName, text: string): Parsed<string | number | boolean> {
  return storeWith(KEYS[name], text);
}

function storeWith(key: Key<unknown>, text: string): Parsed<string | number | boolean> {
  const parsed = key.parse(text);
  if ('reason' in parsed) return parsed;
  return { value: key.store === undefined ? key.show(parsed.value) : key.store(parsed.value) };
}
