// `fleet config get`: the value in use of one setting, alone.

import type { Context } from '../../context.js';
import { configError } from '../../errors.js';
import { chooseProfile, explainSetting, profileFlag } from '../../settings/resolve.js';
import { loadStored } from '../../settings/store.js';
import { writeResult } from '../shared/list/target.js';
import { readKey } from './key.js';

/** Throws a FleetError of kind `config` when the setting is not set anywhere, or when its value is refused. */
export async function getSetting(context: Context, written: string): Promise<void> {
  const { io, flags } = context;
  const stored = await loadStored(io.env);
  const profile = chooseProfile(flags, io.env, stored).value;
  if (written === 'profile') return writeResult(context, `${profile}\n`);
  const key = readKey(written);
  const { shown, problem } = explainSetting(key, flags, io.env, stored);
  if (problem !== undefined) throw problem;
  if (shown === null)
    throw configError(`${key} is not set`, `set it with: fleet config set ${key} VALUE${profileFlag(profile)}`);
  await writeResult(context, `${shown}\n`);
}
