// Tests the event loop of the following commands with a state machine that writes each batch in one
// transaction.

import { expect, test } from 'vitest';
import type { Context } from '../../src/context.js';
import { FleetError } from '../../src/errors.js';
import { type Machine, runLoop } from '../../src/follow/loop.js';
import { openPrinter } from '../../src/follow/print.js';
import { openStderr } from '../../src/follow/stderr.js';
import { openQueue } from '../../src/http/stream/queue.js';
import { systemClock } from '../../src/system/clock.js';
import { openTimeZone } from '../../src/system/time-zone.js';

type Step = { readonly type: 'add'; readonly number: number };

test('the loop commits each batch before it prints or sends anything', async () => {
  const log: string[] = [];
  const over = new AbortController();
  const queue = openQueue<Step | { type: 'tick' } | { type: 'stop'; end: 'for' }>();
  const machine = {
    step: (event) =>
      event.type === 'stop'
        ? [{ type: 'end', end: event.end }]
        : [{ type: 'ask' as const, number: (event as Step).number }],
    perform: ({ number }) => void log.push(`ask ${number}`),
    deliver: async () => {},
    summarize: async () => {},
    batch: {
      mostLoaded: 2,
      gatherMs: 1,
      async load(events) {
        log.push(`load ${events.length}`);
        return events;
      },
      async commit(batch, isEnd) {
        log.push(`commit ${batch.length}${isEnd ? ' at the end' : ''}`);
        if (isEnd) return;
        queue.push({ type: 'add', number: 4 });
        queue.push({ type: 'stop', end: 'for' });
      },
    },
  } satisfies Machine<Step, { readonly type: 'ask'; readonly number: number }, never>;
  for (const number of [1, 2, 3]) queue.push({ type: 'add', number });
  const context = { io: { beginEnd() {} }, clock: systemClock() } as Context;
  const session = { queue, ending: { over }, stderr: {} } as unknown as Parameters<
    typeof runLoop
  >[1];
  const { end } = await runLoop(context, session, machine as never);
  expect(end).toBe('for');
  expect(log).toEqual([
    ...['load 2', 'load 1', 'commit 3', 'ask 1', 'ask 2', 'ask 3'],
    ...['load 2', 'commit 2 at the end', 'ask 4'],
  ]);
});

test('reports a lost connection again when the retry delay has grown', () => {
  const said: string[] = [];
  const stderr = { isTerminal: false, write: async (text: string) => void said.push(text) };
  const zone = openTimeZone(undefined);
  const context = {
    io: { stderr },
    flags: {},
    clock: systemClock(),
    zone,
  } as unknown as Context;
  const { stream } = openStderr(context, { form: 'lines', namesTopic: false });
  const error = new FleetError('network', 'connection refused');
  const lost = (monotonicMs: number, retryInMs: number, attempt: number) =>
    stream({
      ...{ type: 'lost', topic: 't', cause: 'network', error, atMs: monotonicMs, monotonicMs },
      ...{ lastLifeWallMs: 0, downMs: 0, attempt, retryInMs },
    });
  lost(0, 155, 1);
  lost(200, 20_000, 2);
  lost(61_000, 300, 3);
  lost(62_000, 20_000, 4);
  for (let minute = 3; minute < 60; minute++) lost(minute * 60_000, 30_000, minute);
  expect(said.map((line) => /again in (.*)\n/.exec(line)?.[1])).toEqual(['155 ms', '20 s']);
});

test('--json counts list changes as delivered although it does not print them', async () => {
  const stdout = { write: async () => {} };
  const context = { io: { stdout }, jq: async () => undefined } as unknown as Context;
  const stderr = {} as ReturnType<typeof openStderr>;
  const print = await openPrinter(context, 'json', stderr, new AbortController().signal);
  const entry = { type: 'other', envelope: undefined, text: '' } as const;
  let delivered = 0;
  const items = [undefined, '{"a":1}', undefined].map((data) => ({
    entry,
    atMs: 0,
    receivedMs: 0,
    data,
  }));
  await print(items, (count) => {
    delivered += count;
  });
  expect(delivered).toBe(3);
});
