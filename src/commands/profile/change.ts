// `fleet profile use` and `fleet profile delete`.

import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import { DEFAULT_PROFILE } from '../../settings/profile-name.js';
import { hintProfiles } from '../../settings/resolve.js';
import { deleteProfile, loadStored, loadTokens, useProfile } from '../../settings/store.js';
import { clean } from '../../terminal/clean.js';
import { askYesNo } from '../../terminal/prompt.js';

/**
 * Switches to a profile, which later commands use by default. The profile `default` always exists.
 * Throws a FleetError of kind `usage` when the profile does not exist.
 */
export async function chooseActive({ io, flags, notice }: Context, name: string): Promise<void> {
  const stored = await loadStored(io.env);
  if (!stored.profiles.has(name) && name !== DEFAULT_PROFILE)
    throw usageError(`unknown profile "${name}"`, hintProfiles(name, stored));
  await useProfile(stored, name === DEFAULT_PROFILE ? undefined : name);
  await notice(`✓ now using profile "${name}"`);
  const stronger = flags.profile === undefined ? (io.env['FLEET_PROFILE'] ?? '') : '';
  if (stronger !== '' && stronger !== name)
    await notice(`warning: FLEET_PROFILE is set to "${stronger}" and overrides this choice`);
}

/**
 * Deletes a profile and its token after a confirmation. Throws a FleetError of kind `usage` when
 * the profile does not exist, or when there is no terminal and `--yes` is missing.
 */
export async function removeProfile(
  context: Context,
  name: string,
  options: { yes?: boolean },
): Promise<void> {
  const { io, notice } = context;
  const stored = await loadStored(io.env);
  const hasToken = (await loadTokens(stored)).has(name);
  if (!stored.profiles.has(name) && !hasToken)
    throw usageError(`unknown profile "${name}"`, hintProfiles(name, stored));
  if (options.yes !== true) {
    const message = `Delete profile "${clean(name)}"${hasToken ? ' and its token' : ''}?`;
    if (!(await askYesNo(context, { message, instead: 'add --yes to skip the question' })))
      return notice('nothing was deleted');
  }
  await deleteProfile(stored, name);
  await notice(`✓ deleted profile "${name}"${hasToken ? ' and its token' : ''}`);
  if (stored.active === name) await notice(`✓ now using profile "${DEFAULT_PROFILE}"`);
}
