// The loop of everything that follows: steps a machine through events, performs its effects, delivers its output in order.

import { readTopic } from '../../../api/push.js';
import type { Context } from '../../../context.js';
import type { Client, HttpLog } from '../../../http/client.js';
import type { StreamEvent } from '../../../http/stream/events.js';
import { openQueue, type Queue } from '../../../http/stream/queue.js';
import { type Moment, momentOf, sleep } from '../../../system/clock.js';
import { ID_DIGITS } from '../../../views/bicycle.js';
import type { WatchEnd } from '../../../views/connection.js';
import { openHttpLog } from '../../../views/exchange.js';
import { showOrganizations } from '../../named/find.js';
import {
  type Ending,
  type EndOptions,
  OVER,
  openEnding,
  type Stop,
  whatStopped,
} from './ending.js';
import { type Form, openStderr, type Stderr } from './stderr.js';

/** The last effect of a machine. */
export type End = Omit<Stop, 'type'> & { readonly type: 'end' };

/** What any machine is told beside events of its own, and what it may ask for beside effects of its own: the loop does that. */
export type CommonEvent = StreamEvent | Stop | { readonly type: 'tick' };
export type CommonEffect = { readonly type: 'stream'; readonly event: StreamEvent } | End;

/** A machine, and the hands that it needs. */
export interface Machine<Event, Effect extends { readonly type: string }, Item> {
  step(event: Event | CommonEvent, now: Moment): readonly (Effect | CommonEffect)[];
  /** Does what the machine asks for; hands back what is to be delivered for it. */
  perform(effect: Effect): Item | undefined;
  /** Sees all that the machine asked for. */
  look?(effects: readonly (Effect | CommonEffect)[]): void;
  /** Delivers in order; `onDelivered` is called with how many were taken. */
  deliver(items: readonly Item[], onDelivered: (count: number) => void): Promise<void>;
  summarize(result: LoopResult): Promise<void>;
  batch?: BatchHooks<Event>;
}

/**
 * For a machine that writes each batch of events in one transaction. The mirror's: `load` reads messages and loads the rows of a part, `step`
 * merges into these rows, `commit` writes them; requests are sent, and other effects performed, once they are written.
 */
export interface BatchHooks<Event> {
  /** So many events are loaded at once: what was read of them is garbage before it grows old. */
  readonly mostLoaded: number;
  /** Gets ready what these events are about; hands them back as they are to be stepped. */
  load(events: readonly (Event | CommonEvent)[]): Promise<readonly (Event | CommonEvent)[]>;
  /** Writes what the steps of a batch brought; of the last one, too. What it throws ends the loop. */
  commit(batch: readonly (Event | CommonEvent)[], isEnd: boolean): Promise<void>;
  /** Events gather for so long before the next batch, unless the queue is full before. */
  readonly gatherMs: number;
}

export interface LoopResult {
  readonly end: WatchEnd;
  /** What ended it, when that was a failure, a signal or a reader that takes nothing more. */
  readonly error: Error | undefined;
  readonly undelivered: number;
}

/** Where events go. */
export interface EventSink<Event> {
  /** `size` is the event's weight in characters. */
  emit(event: Event | CommonEvent, size?: number): void;
  /** A promise while the one who takes the events is behind. */
  room(): Promise<void> | undefined;
  /** Aborted when it is over. */
  readonly signal: AbortSignal;
}

/** What is open while something is followed. */
export interface Session<Event> extends EventSink<Event> {
  readonly queue: Queue<Event | CommonEvent>;
  readonly ending: Ending;
  readonly stderr: Stderr;
  readonly log: HttpLog;
  /** A client of its own: what it says has to fit stderr, and its requests end with all the rest. */
  client(baseUrl: URL, retry: HttpLog['retry']): Promise<Client>;
  /** A source of events that runs beside; a mistake of ours in there must end all, not leave it waiting for ever. */
  runBeside(source: Promise<void>): void;
  /** Called at the end, before the summary; what was named last is called first. */
  atEnd(close: () => Promise<void> | void): void;
}

export interface SessionOptions extends EndOptions {
  form: Form;
  topics: readonly string[];
  /** How much may wait in the queue. */
  limitCharacters?: number;
}

/** Opens what everything that follows needs, and closes it when `use` has ended, whatever the reason. */
export async function withSession<Event, Result>(
  context: Context,
  options: SessionOptions,
  use: (session: Session<Event>) => Promise<Result>,
): Promise<Result> {
  const { flags, io } = context;
  const { form, topics, limitCharacters } = options;
  // Logs keep the topic, which is exact.
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

/** Follows to the end; `open` gets ready what is needed. Throws a FleetError for every end but the wanted ones (cli.md section 3). */
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
      return { machine: opened, result: await runLoop(context, session, opened) };
    },
  );
  await machine.summarize(result);
  if (result.error !== undefined) throw result.error;
}

/**
 * Steps the machine through the events until it says that it is over. Rejects with what delivering throws, a reader that stopped at the
 * end apart: what it did not take is counted.
 */
export async function runLoop<Event, Effect extends { readonly type: string }, Item>(
  { io, clock }: Context,
  { queue, ending, stderr }: Pick<Session<Event>, 'queue' | 'ending' | 'stderr'>,
  machine: Machine<Event, Effect, Item>,
): Promise<LoopResult> {
  const { batch: hooks } = machine;
  let undelivered = 0;
  let stopped: Error | undefined;
  let end: End | undefined;
  const onDelivered = (count: number) => {
    undelivered -= count;
  };
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
    undelivered += items.length;
    if (items.length > 0 && stopped === undefined)
      stopped = await machine.deliver(items, onDelivered).then(() => undefined, whatStopped);
    if (end !== undefined) break;
    if (hooks !== undefined)
      await Promise.race([
        sleep(clock, hooks.gatherMs, ending.over.signal).catch(() => {}),
        queue.filled(),
      ]);
  }
  return { end: end?.end ?? 'failed', error: end?.error ?? stopped, undelivered };
}

/** Asks once for the names of the organizations. A topic that is not of section 6.1 is called as it is. */
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
