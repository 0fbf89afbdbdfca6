// How the list is read after a gap: as far as it has to be, complete only when it is, and nothing lost when it fails.

import { describe, expect, test } from 'vitest';
import type { Bicycle } from '../../src/api/bicycle.js';
import { FleetError } from '../../src/errors.js';
import type { Page } from '../../src/http/types.js';
import {
  type CatchUpEffect,
  type CatchUpEvent,
  type CatchUpOptions,
  catchUp,
  type Report,
  startCatchUp,
} from '../../src/mirror/catch-up.js';
import { type Moment, openKnowledge } from '../../src/mirror/knowledge.js';

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

/** Drives the machine with a list that a test may change, one page after the other. */
function open(options: Partial<CatchUpOptions> = {}, pageSize = 2) {
  const knowledge = openKnowledge(at(0));
  const all = { organizations: ['o'], bicycles: undefined, mostPages: 5, readsWhole: false, ...options };
  let state = startCatchUp(all, knowledge);
  const log: CatchUpEffect[] = [];
  const step = (event: CatchUpEvent, seconds: number): CatchUpEffect[] => {
    const next = catchUp(state, event, at(seconds));
    state = next.state;
    log.push(...next.effects);
    return [...next.effects];
  };
  /** Answers what is asked for until nothing is. */
  const answer = (effects: readonly CatchUpEffect[], list: readonly Bicycle[], seconds: number): void => {
    let left = effects;
    for (let page = 0; ; page++) {
      const asked = left.find(({ type }) => type === 'read-page' || type === 'read-bicycle');
      if (asked?.type === 'read-bicycle') {
        const bicycle = list.find(({ uuid }) => uuid === asked.uuid);
        left = step({ type: 'bicycle', id: asked.id, bicycle }, seconds);
        page--;
      } else if (asked?.type === 'read-page') {
        const items = list.slice(page * pageSize, (page + 1) * pageSize);
        left = step({ type: 'page', id: asked.id, page: pageOf(items, (page + 1) * pageSize >= list.length) }, seconds);
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
  return { knowledge, step, answer, read, gap, reports, shown, log };
}

const FLEET = [item('a', -10), item('b', -20), item('c', -30), item('d', -40), item('e', -50), item('f', -60)];

describe('the start', () => {
  test('a whole list is complete, one that is cut by the bound is not', () => {
    const whole = open();
    whole.read(FLEET, 1);
    expect(whole.reports()).toMatchObject([{ isComplete: true, pages: 3, sinceWallMs: undefined }]);
    expect(whole.knowledge.isWhole()).toBe(true);
    const bounded = open({ mostPages: 2 });
    bounded.read(FLEET, 1);
    expect(bounded.reports()).toMatchObject([{ isComplete: false, isBoundReached: true, pages: 2 }]);
    expect(bounded.knowledge.isWhole()).toBe(false);
  });

  test('the whole fleet is read beyond the bound where it is asked for', () => {
    const { read, reports, knowledge, log } = open({ mostPages: 1, readsWhole: true });
    read(FLEET, 1);
    expect(reports()).toMatchObject([{ isComplete: true, pages: 3 }]);
    expect(
      log.filter((effect) => effect.type === 'read-page').every((effect) => 'isWhole' in effect && effect.isWhole),
    ).toBe(true);
    expect(knowledge.size()).toBe(6);
  });
});

describe('after a gap', () => {
  test('reads until well before the gap, and is complete', () => {
    const { read, gap, reports, shown } = open();
    read(FLEET, 1);
    gap(5, [item('e', 6, 'lost'), ...FLEET.filter(({ uuid }) => uuid !== 'e')], 20);
    expect(shown()).toEqual(['e lost']);
    expect(reports()[1]).toMatchObject({ isComplete: true, changes: 1, unknown: 0, pages: 2 });
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
    expect(reports()[1]).toMatchObject({ isComplete: false, isBoundReached: true, pages: 3 });
  });

  test('a baseline that failed swallows nothing', () => {
    const { step, answer, gap, reports, shown } = open();
    const [asked] = step({ type: 'wanted', sinceWallMs: undefined }, 1);
    if (asked?.type !== 'read-page') throw new Error('a page is asked for');
    expect(step({ type: 'failed', id: asked.id, error: FAILURE }, 2)).toMatchObject([
      { type: 'unread', retryInMs: 30_000 },
      { type: 'wake', inMs: 30_000 },
    ]);
    gap(5, [item('e', 6, 'lost'), ...FLEET.filter(({ uuid }) => uuid !== 'e')], 8);
    expect(shown()).toEqual(['e lost']);
    // Nothing was known before, so nothing proves that there was no other change.
    expect(reports()).toMatchObject([{ isComplete: false, unknown: 2 }]);
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
    expect(step({ type: 'tick' }, 20)).toMatchObject([{ type: 'wake' }]);
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
    expect(step({ type: 'wanted', sinceWallMs: START_MS - 3_600_000 }, 12)).toEqual([{ type: 'wake', inMs: 8_000 }]);
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

test('a bicycle that slipped between two pages, because another one left the list, makes a reading incomplete', () => {
  const { gap, read, step, reports } = open();
  read(FLEET.slice(0, 4), 1);
  step({ type: 'blind', fromMs: 100_000 }, 110);
  const isSlipped = (counts: readonly number[]) => {
    let effects = step({ type: 'wanted', sinceWallMs: START_MS + 100_000 }, 120);
    for (const [page, count] of counts.entries()) {
      const asked = effects.find(({ type }) => type === 'read-page');
      if (asked?.type !== 'read-page') throw new Error('no page is asked for');
      // The first of the list is gone when the second page is read, so that the third bicycle is on none.
      const items = page === 0 ? [item('a', 101), item('b', 101)] : [item('d', 101)];
      effects = step({ type: 'page', id: asked.id, page: { ...pageOf(items, page === 1), count } }, 121);
    }
    return reports().at(-1);
  };
  expect(isSlipped([4, 3])).toMatchObject({ pages: 2, isComplete: false });
  gap(200, FLEET.slice(0, 4), 220);
  expect(reports().at(-1)).toMatchObject({ isComplete: true });
});
