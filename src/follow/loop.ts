// The event loop of the follow commands. It passes events to a state machine, performs the effects
// that the machine returns, and delivers its output in order.

import { readTopic } from '../api/push.js';
import type { Context } from '../context.js';
import type { Client, HttpLog } from '../http/client.js';
import type { StreamEvent } from '../http/stream/events.js';
import { openQueue, type Queue } from '../http/stream/queue.js';
import { showOrganizations } from '../list/find-named.js';
import { type Moment, momentOf, sleep } from '../system/clock.js';
import { ID_DIGITS } from '../views/bicycle.js';
import type { WatchEnd } from '../views/connection.js';
import { openHttpLog } from '../views/exchange.js';
import { type Ending, OVER, openEnding, type Stop } from './ending.js';
import type { EndOptions } from './flags.js';
import { openOrderedDelivery } from './ordered-delivery.js';
import { type Form, openStderr, type Stderr } from './stderr.js';

/** The effect that a state machine returns to end the loop. */
export type End = Omit<Stop, 'type'> & { readonly type: 'end' };

/** The events and effects that all state machines share. The loop itself performs these effects. */
export type CommonEvent = StreamEvent | Stop | { readonly type: 'tick' };
export type CommonEffect = { readonly type: 'stream'; readonly event: StreamEvent } | End;

/** A state machine, and functions that carry out its effects. */
export interface Machine<Event, Effect extends { readonly type: string }, Item> {
  step(event: Event | CommonEvent, now: Moment): readonly (Effect | CommonEffect)[];
  /** Performs an effect. Returns an item to deliver, or undefined. */
  perform(effect: Effect): Item | undefined;
  /**
   * Called after each batch of events with the resulting effects, for example to update a status
   * line.
   */
  look?(effects: readonly (Effect | CommonEffect)[]): void;
  /** Delivers items in order. Passes the number of delivered items to `onDelivered`. */
  deliver(items: readonly Item[], onDelivered: (count: number) => void): Promise<void>;
  summarize(result: LoopResult): Promise<void>;
  batch?: BatchHooks<Event>;
}

/**
 * Hooks for a state machine that writes each batch of events in one transaction, such as the
 * mirror's. `load` parses the messages and loads the affected rows, `step` merges the messages into
 * the rows, and `commit` writes them. The loop carries out requests and other effects after the
 * commit.
 */
export interface BatchHooks<Event> {
  /**
   * Loads at most this many events at once. With small batches, parsed messages are released
   * sooner. This saves garbage collection time.
   */
  readonly mostLoaded: number;
  /** Prepares events for the state machine, and returns the prepared events. */
  load(events: readonly (Event | CommonEvent)[]): Promise<readonly (Event | CommonEvent)[]>;
  /** Writes a batch of changes, including the final batch. An error ends the loop. */
  commit(batch: readonly (Event | CommonEvent)[], isEnd: boolean): Promise<void>;
  /** How long events are collected for the next batch. A full queue ends this wait early. */
  readonly gatherMs: number;
}

export interface LoopResult {
  readonly end: WatchEnd;
  /** Why the loop ended: an error, a signal, or the error of a closed output. */
  readonly error: Error | undefined;
  readonly undelivered: number;
}

/** Receives events. */
export interface EventSink<Event> {
  /** Adds an event. `size` is its length in characters. */
  emit(event: Event | CommonEvent, size?: number): void;
  /**
   * Returns a promise that the caller must await while the consumer is behind. Returns undefined
   * otherwise.
   */
  room(): Promise<void> | undefined;
  /** Aborted when the session ends. */
  readonly signal: AbortSignal;
}

/** The open resources of a follow command. */
export interface Session<Event> extends EventSink<Event> {
  readonly queue: Queue<Event | CommonEvent>;
  readonly ending: Ending;
  readonly stderr: Stderr;
  readonly log: HttpLog;
  /**
   * Opens a client for this command. Its log uses the format of stderr, and its requests are
   * cancelled when the command ends.
   */
  client(baseUrl: URL, retry: HttpLog['retry']): Promise<Client>;
  /** Runs an event source in the background. An unexpected error in it ends the command. */
  runBeside(source: Promise<void>): void;
  /**
   * Registers a function that runs at the end, before the summary. The last registered function
   * runs first.
   */
  atEnd(close: () => Promise<void> | void): void;
}

export interface SessionOptions extends EndOptions {
  form: Form;
  topics: readonly string[];
  /** The maximum size of the queue. */
  limitCharacters?: number;
}

/**
 * Opens the resources that a follow command needs, calls `use` with them, and closes them
 * afterwards.
 */
export async function withSession<Event, Result>(
  context: Context,
  options: SessionOptions,
  use: (session: Session<Event>) => Promise<Result>,
): Promise<Result> {
  const { flags, io } = context;
  const { form, topics, limitCharacters } = options;
  // Log files show topic names unchanged. Only a terminal shows titles instead.
  const isSeen = io.stdout.isTerminal || io.stderr.isTerminal;
  const titleOf = form === 'json' || !isSeen ? undefined : await titleTopics(context, topics);
  const queue = openQueue<Event | CommonEvent>(limitCharacters);
  const ending = openEnding(context, queue.push, options);
  const stderr = openStderr(context, { form, namesTopic: topics.length > 1, titleOf });
  const log = openHttpLog({ ...flags, isJson: io.isJson }, stderr.log);
  const { signal } = ending.over;
  const sources: Promise<void>[] = [];
  const closes: (() => Promise<void> | void)[] = [];
  try {
    const session: Session<Event> = {
      ...{ queue, ending, stderr, log, signal, emit: queue.push, room: queue.room },
      client: (baseUrl, retry) => context.client({ baseUrl, log: { ...log, retry }, signal }),
      runBeside(source) {
        source.catch(ending.fail);
        sources.push(source);
      },
      atEnd: (one) => void closes.push(one),
    };
    return await use(session);
  } finally {
    ending.close();
    queue.close();
    for (const close of closes.reverse()) await close();
    await Promise.allSettled(sources);
  }
}

/**
 * Runs a follow command until its end. `open` prepares the state machine. Throws a FleetError
 * unless the command ended as expected (cli.md section 3).
 */
export async function follow<Event, Effect extends { readonly type: string }, Item>(
  context: Context,
  options: SessionOptions,
  open: (session: Session<Event>) => Promise<Machine<Event, Effect, Item>>,
): Promise<void> {
  const { machine, result } = await withSession(
    context,
    options,
    async (session: Session<Event>) => {
      const opened = await open(session);
      const endsByMessages = options.maxEvents !== undefined || options.until !== undefined;
      return { machine: opened, result: await runLoop(context, session, opened, endsByMessages) };
    },
  );
  await machine.summarize(result);
  if (result.error !== undefined) throw result.error;
}

/**
 * Passes events to the state machine until it ends. Rejects when the delivery fails. If the program
 * that reads stdout has exited, counts the undelivered items instead of rejecting.
 */
export async function runLoop<Event, Effect extends { readonly type: string }, Item>(
  { io, clock }: Context,
  { queue, ending, stderr }: Pick<Session<Event>, 'queue' | 'ending' | 'stderr'>,
  machine: Machine<Event, Effect, Item>,
  endsByMessages = false,
): Promise<LoopResult> {
  const { batch: hooks } = machine;
  let end: End | undefined;
  const delivery = openOrderedDelivery<Item>({
    clock,
    endsByMessages,
    deliver: (items, onDelivered) => machine.deliver(items, onDelivered),
    // The `tick` wakes the loop. Without this event, the loop would notice the failure only at the
    // next event.
    onFailure: () => queue.push({ type: 'tick' }),
  });
  const perform = (effect: Effect | CommonEffect): Item | undefined => {
    const common = effect as CommonEffect;
    if (common.type === 'stream') stderr.stream(common.event);
    else if (common.type !== 'end') return machine.perform(effect as Effect);
    return undefined;
  };
  for await (const batch of queue.batches()) {
    const effects: (Effect | CommonEffect)[] = [];
    const partSize = hooks?.mostLoaded ?? batch.length;
    for (let from = 0; from < batch.length && end === undefined; from += partSize) {
      const part =
        hooks === undefined ? batch : await hooks.load(batch.slice(from, from + partSize));
      const now = momentOf(clock);
      for (const event of part) {
        for (const effect of machine.step(event, now)) effects.push(effect);
        const last = effects.at(-1);
        if (last?.type === 'end') end = last as End;
        if (end !== undefined) break;
      }
    }
    await hooks?.commit(batch, end !== undefined);
    if (end !== undefined) {
      io.beginEnd();
      ending.over.abort(OVER);
    }
    const items = effects.map(perform).filter((item) => item !== undefined);
    machine.look?.(effects);
    await delivery.add(items);
    if (end !== undefined) break;
    if (hooks !== undefined)
      await Promise.race([
        sleep(clock, hooks.gatherMs, ending.over.signal).catch(() => {}),
        queue.filled(),
      ]);
  }
  await delivery.finish();
  return {
    end: end?.end ?? 'failed',
    error: end?.error ?? delivery.stopped(),
    undelivered: delivery.undelivered(),
  };
}

/**
 * Reads the names of the organizations once. Returns a function that makes titles for topics. A
 * topic that section 6.1 does not describe is shown by its name.
 */
async function titleTopics(
  context: Context,
  topics: readonly string[],
): Promise<(topic: string) => string> {
  const organizations = topics.flatMap((topic) => readTopic(topic)?.organization ?? []);
  const names = await showOrganizations(context, organizations);
  return (topic) => {
    const about = readTopic(topic);
    if (about === undefined) return topic;
    const { organization, role, bicycle } = about;
    const one = bicycle === undefined ? '' : `bicycle ${bicycle.slice(0, ID_DIGITS)} of `;
    return `${one}${names.get(organization) ?? organization}${role === 'admin' ? '' : ` as ${role}`}`;
  };
}
