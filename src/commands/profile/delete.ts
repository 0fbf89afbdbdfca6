// `fleet profile delete`: deletes a profile and its token, after a question.

import { unknownWord } from '../../cli/nearest.js';
import type { Context } from '../../context.js';
import { DEFAULT_PROFILE, deleteProfile, loadStored, loadTokens } from '../../settings/store.js';
import { clean } from '../../terminal/clean.js';
import { askYesNo } from '../../terminal/prompt.js';

export interface DeleteOptions {
  yes?: boolean;
}

/** Throws a FleetError of kind `usage` when there is no such profile, or without a terminal `--yes` is missing. */
export async function removeProfile(context: Context, name: string, options: DeleteOptions): Promise<void> {
  const { io, notice } = context;
  const stored = await loadStored(io.env);
  const hasToken = (await loadTokens(stored)).has(name);
  if (!stored.profiles.has(name) && !hasToken) throw unknownWord('profile', name, [...stored.profiles.keys()]);
  if (options.yes !== true) {
    const message = `Delete profile "${clean(name)}"${hasToken ? ' and its token' : ''}?`;
    if (!(await askYesNo(context, { message, instead: 'add --yes to skip the question' })))
      return notice('nothing was deleted');
  }
  await deleteProfile(stored, name);
  await notice(`✓ deleted profile "${name}"${hasToken ? ' and its token' : ''}`);
  if (stored.active === name) await notice(`✓ now using profile "${DEFAULT_PROFILE}"`);
}
