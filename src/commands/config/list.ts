// `fleet config list`: every setting, its value and its origin.

import type { Context } from '../../context.js';
import { type Explained, explainSettings } from '../../settings/resolve.js';
import { loadStored, type Stored } from '../../settings/store.js';
import { findTokenPlace } from '../../settings/token.js';
import { chooseListFormat } from '../../terminal/list.js';
import { printFacts } from '../facts.js';

/** What stands in the place of a token. */
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
  const explained = explainSettings(flags, io.env, stored);
  const rows: Row[] = explained.map(({ key, value, origin, from }) => ({ key, value, origin, from }));
  rows.push(await describeToken(context, stored, explained));

  const output = explained.find(({ key, problem }) => key === 'output' && problem === undefined);
  const format = chooseListFormat({ value: output?.value ?? 'table', origin: output?.origin ?? 'default' });
  await printFacts(context, format, rows, () => [['KEY', 'VALUE', 'ORIGIN'], ...rows.map(drawRow)]);
  for (const { problem } of explained) if (problem !== undefined) await notice(`warning: ${problem.message}`);
}

function drawRow({ key, value, origin, from }: Row): string[] {
  return [key, value ?? '-', origin === 'default' ? origin : `${origin}: ${from}`];
}

async function describeToken({ io }: Context, stored: Stored, explained: readonly Explained[]): Promise<Row> {
  const find = (wanted: string) => explained.find(({ key }) => key === wanted)?.value ?? undefined;
  const place = await findTokenPlace(io.env, stored, find('profile') ?? '', find('token_command'));
  if (place === undefined) return { key: 'token', value: null, origin: 'default', from: 'default' };
  return { key: 'token', value: HIDDEN, origin: place.level, from: place.origin };
}
