// Determines the value of each setting: from a flag, the environment, the profile or its default.
// Also records which source was used.

import { unknownWord } from '../cli/nearest.js';
import { configError, type FleetError, lastingError, usageError } from '../errors.js';
import { isLoopback } from '../http/loopback.js';
import { hideLikelyTokens, looksLikeToken } from '../system/secrets.js';
import {
  isTrue,
  KEY_NAMES,
  KEYS,
  type KeyName,
  type Parsed,
  type SettingFlags,
  type SettingKey,
} from './keys.js';
import { DEFAULT_PROFILE } from './profile-name.js';
import type { Stored } from './store.js';

/** A setting's value, which may be invalid, and its source. */
export interface Setting<T = unknown> {
  key: 'profile' | KeyName;
  value: T;
  /** The kind of source, in order of priority (cli.md section 1). */
  origin: 'flag' | 'environment' | 'profile' | 'default';
  /**
   * The flag, variable or profile that contains the value: `--base-url`, `FLEET_BASE_URL`, `profile
   * "sandbox"`; otherwise `default`.
   */
  from: string;
  /**
   * The value as text that `config set` accepts. For an invalid value, it is the original text, or
   * `(refused)` when that text may contain a secret. It is null when the setting has no value.
   */
  shown: string | null;
  /**
   * Why the configured value is not valid. In this case `value` is the default, and commands that
   * need settings fail with this error.
   */
  problem?: FleetError;
}

/** Converts a key to its name in the code: `base_url` becomes `baseUrl`. */
type CodeName<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Tail>}`
  : Name;

type ValueOf<Key> = Key extends SettingKey<infer T, infer Fallback> ? T | Fallback : never;

/**
 * All settings of a run, in the order in which they are listed. A value is undefined when it is not
 * set.
 */
export type Settings = { readonly profile: Setting<string> } & {
  readonly [Name in KeyName as CodeName<Name>]: Setting<ValueOf<(typeof KEYS)[Name]>>;
};

/**
 * Settings that contain an address. An address may contain a password, so an invalid address is not
 * shown.
 */
const ADDRESSES: readonly KeyName[] = ['base_url', 'sse_url', 'mirror'];
/** Shown instead of an invalid value that may contain a secret. */
const REFUSED = '(refused)';

/** The sources of the settings. */
export interface SettingSources {
  flags: SettingFlags;
  env: NodeJS.ProcessEnv;
  stored: Stored;
}

/**
 * Returns the profile in use. The profile comes from `--profile`, FLEET_PROFILE or `fleet profile
 * use`, in this order of priority. Otherwise it is `default`. A profile that does not exist is a
 * problem, because the operator would work with the wrong settings.
 */
export function findProfile({ flags, env, stored }: SettingSources): Setting<string> {
  const { text, ...source } = firstOf([
    { origin: 'flag', from: '--profile', text: flags.profile },
    { origin: 'environment', from: 'FLEET_PROFILE', text: env['FLEET_PROFILE'] },
    { origin: 'profile', from: stored.configPath, text: stored.active },
  ]) ?? { origin: 'default', from: 'default', text: DEFAULT_PROFILE };
  const value = String(text);
  const found: Setting<string> = { ...source, key: 'profile', value, shown: value };
  if (stored.profiles.has(value) || value === DEFAULT_PROFILE) return found;
  return {
    ...found,
    shown: looksLikeToken(value) ? REFUSED : value,
    problem: configError(
      `there is no profile "${hideLikelyTokens(value)}" (${source.from})`,
      hintProfiles(value, stored),
    ),
  };
}

/**
 * Returns a hint for an unknown profile: the most similar name and all names, or how to create the
 * first profile.
 */
export function hintProfiles(name: string, { profiles }: Stored): string | undefined {
  if (profiles.size === 0)
    return 'there are no profiles yet; to create a profile, run "fleet auth login --profile NAME" or "fleet sandbox"';
  return unknownWord('profile', name, [...profiles.keys()]).hint;
}

/** A possible source of a setting's value, such as a flag or a variable, and the text in it. */
type Source = Pick<Setting, 'origin' | 'from'> & { text: unknown };

/**
 * Returns the first source that has a value. An empty flag is treated as a value, but an empty
 * variable is not.
 */
function firstOf(sources: readonly Source[]): Source | undefined {
  return sources.find(
    ({ origin, text }) => text !== undefined && text !== null && (text !== '' || origin === 'flag'),
  );
}

/**
 * Resolves all settings from flags, environment, profile or defaults (cli.md section 1). An empty
 * variable is treated as unset.
 *
 * Throws a FleetError of kind `usage` for an invalid flag. Throws a FleetError of kind `config` for
 * any other invalid value, and for an unknown profile unless `mayBeNew` is set. Throws the same
 * error for plain http to another machine if the profile does not allow it (cli.md section 4). An
 * invalid organization causes an error only when code reads the organization.
 */
export function resolveSettings(sources: SettingSources, { mayBeNew = false } = {}): Settings {
  const explained = explainSettings(sources);
  const { organization } = explained;
  for (const { problem, key } of Object.values(explained))
    if (problem !== undefined && key !== 'organization' && !(mayBeNew && key === 'profile'))
      throw problem;
  return {
    ...explained,
    // When the organization is invalid, reading this property throws. A command with its own
    // organization flag does not read the property, so it still works.
    get organization() {
      if (organization.problem !== undefined) throw organization.problem;
      return organization;
    },
  };
}

/**
 * Resolves every setting with its source. For an invalid setting, `problem` contains the error, so
 * that the other settings can still be used.
 */
export function explainSettings(sources: SettingSources): Settings {
  const nameInCode = (name: string) =>
    name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  const settings = KEY_NAMES.map((name) => [nameInCode(name), explainSetting(name, sources)]);
  return { profile: findProfile(sources), ...Object.fromEntries(settings) };
}

/** Resolves one setting with its source and its problem. */
export function explainSetting(name: KeyName, sources: SettingSources): Setting {
  const { flags, env, stored } = sources;
  const profile = findProfile(sources).value;
  const key: SettingKey<unknown> = KEYS[name];
  const { flag, variable = '', fallback: value } = key;
  const ofProfile: Source = {
    origin: 'profile',
    from: `profile "${profile}"`,
    text: stored.profiles.get(profile)?.[name],
  };
  // FLEET_READ_ONLY=0 cannot make a read-only profile writable.
  const isLocked = name === 'read_only' && String(ofProfile.text ?? false) !== 'false';
  const source = firstOf([
    ...(isLocked ? [ofProfile] : []),
    { origin: 'flag', from: `--${name.replace('_', '-')}`, text: flag && flags[flag] },
    { origin: 'environment', from: variable, text: env[variable]?.trim() },
    ofProfile,
  ]);
  if (source === undefined) {
    const shown = value === undefined ? null : String(key.store(value));
    return { key: name, shown, value, origin: 'default', from: 'default' };
  }
  const { text, ...found } = source;
  try {
    const parsed = parseSource(name, source, stored, profile);
    return { key: name, shown: String(key.store(parsed)), value: parsed, ...found };
  } catch (error) {
    const written = String(text);
    const mayBeSecret = ADDRESSES.includes(name) || looksLikeToken(written);
    const shown = mayBeSecret || typeof text === 'object' ? REFUSED : written;
    return { key: name, shown, value, ...found, problem: error as FleetError };
  }
}

function parseSource(
  name: KeyName,
  { origin, from, text }: Source,
  stored: Stored,
  profile: string,
): unknown {
  if (typeof text === 'object')
    throw configError(
      `${name} of ${from} is neither text nor a number nor true or false`,
      `fix ${stored.configPath}`,
    );
  const parsed: Parsed<unknown> = KEYS[name].parse(String(text));
  if ('value' in parsed) {
    if (parsed.value instanceof URL) refusePlainHttp(parsed.value, from, stored, profile);
    return parsed.value;
  }
  const { reason, hint } = parsed;
  if (origin === 'flag') throw usageError(`${from}: ${reason}`, hint);
  if (origin === 'environment') throw configError(`${from}: ${reason}`, hint);
  const set = `set it with: fleet config set ${name} VALUE${profileFlag(profile)}`;
  throw configError(`${name} of ${from}: ${reason}`, hint === undefined ? set : `${hint}; ${set}`);
}

/**
 * Throws when the address uses plain http to another machine and the profile does not allow it
 * (cli.md section 4). `from` is the flag, variable or profile with the address.
 */
export function refusePlainHttp(
  url: URL,
  from: string,
  { profiles }: Stored,
  profile: string,
): void {
  if (url.protocol !== 'http:' || isLoopback(url) || isTrue(profiles.get(profile)?.['allow_http']))
    return;
  throw configError(
    `${from}: plain http to ${url.host} would send the token unencrypted`,
    `use https, or to allow http for this profile, run: fleet config set allow_http true${profileFlag(profile)}`,
  );
}

/**
 * Returns the flag that a suggested command needs to use this profile. Hides the name when it may
 * be a token that the user assigned to FLEET_PROFILE by mistake.
 */
export function profileFlag(profile: string): string {
  return profile === DEFAULT_PROFILE ? '' : ` --profile ${hideLikelyTokens(profile)}`;
}

/** Returns an error when a setting forbids the change, or undefined when changes are allowed. */
export function readOnlyFailure({
  readOnly: { value, origin, from },
  profile,
}: Pick<Settings, 'readOnly' | 'profile'>): FleetError | undefined {
  if (!value) return undefined;
  if (origin === 'environment')
    return lastingError(
      `nothing was sent: ${from} forbids every change`,
      `unset ${from} to allow changes`,
    );
  return lastingError(
    `nothing was sent: ${from} is read-only`,
    `to make changes, choose another profile with --profile NAME; to see the setting of this profile, run: fleet config get read_only${profileFlag(profile.value)}`,
  );
}

/** Returns the address of the service. Throws a FleetError of kind `config` when it is not set. */
export function requireBaseUrl({ baseUrl, profile }: Settings): URL {
  const run = `run "fleet auth login${profileFlag(profile.value)}", pass --base-url, or set FLEET_BASE_URL`;
  const hint = `${run}; to try fleet, run "fleet sandbox", then "fleet profile use sandbox"`;
  return baseUrl.value ?? refuseMissing('the service', profile, hint);
}

/**
 * Returns the push address (interface.md section 4.6: "served from the push address, not from
 * {base_url}"). Throws like `requireBaseUrl`.
 */
export function requireSseUrl(settings: Settings): URL {
  const { sseUrl, profile } = settings;
  // When neither address is set, fleet reports only the missing base URL. The hint of this error
  // suggests a login, which sets both addresses.
  if (sseUrl.value === undefined) requireBaseUrl(settings);
  const hint = `run "fleet config set sse_url URL${profileFlag(profile.value)}", pass --sse-url, or set FLEET_SSE_URL`;
  return sseUrl.value ?? refuseMissing('the push channel', profile, hint);
}

function refuseMissing(what: string, profile: Setting<string>, hint: string): never {
  throw configError(`no address of ${what} for profile "${profile.value}"`, hint);
}
