// What a bulk run reports: a result for each bicycle on stdout, progress and a summary on stderr.

import { unknownWord } from '../../../cli/nearest.js';
import type { Context } from '../../../context.js';
import { loadPaint } from '../../../terminal/colour.js';
import type { Shape } from '../../../terminal/formats.js';
import { writeResults } from '../../../terminal/jq/results.js';
import { drawBar, openProgress, type Progress } from '../../../terminal/progress.js';
import { showDuration } from '../../../terminal/time.js';
import { OUTCOMES, type Outcome } from '../../../views/action.js';
import { type Ended, showEndings, showSuccess } from '../../../views/endings.js';
import { openResult } from '../../list/result.js';
import { isBad } from './run.js';

export interface Reporter<R> {
  /** Starts the clock and the progress: questions are answered. */
  begin(): void;
  /** Takes one result. With `place`, a number from 1 on that each has once, they come out in that order. */
  take(result: R, place?: number): Promise<void>;
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

export interface ReporterOptions<R> {
  /** `reserve`, `create`. */
  verb: string;
  result: { shape: Shape<R>; nameOf?(uuid: string): Promise<string | undefined> };
  /** How many there are, when that is known before the end. */
  total: number | undefined;
}

/** Where stderr is a log, a line every ten seconds is enough. */
const LINE_EVERY_MS = 10_000;

const BAR_COLUMNS = 20;

/** The rate is that of the last seconds, so that it shows what the service does now. */
const RATE_SPAN_MS = 10_000;

/** A result as `--jq` gets it. */
const SAMPLE: Ended & { transition: string } = {
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
export async function openReporter<R extends Ended>(
  context: Context,
  { verb, result: { shape, nameOf }, total }: ReporterOptions<R>,
): Promise<Reporter<R>> {
  const { clock } = context;
  checkColumns(context.flags.columns ?? [], shape);
  const jq = await context.jq();
  const isFiltered = jq !== undefined;
  // It runs on one result after the other: a program that is made for anything else is refused before anything is sent.
  if (jq !== undefined) await writeResults(await jq.run([JSON.stringify(SAMPLE)]), async () => {});
  const asked = isFiltered ? 'json' : (await context.settings()).output.value;
  // One result a line as it comes: an array would be of no use to whoever wants to know after a crash.
  const format = asked === 'json' && shape.single !== true ? 'jsonl' : asked;
  const isByLine = isFiltered && format === 'jsonl';
  const flags = isByLine ? { ...context.flags, output: format } : context.flags;
  const result = await openResult<R>({ ...context, flags }, shape, format);
  /** People read the results as groups of lines, once all are there; columns that were asked for are a table. */
  const isForPeople = format === 'table' && context.flags.columns === undefined;
  const endings: R[] = [];
  const tally = new Map<Outcome, number>(OUTCOMES.map((outcome) => [outcome, 0]));
  const count = (outcome: Outcome) => tally.get(outcome) ?? 0;
  const ended = () => OUTCOMES.reduce((sum, outcome) => sum + count(outcome), 0);
  const badCount = () => OUTCOMES.filter(isBad).reduce((sum, outcome) => sum + count(outcome), 0);
  let startedAt = clock.monotonicMs();
  let rate = openRate(startedAt);
  let progress: Progress | undefined;
  const waiting = new Map<number, R>();
  let nextPlace = 1;
  let settledAtMs: number | undefined;

  function draw(): string {
    const done = ended();
    if (settledAtMs !== undefined) {
      const leftSeconds = Math.max(0, Math.ceil((settledAtMs - clock.monotonicMs()) / 1000));
      return `${verb}: ${done} ended; what is in doubt is decided in ${leftSeconds} s`;
    }
    const perSecond = rate(clock.monotonicMs(), done);
    const bad = badCount();
    const parts = [
      total === undefined ? `${done}` : `${drawBar(done / total, BAR_COLUMNS)} ${done} of ${total}`,
      `${perSecond < 10 ? perSecond.toFixed(1) : Math.round(perSecond)}/s`,
      bad > 0 ? `${bad} not done` : 'none failed',
      ...(total === undefined || perSecond === 0 ? [] : [`${showDuration(((total - done) / perSecond) * 1000)} left`]),
    ];
    return `${verb} ${parts.join(', ')}`;
  }

  /** The table is for people, who want to know what went wrong; UUIDs are for the next command, which wants what went well. */
  function isShown({ outcome }: R): boolean {
    if (shape.single === true) return !isBad(outcome);
    if (format === 'table') return isBad(outcome) || outcome === 'allowed';
    return format !== 'uuid' || !isBad(outcome);
  }

  async function writeEndings(): Promise<void> {
    const { stdout } = context.io;
    const paint = await loadPaint(stdout.colorLevel);
    const [first] = endings;
    if (first === undefined) return;
    if (shape.single === true) return stdout.write(showSuccess(first, verb, paint));
    if (stdout.isTerminal && nameOf !== undefined && !context.signal.aborted) await addNames(endings, nameOf);
    await stdout.write(showEndings(endings, { width: stdout.width(), paint }));
  }

  async function write(results: readonly R[]): Promise<void> {
    if (isForPeople) {
      endings.push(...results.filter(isShown));
      return;
    }
    const rows = results.filter(isShown).map((value) => ({ json: JSON.stringify(value), value }));
    if (rows.length === 0) return;
    if (context.io.stdout.isTerminal) await progress?.clear();
    await result.write(rows);
  }

  return {
    begin() {
      startedAt = clock.monotonicMs();
      rate = openRate(startedAt);
      progress = openProgress(context, { lineEveryMs: LINE_EVERY_MS, draw });
    },
    count,
    badCount,
    async take(value, place) {
      tally.set(value.outcome, count(value.outcome) + 1);
      if (place === undefined) return write([value]);
      waiting.set(place, value);
      const ready: R[] = [];
      for (let next = waiting.get(nextPlace); next !== undefined; next = waiting.get(nextPlace)) {
        ready.push(next);
        waiting.delete(nextPlace);
        nextPlace += 1;
      }
      await write(ready);
    },
    settling(untilMs) {
      settledAtMs = untilMs;
    },
    say: (line) => void Promise.resolve(progress?.clear()).then(() => context.notice(line)),
    async end() {
      await progress?.end();
      await write([...waiting].sort(([a], [b]) => a - b).map(([, value]) => value));
      waiting.clear();
      if (isForPeople) return writeEndings();
      // Neither a table without failures nor a single result that is an error has anything to end.
      if (format !== 'table' || (shape.single === true ? badCount() === 0 : badCount() > 0)) await result.end();
    },
    summary() {
      const all = ended();
      const parts = OUTCOMES.filter((outcome) => count(outcome) > 0).map((outcome) => `${count(outcome)} ${outcome}`);
      const tookMs = clock.monotonicMs() - startedAt;
      if (all === 0) return `no ${shape.noun.many} were given: nothing was sent`;
      return `${all} ${all === 1 ? shape.noun.one : shape.noun.many}: ${parts.join(', ')} in ${showDuration(tookMs)}`;
    },
  };
}

/** Refuses a column that results do not have; the formats would find it out when the first has come, and been sent. */
function checkColumns<R>(columns: readonly string[], { fields, columns: shown }: Shape<R>): void {
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
