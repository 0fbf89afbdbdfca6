// Prints the report of a bulk run: one result for each bicycle on stdout, and the progress and a
// summary on stderr. With `--dry-run` it prints the requests instead.

import { unknownWord } from '../cli/nearest.js';
import type { Context } from '../context.js';
import { readExact, writeJson } from '../json/exact.js';
import { openResult } from '../list/result.js';
import { clean } from '../terminal/clean.js';
import { loadPaint } from '../terminal/colour.js';
import { count as showCount } from '../terminal/count.js';
import { chooseFormat, FACT_FORMATS, type Shape } from '../terminal/formats.js';
import { drawMark, forScreen } from '../terminal/marks.js';
import { drawBar, openProgress, type Progress } from '../terminal/progress.js';
import { showDuration } from '../terminal/time.js';
import { type Ended, isBad, OUTCOMES, type Outcome } from '../views/action.js';
import { showEndings, showSuccess } from '../views/endings.js';
import type { BulkChange, BulkPlan, Doubt, Turn } from './plan.js';

export type Reporter = Awaited<ReturnType<typeof openReporter>>;

/** The interval between progress lines when stderr is not a terminal. */
const LINE_EVERY_MS = 10_000;

const BAR_COLUMNS = 20;

/** The width of the reason column when stderr is not a terminal. */
const PIPE_COLUMNS = 100;

const NO_WRITER = { write: async () => {}, end: async () => {} };

/**
 * Opens the report. Before any request is sent, throws for an output format or column that cannot
 * show results.
 */
export async function openReporter(context: Context, { change, shape, tasks, show }: BulkPlan) {
  const { clock } = context;
  const { noun } = shape;
  const counts = new Map<Outcome, number>();
  const count = (outcome: Outcome) => counts.get(outcome) ?? 0;
  const sum = (outcomes: readonly Outcome[]) =>
    outcomes.reduce((all, outcome) => all + count(outcome), 0);
  const badCount = () => sum(OUTCOMES.filter(isBad));
  let startedAt = clock.monotonicMs();
  let progress: Progress | undefined;
  // Without targets, nothing is written to --file, so that an existing file stays unchanged.
  const isEmptyFile = tasks.length === 0 && context.flags.file !== undefined;
  const isWritten = show === undefined && !isEmptyFile;
  const writer = isWritten ? await openWriter(context, change, shape) : NO_WRITER;
  /** Results that arrived before the results of earlier rows, by row number. */
  const early = new Map<number, Ended>();
  let nextRow = 1;
  return {
    /**
     * Starts the clock and the progress line. All questions must have been answered before this
     * call.
     */
    begin(): void {
      startedAt = clock.monotonicMs();
      const draw = () =>
        drawMeter(
          change.verb,
          tasks.length,
          sum(OUTCOMES),
          badCount(),
          clock.monotonicMs() - startedAt,
        );
      progress = openProgress(context, { lineEveryMs: LINE_EVERY_MS, draw });
    },
    count,
    /** Returns how many tasks are not done. */
    badCount,
    /** Adds a result. Results with a row number are written in the order of their rows. */
    async take(value: Ended): Promise<void> {
      counts.set(value.outcome, count(value.outcome) + 1);
      if (value.row === undefined) return writer.write([value]);
      early.set(value.row, value);
      const ready: Ended[] = [];
      for (let next = early.get(nextRow); next !== undefined; next = early.get(nextRow)) {
        early.delete(nextRow);
        ready.push(next);
        nextRow += 1;
      }
      await writer.write(ready);
    },
    /** Writes the remaining results and removes the progress line. */
    async end(): Promise<void> {
      progress?.end();
      await writer.write(
        [...early.values()].sort(({ row: one = 0 }, { row: other = 0 }) => one - other),
      );
      await writer.end();
    },
    /** Returns the summary: `200 bicycles: 190 done, 10 refused in 12 s`. */
    summary(): string {
      const all = sum(OUTCOMES);
      if (all === 0) return `no ${noun.many} were given: nothing was sent`;
      const isResumed = count('skipped') > 0;
      const wordOf = (outcome: Outcome) => {
        if (outcome === 'skipped') return 'already done (journal)';
        return outcome === 'done' && isResumed ? 'done now' : outcome;
      };
      const shown = OUTCOMES.filter(
        (outcome) => count(outcome) > 0 || (isResumed && outcome === 'done'),
      );
      const parts = shown.map((outcome) => `${count(outcome)} ${wordOf(outcome)}`);
      const took = showDuration(clock.monotonicMs() - startedAt);
      return `${all} ${all === 1 ? noun.one : noun.many}: ${parts.join(', ')} in ${took}`;
    },
  };
}

/** Returns the progress line: the finished tasks, the speed and the remaining time. */
function drawMeter(
  verb: string,
  total: number,
  ended: number,
  bad: number,
  milliseconds: number,
): string {
  const perSecond = milliseconds === 0 ? 0 : (ended / milliseconds) * 1000;
  const parts = [
    `${drawBar(ended / total, BAR_COLUMNS).padEnd(BAR_COLUMNS, '░')} ${ended} of ${total}`,
    `${perSecond < 10 ? perSecond.toFixed(1) : Math.round(perSecond)}/s`,
    bad > 0 ? `${bad} not done` : 'none failed',
    ...(perSecond === 0 ? [] : [`${showDuration(((total - ended) / perSecond) * 1000)} left`]),
  ];
  return `${verb} ${parts.join(', ')}`;
}

/**
 * Opens the writer to stdout. A table is written at the end. In any other format, each result is
 * written when it arrives.
 */
async function openWriter(context: Context, change: BulkChange, shape: Shape<Ended>) {
  const { flags } = context;
  checkColumns(flags.columns ?? [], shape);
  const jq = await context.jq();
  const asked = jq === undefined ? (await context.settings()).output.value : 'json';
  const isSingle = shape.single === true;
  // JSON is written as JSON lines, because a crash would leave an array that cannot be parsed.
  const format = asked === 'json' && !isSingle ? 'jsonl' : asked;
  const output = jq !== undefined && format === 'jsonl' ? { output: format } : {};
  const result = await openResult<Ended>(
    { ...context, flags: { ...flags, ...output } },
    shape,
    format,
  );
  // With --columns the results are printed as a table, not as lines.
  const isLines =
    format === 'table' && flags.columns === undefined && (isSingle || flags.wide !== true);
  /**
   * Whether a result is printed. A table shows the tasks that are not done. `-o uuid` prints the
   * tasks that are done, as input for the next command.
   */
  const isShown = ({ outcome }: Ended): boolean => {
    if (isSingle) return !isBad(outcome);
    if (format === 'table' && flags.wide === true) return true;
    if (format === 'table') return isBad(outcome);
    return format !== 'uuid' || !isBad(outcome);
  };
  /**
   * Results to print at the end, as lines on stdout. With `-o uuid`, these results are printed on
   * stderr, with the reasons why tasks were not done.
   */
  const endings: Ended[] = [];
  let isBegun = format !== 'table';
  return {
    async write(results: readonly Ended[]): Promise<void> {
      const shown = results.filter(isShown);
      if (isLines) endings.push(...shown);
      else if (format === 'uuid' && !isSingle)
        endings.push(...results.filter(({ outcome }) => isBad(outcome)));
      if (isLines || shown.length === 0) return;
      isBegun = true;
      await result.write(shown.map((value) => ({ json: JSON.stringify(value), value })));
    },
    /** Writes the results that are printed at the end. */
    async end(): Promise<void> {
      // An empty table and a single failed result print nothing on stdout.
      if (isBegun) await result.end();
      if (isLines) await writeLines(context, change, isSingle, endings);
      else if (endings.length > 0)
        for (const line of (await drawEndings(context, endings, 'stderr')).trimEnd().split('\n'))
          await context.notice(line);
    },
  };
}

/**
 * Writes lines for people: one line for a single success, otherwise the groups of tasks that are
 * not done.
 */
async function writeLines(
  context: Context,
  { verb }: BulkChange,
  isSingle: boolean,
  endings: Ended[],
): Promise<void> {
  const { stdout } = context.io;
  const [first] = endings;
  if (first === undefined) return;
  if (isSingle) {
    const mark = stdout.isTerminal
      ? drawMark('done', stdout, await loadPaint(stdout.colorLevel))
      : '';
    return stdout.write(showSuccess(first, verb, mark));
  }
  await stdout.write(forScreen(await drawEndings(context, endings, 'stdout'), stdout));
}

/**
 * Returns the tasks that are not done as text, in groups. The text for stderr has no colours and a
 * fixed width when stderr is not a terminal.
 */
async function drawEndings(
  { io }: Context,
  endings: readonly Ended[],
  where: 'stdout' | 'stderr',
): Promise<string> {
  const isOut = where === 'stdout';
  const width = io[where].width() ?? (isOut ? undefined : PIPE_COLUMNS);
  return showEndings(endings, { width, paint: await loadPaint(isOut ? io.stdout.colorLevel : 0) });
}

/**
 * Throws for a column that results do not have. The output formats themselves would throw only
 * after the first request was sent.
 */
function checkColumns(columns: readonly string[], { fields, columns: shown }: Shape<Ended>): void {
  const words = [...fields, ...shown.map(({ header }) => header.toLowerCase())];
  for (const column of columns)
    if (!words.includes(column.toLowerCase())) throw unknownWord('column', column, fields);
}

/**
 * Prints the requests for `--dry-run`, as HTTP messages or JSON lines. Skips finished and unchanged
 * tasks.
 */
export async function showRequests(
  context: Context,
  { change }: BulkPlan,
  { turns, doubts }: { turns: readonly Turn[]; doubts: readonly Doubt[] },
): Promise<void> {
  const client = await context.client();
  const format = chooseFormat((await context.settings()).output, FACT_FORMATS);
  const open = turns.filter(({ end }) => end === undefined);
  for (const task of open) {
    const request = client.preview(change.requestOf(task));
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
      : `; ${doubts.length} without an answer from an earlier run would be checked`,
  ];
  await context.notice(
    `dry run: ${showCount(open.length, 'request')}, nothing was sent${notes.join('')}`,
  );
}
