// The settings on disk: profiles in config.json and tokens in credentials.json. Only the operator
// can read both files.

import { configError, FleetError, messageOf, reasonOf } from '../errors.js';
import { isObject, parseJson } from '../json/parse.js';
import { makeFolder, OWN_FOLDER_MODE } from '../system/folder.js';
import { alone } from '../system/lock.js';
import { quoteForShell } from '../system/shell-words.js';
import { findDrafts, removeDrafts, writeWithConf } from './conf-file.js';
import { findPlace, type SettingsFolder } from './config-folder.js';
import type { KeyName } from './keys.js';
import { checkProfileName } from './profile-name.js';
import { readOwnFile, refuseForeignFolders, trustTargetOf } from './trust.js';

/**
 * The values to change in a profile of config.json; `undefined` removes a value. Values that are
 * not named here stay unchanged.
 */
export type ProfileValues = {
  readonly [Name in KeyName | 'organization_name']?: string | number | boolean | undefined;
};

/** The content of a settings file, or of a part of it. */
type Content = Readonly<Record<string, unknown>>;

/** The stored profiles. Their values have not been checked yet. */
interface Profiles {
  /** The name of the profile that `fleet profile use` selected. */
  active: string | undefined;
  profiles: Map<string, Content>;
}

export type Stored = SettingsFolder & Readonly<Profiles>;

/**
 * The login that returned the stored token. The user logged in with an e-mail address. The password
 * is not stored.
 */
export interface Login {
  readonly email: string;
  /** The path to which renewal requests are posted, relative to the base URL. */
  readonly refreshPath: string;
  /** When fleet received the token, in milliseconds since the epoch. */
  readonly sinceMs: number;
  /**
   * The refresh token. It is null when the service returns no refresh token to this user, and
   * undefined when its responses do not contain this field.
   */
  readonly refreshToken?: string | null | undefined;
  /** The value of `--client-id` at login. */
  readonly clientId?: string | undefined;
  /** True after the service refused to renew the token. */
  readonly isRefused?: boolean | undefined;
}

/** Whether fleet can probably renew the token of a login. */
export function isRenewable(login: Login | undefined): boolean {
  return login !== undefined && login.refreshToken !== null && login.isRefused !== true;
}

export interface StoredToken {
  readonly token: string;
  /** The login that returned the token. Undefined when the token was not obtained by a login. */
  readonly login?: Login | undefined;
}

/** The size limit of a settings file. It is far larger than any real settings file. */
const LIMIT_BYTES = 1_000_000;

/** The settings files, by their names in SettingsFolder. */
type File = 'configPath' | 'credentialsPath';

/**
 * Reads config.json; a missing file is treated as empty. Throws a FleetError of kind `config` when
 * the file cannot be read or parsed, or when its folder path is not absolute. Also throws when
 * another user owns the file or can write to it.
 */
export async function loadStored(env: NodeJS.ProcessEnv): Promise<Stored> {
  const place = findPlace(env);
  return { ...place, ...readFile(place, 'configPath', profilesOf) };
}

/**
 * The parts of config.json that change how fleet reads a typed command line. They contain no
 * secrets.
 */
export interface LineSettings {
  /** The command lines of aliases, without `fleet`. */
  aliases: ReadonlyMap<string, string>;
  /** The default values of flags. The key is the name of a command, such as `bicycles list`. */
  defaults: ReadonlyMap<string, Content>;
}

/** Reads aliases and defaults. Throws the same errors as `loadStored`. */
export async function loadLineSettings(env: NodeJS.ProcessEnv): Promise<LineSettings> {
  return readFile(findPlace(env), 'configPath', lineSettingsOf);
}

function lineSettingsOf(config: Content): LineSettings {
  const lines = Object.entries(partOf(config, 'aliases')).map(([name, line]) => {
    if (typeof line !== 'string') throw new Error(`the alias "${name}" is not a text`);
    return [name, line] as const;
  });
  const flags = Object.entries(partOf(config, 'defaults')).map(
    ([command, values]) => [command, asObject(values, `"defaults" of "${command}"`)] as const,
  );
  return { aliases: new Map(lines), defaults: new Map(flags) };
}

/** Stores alias lines; `undefined` deletes an alias. */
export async function saveAliases(
  place: SettingsFolder,
  lines: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  await change(place, 'configPath', (config) => ({
    ...config,
    aliases: { ...partOf(config, 'aliases'), ...lines },
  }));
}

/** Stores the default for a command's flag; `undefined` removes it. */
export async function saveDefault(
  place: SettingsFolder,
  command: string,
  flag: string,
  value: string | boolean | undefined,
): Promise<void> {
  await change(place, 'configPath', (config) => {
    const defaults = partOf(config, 'defaults');
    const flags = { ...partOf(defaults, command), [flag]: value };
    const isEmpty = Object.values(flags).every((each) => each === undefined);
    return { ...config, defaults: { ...defaults, [command]: isEmpty ? undefined : flags } };
  });
}

/** Reads the current profiles. Throws the same errors as `loadStored`. */
export async function loadProfiles(place: SettingsFolder): Promise<Stored['profiles']> {
  return readFile(place, 'configPath', profilesOf).profiles;
}

/** Reads the stored tokens by profile. Throws the same errors as `loadStored`. */
export async function loadTokens(place: SettingsFolder): Promise<ReadonlyMap<string, StoredToken>> {
  return readFile(place, 'credentialsPath', tokensOf);
}

/** Parses the new contents of config.json. Throws an Error that describes the problem. */
export function parseConfig(text: string): Profiles & { config: Content } {
  const config = parseContent(text);
  lineSettingsOf(config);
  return { config, ...profilesOf(config) };
}

/** Replaces the whole config.json. */
export async function replaceConfig(place: SettingsFolder, config: Content): Promise<void> {
  await write(place, 'configPath', () => config);
}

function profilesOf(config: Content): Profiles {
  const profiles = Object.entries(partOf(config, 'profiles')).map(
    ([name, values]) => [name, asObject(values, `the profile "${name}"`)] as const,
  );
  const active = config['profile'];
  return {
    active: typeof active === 'string' && active !== '' ? active : undefined,
    profiles: new Map(profiles),
  };
}

function tokensOf(credentials: Content): Map<string, StoredToken> {
  const logins = partOf(credentials, 'logins');
  const tokens = new Map<string, StoredToken>();
  for (const [name, token] of Object.entries(partOf(credentials, 'tokens')))
    if (typeof token === 'string' && token !== '')
      tokens.set(name, { token, login: readLogin(logins[name]) });
  return tokens;
}

function readLogin(login: unknown): Login | undefined {
  if (!isObject(login)) return undefined;
  const { email, refreshPath, sinceMs, refreshToken, clientId, isRefused } = login;
  if (typeof refreshPath !== 'string' || !refreshPath.startsWith('/')) return undefined;
  const isKnown = typeof refreshToken === 'string' || refreshToken === null;
  return {
    email: String(email ?? ''),
    refreshPath,
    sinceMs: Number(sinceMs ?? 0),
    refreshToken: isKnown ? refreshToken : undefined,
    clientId: typeof clientId === 'string' ? clientId : undefined,
    isRefused: isRefused === true ? true : undefined,
  };
}

/**
 * Adds values to a profile, and creates the profile when it does not exist. The caller has checked
 * the values with the parsers of keys.ts. Throws a FleetError of kind `usage` when a new profile
 * cannot have this name.
 */
export async function saveProfile(
  place: SettingsFolder,
  name: string,
  values: ProfileValues,
): Promise<void> {
  await change(place, 'configPath', (config) => {
    const profiles = partOf(config, 'profiles');
    // Checks the name under the lock, because another process may have created the profile
    // meanwhile.
    checkProfileName(name, Object.keys(profiles));
    // The stored name of an organization belongs to the old organization, so the name is removed
    // together with that organization.
    const changed = 'organization' in values ? { organization_name: undefined, ...values } : values;
    return {
      ...config,
      profiles: { ...profiles, [name]: { ...partOf(profiles, name), ...changed } },
    };
  });
}

/** Selects a profile; `undefined` selects `default` again. */
export async function useProfile(place: SettingsFolder, name: string | undefined): Promise<void> {
  await change(place, 'configPath', (config) => ({ ...config, profile: name }));
}

/** Deletes a profile and its token; the profile in use falls back to `default`. */
export async function deleteProfile(place: SettingsFolder, name: string): Promise<void> {
  await deleteToken(place, name);
  await change(place, 'configPath', (config) => ({
    ...config,
    profile: config['profile'] === name ? undefined : config['profile'],
    profiles: { ...partOf(config, 'profiles'), [name]: undefined },
  }));
}

/**
 * Stores the token of a profile and the login that returned it. The caller has checked the token
 * with `parseToken`.
 */
export async function saveToken(
  place: SettingsFolder,
  name: string,
  token: string,
  login?: Login,
): Promise<void> {
  checkProfileName(name, (await loadProfiles(place)).keys());
  await change(place, 'credentialsPath', (credentials) =>
    withToken(credentials, name, { token, login }),
  );
}

/**
 * Calls `renew` with the stored token of a profile, and stores the token that it returns. If
 * `renew` returns undefined, stores nothing. Only one process at a time renews a token.
 */
export async function renewToken(
  place: SettingsFolder,
  name: string,
  renew: (stored: StoredToken) => Promise<StoredToken | undefined>,
  signal: AbortSignal,
): Promise<void> {
  const lock = `${trustTargetOf(place.credentialsPath)}.renewal.lock`;
  await alone(lock, signal, async () => {
    const stored = (await loadTokens(place)).get(name);
    const renewed = stored === undefined ? undefined : await renew(stored);
    if (renewed === undefined) return;
    // The user may have logged out or logged in again in the meantime.
    await change(place, 'credentialsPath', (now) =>
      tokensOf(now).get(name)?.token === stored?.token ? withToken(now, name, renewed) : now,
    );
  });
}

/** Deletes the stored token of a profile. Returns whether it existed. */
export async function deleteToken(place: SettingsFolder, name: string): Promise<boolean> {
  if (!(await loadTokens(place)).has(name)) {
    await deleteDrafts(place);
    return false;
  }
  await change(place, 'credentialsPath', (credentials) => withToken(credentials, name, undefined));
  return true;
}

/**
 * Deletes the drafts of the file that a killed login left behind, because a draft contains the
 * token of that login.
 */
async function deleteDrafts(place: SettingsFolder): Promise<void> {
  const target = trustTargetOf(place.credentialsPath);
  if (findDrafts(target).length === 0) return;
  await alone(`${target}.lock`, new AbortController().signal, async () => removeDrafts(target));
}

function withToken(credentials: Content, name: string, stored: StoredToken | undefined): Content {
  const tokens = { ...partOf(credentials, 'tokens'), [name]: stored?.token };
  const logins = { ...partOf(credentials, 'logins'), [name]: stored?.login };
  const hasLogin = Object.values(logins).some((login) => login !== undefined);
  return { ...credentials, tokens, logins: hasLogin ? logins : undefined };
}

/** Reads and parses a file. Throws a FleetError of kind `config` when this fails. */
function readFile<Value>(
  place: SettingsFolder,
  file: File,
  understand: (content: Content) => Value,
): Value {
  const path = place[file];
  const text = readSettingsFile(path);
  try {
    return understand(text === undefined ? {} : parseContent(text));
  } catch (error) {
    if (error instanceof FleetError) throw error;
    const reset = `mv ${quoteForShell(path)} ${quoteForShell(`${path}.broken`)}`;
    throw configError(
      `${path} cannot be understood: ${messageOf(error)}`,
      `it was left as it is: fix it, or reset it with: ${reset} and run "fleet auth login" again`,
      error,
    );
  }
}

function parseContent(text: string): Content {
  // Some editors add a byte order mark, which is not valid JSON.
  return asObject(parseJson(text.replace(/^\uFEFF/, '')), 'it');
}

function asObject(value: unknown, what: string): Content {
  if (isObject(value)) return value;
  throw new Error(`${what} is not a JSON object`);
}

/** Returns an object in the content, or an empty object when it is missing. */
function partOf(content: Content, name: string): Content {
  return asObject((Object.hasOwn(content, name) ? content[name] : undefined) ?? {}, `"${name}"`);
}

/**
 * Returns the text of a settings file, or undefined when the file does not exist. The text does not
 * have to be valid JSON. Throws the same errors as `loadStored`.
 */
export function readSettingsFile(path: string): string | undefined {
  refuseForeignFolders(path);
  return readOwnFile(
    path,
    LIMIT_BYTES,
    'check the path and its permissions, or set FLEET_CONFIG_DIR',
  );
}

/**
 * Changes the content of a file; `undefined` values are removed. Throws when the file cannot be
 * parsed.
 */
function change(
  place: SettingsFolder,
  file: File,
  update: (content: Content) => Content,
): Promise<void> {
  const understand = { configPath: profilesOf, credentialsPath: tokensOf }[file];
  const make = (content: Content) => {
    understand(content);
    return update(content);
  };
  return write(place, file, () => readFile(place, file, make));
}

/** Writes a file under its lock. */
async function write(place: SettingsFolder, file: File, make: () => Content): Promise<void> {
  const path = place[file];
  try {
    await makeFolder(place.folder, OWN_FOLDER_MODE);
    refuseForeignFolders(path);
    const target = trustTargetOf(path);
    // The lock is only held for the few milliseconds of a write.
    await alone(`${target}.lock`, new AbortController().signal, () => writeWithConf(target, make));
  } catch (error) {
    if (error instanceof FleetError) throw error;
    const hint = 'check the folder, or choose another with FLEET_CONFIG_DIR';
    throw configError(`${path} could not be written: ${reasonOf(error)}`, hint, error);
  }
}
