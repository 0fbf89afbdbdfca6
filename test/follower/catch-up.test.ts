// Tests the reading of the list after a gap: its length, its completeness, and failures.

import { describe, expect, test } from 'vitest';
import type { Bicycle } from '../../src/api/bicycle.js';
import { FleetError } from '../../src/errors.js';
import { CatchUp } from '../../src/follower/catch-up.js';
import type { AnswerOf, FollowerOutput as Output, Report } from '../../src/follower/events.js';
import { KnownFleet } from '../../src/follower/known-fleet.js';
import { MemoryStore } from '../../src/follower/memory-store.js';
import { ServiceTime } from '../../src/follower/service-time.js';
import type { Page } from '../../src/http/types.js';
import type { Moment } from '../../src/system/clock.js';

const START_MS = Date.UTC(2026, 10, 21, 12);

function at(seconds: number): Moment {
  return { monotonicMs: seconds * 1000, wallMs: START_MS + seconds * 1000 };
}

function item(uuid: string, seconds: number | undefined, state = 'available'): Bicycle {
  if (seconds === undefined) return { uuid, state };
  return {
    uuid,
    state,
    modified: `${new Date(START_MS + seconds * 1000).toISOString().slice(0, 19)}Z`,
  };
}

/** Creates a page with a next page unless it is the last one. */
function pageOf(items: readonly Bicycle[], isLast: boolean): Page<Bicycle> {
  return {
    count: undefined,
    items: items.map((value) => ({ json: JSON.stringify(value), value })),
    next: isLast ? undefined : [['page', '2']],
    trace: {},
  };
}

type Input =
  | AnswerOf<'page' | 'bicycle' | 'failed'>
  | { type: 'blind'; fromMs: number }
  | { type: 'wanted'; sinceWallMs: number | undefined }
  | { type: 'tick' };
/** Drives the state machine page by page with a list that a test may change. */
function open(
  { bicycles, mostPages = 5 }: { bicycles?: ReadonlySet<string>; mostPages?: number } = {},
  pageSize = 2,
) {
  const knowledge = new KnownFleet(new MemoryStore(), new ServiceTime(at(0)));
  const log: Output[] = [];
  const emit = (output: Output) => void log.push(output);
  const options = { topics: new Map(), organizations: ['o'], bicycles, mostPages, isWhole: false };
  const machine = new CatchUp(
    knowledge,
    options,
    emit,
    ({ report }) => report && emit({ type: 'read', report }),
  );
  const step = (input: Input, seconds: number): Output[] => {
    const before = log.length;
    if (input.type === 'blind') machine.missFrom(input.fromMs);
    else if (input.type === 'wanted') machine.want(input.sinceWallMs, mostPages, at(seconds));
    else if (input.type !== 'tick') machine.take(input, at(seconds));
    if (input.type === 'wanted' || input.type === 'tick')
      machine.isReading ? machine.wake(at(seconds)) : machine.begin(at(seconds));
    return log.slice(before);
  };
  /** Answers every request, including requests after a pause. */
  const answer = (
    effects: readonly Output[],
    list: readonly Bicycle[],
    seconds: number,
    first = 0,
  ): void => {
    let left = effects;
    let now = seconds;
    for (let page = first; ; page++) {
      const asked = left.find(({ type }) => type === 'read-page' || type === 'read-bicycle');
      if (asked?.type === 'read-bicycle') {
        const bicycle = list.find(({ uuid }) => uuid === asked.uuid);
        left = step({ type: 'bicycle', id: asked.id, bicycle }, now);
        page--;
      } else if (asked?.type === 'read-page') {
        if (asked.next === undefined) page = 0;
        const items = list.slice(page * pageSize, (page + 1) * pageSize);
        left = step(
          { type: 'page', id: asked.id, page: pageOf(items, (page + 1) * pageSize >= list.length) },
          now,
        );
      } else if (machine.isReading) {
        now += 10;
        left = step({ type: 'tick' }, now);
      } else return;
    }
  };
  const read = (list: readonly Bicycle[], seconds: number) =>
    answer(step({ type: 'wanted', sinceWallMs: undefined }, seconds), list, seconds);
  const gap = (fromSeconds: number, list: readonly Bicycle[], seconds: number) => {
    step({ type: 'blind', fromMs: fromSeconds * 1000 }, seconds);
    answer(
      step({ type: 'wanted', sinceWallMs: START_MS + fromSeconds * 1000 }, seconds),
      list,
      seconds,
    );
  };
  const reports = (): Report[] =>
    log.flatMap((effect) => (effect.type === 'read' ? [effect.report] : []));
  return { knowledge, step, answer, read, gap, reports, log };
}

const ORDER = expect.stringContaining('order of "modified"');
const FLEET = [
  item('a', -10),
  item('b', -20),
  item('c', -30),
  item('d', -40),
  item('e', -50),
  item('f', -60),
];

describe('reading the list after a gap', () => {
  test.each([7, null, {}, true, ['x']])('ignores a bicycle with the uuid %j', (uuid) => {
    const odd = { ...item('x', 0), uuid };
    const { read, gap, reports } = open();
    read([odd, ...FLEET], 1);
    gap(5, [odd, ...FLEET.slice(0, 5)], 20);
    expect(reports()[1]).toMatchObject({ changes: 0, unknown: 1 });
  });

  test('a comparison is incomplete when an unordered list exceeds the page limit', () => {
    const { read, gap, reports } = open({ mostPages: 3 });
    read(FLEET.slice(0, 4), 1);
    const [a, b, c, d, ...rest] = FLEET;
    gap(5, [d, a, b, c, ...rest, item('g', -70), item('h', -80)] as Bicycle[], 20);
    expect(reports()[1]).toMatchObject({ isComplete: false, reason: ORDER, pages: 3 });
  });

  test('reads the list at most every ten seconds, even when the system clock changes', () => {
    const { read, gap, step, reports } = open();
    read(FLEET, 1);
    gap(5, FLEET, 10);
    step({ type: 'blind', fromMs: 11_000 }, 12);
    expect(step({ type: 'wanted', sinceWallMs: START_MS - 3_600_000 }, 12)).toEqual([]);
    expect(step({ type: 'tick' }, 20)).toMatchObject([{ type: 'read-page' }]);
    expect(reports()).toHaveLength(2);
  });
});

test.each([
  ['network', 30],
  ['auth', 30],
  ['not-found', 60],
  ['rejected', 60],
] as const)('reads the list again after the failure %s', (kind, later) => {
  const { read, step, answer, reports, log } = open();
  read(FLEET, 1);
  step({ type: 'blind', fromMs: 5_000 }, 20);
  let asked = step({ type: 'wanted', sinceWallMs: START_MS + 5_000 }, 20);
  const failed = { type: 'failed', error: new FleetError(kind, 'Invalid page.') } as const;
  for (const [seconds, pause] of [
    [21, 30],
    [51, later],
  ] as const) {
    const [request] = asked;
    if (request?.type !== 'read-page') throw new Error('a page is asked for');
    expect(step({ ...failed, id: request.id }, seconds)).toMatchObject([
      { type: 'unread', retryInMs: pause * 1000 },
    ]);
    expect(step({ type: 'tick' }, seconds + pause - 1)).toEqual([]);
    asked = step({ type: 'tick' }, seconds + pause);
  }
  answer(asked, [item('a', 10, 'rented'), ...FLEET.slice(1)], 120);
  expect(reports().at(-1)).toMatchObject({ isComplete: true, changes: 1 });
  expect(log.filter(({ type }) => type === 'unread')).toHaveLength(2);
});

describe('bicycles selected with --bicycle', () => {
  test('reads selected bicycles at their own URLs, or from the list as a fallback', () => {
    const { step, answer, reports, log } = open({ bicycles: new Set(['e', 'c']) });
    const effects = step({ type: 'wanted', sinceWallMs: undefined }, 1);
    expect(effects).toMatchObject([{ type: 'read-bicycle', uuid: 'e' }]);
    const [asked] = effects;
    if (asked?.type !== 'read-bicycle') throw new Error('a bicycle is asked for');
    answer(step({ type: 'bicycle', id: asked.id, bicycle: undefined }, 1), FLEET, 1);
    const learned = log.flatMap((effect) =>
      effect.type === 'learned' ? [effect.bicycle.uuid] : [],
    );
    expect(learned).toEqual(['c', 'e']);
    expect(reports()).toMatchObject([{ missing: [], isComplete: true, pages: 3 }]);
  });

  test('reports selected bicycles that the service does not list', () => {
    const { read, reports } = open({ bicycles: new Set(['x']) });
    read(FLEET, 1);
    expect(reports()).toMatchObject([{ missing: ['x'], isComplete: false }]);
  });
});

test('rereads a list at most twice when the messages are newer', () => {
  const { knowledge, gap, read, reports, log } = open();
  read(FLEET, 1);
  knowledge.merge('a', item('a', 5, 'lost'), at(5));
  const before = log.length;
  gap(6, FLEET, 20);
  const readings = log
    .slice(before)
    .filter((output) => output.type === 'read-page' && output.next === undefined);
  expect(readings).toHaveLength(3);
  expect(reports()[1]).toMatchObject({
    isComplete: false,
    changes: 0,
    reason: expect.stringMatching(/older than/),
  });
  gap(50, [item('a', 5, 'lost'), ...FLEET.slice(1)], 60);
  expect(reports()[2]).toMatchObject({ isComplete: true });
});

test('a comparison is incomplete when only the push server sent its time', () => {
  const { knowledge, gap, reports } = open({ mostPages: 1 });
  // The first list could not be read. The clock of the push server is a minute ahead.
  knowledge.time.set(START_MS + 61_000, 1_000);
  gap(5, [item('a', 10, 'rented'), ...FLEET], 20);
  expect(reports()).toMatchObject([{ isComplete: false }]);
});

test.each([
  ['two whole lists 5 s apart', FLEET.length, 5],
  ['answers 404 over 30 s', 1, 30],
])('a selected bicycle is gone after %s', (_how, mostPages, seconds) => {
  const { step, log, read } = open({ bicycles: new Set(['f']), mostPages });
  const rest = FLEET.slice(0, 5);
  read([item('f', -60), ...rest], 1);
  step({ type: 'blind', fromMs: 5_000 }, 20);
  let left = step({ type: 'wanted', sinceWallMs: START_MS + 5_000 }, 20);
  const gone = () => log.some(({ type }) => type === 'gone');
  let page = 0;
  for (let now = 20; now < 20 + seconds + 1; ) {
    const asked = left.find(({ type }) => type === 'read-page' || type === 'read-bicycle');
    if (asked === undefined) {
      if (now < 20 + seconds) expect(gone()).toBe(false);
      now++;
      left = step({ type: 'tick' }, now);
    } else if (asked.type === 'read-bicycle')
      left = step({ type: 'bicycle', id: asked.id, bicycle: undefined }, now);
    else if (asked.type === 'read-page') {
      page = asked.next === undefined ? 0 : page + 1;
      const items = rest.slice(page * 2, page * 2 + 2);
      const isLast = page * 2 + 2 >= rest.length;
      const answer = { ...pageOf(items, isLast), count: rest.length };
      left = step({ type: 'page', id: asked.id, page: answer }, now);
    }
  }
  expect(gone()).toBe(true);
});

test('a failed read and a future Date header leave a comparison incomplete', () => {
  const { step, answer, reports } = open();
  const list = [item('a', -3_594, 'rented'), item('b', -3_620)];
  step({ type: 'blind', fromMs: 5_000 }, 5);
  const [{ id = 0 } = {}] = step({ type: 'wanted', sinceWallMs: START_MS + 5_000 }, 20) as {
    id?: number;
  }[];
  step({ type: 'page', id, page: pageOf(list, false) }, 20);
  step({ type: 'failed', id, error: new FleetError('network', 'cut') }, 21);
  answer(step({ type: 'tick' }, 60), list, 60);
  expect(reports()).toMatchObject([{ isComplete: false, unknown: 2 }]);
});
