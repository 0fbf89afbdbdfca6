// Refuses a change when the profile is read-only, and asks for confirmation when the profile is
// protected.

import type { Context } from '../context.js';
import { usageError } from '../errors.js';
import { readOnlyFailure } from '../settings/resolve.js';

/**
 * Throws a FleetError of kind `config` when the settings do not allow changes. The client also
 * refuses each such request, but this check comes before anything is read, asked or written.
 * `--dry-run` is allowed.
 */
export async function refuseIfReadOnly(
  context: Context,
  { dryRun }: { dryRun?: boolean } = {},
): Promise<void> {
  const failure = readOnlyFailure(await context.settings());
  if (failure !== undefined && dryRun !== true) throw failure;
}

/**
 * Asks for confirmation when the profile is protected and `--yes` is missing. Throws a FleetError
 * of kind `usage` when the user declines or cannot be asked; nothing has been sent then.
 * @param what the change as an infinitive without control characters: `POST /bicycles/`
 */
export async function askIfProtected(
  context: Context,
  what: string,
  isSure: boolean | undefined,
): Promise<void> {
  const { protected: isProtected, profile } = await context.settings();
  if (!isProtected.value || isSure === true) return;
  const { askYesNo } = await import('../terminal/prompt.js');
  const message = `${what} with the protected profile "${profile.value}"?`;
  if (await askYesNo(context, { message, instead: 'add --yes to skip the question' })) return;
  throw usageError('nothing was sent: it was not confirmed');
}
