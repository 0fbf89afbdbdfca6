// `fleet config get`, `set`, `unset` and `path`: one setting of a profile, and the path of the
// settings file.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { wholeUuid } from '../../api/links.js';
import { NAMED } from '../../api/named.js';
import { unknownWord } from '../../cli/nearest.js';
import type { Context } from '../../context.js';
import { configError, usageError } from '../../errors.js';
import { uuidOfNamed } from '../../list/find-named.js';
import { writeResult } from '../../list/output-file.js';
import { findPlace } from '../../settings/config-folder.js';
import { findKey, KEY_NAMES, KEYS, type KeyName, parseForStore } from '../../settings/keys.js';
import {
  explainSetting,
  findProfile,
  profileFlag,
  refusePlainHttp,
} from '../../settings/resolve.js';
import { loadStored, saveProfile } from '../../settings/store.js';
import { clean } from '../../terminal/clean.js';
import { getDefault, parseDefaultKey, setDefault, unsetDefault } from './defaults.js';

/**
 * Prints the current value. Throws a FleetError of kind `config` when the setting is missing or
 * invalid.
 */
export async function getSetting(
  context: Context,
  program: Command,
  written: string,
): Promise<void> {
  const defaultKey = parseDefaultKey(written);
  if (defaultKey !== undefined) return getDefault(context, program, defaultKey);
  const { io, flags } = context;
  const sources = { flags, env: io.env, stored: await loadStored(io.env) };
  const profile = findProfile(sources);
  if (profile.problem !== undefined) throw profile.problem;
  const { key, shown, problem } =
    written === 'profile' ? profile : explainSetting(readKey(written), sources);
  if (problem !== undefined) throw problem;
  if (shown === null)
    throw configError(
      `${key} is not set`,
      `set it with: fleet config set ${key} VALUE${profileFlag(profile.value)}`,
    );
  await writeResult(context, `${shown}\n`);
}

/**
 * Checks a value and stores it in a profile. Looks up the name of an organization, and stores it
 * together with its UUID.
 */
export async function setSetting(
  context: Context,
  program: Command,
  written: string,
  text: string,
): Promise<void> {
  const defaultKey = parseDefaultKey(written);
  if (defaultKey !== undefined) return setDefault(context, program, defaultKey, text);
  const { io, flags, notice } = context;
  const key = readKey(written);
  const parsed = parseForStore(key, text);
  if ('reason' in parsed) throw usageError(`${key}: ${parsed.reason}`, parsed.hint);
  const { value } = parsed;

  const stored = await loadStored(io.env);
  const profile = findProfile({ flags, env: io.env, stored }).value;
  if (key === 'base_url' || key === 'sse_url')
    refusePlainHttp(new URL(String(value)), key, stored, profile);
  const name = key === 'organization' && wholeUuid(text) === undefined ? text.trim() : undefined;
  if (name !== undefined) {
    const uuid = await uuidOfNamed(context, NAMED.organization, name);
    await saveProfile(stored, profile, { organization: uuid, organization_name: name });
    await notice(`✓ set organization to ${uuid} (${name}) in profile "${profile}"`);
    return warnAboutVariable(context, key);
  }
  await saveProfile(stored, profile, { [key]: value });
  if (!stored.profiles.has(profile)) await notice(`✓ created profile "${profile}"`);
  await notice(`✓ set ${key} to ${value} in profile "${profile}"`);
  if (key === 'allow_http' && value === true)
    await notice(
      'warning: over plain http anyone on the network path can read the token and use it',
    );
  if (key !== 'read_only' || value !== true) await warnAboutVariable(context, key);
}

async function warnAboutVariable({ io, notice }: Context, key: KeyName): Promise<void> {
  const variable = KEYS[key].variable ?? '';
  if ((io.env[variable] ?? '') !== '')
    await notice(`warning: ${variable} is set and overrides this value`);
}

/** Removes a value from a profile. */
export async function unsetSetting(
  context: Context,
  program: Command,
  written: string,
): Promise<void> {
  const { io, flags, notice } = context;
  const defaultKey = parseDefaultKey(written);
  if (defaultKey !== undefined) return unsetDefault(context, program, defaultKey);
  const key = readKey(written);
  const stored = await loadStored(io.env);
  const { value: profile, problem } = findProfile({ flags, env: io.env, stored });
  if (problem !== undefined) throw problem;
  if (stored.profiles.get(profile)?.[key] === undefined)
    return notice(`${key} is not set in profile "${profile}"`);
  await saveProfile(stored, profile, { [key]: undefined });
  await notice(`✓ removed ${key} from profile "${profile}"`);
}

/** Prints the path of the settings file, even when the file does not exist. */
export async function printPath(context: Context): Promise<void> {
  const { io, flags } = context;
  const { configPath } = findPlace(io.env);
  // The path comes from the environment and may contain control characters. `clean` removes them.
  await writeResult(
    context,
    `${flags.json === true ? JSON.stringify({ path: configPath }) : clean(configPath)}\n`,
  );
}

/**
 * Returns the setting with this name; `-` and `_` are equivalent. For an unknown name, throws a
 * FleetError of kind `usage` that suggests the most similar name.
 */
function readKey(written: string): KeyName {
  const key = findKey(written);
  if (key === undefined) throw unknownWord('key', written, KEY_NAMES);
  return key;
}
