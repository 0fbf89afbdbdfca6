// What a bulk run reports: a result for each bicycle on stdout, progress and a summary on stderr.

import { unknownWord } from '../cli/nearest.js';
import type { Context } from '../context.js';
import { openResult } from '../list/result.js';
import { loadPaint } from '../terminal/colour.js';
import type { Shape } from '../terminal/formats.js';
import { drawMark, forScreen } from '../terminal/marks.js';
import { drawBar, openProgress, type Progress } from '../terminal/progress.js';
import { showDuration } from '../terminal/time.js';
import { type Ended, isBad, OUTCOMES, type Outcome } from '../views/action.js';
import { showEndings, showSuccess } from '../views/endings.js';
import type { BulkChange, BulkPlan } from './plan.js';

export type Reporter = Awaited<ReturnType<typeof openReporter>>;

/** Where stderr is a log, a line every ten seconds is enough. */
const LINE_EVERY_MS = 10_000;

const BAR_COLUMNS = 20;

/** How wide reasons are where stderr is no terminal. */
const PIPE_COLUMNS = 100;

const NO_WRITER = { write: async () => {}, end: async () => {} };

/** Opens the report. What the format or its columns cannot show is refused here, before anything is sent. */
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
  // Without targets there is no result, and an existing --file stays as it is.
  const isEmptyFile = tasks.length === 0 && context.flags.file !== undefined;
  const isWritten = show === undefined && !isEmptyFile;
  const writer = isWritten ? await openWriter(context, change, shape) : NO_WRITER;
  /** Results that come out behind others, by their place in the input. */
  const early = new Map<number, Ended>();
  let nextRow = 1;
  return {
    /** Starts the clock and the progress: questions are answered. */
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
    /** How many are not done. */
    badCount,
    /** Takes one result. Those with a row, a number from 1 on that each has once, come out in that order. */
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
    /** Writes what is left and takes the progress off. */
    async end(): Promise<void> {
      progress?.end();
      await writer.write(
        [...early.values()].sort(({ row: one = 0 }, { row: other = 0 }) => one - other),
      );
      await writer.end();
    },
    /** `200 bicycles: 190 done, 10 refused in 12 s`. */
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

/** The progress line: how many ended, how fast, how long it takes. */
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

/** Opens the way to stdout: lines for people once all results are there, every other format as they come. */
async function openWriter(context: Context, change: BulkChange, shape: Shape<Ended>) {
  const { flags } = context;
  checkColumns(flags.columns ?? [], shape);
  const jq = await context.jq();
  const asked = jq === undefined ? (await context.settings()).output.value : 'json';
  const isSingle = shape.single === true;
  // One result a line as it comes: an array would be of no use to whoever wants to know after a crash.
  const format = asked === 'json' && !isSingle ? 'jsonl' : asked;
  const output = jq !== undefined && format === 'jsonl' ? { output: format } : {};
  const result = await openResult<Ended>(
    { ...context, flags: { ...flags, ...output } },
    shape,
    format,
  );
  // Columns that were asked for are a table.
  const isLines =
    format === 'table' && flags.columns === undefined && (isSingle || flags.wide !== true);
  /** The table is for people, who want to know what went wrong; UUIDs are for the next command, which wants what went well. */
  const isShown = ({ outcome }: Ended): boolean => {
    if (isSingle) return !isBad(outcome);
    if (format === 'table' && flags.wide === true) return true;
    if (format === 'table') return isBad(outcome);
    return format !== 'uuid' || !isBad(outcome);
  };
  /** What waits for the end: lines for stdout, or the reasons that have no place among UUIDs. */
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
    /** Writes what waits for the end. */
    async end(): Promise<void> {
      // A table that shows nothing has nothing to end, and neither has a single result that is an error.
      if (isBegun) await result.end();
      if (isLines) await writeLines(context, change, isSingle, endings);
      else if (endings.length > 0)
        for (const line of (await drawEndings(context, endings, 'stderr')).trimEnd().split('\n'))
          await context.notice(line);
    },
  };
}

/** What people read: one line for one success, else groups of what is not done. */
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

/** What is not done, in groups; on stderr without colours, and never wider than a line of a log. */
async function drawEndings(
  { io }: Context,
  endings: readonly Ended[],
  where: 'stdout' | 'stderr',
): Promise<string> {
  const isOut = where === 'stdout';
  const width = io[where].width() ?? (isOut ? undefined : PIPE_COLUMNS);
  return showEndings(endings, { width, paint: await loadPaint(isOut ? io.stdout.colorLevel : 0) });
}

/** Refuses a column that results do not have; the formats would find it out when the first has come, and been sent. */
function checkColumns(columns: readonly string[], { fields, columns: shown }: Shape<Ended>): void {
  const words = [...fields, ...shown.map(({ header }) => header.toLowerCase())];
  for (const column of columns)
    if (!words.includes(column.toLowerCase())) throw unknownWord('column', column, fields);
}
