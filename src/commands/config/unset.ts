// `fleet config unset`: removes a value from a profile.

import type { Context } from '../../context.js';
import { chooseProfile } from '../../settings/resolve.js';
import { loadStored, saveProfile } from '../../settings/store.js';
import { readKey } from './key.js';

export async function unsetSetting({ io, flags, notice }: Context, written: string): Promise<void> {
  const key = readKey(written);
  const stored = await loadStored(io.env);
  const profile = chooseProfile(flags, io.env, stored).value;
  if (stored.profiles.get(profile)?.[key] === undefined) return notice(`${key} is not set in profile "${profile}"`);
  await saveProfile(stored, profile, { [key]: undefined });
  await notice(`✓ removed ${key} from profile "${profile}"`);
}
