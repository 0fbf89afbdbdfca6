// `fleet config get`: the value in use of one setting, alone.

import type { Context } from '../../context.js';
import { configError } from '../../errors.js';
import { chooseProfile, explainSetting, profileFlag } from '../../settings/resolve.js';
import { loadStored } from '../../settings/store.js';
import { readKey } from './key.js';

/** Throws a FleetError of kind `config` when the setting is not set anywhere, or when its value is refused. */
export async function getSetting({ io, flags }: Context, written: string): Promise<void> {
  const stored = await loadStored(io.env);
  const profile = chooseProfile(flags, io.env, stored).value;
  if (written === 'profile') return io.stdout.write(`${profile}\n`);
  const key = readKey(written);
  const { shown, problem } = explainSetting(key, flags, io.env, stored);
  if (problem !== undefined) throw problem;
  if (shown === null)
    throw configError(`${key} is not set`, `set it with: fleet config set ${key} VALUE${profileFlag(profile)}`);
  await io.stdout.write(`${shown}\n`);
}
