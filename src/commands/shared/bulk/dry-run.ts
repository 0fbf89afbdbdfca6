// `--dry-run`: the requests as they would be sent, and nothing sent.

import type { Context } from '../../../context.js';
import { clean } from '../../../terminal/clean.js';
import { chooseListFormat } from '../../../terminal/list.js';
import { count } from '../../../views/stream.js';
import type { JournalEntry } from './journal-records.js';
import { type BulkPlan, judgeTask } from './plan.js';

/** What is said of tasks that earlier runs have sent. */
const SENT_BEFORE = [
  ['done', 'done'],
  ['refused', 'refused'],
  ['doubt', 'of an earlier run without an answer would be looked up first'],
] as const;

/** Prints the requests that would be sent, as HTTP messages or JSON lines; what the journal knows, by key, is left out. */
export async function showRequests(
  context: Context,
  { tasks, change, checkKeys }: BulkPlan,
  entries: ReadonlyMap<string, JournalEntry>,
): Promise<void> {
  const client = await context.client();
  const format = chooseListFormat((await context.settings()).output);
  checkKeys?.(entries.keys());
  const counts = { open: 0, needless: 0, done: 0, refused: 0, doubt: 0 };
  for (const task of tasks) {
    const known = judgeTask(change, task, entries.get(task.key));
    counts[known] += 1;
    if (known !== 'open') continue;
    const request = client.preview(change.requestOf(task));
    const headers = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`);
    const lines = [`${request.method} ${request.url}`, ...headers, '', request.body ?? '', ''];
    await context.io.stdout.write(
      format === 'table'
        ? `${lines.map(clean).join('\n')}\n`
        : `${JSON.stringify({ ...request, body: JSON.parse(request.body ?? 'null') })}\n`,
    );
  }
  const others = SENT_BEFORE.filter(([known]) => counts[known] > 0).map(
    ([known, words]) => `${counts[known]} ${words}`,
  );
  const aside = others.length === 0 ? '' : `; by the journal ${others.join(', ')}`;
  await context.notice(`dry run: ${count(counts.open, 'request')}, nothing was sent${aside}`);
}
