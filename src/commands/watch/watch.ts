// `fleet watch`: drives the follower of a watch, and prints or draws what it finds.

import type { Context } from '../../context.js';
import { KNOWN_LIMIT } from '../../follower/store.js';
import { requireBaseUrl } from '../../settings/resolve.js';
import { every, momentOf } from '../../system/clock.js';
import { type CommonEffect, type EventSink, follow, type Machine, type Session } from '../shared/follow/loop.js';
import { openPrinter, type Printable } from '../shared/follow/print.js';
import { answer, isRequest } from '../shared/follow/requests.js';
import { seesAllOf } from '../shared/follow/start.js';
import { followTopics } from '../shared/follow/stream.js';
import type { Display, LiveOptions } from './live.js';
import { openWatchReport } from './notices.js';
import { makePlan, type WatchOptions, type WatchPlan } from './plan.js';
import { Watch, type WatchEffect, type WatchEvent, wantsFleet } from './state.js';

/** How often what is due is looked at. */
const TICK_MS = 1_000;

/** Runs `fleet watch`. Throws a FleetError for every end but the wanted ones (cli.md section 3). */
export async function watch(context: Context, organization: string | undefined, options: WatchOptions): Promise<void> {
  const { timeout } = context.flags;
  if (timeout !== undefined && options.for === undefined && options.until === undefined)
    await context.notice(`--timeout is for each request; to end the watch after ${timeout} s: --for ${timeout}s`);
  await runWatch(context, await makePlan(context, organization, options));
}

export interface WatchParts {
  /** Opens what draws by itself; the board when absent. */
  openDisplay?(options: LiveOptions): Promise<Display>;
  /** Where events come from; the push channel when absent. */
  source?(sink: EventSink<WatchEvent>): Promise<void>;
}

/** Runs a plan to its end. */
export async function runWatch(context: Context, plan: WatchPlan, parts: WatchParts = {}): Promise<void> {
  const { form, topics } = plan;
  // The board fills the terminal: what would be printed over it is on it already.
  const isMuted = form === 'board' && context.io.stderr.isTerminal;
  await follow(context, { form, isMuted, topics, ends: plan }, (session) => openWatch(context, plan, parts, session));
}

async function openWatch(
  context: Context,
  plan: WatchPlan,
  { openDisplay = openBoard, source }: WatchParts,
  session: Session<WatchEvent>,
): Promise<Machine<WatchEvent, OwnEffect, Printable>> {
  const { clock } = context;
  const { ending, stderr, signal, emit, room, log } = session;
  const { topics } = plan;
  const report = openWatchReport(stderr, plan);
  const print = await openPrinter(context, plan.form, stderr, signal);
  const baseUrl = plan.organizations.length === 0 ? plan.sseUrl : requireBaseUrl(await context.settings());
  const client = await session.client(baseUrl, report.retry);
  let display: Display | undefined;
  if (plan.form === 'board' || plan.form === 'page') {
    const { offsetMinutes, titleOf } = stderr;
    const shown = { context, plan, client, offsetMinutes, title: topics.map(titleOf).join(', ') };
    display = await openDisplay({ ...shown, over: signal, stop: ending.stop, atEnd: session.atEnd });
  }
  await remember(context, plan, session);
  let seesAll = true;
  const onToken = (token: string) => {
    seesAll = seesAllOf(token, plan.organizations);
  };
  const watched = new Watch(plan, momentOf(clock), () => seesAll);
  const sink = { emit, room, signal, follower: watched.follower };
  every(clock, TICK_MS, signal, () => emit({ type: 'tick' }));
  session.runBeside(source?.(session) ?? followTopics(context, { ...plan, signal, emit, room, log, onToken }));
  return {
    step: (event, now) => watched.take(event, now),
    perform(effect) {
      if (effect.type === 'show') {
        report.found(effect.entry);
        return display === undefined ? effect : undefined;
      }
      // What was in flight at the end is neither asked for nor missed.
      if (effect.type === 'read') report.read(effect.report);
      else if (signal.aborted) return undefined;
      else if (effect.type === 'unread') report.unread(effect);
      else if (effect.type === 'notice') report.notice(effect);
      else if (isRequest(effect)) void answer(client, effect, sink);
      return undefined;
    },
    look: (effects) => display?.take(effects, watched),
    deliver: print,
    summarize: ({ end, undelivered }) => report.summary({ ...watched.summary(end, momentOf(clock)), undelivered }),
  };
}

/** The whole fleet is known from the start where a mirror has it. */
async function remember(context: Context, plan: WatchPlan, { emit, stderr }: Session<WatchEvent>): Promise<void> {
  if (!wantsFleet(plan)) return;
  const { rememberFleet } = await import('../shared/current-mirror.js');
  const remembered = await rememberFleet(context, plan.organizations, KNOWN_LIMIT);
  if (remembered === undefined) return;
  emit({ type: 'remembered', ...remembered });
  stderr.detail(`${remembered.bicycles.length} bicycles known from the mirror`);
}

/** What the loop does not do by itself. */
type OwnEffect = Exclude<WatchEffect, CommonEffect>;

async function openBoard(options: LiveOptions): Promise<Display> {
  return (await import('./live.js')).openLive(options);
}
