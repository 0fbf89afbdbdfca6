// What a bulk run reports: a result for each bicycle on stdout, progress and a summary on stderr.

import { unknownWord } from '../../cli/nearest.js';
import type { Context } from '../../context.js';
import { loadPaint } from '../../terminal/colour.js';
import type { Shape } from '../../terminal/formats.js';
import { writeResults } from '../../terminal/jq/results.js';
import { drawMark, forScreen } from '../../terminal/marks.js';
import { drawBar, openProgress, type Progress } from '../../terminal/progress.js';
import { showDuration } from '../../terminal/time.js';
import { type Ended, OUTCOMES, type Outcome } from '../../views/action.js';
import { showEndings, showSuccess } from '../../views/endings.js';
import { openResult } from '../list/result.js';
import type { Plan } from './plan.js';
import { isBad } from './run.js';

export interface Reporter {
  /** Starts the clock and the progress: questions are answered. */
  begin(): void;
  /** Takes one result. With `place`, a number from 1 on that each has once, they come out in that order. */
  take(result: Ended, place?: number): Promise<void>;
  /** A line on stderr that does not run into the progress. */
  say(line: string): void;
  /** Until when, on the monotonic clock, doubts wait; undefined: not any more. */
  settling(untilMs: number | undefined): void;
  count(outcome: Outcome): number;
  /** How many are not done. */
  badCount(): number;
  /** Writes what is left and takes the progress off. */
  end(): Promise<void>;
  /** `200 bicycles: 190 done, 10 refused in 12 s`. */
  summary(): string;
}

/** Where stderr is a log, a line every ten seconds is enough. */
const LINE_EVERY_MS = 10_000;

const BAR_COLUMNS = 20;

/** How wide reasons are where stderr is no terminal. */
const PIPE_COLUMNS = 100;

/** The rate is that of the last seconds, so that it shows what the service does now. */
const RATE_SPAN_MS = 10_000;

/** A result as `--jq` gets it. */
const SAMPLE: Ended = {
  uuid: '6f1c0b5e-2f0e-4c56-9d3a-0d6f3a1f7c11',
  name: 'Ada 0042',
  transition: 'rent',
  outcome: 'done',
  status: 200,
  state: 'rented',
  request_id: '1',
  milliseconds: 1,
  message: null,
};

/** Opens the report. What the format or its columns cannot show is refused here, before anything is sent. */
export async function openReporter<T>(context: Context, { verb, result, input }: Plan<T>): Promise<Reporter> {
  const { clock } = context;
  const { noun } = result.shape;
  const total = 'length' in input.tasks ? input.tasks.length : undefined;
  const tally = openTally();
  let startedAt = clock.monotonicMs();
  let progress: Progress | undefined;
  let settledAtMs: number | undefined;
  const writer = await openWriter(context, verb, result, async () => progress?.clear());
  const ordered = openOrder();
  return {
    begin() {
      startedAt = clock.monotonicMs();
      const meter = openMeter(verb, total, startedAt);
      const draw = () => meter(clock.monotonicMs(), tally.all(), tally.badCount(), settledAtMs);
      progress = openProgress(context, { lineEveryMs: LINE_EVERY_MS, draw });
    },
    count: tally.count,
    badCount: tally.badCount,
    async take(value, place) {
      tally.add(value.outcome);
      await writer.write(place === undefined ? [value] : ordered.take(value, place));
    },
    settling(untilMs) {
      settledAtMs = untilMs;
    },
    say: (line) => void Promise.resolve(progress?.clear()).then(() => context.notice(line)),
    async end() {
      await progress?.end();
      await writer.write(ordered.rest());
      await writer.end(tally.badCount());
    },
    summary() {
      const all = tally.all();
      const parts = OUTCOMES.filter((outcome) => tally.count(outcome) > 0).map((one) => `${tally.count(one)} ${one}`);
      if (all === 0) return `no ${noun.many} were given: nothing was sent`;
      const took = showDuration(clock.monotonicMs() - startedAt);
      return `${all} ${all === 1 ? noun.one : noun.many}: ${parts.join(', ')} in ${took}`;
    },
  };
}

/** Counts outcomes. */
function openTally() {
  const counts = new Map<Outcome, number>(OUTCOMES.map((outcome) => [outcome, 0]));
  const count = (outcome: Outcome) => counts.get(outcome) ?? 0;
  return {
    add: (outcome: Outcome) => void counts.set(outcome, count(outcome) + 1),
    count,
    all: () => OUTCOMES.reduce((sum, outcome) => sum + count(outcome), 0),
    badCount: () => OUTCOMES.filter(isBad).reduce((sum, outcome) => sum + count(outcome), 0),
  };
}

/** Brings results that each have a place, from 1 on, into that order. */
function openOrder() {
  const waiting = new Map<number, Ended>();
  let nextPlace = 1;
  return {
    /** Those that may come out now. */
    take(value: Ended, place: number): Ended[] {
      waiting.set(place, value);
      const ready: Ended[] = [];
      for (let next = waiting.get(nextPlace); next !== undefined; next = waiting.get(nextPlace)) {
        ready.push(next);
        waiting.delete(nextPlace);
        nextPlace += 1;
      }
      return ready;
    },
    rest(): Ended[] {
      const left = [...waiting].sort(([a], [b]) => a - b).map(([, value]) => value);
      waiting.clear();
      return left;
    },
  };
}

/** Makes the progress line: how many ended, how fast, how long it takes; or when what is in doubt is decided. */
function openMeter(verb: string, total: number | undefined, startedAt: number) {
  const rate = openRate(startedAt);
  return (now: number, ended: number, bad: number, settledAtMs: number | undefined): string => {
    if (settledAtMs !== undefined) {
      const leftSeconds = Math.max(0, Math.ceil((settledAtMs - now) / 1000));
      return `${verb}: ${ended} ended; what is in doubt is decided in ${leftSeconds} s`;
    }
    const perSecond = rate(now, ended);
    const parts = [
      total === undefined ? `${ended}` : `${drawBar(ended / total, BAR_COLUMNS)} ${ended} of ${total}`,
      `${perSecond < 10 ? perSecond.toFixed(1) : Math.round(perSecond)}/s`,
      bad > 0 ? `${bad} not done` : 'none failed',
      ...(total === undefined || perSecond === 0 ? [] : [`${showDuration(((total - ended) / perSecond) * 1000)} left`]),
    ];
    return `${verb} ${parts.join(', ')}`;
  };
}

interface Writer {
  write(results: readonly Ended[]): Promise<void>;
  /** Writes what waits for the end; `badCount` are those not done. */
  end(badCount: number): Promise<void>;
}

/** Opens the way to stdout: lines for people once all results are there, every other format as they come. */
async function openWriter(
  context: Context,
  verb: string,
  { shape, nameOf }: Pick<Plan<unknown>['result'], 'shape' | 'nameOf'>,
  clear: () => Promise<void>,
): Promise<Writer> {
  checkColumns(context.flags.columns ?? [], shape);
  const jq = await context.jq();
  // It runs on one result after the other: a program that is made for anything else is refused before anything is sent.
  if (jq !== undefined) await writeResults(await jq.run([JSON.stringify(SAMPLE)]), async () => {});
  const asked = jq === undefined ? (await context.settings()).output.value : 'json';
  // One result a line as it comes: an array would be of no use to whoever wants to know after a crash.
  const format = asked === 'json' && shape.single !== true ? 'jsonl' : asked;
  const flags = jq !== undefined && format === 'jsonl' ? { ...context.flags, output: format } : context.flags;
  const result = await openResult<Ended>({ ...context, flags }, shape, format);
  /** The table is for people, who want to know what went wrong; UUIDs are for the next command, which wants what went well. */
  const isShown = ({ outcome }: Ended): boolean => {
    if (shape.single === true) return !isBad(outcome);
    if (format === 'table') return isBad(outcome) || outcome === 'allowed';
    return format !== 'uuid' || !isBad(outcome);
  };
  // Columns that were asked for are a table.
  if (format === 'table' && context.flags.columns === undefined)
    return openLines(context, verb, shape, nameOf, isShown);
  // Their reasons have no place among UUIDs.
  const hidden: Ended[] = [];
  return {
    async write(results) {
      if (format === 'uuid') hidden.push(...results.filter(({ outcome }) => isBad(outcome)));
      const rows = results.filter(isShown).map((value) => ({ json: JSON.stringify(value), value }));
      if (rows.length === 0) return;
      if (context.io.stdout.isTerminal) await clear();
      await result.write(rows);
    },
    async end(badCount) {
      // Neither a table without failures nor a single result that is an error has anything to end.
      if (format !== 'table' || (shape.single === true ? badCount === 0 : badCount > 0)) await result.end();
      if (shape.single !== true && hidden.length > 0) await noticeEndings(context, hidden);
    },
  };
}

/** What is not done, in the groups of the table, on stderr. */
async function noticeEndings({ io, notice }: Context, endings: readonly Ended[]): Promise<void> {
  const { drawRows } = await import('../../terminal/report.js');
  const width = io.stderr.isTerminal ? io.stderr.width() : PIPE_COLUMNS;
  const paint = await loadPaint(0);
  for (const line of showEndings(endings, { width, paint, drawRows }).trimEnd().split('\n')) await notice(line);
}

/** What people read: one line for one success, else groups of what is not done. */
function openLines(
  { io, signal }: Context,
  verb: string,
  shape: Shape<Ended>,
  nameOf: ((uuid: string) => Promise<string | undefined>) | undefined,
  isShown: (ended: Ended) => boolean,
): Writer {
  const { stdout } = io;
  const endings: Ended[] = [];
  return {
    async write(results) {
      for (const ended of results) if (isShown(ended)) endings.push(ended);
    },
    async end() {
      const [first] = endings;
      if (first === undefined) return;
      const paint = await loadPaint(stdout.colorLevel);
      if (shape.single === true)
        return stdout.write(showSuccess(first, verb, stdout.isTerminal ? drawMark('done', stdout, paint) : ''));
      if (stdout.isTerminal && nameOf !== undefined && !signal.aborted) await addNames(endings, nameOf);
      const { drawRows } = await import('../../terminal/report.js');
      await stdout.write(forScreen(showEndings(endings, { width: stdout.width(), paint, drawRows }), stdout));
    },
  };
}

/** Refuses a column that results do not have; the formats would find it out when the first has come, and been sent. */
function checkColumns(columns: readonly string[], { fields, columns: shown }: Shape<Ended>): void {
  const words = [...fields, ...shown.map(({ header }) => header.toLowerCase())];
  for (const column of columns) if (!words.includes(column.toLowerCase())) throw unknownWord('column', column, fields);
}

/** Names that are asked for at the end, and how many at once. */
const MOST_NAMES = 50;
const NAMES_AT_ONCE = 4;

/** Adds names that neither input nor answers had, as far as the service gives them at once. */
async function addNames(endings: Ended[], nameOf: (uuid: string) => Promise<string | undefined>): Promise<void> {
  const left = endings.filter(({ name, uuid }) => name === null && uuid !== null).slice(0, MOST_NAMES);
  const work = async () => {
    for (let ended = left.shift(); ended !== undefined; ended = left.shift()) {
      ended.name = (await nameOf(ended.uuid ?? '')) ?? null;
    }
  };
  // A service that is in trouble is not asked again: the first digits do.
  await Promise.all(Array.from({ length: NAMES_AT_ONCE }, work)).catch(() => left.splice(0));
}

/** How many a second lately: the count of some seconds ago is kept and compared. */
function openRate(startedAt: number): (now: number, count: number) => number {
  let marks: { at: number; count: number }[] = [{ at: startedAt, count: 0 }];
  return (now, count) => {
    const [oldest = { at: startedAt, count: 0 }] = marks;
    marks = [...marks.filter(({ at }) => now - at <= RATE_SPAN_MS), { at: now, count }];
    return now === oldest.at ? 0 : ((count - oldest.count) / (now - oldest.at)) * 1000;
  };
}
