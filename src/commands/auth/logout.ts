// `fleet auth logout`: removes the stored token of a profile.

import type { Context } from '../../context.js';
import { resolveSettings } from '../../settings/resolve.js';
import { deleteToken, loadStored } from '../../settings/store.js';
import { findTokenPlace } from '../../settings/token-place.js';

export async function logout({ io, flags, notice }: Context): Promise<void> {
  const stored = await loadStored(io.env);
  const settings = resolveSettings(flags, io.env, stored);
  const profile = settings.profile.value;
  const removed = await deleteToken(stored, profile);
  await notice(
    removed
      ? `✓ removed the stored token of profile "${profile}" from ${stored.credentialsPath}`
      : `profile "${profile}" has no stored token`,
  );
  const place = await findTokenPlace(io.env, stored, settings);
  if (place !== undefined) await notice(`a token still comes from: ${place.origin}`);
}
