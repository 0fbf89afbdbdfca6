// Runs `fleet watch` under failures and parses its lines or JSON about changes, gaps and readings.

import type { Bicycle } from '../../src/api/bicycle.js';
import { BEING_CHECKED } from '../../src/follower/follower.js';
import { LONGEST_ASKED_PAUSE_MS } from '../../src/http/retry.js';
import { type Consumer, pause, runChaos, type Trial, type Verdict } from './chaos.js';
import { chooseTraits, type Life, type Luck, ORGANIZATION, uuidAt } from './chaos-service.js';
import { judge, type Reading, type Removed, type Shown } from './watch-rules.js';

/** A rate that a process on a busy machine can handle. */
const SPEED = 20;
/**
 * The maximum real time between a change and its line, in addition to the delays of a busy machine.
 */
const LATE_MS = 1_500;
/** The longest time in which the test does not read the lines of the program. */
const LONGEST_PAUSE_MS = 42_000;
/** The time after the last failure, longer than every delay of the watch. */
const QUIET_END_MS = 180_000;

export function runWatch(trial: Trial): Promise<Verdict> {
  return runChaos(trial, SPEED, openWatch);
}

function openWatch(luck: Luck, life: Life): Consumer {
  const form: Form = luck.chance(0.5) ? 'json' : 'lines';
  const size = 6 + luck.below(20);
  const traits = {
    ...chooseTraits(luck, size),
    followed: luck.chance(0.25) ? Math.min(size, 12) : 0,
  };
  const isBounded = luck.chance(0.3);
  const names = Array.from({ length: traits.followed }, (_, index) => uuidAt(index));
  const reader = openReader(form, life.now);
  return {
    args: [
      ...['watch', ORGANIZATION, '--idle', '30'],
      ...['--resync-pages', isBounded ? '1' : '100', '--timeout', '45', '--sender', 'bicycle'],
      ...names.flatMap((uuid) => ['--bicycle', uuid]),
      ...(form === 'json' ? ['--json'] : []),
    ],
    traits,
    isKilled: false,
    hasSteps: true,
    end: ['SIGINT', 130],
    takeLine: reader.take,
    async settle(world) {
      // A topic can still wait for minutes, because the service asked for a long pause.
      const latestMs = life.now() + LONGEST_ASKED_PAUSE_MS + QUIET_END_MS;
      const wait = async (isWaiting: () => boolean) => {
        while (world.program.code() === undefined && isWaiting()) await pause(50);
      };
      await wait(() => !world.service.isStanding() && life.now() < latestMs);
      const startMs = life.now();
      await wait(() => life.now() < startMs + QUIET_END_MS + world.waitMs * SPEED);
    },
    async judge({ service, waitMs }) {
      const made = service.made.filter(({ uuid }) => names.length === 0 || names.includes(uuid));
      const { removed } = service;
      const { hasVersions, hasFuture, hasFalls, lagMs } = traits;
      const lateMs = (LATE_MS + waitMs) * SPEED;
      const history = {
        ...reader.history,
        reports: reader.reports.map((report) => withStart(report, service.readingsMs)),
        made,
        removed,
        hasVersions,
        hasFuture,
        hasFalls,
        lagMs,
        lateMs,
        lineDelayMs: LONGEST_PAUSE_MS + lateMs,
        isBounded,
        isRaw: form === 'json',
      };
      const isOpen = form === 'json' && reader.summary()?.['looked_up'] !== true;
      return [
        ...reader.faults,
        ...judge(history),
        ...(isOpen ? ['at the end something was not looked up'] : []),
      ];
    },
  };
}

type Form = 'lines' | 'json';

/** A report, and when the previous reading ended. */
type Report = Reading & { afterMs: number };

/**
 * Adds the earliest time at which a reading may have begun. An earlier reading may have had no
 * report. A reading that is not complete may therefore have begun later.
 */
function withStart({ afterMs, ...report }: Report, readingsMs: readonly number[]): Reading {
  const startedMs = readingsMs.find((ms) => ms >= afterMs && ms <= report.atMs);
  return report.isComplete ? { ...report, startedMs } : report;
}

/**
 * Parses the output of the process: lines of stdout, and reports of gaps and readings on stderr.
 */
function openReader(form: Form, lifeMs: () => number) {
  const shown: Shown[] = [];
  const gaps: { fromMs: number; toMs: number }[] = [];
  const reports: Report[] = [];
  /** When the last reading ended. */
  let afterMs = 0;
  const gone: Removed[] = [];
  const faults: string[] = [];
  let summary: { [field: string]: unknown } | undefined;
  const report = (isOfGap: boolean, isComplete: boolean, text: string) => {
    const atMs = lifeMs();
    const isBeingChecked = text.includes(BEING_CHECKED);
    reports.push({ atMs, afterMs, isOfGap, isComplete, isBeingChecked });
    afterMs = atMs;
  };
  const readLine = (line: string) => {
    const cells = line.split('  ').filter((cell) => cell !== '');
    const left = / gone, was /.test(line) ? cells[1]?.trim() : undefined;
    if (left !== undefined)
      return void gone.push({ uuid: uuidAt(Number(left.slice(1))), atMs: lifeMs() });
    const charge = Number(cells.at(-2));
    if (
      line.includes('lock.shutdown') ||
      / alert |^\S+ {2}(?:-|bicycle) /.test(line) ||
      Number.isNaN(charge)
    )
      return;
    const name = cells[1]?.trim() ?? '';
    const how = line.includes('  caught up: ')
      ? 'caught-up'
      : line.includes('  late: ')
        ? 'late'
        : 'update';
    const uuid = uuidAt(Number(name.slice(1)));
    shown.push({ id: charge, uuid, how, atMs: lifeMs() });
  };
  const readMessage = (line: string) => {
    const { message } = JSON.parse(line);
    if (message?.uuid !== undefined)
      shown.push({
        id: message.state_of_charge,
        uuid: message.uuid,
        how: 'update',
        atMs: lifeMs(),
      });
  };
  const readRecord = (line: string) => {
    let record: { [field: string]: unknown };
    try {
      record = JSON.parse(line);
    } catch {
      faults.push(`under --json stderr has a line that is not JSON: ${line.slice(0, 200)}`);
      return;
    }
    const { event } = record;
    if (event === 'gone') gone.push({ uuid: String(record['uuid']), atMs: lifeMs() });
    if (event === 'gap')
      gaps.push({ fromMs: lifeMs() - Number(record['seconds']) * 1000, toMs: lifeMs() });
    if (event === 'closed' && 'gap_count' in record) summary = record;
    if (event === 'resync' && 'bicycle' in record) {
      const bicycle = record['bicycle'] as Bicycle;
      shown.push({
        id: Number(bicycle.state_of_charge),
        uuid: String(bicycle.uuid ?? ''),
        how: 'caught-up',
        atMs: lifeMs(),
      });
    } else if (event === 'resync' && 'pages' in record) {
      report(record['since'] !== null, record['complete'] === true, line);
    } else if (event === 'resync' && 'since' in record) {
      // The list could not be read.
      afterMs = lifeMs();
    }
  };
  const readWords = (line: string) => {
    const back = /back after ([\d a-z]+), no updates/.exec(line)?.[1];
    if (back !== undefined) gaps.push({ fromMs: lifeMs() - durationOf(back), toMs: lifeMs() });
    if (line.includes('lost one event')) gaps.push({ fromMs: lifeMs(), toMs: lifeMs() });
    if (line.includes(' checked the list: ')) {
      report(true, !line.includes(', but '), line);
    }
    if (line.includes(' the list could not be read ')) afterMs = lifeMs();
  };
  return {
    take(line: string, of: 'stdout' | 'stderr') {
      if (of === 'stdout') (form === 'json' ? readMessage : readLine)(line);
      else (form === 'json' ? readRecord : readWords)(line);
    },
    history: { shown, gaps, gone },
    reports,
    faults,
    summary: () => summary,
  };
}

const UNITS_MS: { readonly [unit: string]: number } = {
  ms: 1,
  s: 1_000,
  min: 60_000,
  h: 3_600_000,
};

/** Returns the upper limit of a rounded duration such as `1 min 3 s`. */
function durationOf(text: string): number {
  let sumMs = 500;
  for (const [, count, unit = ''] of text.matchAll(/(\d+) ([a-z]+)/g))
    sumMs += Number(count) * (UNITS_MS[unit] ?? 0);
  return sumMs;
}
