// `fleet config list`: every setting, its value and its origin.

import type { Context } from '../../context.js';
import { explainSettings } from '../../settings/resolve.js';
import { loadStored } from '../../settings/store.js';
import { findTokenPlace } from '../../settings/token-place.js';
import type { Shape } from '../../terminal/formats.js';
import { chooseReportFormat, printReport, reportColumn } from '../shared/change-report.js';

/** What replaces a token. */
const HIDDEN = '(hidden)';

/** A row of the list; `key` is `profile`, one of the keys, or `token`. */
interface Row {
  key: string;
  value: string | null;
  origin: string;
  from: string;
}

export async function listSettings(context: Context): Promise<void> {
  const { io, flags, notice } = context;
  const stored = await loadStored(io.env);
  const settings = explainSettings({ flags, env: io.env, stored });
  if (settings.profile.problem !== undefined) throw settings.profile.problem;
  const explained = Object.values(settings);
  const rows: Row[] = explained.map(({ key, shown, origin, from }) => ({ key, value: shown, origin, from }));
  const token = await findTokenPlace(io.env, stored, settings);
  const [origin, from] = token === undefined ? ['default', 'default'] : [token.level, token.origin];
  rows.push({ key: 'token', value: token === undefined ? null : HIDDEN, origin, from });

  await printReport(context, REPORT, rows, chooseReportFormat(settings.output));
  for (const { problem } of explained) if (problem !== undefined) await notice(`warning: ${problem.message}`);
}

const REPORT: Shape<Row> = {
  noun: { one: 'setting', many: 'settings' },
  isReport: true,
  fields: ['key', 'value', 'origin', 'from'],
  columns: [
    reportColumn('key', 3, ({ key }) => key),
    reportColumn('value', 2, ({ value }) => value ?? '-'),
    { ...reportColumn<Row>('origin', 1, describeOrigin), minimum: 16 },
  ],
};

/** `default`, `flag: --output`, `profile "sandbox"`. */
function describeOrigin({ origin, from }: Row): string {
  return from.startsWith(origin) ? from : `${origin}: ${from}`;
}
