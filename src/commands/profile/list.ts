// `fleet profile list`: lists all profiles, and marks the one in use.

import type { Context } from '../../context.js';
import { textOrNull } from '../../json/parse.js';
import { printReport } from '../../list/change-report.js';
import { isTrue } from '../../settings/keys.js';
import { describeCollisions } from '../../settings/profile-name.js';
import { explainSetting, explainSettings } from '../../settings/resolve.js';
import { loadStored, loadTokens } from '../../settings/store.js';
import { chooseFormat, REPORT_FORMATS, type Shape } from '../../terminal/formats.js';

export async function listProfiles(context: Context): Promise<void> {
  const { io, flags, notice } = context;
  const stored = await loadStored(io.env);
  const tokens = await loadTokens(stored);
  // The profile in use may not exist. The list is still printed, because it helps to find the right
  // name.
  const { output, profile } = explainSettings({ flags, env: io.env, stored });
  if (output.problem !== undefined) throw output.problem;
  const inUse = profile.value;
  const format = chooseFormat(output, REPORT_FORMATS);
  const rows = [...stored.profiles].map(([name, values]) => ({
    name,
    active: name === inUse,
    base_url: explainSetting('base_url', { flags: { profile: name }, env: {}, stored }).shown,
    organization: textOrNull(values['organization'] || null),
    // Whether the profile has a stored token or a token command.
    token: tokens.has(name) || Boolean(values['token_command']),
    protected: isTrue(values['protected']),
    read_only: isTrue(values['read_only']),
  }));
  if (format === 'table' && rows.length === 0)
    return notice('No profiles yet. Run "fleet auth login", or "fleet sandbox" to try fleet');
  await printReport(context, PROFILES, rows, format);
  for (const { problem, command } of describeCollisions(stored.profiles.keys(), stored.active))
    await notice(`warning: ${problem}; to delete one of them, run: ${command}`);
  if (format === 'table' && !stored.profiles.has(inUse))
    await notice(`The profile in use, "${inUse}", does not exist yet`);
}

const PROFILES: Shape<object> = {
  noun: { one: 'profile', many: 'profiles' },
  isReport: true,
  fields: ['name', 'active', 'base_url', 'organization', 'token', 'protected', 'read_only'],
  columns: [],
};
