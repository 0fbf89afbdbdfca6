// `fleet config list`: every setting, its value and its origin.

import type { Context } from '../../context.js';
import { KEY_NAMES } from '../../settings/keys.js';
import { explainSetting, explainSettings, type Settings } from '../../settings/resolve.js';
import { loadStored, type Stored } from '../../settings/store.js';
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
  const settings = explainSettings(flags, io.env, stored);
  // Those of a feed only where they are set: most fleets are not published from here.
  const feed = KEY_NAMES.filter((name) => name.startsWith('gbfs.')).map((name) =>
    explainSetting(name, flags, io.env, stored),
  );
  const explained = [...Object.values(settings), ...feed.filter(({ shown }) => shown !== null)];
  const rows: Row[] = explained.map(({ key, shown, origin, from }) => ({ key, value: shown, origin, from }));
  rows.push(await describeToken(context, stored, settings));

  await printReport(context, REPORT, rows, chooseReportFormat(settings.output));
  for (const { problem } of explained) if (problem !== undefined) await notice(`warning: ${problem.message}`);
}

const REPORT: Shape<Row> = {
  noun: { one: 'setting', many: 'settings' },
  isReport: true,
  fields: ['key', 'value', 'origin', 'from'],
  columns: [
    { ...reportColumn<Row>('key', 3, ({ key }) => key), isUncut: true },
    reportColumn('value', 2, ({ value }) => value ?? '-'),
    { ...reportColumn<Row>('origin', 1, describeOrigin), minimum: 16, isElastic: true },
  ],
};

/** `default`, `flag: --output`, `profile "sandbox"`. */
function describeOrigin({ origin, from }: Row): string {
  return from.startsWith(origin) ? from : `${origin}: ${from}`;
}

async function describeToken({ io }: Context, stored: Stored, settings: Settings): Promise<Row> {
  const place = await findTokenPlace(io.env, stored, settings);
  if (place === undefined) return { key: 'token', value: null, origin: 'default', from: 'default' };
  return { key: 'token', value: HIDDEN, origin: place.level, from: place.origin };
}
