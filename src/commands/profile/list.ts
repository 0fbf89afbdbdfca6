// `fleet profile list`: all profiles, and which one is in use.

import type { Context } from '../../context.js';
import { textOrNull } from '../../json/parse.js';
import { isTrue } from '../../settings/keys.js';
import { explainSetting, explainSettings } from '../../settings/resolve.js';
import { loadStored, loadTokens } from '../../settings/store.js';
import type { Shape } from '../../terminal/formats.js';
import { chooseReportFormat, printReport, reportColumn } from '../shared/change-report.js';

interface Row {
  name: string;
  active: boolean;
  base_url: string | null;
  organization: string | null;
  /** Whether a token is stored for it or a command gives one. */
  token: boolean;
  /** Whether every change asks first. */
  protected: boolean;
}

export async function listProfiles(context: Context): Promise<void> {
  const { io, flags, notice } = context;
  const stored = await loadStored(io.env);
  const tokens = await loadTokens(stored);
  // The list is also where to look after naming a profile that does not exist.
  const { output, profile } = explainSettings({ flags, env: io.env, stored });
  if (output.problem !== undefined) throw output.problem;
  const inUse = profile.value;
  const format = chooseReportFormat(output);
  const rows = [...stored.profiles].map(
    ([name, values]): Row => ({
      name,
      active: name === inUse,
      base_url: explainSetting('base_url', { flags: { profile: name }, env: {}, stored }).shown,
      organization: textOrNull(values['organization'] || null),
      token: tokens.has(name) || Boolean(values['token_command']),
      protected: isTrue(values['protected']),
    }),
  );
  await printReport(context, PROFILES, rows, format);
  if (format !== 'table') return;
  if (rows.length === 0) await notice('No profiles yet. Run "fleet auth login", or "fleet sandbox" to try');
  else if (!stored.profiles.has(inUse)) await notice(`The profile in use, "${inUse}", does not exist yet`);
}

const PROFILES: Shape<Row> = {
  noun: { one: 'profile', many: 'profiles' },
  isReport: true,
  fields: ['name', 'active', 'base_url', 'organization', 'token', 'protected'],
  columns: [
    reportColumn('name', 6, ({ name }) => name),
    reportColumn('active', 5, ({ active }) => (active ? '*' : '-')),
    reportColumn('base_url', 4, ({ base_url }) => base_url ?? '-'),
    reportColumn('organization', 1, ({ organization }) => organization ?? '-'),
    reportColumn('token', 3, ({ token }) => (token ? 'yes' : 'no')),
    reportColumn('protected', 2, (row) => (row.protected ? 'yes' : 'no')),
  ],
};
