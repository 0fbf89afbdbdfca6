// `fleet watch`: does what the state machine of state.ts asks for, and hands it what comes of it.

import type { Context } from '../../context.js';
import type { Client } from '../../http/client.js';
import { openQueue, type Queue } from '../../http/stream/queue.js';
import { KNOWN_LIMIT } from '../../mirror/knowledge.js';
import { requireBaseUrl } from '../../settings/resolve.js';
import { openHttpLog } from '../../views/exchange.js';
import { openEnding } from '../follow/ending.js';
import { type Alarms, momentOf, openAlarms, runLoop } from '../follow/loop.js';
import { openPrinter, type Printable } from '../follow/print.js';
import { openStderr } from '../follow/stderr.js';
import { followTopics } from '../follow/stream.js';
import type { Display, LiveOptions } from './live.js';
import { makePlan, type Plan, type WatchOptions } from './plan.js';
import { read } from './read.js';
import { openReport, type Reporter } from './report.js';
import { entryOf, startWatch, summaryOf, type WatchEffect, type WatchEvent, wantsFleet, watchState } from './state.js';

/** Runs `fleet watch`. Throws a FleetError for every end but the wanted ones (cli.md section 3). */
export async function watch(context: Context, organization: string | undefined, options: WatchOptions): Promise<void> {
  await runWatch(context, await makePlan(context, organization, options));
}

/** Where the events of a watch go. */
export interface Sink {
  /** `size` is the event's weight in characters. */
  emit(event: WatchEvent, size?: number): void;
  /** A promise while the one who takes the events is behind. */
  room(): Promise<void> | undefined;
  /** Aborted when the watch is over. */
  readonly signal: AbortSignal;
}

export interface WatchParts {
  /** Opens what draws by itself; the board when absent. */
  openDisplay?(options: LiveOptions): Promise<Display>;
  /** Where events come from; the push channel when absent. */
  source?(sink: Sink): Promise<void>;
}

/** Runs a plan to its end. */
export async function runWatch(
  context: Context,
  plan: Plan,
  { openDisplay = openBoard, source }: WatchParts = {},
): Promise<void> {
  const { clock, flags, io } = context;
  const settings = await context.settings();
  const queue = openQueue<WatchEvent>();
  const ending = openEnding(context, queue.push, plan);
  const { over, stop } = ending;
  const stderr = openStderr(context, {
    isJson: plan.form === 'json',
    // The board fills the terminal: what would be printed over it is on it already.
    isMuted: plan.form === 'board' && io.stderr.isTerminal,
    namesTopic: plan.topics.length > 1,
  });
  const report = openReport(stderr, plan);
  let display: Display | undefined;
  let following: Promise<void> | undefined;
  try {
    const printer = await openPrinter(context, plan.form, stderr, over.signal);
    const log = openHttpLog({ ...flags, isJson: io.isJson }, stderr.log);
    // A client of its own: what it says has to fit the watch's stderr, and its requests end with the watch.
    const client = await context.client({
      baseUrl: plan.organizations.length === 0 ? plan.sseUrl : requireBaseUrl(settings),
      log: { ...log, retry: report.retry },
      signal: over.signal,
    });
    if (plan.form === 'board' || plan.form === 'page')
      display = await openDisplay({
        context,
        plan,
        client,
        offsetMinutes: stderr.offsetMinutes,
        over: over.signal,
        stop,
      });
    if (wantsFleet(plan)) {
      const { rememberFleet } = await import('../current.js');
      const remembered = await rememberFleet(context, plan.organizations, KNOWN_LIMIT);
      if (remembered !== undefined) {
        queue.push({ type: 'remembered', ...remembered });
        stderr.detail(`${remembered.bicycles.length} bicycles known from the mirror`);
      }
    }
    const { push: emit, room } = queue;
    const sink = { signal: over.signal, emit, room };
    following = source === undefined ? followTopics(context, { ...plan, ...sink, log }) : source(sink);
    // A mistake of ours in there must end the watch, not leave it waiting for ever.
    following.catch(ending.fail);
    const alarms = openAlarms(clock, () => queue.push({ type: 'tick' }));
    const parts: Parts = { client, queue, report, context, alarms, over: over.signal };
    const ended = await runLoop(context, queue, over, {
      start: (now) => startWatch(plan, now),
      step: watchState,
      perform(effects: readonly WatchEffect[], state) {
        const items = perform(effects, parts);
        display?.take(effects, state);
        return display === undefined ? items : [];
      },
      deliver: printer.print,
    }).finally(alarms.close);
    await display?.close();
    const { state, end, undelivered } = ended;
    await report.summary({ ...summaryOf(state, end, momentOf(clock)), undelivered });
    if (ended.error !== undefined) throw ended.error;
  } finally {
    ending.close();
    queue.close();
    await display?.close();
    await following?.catch(() => {});
  }
}

async function openBoard(options: LiveOptions): Promise<Display> {
  return (await import('./live.js')).openLive(options);
}

interface Parts {
  client: Client;
  queue: Queue<WatchEvent>;
  report: Reporter;
  context: Context;
  alarms: Alarms;
  over: AbortSignal;
}

/** Does what the machine asks for; what is to be printed is handed back. */
function perform(
  effects: readonly WatchEffect[],
  { report, queue, client, over, alarms, context }: Parts,
): Printable[] {
  const items: Printable[] = [];
  for (const effect of effects) {
    const { type } = effect;
    if (type !== 'unread' || !over.aborted) report.effect(effect);
    if (type === 'show') items.push(effect);
    else if (type === 'caught-up')
      items.push({ entry: entryOf(effect.change), atMs: context.clock.wallMs(), data: effect.data });
    else if (type === 'wake') alarms.set(effect.inMs);
    else if ((type === 'read-page' || type === 'read-bicycle') && !over.aborted)
      void read(client, effect).then(queue.push);
  }
  return items;
}
