// The keys of a profile: flag, variable, default and parser of each.

import { nearest } from '../cli/nearest.js';
import { type MirrorAddress, parseMirrorAddress, showMirrorAddress } from '../mirror/address.js';
import { looksLikeToken } from '../secrets.js';
import { FORMATS, type Format } from '../terminal/formats.js';
import { SYSTEM_FIELDS, SYSTEM_NAMES, type SystemName } from './system.js';

/** The flags of settings, by their names in `GlobalFlags`, which is assignable to this. */
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

/** A parsed value, or why the text was refused. */
export type Parsed<T> = { value: T } | { reason: string; hint?: string };

/** One setting: its name, flag, variable, parser and default. */
export interface SettingKey<T, Fallback extends T | undefined = T | undefined> {
  readonly name: string;
  /** What it is, for help and for `auth login`. */
  readonly summary: string;
  readonly flag?: { readonly name: string; readonly field: keyof SettingFlags };
  /** The environment variable. */
  readonly variable?: string;
  readonly fallback: Fallback;
  /** Reads a text, spaces around it left out. */
  parse(text: string): Parsed<T>;
  /** The value as in config.json. */
  store(value: T): string | number | boolean;
  /** The value as it is shown, and as `config set` would take it. */
  show(value: T): string;
}

type Declared<T, Fallback extends T | undefined> = Omit<SettingKey<T, Fallback>, 'store' | 'show'> &
  Partial<Pick<SettingKey<T>, 'store'>>;

function key<T, Fallback extends T | undefined>({
  parse,
  store = String,
  ...declared
}: Declared<T, Fallback>): SettingKey<T, Fallback> {
  return {
    ...declared,
    parse: (text) => unquoted(text, parse(text.trim())),
    store,
    show: (value) => String(store(value)),
  };
}

/** A token that was pasted in the wrong place is not repeated. */
function unquoted<T>(text: string, parsed: Parsed<T>): Parsed<T> {
  if ('value' in parsed || !looksLikeToken(text)) return parsed;
  return {
    reason: 'this looks like a token, and is not repeated here',
    hint: 'a token is given to "fleet auth login"',
  };
}

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

const ADDRESS = {
  fallback: undefined,
  parse: parseAddress,
  store: (url: URL): string => (url.pathname === '/' ? url.origin : url.href),
} as const;

function parseBoolean(text: string): Parsed<boolean> {
  const word = text.toLowerCase();
  if (['true', 'yes', 'on', '1'].includes(word)) return { value: true };
  if (['false', 'no', 'off', '0'].includes(word)) return { value: false };
  return { reason: `"${text}" is neither true nor false` };
}

/** Whether a key of a profile is true. */
export function isTrue(value: unknown): boolean {
  const parsed = parseBoolean(String(value ?? false));
  return 'value' in parsed && parsed.value;
}

const BOOLEAN = { fallback: false, parse: parseBoolean, store: (value: boolean) => value } as const;

/** Of `fleet gbfs` alone, which reads them itself: `gbfs.name` and so on. */
type SystemKeys = { readonly [Name in SystemName as `gbfs.${Name}`]: SettingKey<string, undefined> };
const SYSTEM_KEYS = Object.fromEntries(
  SYSTEM_NAMES.map((name) => [
    `gbfs.${name}`,
    key<string, undefined>({ name: `gbfs.${name}`, fallback: undefined, ...SYSTEM_FIELDS[name] }),
  ]),
) as unknown as SystemKeys;

/** Every key by its name, in the order in which they are listed. */
export const KEYS = {
  base_url: key<URL, undefined>({
    name: 'base_url',
    summary: 'address of the service, prefix such as /api included',
    flag: { name: '--base-url', field: 'baseUrl' },
    variable: 'FLEET_BASE_URL',
    ...ADDRESS,
  }),
  sse_url: key<URL, undefined>({
    name: 'sse_url',
    summary: 'address of the push channel, for fleet watch',
    flag: { name: '--sse-url', field: 'sseUrl' },
    variable: 'FLEET_SSE_URL',
    ...ADDRESS,
  }),
  organization: key<string, undefined>({
    name: 'organization',
    summary: 'organization that commands use by default: its UUID or name',
    variable: 'FLEET_ORGANIZATION',
    fallback: undefined,
    parse(text) {
      const uuid = UUID_AT_THE_END.exec(text)?.[1];
      if (uuid !== undefined) return { value: uuid.toLowerCase() };
      // A name is looked up when it is used. What looks like an address or an option is none.
      if (text !== '' && !/^-|:\/\/|[\x00-\x1f\x7f]/.test(text) && !looksLikeToken(text)) return { value: text };
      return {
        reason: `"${text}" is neither a UUID nor the URL of an organization, nor a name`,
        hint: 'write it like 0f8fad5b-d9cb-469f-a165-70867728950e, or list them with: fleet organizations list',
      };
    },
  }),
  api_version: key<string, string>({
    name: 'api_version',
    summary: 'API version to request',
    flag: { name: '--api-version', field: 'apiVersion' },
    variable: 'FLEET_API_VERSION',
    fallback: '1.0',
    parse(text) {
      // It becomes a parameter of a header: nothing in it may end the parameter.
      if (/^[0-9A-Za-z][\w.-]{0,31}$/.test(text)) return { value: text };
      return { reason: `"${text}" is not a version`, hint: 'write it like 1.0' };
    },
  }),
  output: key<Format, Format>({
    name: 'output',
    summary: 'output format',
    flag: { name: '--output', field: 'output' },
    variable: 'FLEET_OUTPUT',
    fallback: 'table',
    parse(text) {
      const format = FORMATS.find((known) => known === text.toLowerCase());
      if (format !== undefined) return { value: format };
      const meant = nearest(text.toLowerCase(), FORMATS);
      return {
        reason: `"${text}" is not a format`,
        hint: `${meant === undefined ? '' : `did you mean "${meant}"? `}formats: ${FORMATS.join(', ')}`,
      };
    },
  }),
  /** Milliseconds; in seconds where it is written. */
  timeout: key<number, number>({
    name: 'timeout',
    summary: 'seconds without data before a request fails',
    flag: { name: '--timeout', field: 'timeout' },
    fallback: 30_000,
    parse(text) {
      const seconds = /^\d*\.?\d+$/.test(text) ? Number(text) : Number.NaN;
      const milliseconds = Math.round(seconds * 1000);
      if (milliseconds > 0 && seconds <= LONGEST_TIMEOUT_S) return { value: milliseconds };
      return { reason: `"${text}" is not a number of seconds above 0`, hint: 'write it like 30 or 2.5' };
    },
    store: (milliseconds) => milliseconds / 1000,
  }),
  retries: key<number, number>({
    name: 'retries',
    summary: 'retries of a safe request',
    flag: { name: '--retries', field: 'retries' },
    fallback: 3,
    parse(text) {
      const tries = /^\d+$/.test(text) ? Number(text) : Number.NaN;
      if (Number.isSafeInteger(tries)) return { value: tries };
      return { reason: `"${text}" is not a whole number of 0 or more`, hint: 'write it like 3, or 0 for none' };
    },
    store: (tries) => tries,
  }),
  token_command: key<string, undefined>({
    name: 'token_command',
    summary: 'shell command that prints an access token',
    variable: 'FLEET_TOKEN_COMMAND',
    fallback: undefined,
    parse(text) {
      // A NUL ends the text for the operating system, which would run half of the command.
      if (text !== '' && !text.includes('\0')) return { value: text };
      return { reason: 'the command is empty', hint: 'write a command that prints a token' };
    },
  }),
  allow_http: key<boolean, boolean>({
    name: 'allow_http',
    summary: 'allow plain http beyond this machine',
    ...BOOLEAN,
  }),
  protected: key<boolean, boolean>({
    name: 'protected',
    summary: 'ask before every change, or require --yes',
    ...BOOLEAN,
  }),
  mirror: key<MirrorAddress, undefined>({
    name: 'mirror',
    summary: 'database of the mirror: sqlite:PATH or postgres://…',
    fallback: undefined,
    parse: (text) => parseMirrorAddress(text),
    store: showMirrorAddress,
  }),
  ...SYSTEM_KEYS,
};

export type KeyName = keyof typeof KEYS;

export const KEY_NAMES = Object.keys(KEYS) as KeyName[];

/** The key that the operator wrote, `-` or `_` between its words; undefined when there is none of that name. */
export function findKey(written: string): KeyName | undefined {
  const name = written.toLowerCase().replaceAll('-', '_');
  return KEY_NAMES.find((known) => known === name);
}

/** What `config set` writes into config.json: the text checked, brought to its usual spelling and typed. */
export function parseForStore(name: KeyName, text: string): Parsed<string | number | boolean> {
  const found: SettingKey<unknown> = KEYS[name];
  const parsed = found.parse(text);
  return 'reason' in parsed ? parsed : { value: found.store(parsed.value) };
}
