// The event loop of the follow commands: passes events to a state machine, performs its effects and
// delivers its output in order.

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

/** The last effect of a state machine. */
export type End = Omit<Stop, 'type'> & { readonly type: 'end' };

/** Events and effects that all state machines share. The loop performs these effects. */
export type CommonEvent = StreamEvent | Stop | { readonly type: 'tick' };
export type CommonEffect = { readonly type: 'stream'; readonly event: StreamEvent } | End;

/** A state machine and the functions that perform its effects. */
export interface Machine<Event, Effect extends { readonly type: string }, Item> {
  step(event: Event | CommonEvent, now: Moment): readonly (Effect | CommonEffect)[];
  /** Performs an effect. Returns an item to deliver, or undefined. */
  perform(effect: Effect): Item | undefined;
  /** Receives all effects of a batch. */
  look?(effects: readonly (Effect | CommonEffect)[]): void;
  /** Delivers items in order. Calls `onDelivered` with the number of delivered items. */
  deliver(items: readonly Item[], onDelivered: (count: number) => void): Promise<void>;
  summarize(result: LoopResult): Promise<void>;
  batch?: BatchHooks<Event>;
}

/**
 * For a state machine that writes each batch of events in one transaction, such as the mirror's.
 * `load` parses the messages and loads the rows that they change, `step` merges the messages into
 * these rows, and `commit` writes the rows. Requests are sent and other effects are performed after
 * the commit.
 */
export interface BatchHooks<Event> {
  /**
   * How many events are loaded at once. With a small number, parsed messages live only briefly,
   * which saves time in garbage collection.
   */
  readonly mostLoaded: number;
  /** Prepares events. Returns them in the form that the machine takes. */
  load(events: readonly (Event | CommonEvent)[]): Promise<readonly (Event | CommonEvent)[]>;
  /** Writes the changes of a batch, including the last batch. An error ends the loop. */
  commit(batch: readonly (Event | CommonEvent)[], isEnd: boolean): Promise<void>;
  /** How long events are collected before the next batch, unless the queue is full earlier. */
  readonly gatherMs: number;
}

export interface LoopResult {
  readonly end: WatchEnd;
  /** The error, signal or closed output that ended the loop. */
  readonly error: Error | undefined;
  readonly undelivered: number;
}

/** Receives events. */
export interface EventSink<Event> {
  /** `size` is the size of the event in characters. */
  emit(event: Event | CommonEvent, size?: number): void;
  /** Returns a promise while the consumer has not processed earlier events. */
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
   * The loop opens a client of its own: the log of this client must match the format of stderr, and
   * its requests end with the command.
   */
  client(baseUrl: URL, retry: HttpLog['retry']): Promise<Client>;
  /**
   * Runs a source of events in the background. An unexpected error in the source ends the command.
   */
  runBeside(source: Promise<void>): void;
  /** Runs at the end, before the summary, in reverse order of registration. */
  atEnd(close: () => Promise<void> | void): void;
}

export interface SessionOptions extends EndOptions {
  form: Form;
  topics: readonly string[];
  /** The maximum size of the queue. */
  limitCharacters?: number;
}

/** Opens the resources of a follow command, and closes them after `use` has ended or failed. */
export async function withSession<Event, Result>(
  context: Context,
  options: SessionOptions,
  use: (session: Session<Event>) => Promise<Result>,
): Promise<Result> {
  const { flags, io } = context;
  const { form, topics, limitCharacters } = options;
  // Logs keep the exact topic. Titles are only for terminals.
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
 * Follows until the end; `open` prepares the state machine. Throws a FleetError unless the command
 * ended in an expected way (cli.md section 3).
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
 * Passes events to the machine until it ends. Rejects with errors of the delivery. When the reader
 * of stdout stopped reading, the undelivered items are counted instead.
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
    // A tick wakes the loop, which otherwise sleeps until an event arrives.
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
 * Reads the names of the organizations once, for titles. A topic that section 6.1 does not describe
 * keeps its name.
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
