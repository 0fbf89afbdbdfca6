// `fleet config set`: puts a checked value into a profile.

import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import { parseForStore } from '../../settings/keys.js';
import { chooseProfile, explainSetting, refusePlainHttp } from '../../settings/resolve.js';
import { loadStored, saveProfile } from '../../settings/store.js';
import { readKey } from './key.js';

export async function setSetting({ io, flags, notice }: Context, written: string, text: string): Promise<void> {
  const key = readKey(written);
  const parsed = parseForStore(key, text);
  if ('reason' in parsed) throw usageError(`${key}: ${parsed.reason}`, parsed.hint);
  const { value } = parsed;

  const stored = await loadStored(io.env);
  const profile = chooseProfile(flags, io.env, stored, { mayBeNew: true }).value;
  const values = stored.profiles.get(profile);
  if (key === 'base_url' || key === 'sse_url') refusePlainHttp(new URL(String(value)), key, stored, profile);
  await saveProfile(stored, profile, { [key]: value });
  if (values === undefined) await notice(`✓ created profile "${profile}"`);
  await notice(`✓ set ${key} to ${value} in profile "${profile}"`);
  if (key === 'allow_http' && value === true)
    await notice('warning: over plain http anyone on the network path can read the token and use it');

  const inUse = explainSetting(key, { profile }, io.env, await loadStored(io.env));
  if (inUse.origin === 'environment') await notice(`warning: ${inUse.from} is set and overrides it`);
}
