// `--dry-run`: the requests as they would be sent, and nothing sent.

import type { Context } from '../../context.js';
import type { Client } from '../../http/client.js';
import { clean } from '../../terminal/clean.js';
import { chooseListFormat } from '../../terminal/list.js';
import { peekJournal } from './journal.js';
import type { ChangeOptions, Plan } from './plan.js';
import { judgeEntry } from './records.js';

/** Prints the requests that would be sent, as HTTP messages or JSON lines. */
export async function showRequests<T>(
  context: Context,
  client: Client,
  plan: Plan<T>,
  { journal }: ChangeOptions,
): Promise<void> {
  const format = chooseListFormat((await context.settings()).output);
  const before = journal === undefined ? undefined : await peekJournal(journal, plan.journal.binding);
  plan.journal.check?.(before?.entries.keys() ?? []);
  const counts = { open: 0, done: 0, refused: 0, doubt: 0 };
  for await (const task of plan.input.tasks) {
    const known = judgeEntry(before?.entries.get(plan.change.keyOf(task)));
    counts[known] += 1;
    if (known !== 'open') continue;
    const request = client.preview(plan.change.changeOf(task).request);
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
    ...(counts.doubt > 0 ? [`${counts.doubt} in doubt and would be looked up first`] : []),
  ];
  const aside = others.length === 0 ? '' : `; by the journal ${others.join(', ')}`;
  await context.notice(
    `dry run: ${counts.open} ${counts.open === 1 ? 'request' : 'requests'}, nothing was sent${aside}`,
  );
}
