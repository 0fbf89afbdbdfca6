// Resolves each setting from flag, environment, profile or default, and says where it came from.

import { unknownWord } from '../cli/nearest.js';
import { configError, type FleetError, lastingError, usageError } from '../errors.js';
import { isLoopback } from '../http/loopback.js';
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

/** One setting, whether it is refused or not. */
export interface Setting<T = unknown> {
  key: 'profile' | KeyName;
  value: T;
  /** Where the value came from, first one wins (cli.md section 1). */
  origin: 'flag' | 'environment' | 'profile' | 'default';
  /** The flag, variable or file that gave it: `--base-url`, `FLEET_BASE_URL`, `profile "sandbox"`; `default` if none. */
  from: string;
  /** As `config set` would take it; as it was found when it is refused; null when it is not set anywhere. */
  shown: string | null;
  /** Why the value is refused, which is the default then; every command that needs settings ends with it. */
  problem?: FleetError;
}

/** The names of the keys as code has them: `baseUrl`. */
type CodeName<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Tail>}`
  : Name;

type ValueOf<Key> = Key extends SettingKey<infer T, infer Fallback> ? T | Fallback : never;

/** All settings of one run, in the order in which they are listed. `undefined` values are not set anywhere. */
export type Settings = { readonly profile: Setting<string> } & {
  readonly [Name in KeyName as CodeName<Name>]: Setting<ValueOf<(typeof KEYS)[Name]>>;
};

/** May hold a password. */
const ADDRESSES: readonly KeyName[] = ['base_url', 'sse_url', 'mirror'];

/** What settings are resolved from. */
export interface SettingSources {
  flags: SettingFlags;
  env: NodeJS.ProcessEnv;
  stored: Stored;
}

/**
 * The profile in use: `--profile`, FLEET_PROFILE, the one chosen with `fleet profile use`, `default`. One that is named and not there is a
 * problem: the operator would work with other settings than meant.
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
    problem: configError(
      `there is no profile "${value}" (${source.from})`,
      hintProfiles(value, stored),
    ),
  };
}

/** For a name that no profile has: the nearest one and all of them, or how to make the first. */
export function hintProfiles(name: string, { profiles }: Stored): string | undefined {
  if (profiles.size === 0)
    return 'there are no profiles yet: "fleet sandbox" or "fleet auth login --profile NAME" saves one';
  return unknownWord('profile', name, [...profiles.keys()]).hint;
}

/** A place that may give a value. */
type Source = Pick<Setting, 'origin' | 'from'> & { text: unknown };

/** The first that gives something; an empty flag is something, an empty variable is not. */
function firstOf(sources: readonly Source[]): Source | undefined {
  return sources.find(
    ({ origin, text }) => text !== undefined && text !== null && (text !== '' || origin === 'flag'),
  );
}

/**
 * All settings, each from flag, environment, profile or default (cli.md section 1); an empty variable counts as not set.
 * Throws a FleetError of kind `usage` for a bad flag, of kind `config` for a bad value elsewhere, a profile that is not
 * there unless it may be new, and an address with plain http beyond this machine that the profile does not allow (cli.md section 4). A bad
 * organization is refused when it is asked for.
 */
export function resolveSettings(sources: SettingSources, { mayBeNew = false } = {}): Settings {
  const explained = explainSettings(sources);
  const { organization } = explained;
  for (const { problem, key } of Object.values(explained))
    if (problem !== undefined && key !== 'organization' && !(mayBeNew && key === 'profile'))
      throw problem;
  return {
    ...explained,
    // Refused where it is used: a command whose own flag names another one need not fail for it.
    get organization() {
      if (organization.problem !== undefined) throw organization.problem;
      return organization;
    },
  };
}

/** Every setting with its origin. A value that is refused comes with its problem instead of hiding the others. */
export function explainSettings(sources: SettingSources): Settings {
  const nameInCode = (name: string) =>
    name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  const settings = KEY_NAMES.map((name) => [nameInCode(name), explainSetting(name, sources)]);
  return { profile: findProfile(sources), ...Object.fromEntries(settings) };
}

/** One setting with its origin, as above. */
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
  // FLEET_READ_ONLY=0 does not lift a read-only profile.
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
    // An address that is refused may hold a password, so it is not repeated.
    const shown = ADDRESSES.includes(name) || typeof text === 'object' ? '(refused)' : String(text);
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
 * cli.md section 4: "Plain http is refused beyond loopback unless the profile allows it". `from` is the flag, variable
 * or profile that gave the address.
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
    `use https, or allow it for this profile with: fleet config set allow_http true${profileFlag(profile)}`,
  );
}

/** What a command to paste needs so that it reaches this profile. */
export function profileFlag(profile: string): string {
  return profile === DEFAULT_PROFILE ? '' : ` --profile ${profile}`;
}

/** The error for a change where a setting forbids changes; undefined where changes are allowed. */
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
    `use another profile for changes: --profile NAME; this one is set by: fleet config get read_only${profileFlag(profile.value)}`,
  );
}

/** The address of the service. Throws a FleetError of kind `config` when none is set. */
export function requireBaseUrl({ baseUrl, profile }: Settings): URL {
  const run = `run "fleet auth login${profileFlag(profile.value)}", or give --base-url or FLEET_BASE_URL`;
  const hint = `${run}; to try fleet: "fleet sandbox", then "fleet profile use sandbox"`;
  return baseUrl.value ?? refuseMissing('the service', profile, hint);
}

/** The push address (interface.md section 4.6: "served from the push address, not from {base_url}"). Throws as above. */
export function requireSseUrl(settings: Settings): URL {
  const { sseUrl, profile } = settings;
  // Where nothing is set, both come with the login.
  if (sseUrl.value === undefined) requireBaseUrl(settings);
  const hint = `run "fleet config set sse_url URL${profileFlag(profile.value)}", or give --sse-url or FLEET_SSE_URL`;
  return sseUrl.value ?? refuseMissing('the push channel', profile, hint);
}

function refuseMissing(what: string, profile: Setting<string>, hint: string): never {
  throw configError(`no address of ${what} for profile "${profile.value}"`, hint);
}
