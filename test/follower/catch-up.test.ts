// How the list is read after a gap: as far as it has to be, complete only when it is, and nothing lost when it fails.

import { describe, expect, test } from 'vitest';
import type { Bicycle } from '../../src/api/bicycle.js';
import type { Moment } from '../../src/clock.js';
import { FleetError } from '../../src/errors.js';
import { CatchUp } from '../../src/follower/catch-up.js';
import type { AnswerOf, FollowerOutput as Output, Report } from '../../src/follower/events.js';
import { KnownFleet } from '../../src/follower/known-fleet.js';
import { ServiceTime } from '../../src/follower/service-time.js';
import { MemoryStore } from '../../src/follower/store.js';
import type { Page } from '../../src/http/types.js';

const START_MS = Date.UTC(2026, 10, 21, 12);
const FAILURE = new FleetError('service', 'HTTP 503');

function at(seconds: number): Moment {
  return { monotonicMs: seconds * 1000, wallMs: START_MS + seconds * 1000 };
}

function item(uuid: string, seconds: number | undefined, state = 'available'): Bicycle {
  if (seconds === undefined) return { uuid, state };
  return { uuid, state, modified: `${new Date(START_MS + seconds * 1000).toISOString().slice(0, 19)}Z` };
}

/** A page as the service answers it, with another one behind it unless it is the last. */
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
/** Drives the machine with a list that a test may change, one page after the other. */
function open({ bicycles, mostPages = 5 }: { bicycles?: ReadonlySet<string>; mostPages?: number } = {}, pageSize = 2) {
  const knowledge = new KnownFleet(new MemoryStore(), new ServiceTime(at(0)));
  const log: Output[] = [];
  const emit = (output: Output) => void log.push(output);
  const options = { topics: new Map(), organizations: ['o'], bicycles, mostPages, isWhole: false };
  const machine = new CatchUp(knowledge, options, emit, ({ report }) => report && emit({ type: 'read', report }));
  const step = (input: Input, seconds: number): Output[] => {
    const before = log.length;
    if (input.type === 'blind') machine.missFrom(input.fromMs);
    else if (input.type === 'wanted') machine.want(input.sinceWallMs, mostPages, at(seconds));
    else if (input.type !== 'tick') machine.take(input, at(seconds));
    if (input.type === 'wanted' || input.type === 'tick') machine.begin(at(seconds));
    return log.slice(before);
  };
  /** Answers what is asked for until nothing is, also what is asked again after a pause. */
  const answer = (effects: readonly Output[], list: readonly Bicycle[], seconds: number, first = 0): void => {
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
        left = step({ type: 'page', id: asked.id, page: pageOf(items, (page + 1) * pageSize >= list.length) }, now);
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
    answer(step({ type: 'wanted', sinceWallMs: START_MS + fromSeconds * 1000 }, seconds), list, seconds);
  };
  const reports = (): Report[] => log.flatMap((effect) => (effect.type === 'read' ? [effect.report] : []));
  const shown = () =>
    log.flatMap((effect) =>
      effect.type === 'caught-up' ? [`${effect.change.uuid} ${effect.change.after.state}`] : [],
    );
  const gone = () => log.flatMap((effect) => (effect.type === 'gone' ? [effect.uuid] : []));
  return { knowledge, step, answer, read, gap, reports, shown, gone, log };
}

const BOUND = expect.stringContaining('raise --resync-pages');
const ORDER = expect.stringContaining('order of "modified"');
const FLEET = [item('a', -10), item('b', -20), item('c', -30), item('d', -40), item('e', -50), item('f', -60)];

describe('the start', () => {
  test('a whole list is complete, one that is cut by the bound is not', () => {
    const whole = open();
    whole.read(FLEET, 1);
    expect(whole.reports()).toMatchObject([{ isComplete: true, pages: 3, sinceWallMs: undefined }]);
    expect(whole.knowledge.isWhole).toBe(true);
    const bounded = open({ mostPages: 2 });
    bounded.read(FLEET, 1);
    expect(bounded.reports()).toMatchObject([{ isComplete: false, reason: BOUND, pages: 2 }]);
    expect(bounded.knowledge.isWhole).toBe(false);
  });
});

describe('after a gap', () => {
  test('reads until well before the gap, and is complete', () => {
    const { read, gap, reports, shown } = open();
    read(FLEET, 1);
    gap(5, [item('e', 6, 'lost'), ...FLEET.filter(({ uuid }) => uuid !== 'e')], 20);
    expect(shown()).toEqual(['e lost']);
    expect(reports()[1]).toMatchObject({ isComplete: true, changes: 1, unknown: 0, pages: 3 });
  });

  test.each([7, null, {}, true, ['x']])('a bicycle whose uuid is %j ends nothing', (uuid) => {
    const odd = { ...item('x', 0), uuid };
    const { read, gap, reports } = open();
    read([odd, ...FLEET], 1);
    gap(5, [odd, ...FLEET.slice(0, 5)], 20);
    expect(reports()[1]).toMatchObject({ changes: 0, unknown: 1 });
  });

  test('one bicycle in the future does not end the reading', () => {
    const future = item('z', 99_999);
    const { read, gap, reports, shown } = open();
    read([future, ...FLEET], 1);
    const changed = FLEET.slice(0, 5).map(({ uuid }, index) => item(String(uuid), 10 - index, 'lost'));
    gap(5, [future, ...changed, item('f', -60)], 20);
    expect(shown()).toEqual(['a lost', 'b lost', 'c lost', 'd lost', 'e lost']);
    expect(reports()[1]).toMatchObject({ isComplete: true, changes: 5 });
  });

  test('a list without `modified` behind a bounded baseline is not complete, and the strangers are counted', () => {
    const list = FLEET.map(({ uuid }) => item(String(uuid), undefined));
    const { read, gap, reports, shown } = open({ mostPages: 2 });
    read(list, 1);
    gap(
      5,
      [item('b', undefined, 'lost'), item('f', undefined, 'lost'), item('a', undefined), item('e', undefined)],
      20,
    );
    expect(shown()).toEqual(['b lost']);
    expect(reports()[1]).toMatchObject({ isComplete: false, unknown: 2 });
  });

  test('a list in no order is read to the bound, and not complete', () => {
    const { read, gap, reports } = open({ mostPages: 3 });
    read(FLEET.slice(0, 4), 1);
    gap(
      5,
      [FLEET[3], FLEET[0], FLEET[1], FLEET[2], ...FLEET.slice(4), item('g', -70), item('h', -80)] as Bicycle[],
      20,
    );
    expect(reports()[1]).toMatchObject({ isComplete: false, reason: ORDER, pages: 3 });
  });

  test('a baseline that failed swallows nothing', () => {
    const { step, answer, gap, reports, shown } = open();
    const [asked] = step({ type: 'wanted', sinceWallMs: undefined }, 1);
    if (asked?.type !== 'read-page') throw new Error('a page is asked for');
    expect(step({ type: 'failed', id: asked.id, error: FAILURE }, 2)).toMatchObject([
      { type: 'unread', retryInMs: 30_000 },
    ]);
    const changed = [item('e', 6, 'lost'), ...FLEET.filter(({ uuid }) => uuid !== 'e')];
    gap(5, changed, 8);
    answer(step({ type: 'tick' }, 32), changed, 32);
    expect(shown()).toEqual(['e lost']);
    // Nothing was known before, so nothing proves that there was no other change.
    expect(reports()).toMatchObject([{ isComplete: false, unknown: 6 }]);
    answer(step({ type: 'tick' }, 60), FLEET, 60);
    expect(reports()).toHaveLength(1);
  });

  test('a baseline that is in flight when the stream is cut swallows nothing', () => {
    const { step, answer, gap, shown, reports } = open();
    const effects = step({ type: 'wanted', sinceWallMs: undefined }, 1);
    step({ type: 'blind', fromMs: 1_500 }, 2);
    const changed = [item('e', 3, 'lost'), ...FLEET.filter(({ uuid }) => uuid !== 'e')];
    answer(effects, changed, 4);
    expect(shown()).toEqual([]);
    gap(1.5, changed, 6);
    expect(shown()).toEqual(['e lost']);
    expect(reports()[1]).toMatchObject({ changes: 1 });
  });

  test('a list that fails after a gap is read again, and the gap is not forgotten', () => {
    const { read, step, answer, shown, reports, log } = open();
    read(FLEET, 1);
    step({ type: 'blind', fromMs: 5_000 }, 10);
    const [asked] = step({ type: 'wanted', sinceWallMs: START_MS + 5_000 }, 10);
    if (asked?.type !== 'read-page') throw new Error('a page is asked for');
    step({ type: 'failed', id: asked.id, error: FAILURE }, 11);
    expect(step({ type: 'tick' }, 20)).toEqual([]);
    answer(step({ type: 'tick' }, 41), [item('c', 6, 'lost'), ...FLEET.filter(({ uuid }) => uuid !== 'c')], 41);
    expect(shown()).toEqual(['c lost']);
    expect(reports()[1]).toMatchObject({ isComplete: true, sinceWallMs: START_MS + 5_000 });
    expect(log.filter(({ type }) => type === 'unread')).toHaveLength(1);
  });

  test("two readings are ten seconds apart, whatever the machine's date does", () => {
    const { read, gap, step, reports } = open();
    read(FLEET, 1);
    gap(5, FLEET, 10);
    step({ type: 'blind', fromMs: 11_000 }, 12);
    expect(step({ type: 'wanted', sinceWallMs: START_MS - 3_600_000 }, 12)).toEqual([]);
    expect(step({ type: 'tick' }, 20)).toMatchObject([{ type: 'read-page' }]);
    expect(reports()).toHaveLength(2);
  });
});

describe('bicycles that are followed by name', () => {
  test('are read at their own address, and from the list where there is none', () => {
    const { step, answer, reports, log } = open({ bicycles: new Set(['e', 'c']) });
    const effects = step({ type: 'wanted', sinceWallMs: undefined }, 1);
    expect(effects).toMatchObject([{ type: 'read-bicycle', uuid: 'e' }]);
    const [asked] = effects;
    if (asked?.type !== 'read-bicycle') throw new Error('a bicycle is asked for');
    answer(step({ type: 'bicycle', id: asked.id, bicycle: undefined }, 1), FLEET, 1);
    const learned = log.flatMap((effect) => (effect.type === 'learned' ? [effect.bicycle.uuid] : []));
    expect(learned).toEqual(['c', 'e']);
    expect(reports()).toMatchObject([{ missing: [], isComplete: true, pages: 3 }]);
  });

  test('that are nowhere are named', () => {
    const { read, reports } = open({ bicycles: new Set(['x']) });
    read(FLEET, 1);
    expect(reports()).toMatchObject([{ missing: ['x'], isComplete: false }]);
  });

  test('after a gap each is read again', () => {
    const { read, gap, shown, reports } = open({ bicycles: new Set(['e']) });
    read(FLEET, 1);
    gap(5, [item('e', 6, 'lost')], 20);
    expect(shown()).toEqual(['e lost']);
    expect(reports()[1]).toMatchObject({ isComplete: true, pages: 0 });
  });
});

test('a list whose count changes while it is read is read again, and complete when it stays the same', () => {
  const { step, reports, read, shown } = open();
  read(FLEET, 1);
  step({ type: 'blind', fromMs: 100_000 }, 110);
  const changed = FLEET.map(({ uuid }, index) => item(String(uuid), 105 - index, 'lost'));
  let effects = step({ type: 'wanted', sinceWallMs: START_MS + 100_000 }, 120);
  // The first of the list is gone when the second page is read, so that the third bicycle is on none.
  const [, ...left] = changed;
  const pages = [
    changed.slice(0, 2),
    left.slice(2, 4),
    left.slice(4),
    left.slice(0, 2),
    left.slice(2, 4),
    left.slice(4),
  ];
  for (const [page, items] of pages.entries()) {
    if (page === 3) effects = step({ type: 'tick' }, 130);
    const asked = effects.find(({ type }) => type === 'read-page');
    if (asked?.type !== 'read-page') throw new Error(`page ${page} is not asked for`);
    const answer = { ...pageOf(items, page % 3 === 2), count: page === 0 ? 6 : 5 };
    effects = step({ type: 'page', id: asked.id, page: answer }, 121);
  }
  expect(shown()).toEqual(['a lost', 'b lost', 'd lost', 'e lost', 'f lost', 'c lost']);
  expect(reports()[1]).toMatchObject({ isComplete: true, changes: 6, pages: 6 });
});

test('a bicycle that moves to the head of a list that lags, while its second page is read, is not missed', () => {
  const { step, answer, reports, read, shown } = open();
  const fleet = [...FLEET, item('g', -70), item('h', -80)];
  read(fleet, 1);
  step({ type: 'blind', fromMs: 5_000 }, 10);
  const before = [item('d', 7, 'lost'), ...fleet.filter(({ uuid }) => uuid !== 'd')];
  const after = [item('h', 8, 'lost'), ...before.filter(({ uuid }) => uuid !== 'h')];
  const [asked] = step({ type: 'wanted', sinceWallMs: START_MS + 5_000 }, 20);
  if (asked?.type !== 'read-page') throw new Error('a page is asked for');
  answer(step({ type: 'page', id: asked.id, page: pageOf(before.slice(0, 2), false) }, 21), after, 22, 1);
  expect(shown()).toEqual(['d lost', 'h lost']);
  expect(reports()[1]).toMatchObject({ isComplete: true, changes: 2 });
});

test('of one second, versions say which of two looks at the list is newer', () => {
  const { step, answer, reports, read, shown } = open();
  const versioned = (uuid: string, seconds: number, version: number, state = 'available') => ({
    ...item(uuid, seconds, state),
    concurrency_version: version,
  });
  const fleet = [...FLEET, item('g', -70), item('h', -80)].map((bicycle) => ({ ...bicycle, concurrency_version: 1 }));
  read(fleet, 1);
  step({ type: 'blind', fromMs: 5_000 }, 10);
  const before = [versioned('d', 7, 2, 'lost'), ...fleet.filter(({ uuid }) => uuid !== 'd')];
  // A replica that lagged showed `a` as it was; the next one has its change of the same second as that of `d`.
  const after = [versioned('a', 7, 2, 'lost'), ...before.filter(({ uuid }) => uuid !== 'a')];
  const [asked] = step({ type: 'wanted', sinceWallMs: START_MS + 5_000 }, 20);
  if (asked?.type !== 'read-page') throw new Error('a page is asked for');
  answer(step({ type: 'page', id: asked.id, page: pageOf(before.slice(0, 2), false) }, 21), after, 22, 1);
  expect(shown()).toEqual(['d lost', 'a lost']);
  expect(reports()[1]).toMatchObject({ isComplete: true, changes: 2 });
});

test('a list that is older than what was pushed is read again, twice at most, and is not complete when it stays so', () => {
  const { knowledge, gap, read, reports } = open();
  read(FLEET, 1);
  knowledge.hear('a', item('a', 5, 'lost'), at(5));
  gap(6, FLEET, 20);
  expect(reports()[1]).toMatchObject({ isComplete: false, changes: 0, reason: expect.stringMatching(/older than/) });
  gap(50, [item('a', 5, 'lost'), ...FLEET.slice(1)], 60);
  expect(reports()[2]).toMatchObject({ isComplete: true });
});

test('a bicycle that is followed by name, and whose address has none any more, is gone after a second look', () => {
  const { read, gap, gone, reports, knowledge } = open({ bicycles: new Set(['e', 'c']) });
  read(FLEET, 1);
  gap(
    5,
    FLEET.filter(({ uuid }) => uuid !== 'e'),
    20,
  );
  expect(gone()).toEqual(['e']);
  expect(reports()[1]).toMatchObject({ gone: 1, isComplete: true, missing: [] });
  expect(knowledge.get('e')).toBeUndefined();
});

test('a bicycle that is followed by name is not gone where a message told of it while its address had none', () => {
  const { knowledge, step, read, gone, reports } = open({ bicycles: new Set(['e']) });
  read(FLEET, 1);
  step({ type: 'blind', fromMs: 5_000 }, 10);
  let effects = step({ type: 'wanted', sinceWallMs: START_MS + 5_000 }, 20);
  for (const seconds of [21, 31]) {
    const [asked] = effects;
    if (asked?.type !== 'read-bicycle') throw new Error('a bicycle is asked for');
    if (seconds === 31) knowledge.hear('e', item('e', 30, 'lost'), at(30));
    step({ type: 'bicycle', id: asked.id, bicycle: undefined }, seconds);
    effects = step({ type: 'tick' }, seconds + 5);
  }
  expect(gone()).toEqual([]);
  expect(reports()[1]).toMatchObject({ isComplete: false, missing: ['e'], reason: 'it does not hold e' });
});
