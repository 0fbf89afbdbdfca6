// `--dry-run`: the requests as they would be sent, and nothing sent.

import type { Context } from '../../../context.js';
import type { Client } from '../../../http/client.js';
import { clean } from '../../../terminal/clean.js';
import { chooseListFormat } from '../../../terminal/list.js';
import { peekEntries } from './journal.js';
import type { BulkPlan, ChangeOptions } from './plan.js';
import { type Binding, type JournalEntry, judgeEntry } from './records.js';

/** Prints the requests that would be sent, as HTTP messages or JSON lines; what the journal knows is left out. */
export async function showRequests(
  context: Context,
  client: Client,
  { tasks, change, checkKeys }: BulkPlan,
  { journal, unknown, binding }: Pick<ChangeOptions, 'journal' | 'unknown'> & { binding: Binding },
): Promise<void> {
  const format = chooseListFormat((await context.settings()).output);
  const entries =
    journal === undefined ? new Map<string, JournalEntry>() : await peekEntries(journal, binding, unknown === 'resend');
  checkKeys?.(entries.keys());
  const counts = { open: 0, done: 0, refused: 0, doubt: 0 };
  for (const task of tasks) {
    const known = judgeEntry(entries.get(task.key));
    if (known === 'open' && change.isNeedless?.(task) === true) continue;
    counts[known] += 1;
    if (known !== 'open') continue;
    const request = client.preview(change.requestOf(task));
    const lines = [
      `${request.method} ${request.url}`,
      ...Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`),
      '',
      request.body ?? '',
      '',
    ];
    await context.io.stdout.write(
      format === 'table'
        ? `${lines.map(clean).join('\n')}\n`
        : `${JSON.stringify({ ...request, body: JSON.parse(request.body ?? 'null') })}\n`,
    );
  }
  const others = [
    ...(counts.done > 0 ? [`${counts.done} done`] : []),
    ...(counts.refused > 0 ? [`${counts.refused} refused`] : []),
    ...(counts.doubt > 0 ? [`${counts.doubt} of an earlier run without an answer would be looked up first`] : []),
  ];
  const aside = others.length === 0 ? '' : `; by the journal ${others.join(', ')}`;
  await context.notice(
    `dry run: ${counts.open} ${counts.open === 1 ? 'request' : 'requests'}, nothing was sent${aside}`,
  );
}
