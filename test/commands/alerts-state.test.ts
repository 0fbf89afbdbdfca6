// Tests the state machine that follows alerts: its requests, the alerts that it shows, and its
// delays.

import { describe, expect, test } from 'vitest';
import type { Alert } from '../../src/api/alert.js';
import type { AlertsEffect, AlertsEvent, AlertsPlan } from '../../src/commands/alerts/events.js';
import { type AlertsState, alertsState, startAlerts } from '../../src/commands/alerts/state.js';
import type { Marks } from '../../src/commands/alerts/state-file.js';
import { FleetError } from '../../src/errors.js';
import { type AlertItem, openKnownAlerts } from '../../src/follower/known-alerts.js';

const PLAN: AlertsPlan = {
  form: 'lines',
  query: [],
  until: undefined,
  maxEvents: undefined,
  everyMs: 15_000,
  isBackfill: false,
  sinceMs: undefined,
};

/** Returns noon plus this many seconds. */
const at = (seconds: number) =>
  `${new Date(Date.UTC(2026, 2, 1, 12, 0, seconds)).toISOString().slice(0, 19)}Z`;
const NOON_MS = Date.parse(at(0));

function item(uuid: string, seconds: number, state = 'new', created = seconds): AlertItem {
  const value: Alert = {
    uuid,
    state,
    modified: at(seconds),
    created: at(created),
    alert_type: 'lock.shutdown',
  };
  return { value, json: JSON.stringify(value) };
}

/** Creates a page of the list, with the number of the next page. */
const came = (items: AlertItem[], next?: number, serviceMs = NOON_MS): AlertsEvent => ({
  type: 'page',
  page: {
    count: undefined,
    items,
    next: next === undefined ? undefined : [['page', String(next)]],
    trace: {},
  },
  serviceMs,
});
const failed = (error: FleetError, askedMs?: number): AlertsEvent => ({
  type: 'failed',
  error,
  askedMs,
});

/** Creates a service with a scripted list, and a clock that the test controls. */
function follow(plan: Partial<AlertsPlan> = {}, known = openKnownAlerts(), marks: Marks = {}) {
  let seconds = 0;
  const now = () => ({ monotonicMs: seconds * 1000, wallMs: NOON_MS + seconds * 1000 });
  const state: AlertsState = startAlerts({ ...PLAN, ...plan }, { known, marks }, now());
  let effects: readonly AlertsEffect[] = [];
  const step = (event: AlertsEvent) => {
    effects = alertsState(state, event, now());
    return effects;
  };
  const shown = (some: readonly AlertsEffect[]) =>
    some.flatMap((effect) =>
      effect.type === 'show'
        ? [
            [effect.item.value.uuid, effect.before, effect.item.value.state, effect.mark]
              .filter((word) => word)
              .join(' '),
          ]
        : [],
    );
  return {
    state: () => state,
    pass: (by: number) => {
      seconds += by;
    },
    step,
    /** Simulates one reading of these pages and returns a summary of the shown alerts. */
    read(...pages: AlertItem[][]): string[] {
      if (state.counts.readings > 0) seconds += 1000;
      step({ type: 'tick' });
      for (const [index, items] of pages.entries()) {
        const isAsked = effects.some(({ type }) => type === 'read-page');
        if (!isAsked) break;
        step(came(items, index + 1 < pages.length ? index + 2 : undefined, now().wallMs));
      }
      return shown(effects);
    },
    fail(error: FleetError, askedMs?: number) {
      if (state.counts.readings > 0) seconds += 1000;
      step({ type: 'tick' });
      return step(failed(error, askedMs));
    },
    hook: (...items: AlertItem[]) => {
      const webhook = { items, body: Buffer.of(), headers: {}, accept() {} };
      const all = step({ type: 'webhook', webhook });
      const accepted = all.find(({ type }) => type === 'accepted') as { isNews: boolean };
      return { shown: shown(all), isNews: accepted.isNews };
    },
    asked: () => effects.flatMap((effect) => (effect.type === 'read-page' ? [effect.query] : [])),
    types: () => effects.map(({ type }) => type),
  };
}

const down = new FleetError('network', 'connection refused');

describe('alerts shown by `alerts watch`', () => {
  test('shows the alerts of a list from oldest to newest', () => {
    const { read } = follow();
    read([]);
    expect(read([item('c', 2), item('b', 1), item('a', 0)])).toEqual(['a new', 'b new', 'c new']);
  });

  test('shows alerts that were created or changed within the same second', () => {
    const { read } = follow();
    const a = item('a', 10);
    expect(read([a])).toEqual([]);
    expect(read([item('b', 10), a])).toEqual(['b new']);
    expect(read([item('b', 10), item('a', 10, 'stopped')])).toEqual(['a new stopped']);
    expect(read([item('b', 10), item('a', 10, 'stopped')])).toEqual([]);
  });

  test('shows an alert that appears in the list after newer alerts', () => {
    const { read } = follow();
    read([item('a', 10)]);
    read([item('c', 20), item('a', 10)]);
    expect(read([item('c', 20), item('b', 13), item('a', 10)])).toEqual(['b new']);
  });

  test('shows a changed old alert even when it was never shown before', () => {
    const { read } = follow();
    read([item('a', 100)], [item('b', 50)]);
    expect(read([item('old', 110, 'resolved', -9000), item('a', 100)])).toEqual(['old resolved']);
  });

  test('does not show an older version of an alert after a newer one', () => {
    const { read } = follow();
    read([item('a', 10)]);
    expect(read([item('a', 20, 'escalated', 10)])).toEqual(['a new escalated']);
    expect(read([item('a', 10)])).toEqual([]);
    expect(read([item('a', 20, 'escalated', 10)])).toEqual([]);
  });

  test('an alert with a future time does not hide later alerts', () => {
    const { read } = follow();
    const ahead = item('ahead', 900_000);
    expect(read([ahead, item('a', 10)])).toEqual([]);
    expect(read([ahead, item('b', 30), item('a', 10)])).toEqual(['b new']);
    expect(read([ahead, item('b', 30), item('a', 10)])).toEqual([]);
  });

  test('shows an alert that has no UUID and no times only once', () => {
    const { read } = follow();
    const bare = (message: string): AlertItem => ({
      value: { message },
      json: JSON.stringify({ message }),
    });
    expect(read([bare('one')])).toEqual([]);
    expect(read([bare('two'), bare('one')])).toHaveLength(1);
    expect(read([bare('two'), bare('one')])).toEqual([]);
  });

  test('shows a late version of an alert once, even after many changes', () => {
    const { read } = follow();
    read([]);
    for (let change = 1; change <= 15; change++)
      expect(read([item('a', 100 + change)])).toHaveLength(1);
    expect(read([item('a', 50)])).toHaveLength(1);
    expect(read([item('a', 50)])).toEqual([]);
  });

  test('sorts by modification time even when an alert has no timestamp', () => {
    const { read, state } = follow();
    const bare: AlertItem = {
      value: { uuid: 'bare', state: 'new' },
      json: '{"uuid":"bare","state":"new"}',
    };
    read([bare, item('b', 5)], [item('a', 0)]);
    expect(state().order).toBe('modified');
    expect(read([bare, item('c', 20), item('b', 5)])).toEqual(['c new']);
  });

  test('shows each alert once when alerts move between pages during a read', () => {
    const { read } = follow();
    read([item('x', 0)]);
    const [a, b, c, d] = [item('a', 40), item('b', 41), item('c', 42), item('d', 43)] as const;
    // `d` left the list between the two pages, and `b` moved from the second page to the first.
    expect(read([d, c], [a, item('x', 0)])).toEqual(['a new', 'c new', 'd new']);
    expect(read([c, b], [a, item('x', 0)])).toEqual(['b new']);
    // An alert that was raised between the pages pushes the last one of the first page to the second.
    expect(read([item('e', 60), c], [c, b], [a])).toEqual(['e new']);
  });

  test('shows alerts in order when new alerts shift older ones to later pages', () => {
    const { read, state } = follow();
    read([item('x', 0)]);
    const [a, b, c, d] = [item('a', 40), item('b', 41), item('c', 42), item('d', 43)] as const;
    expect(read([d, c], [d, c], [b, a])).toEqual(['a new', 'b new', 'c new', 'd new']);
    expect(state().order).toBe('modified');
  });

  test('does not show alerts from a failed read until the next read succeeds', () => {
    const { read, step, pass } = follow();
    read([item('x', 0)]);
    pass(1000);
    step({ type: 'tick' });
    expect(step(came([item('b', 20)], 2))).toMatchObject([{ type: 'read-page' }]);
    step(failed(down));
    expect(read([item('b', 20)], [item('a', 19), item('x', 0)])).toEqual(['a new', 'b new']);
  });

  test.each([
    ['503: it goes on with the page that failed', 503, 'page', '2'],
    ['404, as when the list became shorter: it begins anew', 404, 'ordering', '-modified'],
  ])('handles a failed page of a long read: %s', (_words, status, name, value) => {
    const { read, step, pass, asked } = follow({ isBackfill: true });
    read([item('x', 0)]);
    pass(1000);
    step({ type: 'tick' });
    step(came([item('b', 20)], 2));
    step(failed(new FleetError(status === 404 ? 'not-found' : 'service', 'no', { status })));
    // No request is due before its time.
    expect(step({ type: 'tick' })).toMatchObject([{ type: 'wake' }]);
    pass(60);
    step({ type: 'tick' });
    expect(asked()).toMatchObject([expect.arrayContaining([[name, value]])]);
    expect(step({ type: 'tick' })).toEqual([]);
  });

  test('--since shows only alerts that changed after that time', () => {
    const { read } = follow({ sinceMs: NOON_MS });
    expect(read([item('b', 5), item('a', 0), item('z', -1)])).toEqual(['a new', 'b new']);
  });

  test('stops reading a list whose pages repeat', () => {
    const { step, types } = follow({ sinceMs: 0 });
    step({ type: 'tick' });
    let pages = 0;
    while (!types().includes('bound') && pages++ < 100) {
      step(came([item('a', 10)], 1));
    }
    expect(pages).toBeLessThan(20);
  });
});

describe('a service that does not order alerts by modification time', () => {
  const refused = new FleetError('rejected', 'no such ordering', { status: 400 });

  test('reads the alerts by creation time and regularly checks older alerts for changes', () => {
    const { read, fail, asked, step } = follow();
    fail(refused);
    expect(asked()[0]).toContainEqual(['ordering', '-created']);
    step(came([item('b', 900), item('a', 0)], undefined, NOON_MS + 1_000_000));
    expect(read([item('b', 900)], [item('a', 950, 'escalated', 0)])).toEqual(['a new escalated']);
    expect(read([item('c', 2000), item('b', 900)], [item('a', 950, 'escalated', 0)])).toEqual([
      'c new',
    ]);
  });

  test('detects a service that ignores the `ordering` parameter', () => {
    const { step, asked } = follow();
    step({ type: 'tick' });
    step(came([item('a', 1), item('b', 2)], 2));
    expect(asked()[0]).toContainEqual(['ordering', '-created']);
  });
});

test.each(['+00:00', '.000Z', '.000000Z', '.000000+00:00'])(
  'does not show an alert again when its time is later spelled with %s',
  (ending) => {
    const { read, types } = follow();
    read([]);
    read([item('a', 10)]);
    expect(types()).toContain('show');
    const spelled = item('a', 10);
    const modified = String(spelled.value.modified).replace('Z', ending);
    read([{ ...spelled, value: { ...spelled.value, modified } }]);
    expect(types()).not.toContain('show');
  },
);

describe('failed requests for the list of alerts', () => {
  test('reports the start and the end of an outage only once', () => {
    const { read, fail } = follow();
    read([item('a', 0)]);
    expect(fail(down).map(({ type }) => type)).toEqual(['unread', 'wake']);
    expect(fail(down).map(({ type }) => type)).toEqual(['wake']);
    expect(
      fail(new FleetError('service', 'HTTP 503', { status: 503 })).map(({ type }) => type),
    ).toEqual(['unread', 'wake']);
    const { read: again, fail: failAgain, types } = follow();
    again([item('a', 0)]);
    failAgain(down);
    again([item('b', 10), item('a', 0)]);
    expect(types()).toEqual(['back', 'show', 'cursor', 'wake']);
  });

  test.each([
    ['401 at the start', new FleetError('auth', 'no', { status: 401 }), true],
    ['404 at the start', new FleetError('not-found', 'no', { status: 404 }), true],
    [
      'a page that is not a list at the start',
      new FleetError('service', 'HTML', { status: 200 }),
      true,
    ],
    ['a refused connection', down, false],
    ['503', new FleetError('service', 'busy', { status: 503 }), false],
  ])('%s', (_name, error, isEnd) => {
    const { fail } = follow();
    expect(fail(error).some(({ type }) => type === 'end')).toBe(isEnd);
  });

  test('retries after a 401 that follows a successful request', () => {
    const refused = new FleetError('auth', 'no', { status: 401 });
    const watch = follow();
    watch.read([]);
    expect(watch.fail(refused).some(({ type }) => type === 'end')).toBe(false);
    expect(watch.fail(refused).some(({ type }) => type === 'end')).toBe(true);
    const listen = follow({ isBackfill: true });
    expect(listen.fail(refused).some(({ type }) => type === 'end')).toBe(false);
  });
});

describe('the pause after a failed request', () => {
  const pauseOf = (effects: readonly AlertsEffect[]) =>
    effects.flatMap((effect) => (effect.type === 'wake' ? [effect.inMs / 1000] : []))[0];

  test('obeys a Retry-After of up to five minutes and reports a longer one', () => {
    const { read, fail } = follow();
    read([]);
    expect(pauseOf(fail(new FleetError('service', 'slow down', { status: 429 }), 45_000))).toBe(45);
    const long = fail(down, 3_600_000);
    expect(pauseOf(long)).toBe(300);
    expect(long).toContainEqual(
      expect.objectContaining({ retryInMs: 300_000, cappedFromMs: 3_600_000 }),
    );
  });

  test('resets the pause to one second after a page is read', () => {
    const { fail, step, pass } = follow({ isBackfill: true });
    const first = pauseOf(fail(down));
    pass(60);
    expect([first, pauseOf(fail(down))]).toEqual([1, 2]);
    pass(60);
    step({ type: 'tick' });
    step(came([item('a', 0)], 2));
    expect(pauseOf(step(failed(down)))).toBe(1);
  });

  test('the pause doubles from one second to one minute', () => {
    const { read, fail, step } = follow();
    read([]);
    expect(Array.from({ length: 8 }, () => pauseOf(fail(down)))).toEqual([
      1, 2, 4, 8, 16, 32, 60, 60,
    ]);
    read([]);
    expect(pauseOf(step({ type: 'tick' }))).toBe(15);
  });
});

describe('webhooks of alerts', () => {
  test('shows each version of an alert once, from a webhook or from the list', () => {
    const { read, hook } = follow({ isBackfill: true });
    read([item('x', 0)]);
    expect(hook(item('a', 10))).toEqual({ shown: ['a new'], isNews: true });
    expect(hook(item('a', 10))).toEqual({ shown: [], isNews: false });
    expect(read([item('b', 12), item('a', 10), item('x', 0)])).toEqual(['b new caught-up']);
    // The late webhook is not shown again, but it is forwarded.
    expect(hook(item('b', 12))).toEqual({ shown: [], isNews: true });
    expect(hook(item('b', 12))).toEqual({ shown: [], isNews: false });
  });

  test('shows two changes of an alert within the same second', () => {
    const { hook } = follow({ everyMs: undefined });
    expect(hook(item('a', 10), item('a', 10, 'stopped'))).toEqual({
      shown: ['a new', 'a new stopped'],
      isNews: true,
    });
  });

  test('shows an older alert version whose webhook arrives after a newer one', () => {
    const { hook } = follow({ everyMs: undefined });
    hook(item('a', 20, 'resolved', 10));
    expect(hook(item('a', 10))).toEqual({ shown: ['a new'], isNews: true });
    expect(hook(item('a', 20, 'resolved', 10))).toEqual({ shown: [], isNews: false });
  });

  test('does not request the list of alerts when no service URL is configured', () => {
    const { step } = follow({ everyMs: undefined });
    expect(step({ type: 'tick' })).toEqual([]);
  });
});
