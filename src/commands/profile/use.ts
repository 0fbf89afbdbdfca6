// `fleet profile use`: switches to a profile.

import { unknownWord } from '../../cli/nearest.js';
import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import { DEFAULT_PROFILE, loadStored, useProfile } from '../../settings/store.js';

/** Throws a FleetError of kind `usage` when there is no such profile; `default` is always one. */
export async function chooseActive({ io, flags, notice }: Context, name: string): Promise<void> {
  const stored = await loadStored(io.env);
  if (stored.profiles.size === 0 && name !== DEFAULT_PROFILE)
    throw usageError(`unknown profile "${name}"`, 'there is none yet: "fleet sandbox" or "fleet auth login" saves one');
  if (!stored.profiles.has(name) && name !== DEFAULT_PROFILE)
    throw unknownWord('profile', name, [...stored.profiles.keys()]);
  await useProfile(stored, name === DEFAULT_PROFILE ? undefined : name);
  await notice(`✓ now using profile "${name}"`);
  const stronger = flags.profile === undefined ? (io.env['FLEET_PROFILE'] ?? '') : '';
  if (stronger !== '' && stronger !== name)
    await notice(`warning: FLEET_PROFILE is set to "${stronger}" and overrides it`);
}
