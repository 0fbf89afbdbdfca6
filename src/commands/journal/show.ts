// `fleet journal show`: prints the outcome of each bicycle in a journal, and the evidence for this
// outcome.

import { ALERT } from '../../api/alert.js';
import { BICYCLE } from '../../api/bicycle.js';
import { checkCounter, readJournalFile } from '../../bulk/journal.js';
import {
  DAMAGE_HINT,
  type Journal,
  type JournalEntry,
  judgeEntry,
} from '../../bulk/journal-records.js';
import type { Context } from '../../context.js';
import { FleetError, usageError } from '../../errors.js';
import { printReport } from '../../list/change-report.js';
import { clean } from '../../terminal/clean.js';
import { type JournalRow, journalShape } from '../../views/journal.js';
import { chooseReportFile, writeReport } from './report.js';

/**
 * Prints one row for each bicycle and a summary. If the journal is damaged or another program
 * changed it, throws a FleetError of kind `partial` after it has printed the rows.
 */
export async function showJournal(context: Context, path: string): Promise<void> {
  const journal = await readJournalFile(path, context.clock.wallMs());
  const { binding } = journal;
  if (binding !== undefined) await checkCounter(journal, path);
  if (binding === undefined)
    throw usageError(
      `the journal ${path} is empty`,
      'the journal contains no requests; check the file name',
    );
  const noun = binding.command.startsWith(ALERT.many) ? ALERT : BICYCLE;
  const rows = [...journal.entries].map(([key, entry]) => rowOf(key, entry));
  const reportFormat = chooseReportFile(context);
  if (reportFormat !== undefined) await writeReport(context, { journal, rows, noun, reportFormat });
  else {
    await context.io.startPager(context.notice);
    await printReport(context, journalShape(noun), rows);
  }
  const what = clean([binding.command, binding['transition'] ?? ''].join(' ').trim());
  await context.notice(`${what} at ${clean(binding.base_url)}: ${sumUp(journal, rows)}`);
  if (journal.damage !== undefined)
    throw new FleetError('partial', `the journal ${path} cannot be trusted: ${journal.damage}`, {
      hint: DAMAGE_HINT,
    });
}

function rowOf(key: string, entry: JournalEntry): JournalRow {
  const { result, how, run, atMs, name, uuid, values } = entry;
  const isDone = judgeEntry(entry) === 'done';
  const [, row] = /^(\d+):/.exec(key) ?? [];
  return {
    // The key of an edit is the UUID of the bicycle, a colon and a hash of the requested change.
    uuid: row === undefined ? (key.split(':', 1)[0] ?? key) : uuid,
    ...(row === undefined ? {} : { row: Number(row) }),
    name,
    before: values?.before ?? entry.sending.before?.state ?? null,
    after: isDone ? (values?.after ?? result?.state ?? null) : null,
    outcome: isDone ? 'done' : (result?.outcome ?? 'unknown'),
    at: atMs === null ? null : new Date(atMs).toISOString(),
    run,
    how: result === undefined || result.outcome === 'unknown' ? null : how,
    status: result?.status ?? null,
    state: result?.state ?? null,
    request_id: result?.request_id ?? null,
    message:
      result === undefined ? 'it was about to be sent, and no answer was recorded' : result.message,
  };
}

/**
 * Returns the summary, such as `30 done (26 answered, 4 confirmed after a crash), 1 refused; 2
 * runs`.
 */
function sumUp({ numbers }: Journal, rows: readonly JournalRow[]): string {
  const counts = new Map<string, number>();
  const add = (name: string) => counts.set(name, (counts.get(name) ?? 0) + 1);
  for (const { outcome, how } of rows) {
    add(outcome);
    if (outcome === 'done') add(WORDS[how ?? ''] ?? 'answered');
  }
  const ways = [...new Set(Object.values(WORDS))].filter((way) => counts.has(way));
  const detail = ways.map((way) => `${counts.get(way)} ${way}`).join(', ');
  const parts = [...new Set(rows.map(({ outcome }) => outcome))].map(
    (outcome) => `${counts.get(outcome)} ${outcome}${outcome === 'done' ? ` (${detail})` : ''}`,
  );
  const runs = `${numbers.size} ${numbers.size === 1 ? 'run' : 'runs'}`;
  return `${parts.length === 0 ? 'nothing was sent' : parts.join(', ')}; ${runs}`;
}

const WORDS: { readonly [how: string]: string } = {
  answered: 'answered',
  history: 'confirmed after a crash',
  list: 'confirmed after a crash',
  state: 'confirmed after a crash',
  operator: 'said to be done',
};
