// `fleet config list`: every setting, its value and its origin.

import type { Context } from '../../context.js';
import { printReport } from '../../list/change-report.js';
import { explainSettings } from '../../settings/resolve.js';
import { loadStored } from '../../settings/store.js';
import { findTokenPlace } from '../../settings/token-place.js';
import { chooseFormat, REPORT_FORMATS, type Shape } from '../../terminal/formats.js';
import { defaultRows, HIDDEN_VALUE } from './defaults.js';

export async function listSettings(context: Context): Promise<void> {
  const { io, flags, notice } = context;
  const stored = await loadStored(io.env);
  const settings = explainSettings({ flags, env: io.env, stored });
  if (settings.profile.problem !== undefined) throw settings.profile.problem;
  const explained = Object.values(settings);
  const rows = explained.map(({ key, shown, origin, from }) => ({
    key,
    // The list does not show the command. People paste this list into bug reports, and fleet does
    // not recognise every password in a command. `config get` prints the command.
    value: key === 'token_command' && shown !== null ? HIDDEN_VALUE : shown,
    origin,
    from,
  }));
  const place = await findTokenPlace(io.env, stored, settings);
  const { level, origin } = place ?? { level: 'default', origin: 'default' };
  const token = {
    key: 'token',
    value: place === undefined ? null : HIDDEN_VALUE,
    origin: level,
    from: origin,
  };
  await printReport(
    context,
    REPORT,
    [...rows, token, ...(await defaultRows(io.env))],
    chooseFormat(settings.output, REPORT_FORMATS),
  );
  for (const { problem } of explained)
    if (problem !== undefined) await notice(`warning: ${problem.message}`);
}

const REPORT: Shape<object> = {
  noun: { one: 'setting', many: 'settings' },
  isReport: true,
  fields: ['key', 'value', 'origin', 'from'],
  columns: [],
};
