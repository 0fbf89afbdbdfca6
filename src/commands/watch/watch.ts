// Runs `fleet watch`: passes stream events to the state machine, and prints or draws its effects.

import type { Context } from '../../context.js';
import {
  type CommonEffect,
  type EventSink,
  follow,
  type Machine,
  type Session,
} from '../../follow/loop.js';
import { openPrinter, type Printable } from '../../follow/print.js';
import { answer, isRequest } from '../../follow/requests.js';
import { followTopics, seesAllOf } from '../../follow/subscribe.js';
import { KNOWN_LIMIT } from '../../follower/memory-store.js';
import { requireBaseUrl } from '../../settings/resolve.js';
import { every, momentOf } from '../../system/clock.js';
import type { WatchOptions } from './flags.js';
import type { Display, LiveOptions } from './live.js';
import { openWatchReport } from './notices.js';
import { makePlan, type WatchPlan } from './plan.js';
import { Watch, type WatchEffect, type WatchEvent, wantsFleet } from './state.js';

/** The time between two `tick` events. On each `tick`, the state machine checks for due work. */
const TICK_MS = 1_000;

/**
 * Runs `fleet watch`. Throws a FleetError unless the watch ended in an expected way (cli.md section
 * 3).
 */
export async function watch(
  context: Context,
  organization: string | undefined,
  options: WatchOptions,
): Promise<void> {
  const { timeout } = context.flags;
  if (timeout !== undefined && options.for === undefined && options.until === undefined)
    await context.notice(
      `--timeout is for each request; to end the watch after ${timeout} s: --for ${timeout}s`,
    );
  await runWatch(context, await makePlan(context, organization, options));
}

export interface WatchParts {
  /** Opens the display. Default: the board. */
  openDisplay?(options: LiveOptions): Promise<Display>;
  /** Starts the source of events. Default: the push channel. */
  source?(sink: EventSink<WatchEvent>): Promise<void>;
}

/** Runs a watch according to this plan, until the watch ends. */
export async function runWatch(
  context: Context,
  plan: WatchPlan,
  parts: WatchParts = {},
): Promise<void> {
  await follow(context, plan, (session: Session<WatchEvent>) =>
    openWatch(context, plan, parts, session),
  );
}

async function openWatch(
  context: Context,
  plan: WatchPlan,
  {
    openDisplay = async (options) => (await import('./live.js')).openLive(options),
    source,
  }: WatchParts,
  session: Session<WatchEvent>,
): Promise<Machine<WatchEvent, OwnEffect, Printable>> {
  const { clock } = context;
  const { stderr, signal, emit, room, log } = session;
  const report = openWatchReport(stderr, plan);
  const print = await openPrinter(context, plan.form, stderr, signal);
  const baseUrl =
    plan.organizations.length === 0 ? plan.sseUrl : requireBaseUrl(await context.settings());
  const client = await session.client(baseUrl, report.retry);
  const watched = new Watch(plan, momentOf(clock));
  const draws = plan.form === 'board' || plan.form === 'page';
  const display = draws
    ? await openDisplay({ context, plan, client, session, watched })
    : undefined;
  await remember(context, plan, session);
  const onToken = (token: string) => {
    watched.seesAll = seesAllOf(token, plan.organizations);
  };
  every(clock, TICK_MS, signal, () => emit({ type: 'tick' }));
  session.runBeside(
    source?.(session) ?? followTopics(context, { ...plan, signal, emit, room, log, onToken }),
  );
  return {
    step: (event, now) => watched.take(event, now),
    perform(effect) {
      // After the end, no request is sent, and canceled requests are not reported as failures.
      if (signal.aborted && effect.type !== 'show' && effect.type !== 'read') return undefined;
      if (isRequest(effect))
        void answer(client, effect, { ...session, follower: watched.follower });
      else report.effect(effect);
      return effect.type === 'show' && display === undefined ? effect : undefined;
    },
    look: (effects) => display?.(effects),
    deliver: print,
    summarize: ({ end, undelivered }) =>
      report.summary({ ...watched.summary(end, momentOf(clock)), undelivered }),
  };
}

/** If there is a current mirror, loads all bicycles from it at the start. */
async function remember(
  context: Context,
  plan: WatchPlan,
  { emit, stderr }: Session<WatchEvent>,
): Promise<void> {
  if (!wantsFleet(plan)) return;
  const { rememberFleet } = await import('../../list/current-mirror.js');
  const remembered = await rememberFleet(context, plan.organizations, KNOWN_LIMIT);
  if (remembered === undefined) return;
  emit({ type: 'remembered', ...remembered });
  stderr.detail(`${remembered.bicycles.length} bicycles known from the mirror`);
}

/** The effects that this module carries out. The shared loop carries out all other effects. */
type OwnEffect = Exclude<WatchEffect, CommonEffect>;
