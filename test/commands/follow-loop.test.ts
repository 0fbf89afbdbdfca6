// The loop of everything that follows, for a machine that writes each batch in one transaction.

import { expect, test } from 'vitest';
import { systemClock } from '../../src/clock.js';
import { type Machine, runLoop } from '../../src/commands/shared/follow/loop.js';
import type { Context } from '../../src/context.js';
import { openQueue } from '../../src/http/stream/queue.js';

type Step = { readonly type: 'add'; readonly number: number };

test('a batch is loaded in parts, stepped and committed before anything it asks for is done; the last one, too', async () => {
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
  const session = { ending: { over }, stderr: {} } as Parameters<typeof runLoop>[2];
  const { end } = await runLoop(context, queue as Parameters<typeof runLoop>[1], session, machine as never);
  expect(end).toBe('for');
  expect(log).toEqual([
    ...['load 2', 'load 1', 'commit 3', 'ask 1', 'ask 2', 'ask 3'],
    ...['load 2', 'commit 2 at the end', 'ask 4'],
  ]);
});
