// The loop around a pure machine: events in, effects out, what is to be shown delivered in order.

import type { Clock } from '../../clock.js';
import type { Context } from '../../context.js';
import type { FleetError } from '../../errors.js';
import type { Queue } from '../../http/stream/queue.js';
import type { Moment } from '../../mirror/knowledge.js';
import type { WatchEnd } from '../../views/stream.js';
import { OVER, whatStopped } from './ending.js';

/** The last effect of a machine. */
export interface End {
  readonly type: 'end';
  readonly end: WatchEnd;
  readonly error?: FleetError;
}

export interface Machine<State, Event, Effect extends { readonly type: string }, Item> {
  start(now: Moment): State;
  step(state: State, event: Event, now: Moment): { readonly state: State; readonly effects: readonly Effect[] };
  /** Does what the machine asks for; hands back what is to be delivered. */
  perform(effects: readonly Effect[], state: State): readonly Item[];
  /** Delivers in order; `onDelivered` is called with how many were taken. */
  deliver(items: readonly Item[], onDelivered: (count: number) => void): Promise<void>;
}

export interface LoopResult<State> {
  readonly state: State;
  readonly end: WatchEnd;
  /** What ended it, when that was a failure, a signal or a reader that takes nothing more. */
  readonly error: Error | undefined;
  readonly undelivered: number;
}

export function momentOf(clock: Clock): Moment {
  return { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
}

/**
 * Steps the machine through the events until it says that it is over. Rejects with what delivering throws, a reader that stopped at the
 * end apart: what it did not take is counted.
 */
export async function runLoop<State, Event, Effect extends { readonly type: string }, Item>(
  { io, clock }: Context,
  queue: Queue<Event>,
  over: AbortController,
  machine: Machine<State, Event, Effect | End, Item>,
): Promise<LoopResult<State>> {
  let state = machine.start(momentOf(clock));
  let undelivered = 0;
  let stopped: Error | undefined;
  let end: End | undefined;
  for await (const batch of queue.batches()) {
    const effects: (Effect | End)[] = [];
    const now = momentOf(clock);
    for (const event of batch) {
      const step = machine.step(state, event, now);
      state = step.state;
      for (const effect of step.effects) effects.push(effect);
      const last = effects.at(-1);
      if (last?.type === 'end') end = last as End;
      if (end !== undefined) break;
    }
    if (end !== undefined) {
      io.beginEnd();
      over.abort(OVER);
    }
    const items = machine.perform(effects, state);
    if (items.length > 0) {
      undelivered += items.length;
      const onDelivered = (count: number) => {
        undelivered -= count;
      };
      if (stopped === undefined) stopped = await machine.deliver(items, onDelivered).then(() => undefined, whatStopped);
    }
    if (end !== undefined) break;
  }
  return { state, end: end?.end ?? 'failed', error: end?.error ?? stopped, undelivered };
}

/** Alarms that a machine asked for; those that have not rung are cancelled at the end. */
export interface Alarms {
  set(inMs: number): void;
  close(): void;
}

export function openAlarms(clock: Clock, ring: () => void): Alarms {
  const cancels = new Set<() => void>();
  return {
    set(inMs) {
      const cancel = clock.after(inMs, () => {
        cancels.delete(cancel);
        ring();
      });
      cancels.add(cancel);
    },
    close() {
      for (const cancel of cancels) cancel();
    },
  };
}
