// Resolves each setting from flag, environment, profile or default, and says where it came from.

import { unknownWord } from '../cli/nearest.js';
import { configError, type FleetError, usageError } from '../errors.js';
import { isLoopback } from '../http/network.js';
import { isTrue, KEYS, type KeyName, type SettingFlags, type SettingKey } from './keys.js';
import { checkProfileName, DEFAULT_PROFILE, type Stored } from './store.js';

/** Where a value came from, first one wins (cli.md section 1). */
export type SettingOrigin = 'flag' | 'environment' | 'profile' | 'default';

/** One setting, whether it is refused or not. */
export interface Setting<T = unknown> {
  key: 'profile' | KeyName;
  value: T;
  origin: SettingOrigin;
  /** The flag, variable or file that gave it: `--base-url`, `FLEET_BASE_URL`, `profile "sandbox"`; `default` if none. */
  from: string;
  /** As `config set` would take it; as it was found when it is refused; null when it is not set anywhere. */
  shown: string | null;
  /**
   * Why the value is refused, which is the default then; every command that needs settings ends with it. Of a profile: why none can be
   * stored.
   */
  problem?: FleetError;
}

/** The key of each setting by the name that code has for it. */
const SETTINGS = {
  baseUrl: KEYS.base_url,
  sseUrl: KEYS.sse_url,
  organization: KEYS.organization,
  apiVersion: KEYS.api_version,
  output: KEYS.output,
  timeoutMs: KEYS.timeout,
  retries: KEYS.retries,
  tokenCommand: KEYS.token_command,
  allowHttp: KEYS.allow_http,
  /** Whether every change asks first or needs `--yes`. */
  isProtected: KEYS.protected,
  /** The database of the mirror; undefined: the file of the profile. */
  mirror: KEYS.mirror,
};

const ADDRESSES: readonly KeyName[] = ['base_url', 'sse_url', 'mirror'];

type Values = {
  [Name in keyof typeof SETTINGS]: (typeof SETTINGS)[Name] extends SettingKey<infer T, infer Fallback>
    ? T | Fallback
    : never;
};

/** All settings of one run, in the order in which they are listed. `undefined` values are not set anywhere. */
export type Settings = { readonly profile: Setting<string> } & {
  readonly [Name in keyof Values]: Setting<Values[Name]>;
};

type Places = { flags: SettingFlags; env: NodeJS.ProcessEnv; stored: Stored; profile: string };

/**
 * The profile in use: `--profile`, FLEET_PROFILE, the one chosen with `fleet profile use`, `default`. One that is named
 * must exist, or the operator would work with other settings than meant; unless `mayBeNew`, for what makes profiles.
 */
export function chooseProfile(
  flags: SettingFlags,
  env: NodeJS.ProcessEnv,
  stored: Stored,
  { mayBeNew = false } = {},
): Setting<string> {
  const chosen = nameProfile(flags, env, stored);
  const { value: name } = chosen;
  if (stored.profiles.has(name) || name === DEFAULT_PROFILE) return chosen;
  if (mayBeNew) {
    checkProfileName(name, stored.profiles.keys(), chosen.origin === 'flag' ? usageError : configError);
    return chosen;
  }
  if (stored.problem !== undefined) throw stored.problem;
  throw configError(`there is no profile "${name}" (${chosen.from})`, hintProfiles(name, stored));
}

/** For a name that no profile has: the nearest one and all of them, or how to make the first. */
export function hintProfiles(name: string, { profiles }: Stored): string | undefined {
  if (profiles.size === 0)
    return 'there are no profiles yet: "fleet sandbox" or "fleet auth login --profile NAME" saves one';
  return unknownWord('profile', name, [...profiles.keys()]).hint;
}

/** The profile that is named, whether there is one of that name or not. */
export function nameProfile(flags: SettingFlags, env: NodeJS.ProcessEnv, stored: Stored): Setting<string> {
  const { problem, active, configPath } = stored;
  const { text, ...source } = firstOf([
    { origin: 'flag', from: '--profile', text: flags.profile },
    { origin: 'environment', from: 'FLEET_PROFILE', text: env['FLEET_PROFILE'] },
    { origin: 'profile', from: configPath, text: active },
  ]) ?? { origin: 'default', from: 'default', text: DEFAULT_PROFILE };
  const value = String(text);
  return { ...source, key: 'profile', value, shown: value, ...(problem === undefined ? {} : { problem }) };
}

/** A place that may give a value. */
interface Source {
  origin: SettingOrigin;
  from: string;
  text: unknown;
}

/** The first that gives something; an empty flag is something, an empty variable is not. */
function firstOf(sources: readonly Source[]): Source | undefined {
  return sources.find(({ origin, text }) => text !== undefined && text !== null && (text !== '' || origin === 'flag'));
}

/**
 * All settings, each from flag, environment, profile or default (cli.md section 1); an empty variable counts as not set.
 * Throws a FleetError of kind `usage` for a bad flag, of kind `config` for a bad value elsewhere, a profile that is not
 * there, and an address with plain http beyond this machine that the profile does not allow (cli.md section 4). A bad
 * organization is refused when it is asked for.
 */
export function resolveSettings(
  flags: SettingFlags,
  env: NodeJS.ProcessEnv,
  stored: Stored,
  profile?: Setting<string>,
): Settings {
  const explained = explainSettings(flags, env, stored, profile);
  const { organization } = explained;
  for (const { problem, key } of Object.values(explained))
    if (problem !== undefined && key !== 'profile' && key !== 'organization') throw problem;
  return {
    ...explained,
    // Refused where it is used: a command whose own flag names another one need not fail for it.
    get organization() {
      if (organization.problem !== undefined) throw organization.problem;
      return organization;
    },
  };
}

/**
 * Every setting with its origin. A value that is refused comes with its problem instead of hiding the others. Throws when the named
 * profile is not there, unless another choice is handed in.
 */
export function explainSettings(
  flags: SettingFlags,
  env: NodeJS.ProcessEnv,
  stored: Stored,
  profile = chooseProfile(flags, env, stored),
): Settings {
  const places = { flags, env, stored, profile: profile.value };
  const settings = Object.entries(SETTINGS).map(([name, key]) => [name, read<unknown, unknown>(key, places)]);
  return { profile, ...Object.fromEntries(settings) };
}

/** One setting with its origin. Throws when the profile is not there; a refused value comes with its problem. */
export function explainSetting(name: KeyName, flags: SettingFlags, env: NodeJS.ProcessEnv, stored: Stored): Setting {
  return read<unknown, unknown>(KEYS[name], { flags, env, stored, profile: chooseProfile(flags, env, stored).value });
}

/** One setting; a value that is refused comes as its problem. */
function read<T, Fallback extends T | undefined>(key: SettingKey<T, Fallback>, places: Places): Setting<T | Fallback> {
  const { fallback: value } = key;
  const name = key.name as KeyName;
  const source = findSource(key, places);
  if (source === undefined) {
    const shown = value === undefined ? null : key.show(value);
    return { key: name, shown, value, origin: 'default', from: 'default' };
  }
  const { origin, from, text } = source;
  try {
    const found = parseSource(key, source, places);
    return { key: name, shown: key.show(found), value: found, origin, from };
  } catch (error) {
    // An address that is refused may hold a password, so it is not repeated.
    const shown = ADDRESSES.includes(name) || typeof text === 'object' ? '(refused)' : String(text);
    return { key: name, shown, value, origin, from, problem: error as FleetError };
  }
}

function findSource(
  { name, flag, variable = '' }: SettingKey<unknown>,
  { flags, env, stored, profile }: Places,
): Source | undefined {
  const isJson = name === 'output' && flags.json === true;
  const flagName = `--${flag?.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  const fromFlag = flag === undefined ? undefined : flags[flag];
  return firstOf([
    isJson
      ? { origin: 'flag', from: '--json', text: readJsonFlag(flags) }
      : { origin: 'flag', from: flagName, text: fromFlag },
    { origin: 'environment', from: variable, text: env[variable]?.trim() },
    { origin: 'profile', from: `profile "${profile}"`, text: stored.profiles.get(profile)?.[name] },
  ]);
}

/** `--json` is short for `-o json`; together with another format nobody can tell what was meant. */
function readJsonFlag(flags: SettingFlags): string {
  if (flags.output === undefined || flags.output === 'json') return 'json';
  throw usageError(`--json and --output ${flags.output} cannot be used together`, 'give one of them');
}

function parseSource<T>(key: SettingKey<T>, { origin, from, text }: Source, { stored, profile }: Places): T {
  if (typeof text === 'object')
    throw configError(
      `${key.name} of ${from} is neither text nor a number nor true or false`,
      `fix ${stored.configPath}`,
    );
  const parsed = key.parse(String(text));
  if ('value' in parsed) {
    if (parsed.value instanceof URL) refusePlainHttp(parsed.value, from, stored, profile);
    return parsed.value;
  }
  const { reason, hint } = parsed;
  if (origin === 'flag') throw usageError(`${from}: ${reason}`, hint);
  if (origin === 'environment') throw configError(`${from}: ${reason}`, hint ?? `change ${from} or unset it`);
  const set = `set it with: fleet config set ${key.name} VALUE${profileFlag(profile)}`;
  throw configError(`${key.name} of ${from}: ${reason}`, hint === undefined ? set : `${hint}; ${set}`);
}

/**
 * cli.md section 4: "Plain http is refused beyond loopback unless the profile allows it". `from` is the flag, variable
 * or profile that gave the address.
 */
export function refusePlainHttp(url: URL, from: string, { profiles }: Stored, profile: string): void {
  if (url.protocol !== 'http:' || isLoopback(url) || isTrue(profiles.get(profile)?.['allow_http'])) return;
  throw configError(
    `${from}: plain http to ${url.host} would send the token unencrypted`,
    `use https, or allow it for this profile with: fleet config set allow_http true${profileFlag(profile)}`,
  );
}

/** What a command to paste needs so that it reaches this profile. */
export function profileFlag(profile: string): string {
  return profile === DEFAULT_PROFILE ? '' : ` --profile ${profile}`;
}

/** The address of the service. Throws a FleetError of kind `config` when none is set. */
export function requireBaseUrl(settings: Settings): URL {
  return settings.baseUrl.value ?? refuseMissing('the service', KEYS.base_url, settings);
}

/** The push address (interface.md section 4.6: "served from the push address, not from {base_url}"). Throws as above. */
export function requireSseUrl(settings: Settings): URL {
  return settings.sseUrl.value ?? refuseMissing('the push channel', KEYS.sse_url, settings);
}

function refuseMissing(what: string, { name, variable }: SettingKey<URL>, { profile }: Settings): never {
  if (profile.problem !== undefined) throw profile.problem;
  const isService = name === 'base_url';
  const run = `run "fleet ${isService ? 'auth login' : `config set ${name} URL`}${profileFlag(profile.value)}"`;
  const sandbox = isService ? '; to try fleet: "fleet sandbox", then "fleet profile use sandbox"' : '';
  throw configError(
    `no address of ${what} for profile "${profile.value}"`,
    `${run}, or give --${name.replace('_', '-')} or ${variable}${sandbox}`,
  );
}
