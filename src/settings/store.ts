// The settings on disk: profiles in config.json, tokens apart in credentials.json, both for the operator's eyes alone.

import {
  closeSync,
  constants,
  promises as files,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type Conf from 'conf';
import { sleep, systemClock } from '../clock.js';
import { configError, FleetError, messageOf, usageError } from '../errors.js';
import { hasCode, makeFolder, OWN_FOLDER_MODE } from '../folder.js';
import { isObject, parseJson } from '../json/parse.js';
import { latePattern } from '../terminal/late.js';
import { findPlace, type Place } from './place.js';
import { quoteForShell, refuseForeign, refuseForeignFolders, showMode, statIfThere, targetOf } from './trust.js';

/** What a profile says, as it stands in config.json; whatever else is found there is kept when the file is written. */
export interface ProfileValues {
  base_url?: string;
  sse_url?: string;
  organization?: string;
  api_version?: string;
  output?: string;
  /** Seconds. */
  timeout?: number;
  retries?: number;
  token_command?: string;
  allow_http?: boolean;
  protected?: boolean;
}

/** The settings as they were read: nothing is checked yet but the shape of the file. */
export interface Stored extends Place {
  /** The profile chosen with `fleet profile use`. */
  readonly active: string | undefined;
  readonly profiles: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
}

/** The profile that is used when nobody names one. It may not exist yet. */
export const DEFAULT_PROFILE = 'default';

/** Readable and writable by the owner alone: credentials.json holds tokens, config.json a command that is run. */
const OWNER_ONLY_MODE = 0o600;
/** Far above any settings. */
const LIMIT_BYTES = 1_000_000;
/** The permission bits of everybody but the owner. */
const OTHERS_MODE_BITS = 0o077;

/** Letters, digits and `_ . @ -`: a name goes into commands to paste, and `__proto__` is nobody's profile. */
const PROFILE_NAME = latePattern(String.raw`^[\p{L}\p{N}][\p{L}\p{N}_.@-]{0,63}$`);

/**
 * Reads config.json; a file that is not there is an empty one, and so is one that nobody can have (no home folder). Throws a
 * FleetError of kind `config` when it cannot be read or understood, when others own or may write it, and for a FLEET_CONFIG_DIR
 * that is no absolute path.
 */
export async function loadStored(env: NodeJS.ProcessEnv): Promise<Stored> {
  const place = findPlace(env);
  if (place.problem !== undefined && env['FLEET_CONFIG_DIR'] !== undefined) throw place.problem;
  return { ...place, ...readConfig(place) };
}

function readConfig(place: Place): Pick<Stored, 'active' | 'profiles'> {
  if (place.problem !== undefined) return { active: undefined, profiles: new Map() };
  return profilesOf(place, readObject(place.configPath, RESET_CONFIG));
}

function profilesOf({ configPath }: Place, config: Record<string, unknown>): Pick<Stored, 'active' | 'profiles'> {
  return readProfiles(config, (value, what) => asObject(value, configPath, what, RESET_CONFIG));
}

type AsObject = (value: unknown, what: string) => Record<string, unknown>;

function readProfiles(config: Record<string, unknown>, toObject: AsObject): Pick<Stored, 'active' | 'profiles'> {
  const profiles = new Map<string, Record<string, unknown>>();
  for (const [name, values] of Object.entries(toObject(config['profiles'] ?? {}, '"profiles"')))
    profiles.set(name, toObject(values, `the profile "${name}"`));
  const active = config['profile'];
  return { active: typeof active === 'string' && active !== '' ? active : undefined, profiles };
}

/** The text of config.json as it stands there, JSON or not; undefined when there is none. Throws as loadStored does. */
export function readConfigText({ configPath }: Place): string | undefined {
  return readOwn(configPath);
}

/** Settings from a text that is to become config.json. Throws a FleetError of kind `config` that names `what` is wrong. */
export function parseConfig(
  text: string,
  what: string,
): Pick<Stored, 'active' | 'profiles'> & { config: Record<string, unknown> } {
  const toObject: AsObject = (value, part) => {
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return Object.fromEntries(Object.entries(value));
    throw configError(`${part} is not a JSON object`);
  };
  let value: unknown;
  try {
    value = parseText(text);
  } catch (error) {
    throw configError(`${what} is not JSON: ${messageOf(error)}`, undefined, error);
  }
  const config = toObject(value, what);
  return { config, ...readProfiles(config, toObject) };
}

/** Puts settings in the place of config.json; one that could not be understood is kept as `config.json.broken`. */
export async function replaceConfig(place: Place, config: Record<string, unknown>): Promise<void> {
  const old = readConfigText(place);
  try {
    if (old !== undefined) parseConfig(old, place.configPath);
  } catch {
    await files.rename(place.configPath, `${place.configPath}.broken`);
  }
  const absent = (before: Content) => Object.fromEntries(Object.keys(before).map((key) => [key, undefined]));
  await change(place, 'configPath', (before) => ({ ...absent(before), ...config }));
}

/** The profiles as they stand in config.json now. Throws as loadStored does. */
export async function loadProfiles(place: Place): Promise<Stored['profiles']> {
  return readConfig(place).profiles;
}

/** Reads the stored tokens, profile by profile. Throws as loadStored does. */
export async function loadTokens(place: Place): Promise<ReadonlyMap<string, string>> {
  return place.problem === undefined
    ? tokensOf(place, readObject(place.credentialsPath, RESET_CREDENTIALS))
    : new Map<string, string>();
}

function tokensOf({ credentialsPath }: Place, credentials: Record<string, unknown>): Map<string, string> {
  const tokens = new Map<string, string>();
  const entries = Object.entries(asObject(credentials['tokens'] ?? {}, credentialsPath, '"tokens"', RESET_CREDENTIALS));
  for (const [name, token] of entries) if (typeof token === 'string' && token !== '') tokens.set(name, token);
  return tokens;
}

/** A file of the settings that is open to others than its owner. */
export interface LooseFile {
  path: string;
  /** Permission bits as `ls` and `chmod` count them: `0644`. */
  mode: string;
  holds: string;
}

/** The files of the settings that others can read or write, credentials first. Windows keeps no such bits. */
export function findLooseFiles({ credentialsPath, configPath }: Place): LooseFile[] {
  const places = [
    { path: credentialsPath, holds: 'tokens' },
    { path: configPath, holds: 'settings' },
  ];
  return places.flatMap(({ path, holds }) => findLooseFile(path, holds) ?? []);
}

function findLooseFile(path: string, holds: string): LooseFile | undefined {
  if (process.platform === 'win32') return undefined;
  const found = statIfThere(path);
  if (found === undefined || (found.mode & OTHERS_MODE_BITS) === 0) return undefined;
  return { path, holds, mode: showMode(found.mode) };
}

/** The command that closes a file to others, to be pasted. */
export function closeCommand({ path }: LooseFile): string {
  return `chmod 600 ${quoteForShell(path)}`;
}

export function looseWarning(file: LooseFile): string {
  return `warning: ${file.path} holds ${file.holds} and is open to others (mode ${file.mode}); run: ${closeCommand(file)}`;
}

/** A warning when credentials.json can be read or written by others than its owner; undefined when all is well. */
export function findLooseMode({ credentialsPath }: Place): string | undefined {
  const file = findLooseFile(credentialsPath, 'tokens');
  return file === undefined ? undefined : looseWarning(file);
}

/** Whether profiles may bear this name; else throws a FleetError, of kind `usage` unless told otherwise. */
export function checkProfileName(
  name: string,
  refuse: (message: string, hint: string) => FleetError = usageError,
): void {
  if (PROFILE_NAME().test(name)) return;
  throw refuse(
    `"${name}" cannot be the name of a profile`,
    'use up to 64 letters, digits and _ . @ -, a letter or digit first',
  );
}

/**
 * Adds values to a profile, which is made when it is not there; `undefined` takes a value out. The caller has checked
 * the values with the parsers of keys.ts.
 */
export async function saveProfile(
  place: Place,
  name: string,
  values: { readonly [Key in keyof ProfileValues]: ProfileValues[Key] | undefined },
): Promise<void> {
  checkProfileName(name);
  await change(place, 'configPath', (config) => {
    const profiles = new Map(profilesOf(place, config).profiles);
    const merged = Object.entries({ ...profiles.get(name), ...values }).filter(([, value]) => value !== undefined);
    profiles.set(name, Object.fromEntries(merged));
    return { profiles: Object.fromEntries(profiles) };
  });
}

/** Makes a profile the one in use; `undefined` goes back to `default`. */
export async function useProfile(place: Place, name: string | undefined): Promise<void> {
  await change(place, 'configPath', (config) => {
    profilesOf(place, config);
    return { profile: name };
  });
}

/** Takes a profile and its token away; the profile in use falls back to `default`. Says whether there was one. */
export async function deleteProfile(place: Place, name: string): Promise<boolean> {
  const isThere = readConfig(place).profiles.has(name);
  const hadToken = await deleteToken(place, name);
  if (!isThere) return hadToken;
  return change(place, 'configPath', (config) => {
    const { active, profiles } = profilesOf(place, config);
    const left = Object.fromEntries([...profiles].filter(([other]) => other !== name));
    return { profiles: left, ...(active === name ? { profile: undefined } : {}) };
  });
}

/** Stores the token of a profile in credentials.json, mode 0600. The caller has checked it with `parseToken`. */
export async function saveToken(place: Place, name: string, token: string): Promise<void> {
  checkProfileName(name);
  await change(place, 'credentialsPath', (credentials) => ({
    tokens: Object.fromEntries(tokensOf(place, credentials).set(name, token)),
  }));
}

/** Takes the stored token of a profile away; says whether there was one. */
export async function deleteToken(place: Place, name: string): Promise<boolean> {
  if (!(await loadTokens(place)).has(name)) return false;
  return change(place, 'credentialsPath', (credentials) => {
    const tokens = tokensOf(place, credentials);
    return tokens.delete(name) ? { tokens: Object.fromEntries(tokens) } : undefined;
  });
}

const RESET_CONFIG = 'run "fleet auth login" again';
const RESET_CREDENTIALS = 'run "fleet auth login" again, which stores the token again';

function readObject(path: string, afterReset: string): Record<string, unknown> {
  const text = readOwn(path);
  if (text === undefined) return {};
  let value: unknown;
  try {
    value = parseText(text);
  } catch (error) {
    throw brokenFile(path, 'it is not JSON', afterReset, error);
  }
  return asObject(value, path, 'it', afterReset);
}

/** Some editors put a byte order mark first; JSON has none. */
function parseText(text: string): unknown {
  return parseJson(text.replace(/^\uFEFF/, ''));
}

function formatText(value: Content): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

/** The text of a file of the settings; undefined when it is not there. At once: every start waits for it, and `fs/promises` would start threads first. */
function readOwn(path: string): string | undefined {
  let file: number | undefined;
  try {
    refuseForeignFolders(path);
    // Without waiting: a named pipe in its place would never open.
    file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const found = fstatSync(file);
    refuseForeign(path, found);
    if (!found.isFile()) throw new Error('it is not a regular file');
    if (found.size > LIMIT_BYTES) throw new Error(`it is larger than ${LIMIT_BYTES / 1_000_000} MB`);
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    if (error instanceof FleetError) throw error;
    throw configError(
      `${path} cannot be read: ${messageOf(error)}`,
      'check the path and its permissions, or set FLEET_CONFIG_DIR',
      error,
    );
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function asObject(value: unknown, path: string, what: string, afterReset: string): Record<string, unknown> {
  if (isObject(value)) return value;
  throw brokenFile(path, `${what} is not a JSON object`, afterReset);
}

function brokenFile(path: string, reason: string, afterReset: string, cause?: unknown): FleetError {
  const quoted = quoteForShell(path);
  return configError(
    `${path} cannot be understood: ${reason}`,
    `it was left as it is: fix it, or reset it with: mv ${quoted} ${quoteForShell(`${path}.broken`)} and ${afterReset}`,
    cause,
  );
}

/** What a file of the settings holds. */
type Content = Readonly<Record<string, unknown>>;

/**
 * Changes keys at the top of a file, `undefined` taking one out; whatever else stands there stays. `changesOf` gets what stands there
 * while nobody else changes it, and gives undefined where nothing is to change. Says whether something was.
 */
async function change(
  place: Place,
  file: 'configPath' | 'credentialsPath',
  changesOf: (before: Record<string, unknown>) => Content | undefined,
): Promise<boolean> {
  if (place.problem !== undefined) throw place.problem;
  const path = place[file];
  const read = () => readObject(path, file === 'configPath' ? RESET_CONFIG : RESET_CREDENTIALS);
  // What cannot be read is refused before anything is made.
  read();
  try {
    await makeFolder(place.folder, OWN_FOLDER_MODE);
    refuseForeignFolders(path);
    const target = targetOf(path);
    // Before the lock is taken: it takes longer than all that is done under it.
    await loadConf();
    return await alone(`${target}.lock`, async () => {
      const before = read();
      const changes = changesOf(before);
      if (changes === undefined) return false;
      const merged = Object.entries({ ...before, ...changes }).filter(([, value]) => value !== undefined);
      await replaceFile(target, Object.fromEntries(merged));
      return true;
    });
  } catch (error) {
    if (error instanceof FleetError) throw error;
    throw configError(
      `${path} could not be written: ${messageOf(error)}`,
      'check the folder, or choose another with FLEET_CONFIG_DIR',
      error,
    );
  }
}

/** How long a lock is looked at again, and after how long without a change its run counts as killed: a file takes milliseconds to write. */
const LOCK_PAUSE_MS = 20;
const LOCK_LIFE_MS = 3_000;

/** Does the work while no other run holds the lock, an empty file. One that a killed run left behind is taken away. */
async function alone<Value>(lock: string, work: () => Promise<Value>): Promise<Value> {
  const clock = systemClock();
  let seen = '';
  let sinceMs = 0;
  for (;;) {
    try {
      closeSync(openSync(lock, 'wx', OWNER_ONLY_MODE));
      break;
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error;
    }
    const found = lstatSync(lock, { bigint: true, throwIfNoEntry: false });
    const now = `${found?.ino} ${found?.ctimeNs}`;
    if (now !== seen) [seen, sinceMs] = [now, clock.monotonicMs()];
    else if (clock.monotonicMs() - sinceMs > LOCK_LIFE_MS) rmSync(lock, { force: true });
    await sleep(clock, LOCK_PAUSE_MS, NEVER_ABORTED);
  }
  try {
    return await work();
  } finally {
    rmSync(lock, { force: true });
  }
}

const NEVER_ABORTED = new AbortController().signal;

/**
 * Puts the content in the place of the file, whole or not at all. conf writes a draft beside it, which is moved there once its size is right:
 * when a disk fills up, conf takes the part that was written for the whole.
 */
async function replaceFile(target: string, content: Content): Promise<void> {
  const draft = `${target}.new`;
  try {
    removeDrafts(draft);
    (await openConf(draft)).store = content;
    if (statSync(draft).size !== Buffer.byteLength(formatText(content))) throw new Error('no space left on the device');
    renameSync(draft, target);
  } finally {
    removeDrafts(draft);
  }
}

/** Also those of runs that were killed, under the names that conf gives them while it writes. */
function removeDrafts(draft: string): void {
  for (const name of readdirSync(dirname(draft)))
    if (name.startsWith(basename(draft))) rmSync(join(dirname(draft), name), { force: true });
}

/** A draft in the hands of `conf`, which takes 50 ms to load: only what writes waits for it. */
async function openConf(path: string): Promise<Conf<Record<string, unknown>>> {
  const { default: Conf } = await loadConf();
  return new Conf<Record<string, unknown>>({
    cwd: dirname(path),
    configName: basename(path),
    fileExtension: '',
    configFileMode: OWNER_ONLY_MODE,
    accessPropertiesByDotNotation: false,
    serialize: formatText,
    deserialize: (text) => parseText(text) as Record<string, unknown>,
  });
}

/** Loads conf without its listeners for signals: they send each signal to the process again, and Ctrl-C would count twice. */
async function loadConf() {
  const before = new Set(signalListeners().map(([, listener]) => listener));
  const library = await import('conf');
  for (const [signal, listener] of signalListeners()) if (!before.has(listener)) process.off(signal, listener);
  return library;
}

function signalListeners() {
  const signals = process.eventNames().filter((name) => String(name).startsWith('SIG')) as NodeJS.Signals[];
  return signals.flatMap((signal) => process.listeners(signal).map((listener) => [signal, listener] as const));
}
