// The reports of `fleet journal show --file run.xlsx` and `--file run.html`, for readers who are
// not familiar with fleet.

import type { Journal, Person, RecordedRun } from '../../bulk/journal-records.js';
import type { Context } from '../../context.js';
import { writeResult } from '../../list/output-file.js';
import { showLocalTime } from '../../system/time-zone.js';
import { count } from '../../terminal/count.js';
import { showDuration } from '../../terminal/time.js';
import { OUTCOMES } from '../../views/action.js';
import type { JournalRow, JournalShape } from '../../views/journal.js';
import {
  drawReportPage,
  drawReportWorkbook,
  type JournalReport,
} from '../../views/journal-report.js';

export type ReportFormat = 'xlsx' | 'html';

interface ReportInput {
  journal: Journal;
  rows: readonly JournalRow[];
  noun: JournalShape['noun'];
  reportFormat: ReportFormat;
}

/**
 * Returns the report format that matches the extension of the `--file` name. Returns undefined when
 * a plain table is written instead, for example because of `--jq` or `--columns`.
 */
export function chooseReportFile({ flags }: Context): ReportFormat | undefined {
  const { file, jq, columns, output } = flags;
  if (file === undefined || jq !== undefined || columns !== undefined) return undefined;
  if (output === 'xlsx') return 'xlsx';
  const isTable = output === undefined || output === 'table';
  return isTable && /\.html?$/i.test(file) ? 'html' : undefined;
}

/** Writes the report to the file given with `--file`. */
export async function writeReport(context: Context, input: ReportInput): Promise<void> {
  const report = makeReport(context, input);
  const isWorkbook = input.reportFormat === 'xlsx';
  await writeResult(
    context,
    isWorkbook ? await drawReportWorkbook(report) : drawReportPage(report),
  );
}

function makeReport(context: Context, { journal, rows, noun }: ReportInput): JournalReport {
  const { binding } = journal;
  const what = [binding?.command, binding?.['transition']].filter(Boolean).join(' ');
  const runs = [...journal.runs.values()].filter(({ startedAtMs }) => startedAtMs !== undefined);
  const facts: [string, string][] = [
    ['Who', nameOfUser(runs.flatMap(({ user }) => user))],
    ['What', `${what}, ${count(rows.length, noun.one, noun.many)}`],
    ['Where', `${binding?.base_url ?? ''} (profile ${binding?.profile ?? ''})`],
    ['When', describeTime(context, runs)],
    ['Runs', describeRuns(context, runs)],
    ['Outcomes', countOutcomes(rows)],
  ];
  if (journal.damage !== undefined)
    facts.push(['Warning', `this report may be incomplete: ${journal.damage}`]);
  const columns = columnsOf(context);
  return {
    title: `Report: ${what}, ${count(rows.length, noun.one, noun.many)}`,
    facts,
    header: columns.map(({ header }) => header),
    rows: rows.map((row) => columns.map(({ text }) => text(row) ?? '')),
  };
}

interface ReportColumn {
  header: string;
  text(row: JournalRow): string | null;
  /** Whether the column appears only with `-o wide`. */
  isWide?: true;
}

function columnsOf({ flags, zone }: Context): readonly ReportColumn[] {
  const columns: readonly ReportColumn[] = [
    { header: 'ID', text: ({ uuid, row }) => uuid ?? `row ${row ?? ''}` },
    { header: 'NAME', text: ({ name }) => name },
    { header: 'OUTCOME', text: ({ outcome }) => outcome },
    { header: 'BEFORE', text: ({ before }) => before },
    { header: 'AFTER', text: ({ after }) => after },
    {
      header: 'TIME',
      text: ({ at }) => (at === null ? null : showLocalTime(Date.parse(at), zone)),
    },
    { header: 'HOW', text: ({ how }) => how },
    { header: 'WHY', text: ({ message }) => message },
    {
      header: 'STATUS',
      text: ({ status }) => (status === null ? null : String(status)),
      isWide: true,
    },
    { header: 'RUN', text: ({ run }) => run, isWide: true },
    { header: 'REQUEST', text: ({ request_id }) => request_id, isWide: true },
  ];
  return columns.filter(({ isWide }) => isWide !== true || flags.wide === true);
}

/**
 * Returns a readable name of the service's user: the e-mail address, or another name from the token
 * or the service.
 */
function nameOfUser(people: readonly Person[]): string {
  for (const kind of ['email', 'username', 'uuid', 'id']) {
    const names = new Set(
      people.map((person) => person[kind]).filter((name) => name !== undefined),
    );
    if (names.size > 0) return [...names].join(', ');
  }
  return 'not known: neither the token nor the service names the user';
}

function describeTime({ zone }: Context, runs: readonly RecordedRun[]): string {
  const starts = runs.map(({ startedAtMs = 0 }) => startedAtMs);
  if (starts.length === 0) return 'nothing was sent';
  const ends = runs.map(({ startedAtMs = 0, lastAtMs = startedAtMs }) => lastAtMs);
  const [first, last] = [Math.min(...starts), Math.max(...ends)];
  const name = zone.name ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
  return `${showLocalTime(first, zone)} to ${showLocalTime(last, zone)} (${name})`;
}

/**
 * Describes the runs. If a run was killed, says so, and says that the next run continued the work.
 */
function describeRuns({ zone }: Context, runs: readonly RecordedRun[]): string {
  const sentences = runs.map(({ startedAtMs = 0, lastAtMs = startedAtMs, isEnded }, index) => {
    const verb = index === 0 ? 'started' : 'resumed';
    const begin = `run ${index + 1} ${verb} at ${showLocalTime(startedAtMs, zone)}`;
    const length = showDuration(Math.max(0, lastAtMs - startedAtMs));
    if (isEnded) return `${begin} and ended after ${length}`;
    const isLast = index === runs.length - 1;
    return `${begin} and ${isLast ? 'was killed or is still running' : 'was killed'} after ${length}`;
  });
  return sentences.length === 0 ? 'no run' : sentences.join('; ');
}

function countOutcomes(rows: readonly JournalRow[]): string {
  const parts = OUTCOMES.map((outcome) => {
    const number = rows.filter((row) => row.outcome === outcome).length;
    return number === 0 ? undefined : `${number} ${outcome}`;
  }).filter((part) => part !== undefined);
  return parts.length === 0 ? 'nothing was sent' : parts.join(', ');
}
