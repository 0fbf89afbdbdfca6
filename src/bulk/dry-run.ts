// `--dry-run`: prints the requests and sends none of them.

import type { Context } from '../context.js';
import { readExact, writeJson } from '../json/exact.js';
import { clean } from '../terminal/clean.js';
import { count } from '../terminal/count.js';
import { chooseListFormat } from '../terminal/list.js';
import type { JournalEntry } from './journal-records.js';
import type { BulkPlan } from './plan.js';
import { sortTasks } from './sort-tasks.js';

/** Prints the requests as HTTP messages or JSON lines, without the tasks that the journal shows as finished. */
export async function showRequests(
  context: Context,
  plan: BulkPlan,
  entries: ReadonlyMap<string, JournalEntry> = new Map(),
): Promise<void> {
  const client = await context.client();
  const format = chooseListFormat((await context.settings()).output);
  plan.checkKeys?.(entries.keys());
  const { turns, doubts } = sortTasks(plan, entries);
  const open = turns.filter(({ end }) => end === undefined);
  for (const task of open) {
    const request = client.preview(plan.change.requestOf(task));
    const headers = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`);
    const lines = [`${request.method} ${request.url}`, ...headers, '', request.body ?? '', ''];
    await context.io.stdout.write(
      format === 'table'
        ? `${lines.map(clean).join('\n')}\n`
        : `${writeJson({ ...request, body: readExact(request.body ?? 'null') })}\n`,
    );
  }
  const unchanged = turns.filter(({ end }) => end?.result.outcome === 'unchanged').length;
  const notes = [
    unchanged === 0 ? '' : `; ${unchanged} unchanged`,
    doubts.length === 0
      ? ''
      : `; ${doubts.length} of an earlier run without an answer would be looked up`,
  ];
  await context.notice(
    `dry run: ${count(open.length, 'request')}, nothing was sent${notes.join('')}`,
  );
}
