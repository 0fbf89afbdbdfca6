// `fleet watch`: does what the state machine of state.ts asks for, and hands it what comes of it.

import { subscribePath } from '../../api/push.js';
import type { Context } from '../../context.js';
import { asFleetError, FleetError } from '../../errors.js';
import { type Client, joinUrl } from '../../http/client.js';
import { openQueue, type Queue } from '../../http/stream/queue.js';
import { followStream } from '../../http/stream.js';
import type { Moment } from '../../mirror/knowledge.js';
import { requireBaseUrl } from '../../settings/resolve.js';
import { ReaderStopped } from '../../terminal/io.js';
import { openHttpLog } from '../../views/exchange.js';
import type { WatchEnd } from '../../views/stream.js';
import type { Display } from './live.js';
import { makePlan, type Plan, type WatchOptions } from './plan.js';
import { openPrinter, type Printable, type Printer } from './print.js';
import { read } from './read.js';
import { openReport, type Reporter } from './report.js';
import { entryOf, startWatch, summaryOf, type WatchEffect, type WatchEvent, watchState } from './state.js';

/** Why requests and jq are stopped at the end. */
const OVER = new FleetError('interrupted', 'the watch is over');

/** Runs `fleet watch`. Throws a FleetError for every end but the wanted ones (cli.md section 3). */
export async function watch(context: Context, organization: string | undefined, options: WatchOptions): Promise<void> {
  await runWatch(context, await makePlan(context, organization, options));
}

/** Runs a plan to its end. */
export async function runWatch(context: Context, plan: Plan): Promise<void> {
  const { clock, flags, signal } = context;
  const [settings, tokens, network] = await Promise.all([context.settings(), context.token(), context.network()]);
  if (signal.aborted) throw signal.reason;
  const queue = openQueue<WatchEvent>();
  const over = new AbortController();
  const offsetMinutes = -new Date(clock.wallMs()).getTimezoneOffset();
  const report = openReport(context, plan, offsetMinutes, clock.wallMs);
  const printer = await openPrinter(context, plan, { offsetMinutes, onFailure: report.unshown, signal: over.signal });
  const log = openHttpLog({ ...flags, isJson: context.io.isJson }, report.log);
  // A client of its own: what it says has to fit the watch's stderr, and its requests end with the watch.
  const client = await context.client({
    baseUrl: plan.organizations.length === 0 ? plan.sseUrl : requireBaseUrl(settings),
    log: { ...log, retry: report.retry },
    signal: over.signal,
  });
  const stop = (end: WatchEnd, error?: FleetError) => {
    context.io.beginEnd();
    queue.push({ type: 'stop', end, ...(error === undefined ? {} : { error }) });
    over.abort(OVER);
  };
  const onSignal = () => stop(endOf(signal.reason), asFleetError(signal.reason));
  signal.addEventListener('abort', onSignal, { once: true });
  const display =
    plan.form === 'board'
      ? await (await import('./live.js')).openLive({ context, plan, client, offsetMinutes, over: over.signal, stop })
      : undefined;
  const cancelEnd = plan.forMs === undefined ? () => {} : clock.after(plan.forMs, () => stop('for', timeIsUp(plan)));

  const following = followStream({
    subscriptions: plan.topics.map((topic) => ({ topic, url: joinUrl(plan.sseUrl, subscribePath(topic)) })),
    apiVersion: settings.apiVersion.value,
    timeoutMs: settings.timeoutMs.value,
    idleMs: plan.idleMs,
    ...(plan.giveUpAfterMs === undefined ? {} : { giveUpAfterMs: plan.giveUpAfterMs }),
    network,
    tokens,
    secrets: context.io.secrets,
    clock,
    signal: over.signal,
    emit: queue.push,
    room: queue.room,
    onRequest: (url, headers) => log.request('GET', url, headers, undefined),
    onAnswer: (url, status, headers, milliseconds) => log.response('GET', url, status, headers, milliseconds),
  });
  // A mistake of ours in there must end the watch, not leave it waiting for ever.
  following.catch((thrown) => stop('failed', asFleetError(thrown)));

  try {
    const ended = await runMachine({ context, plan, client, queue, report, printer, display, over });
    if (ended.error !== undefined) throw ended.error;
  } finally {
    cancelEnd();
    signal.removeEventListener('abort', onSignal);
    queue.close();
    over.abort(OVER);
    await display?.close();
    await following.catch(() => {});
  }
}

interface Parts {
  context: Context;
  plan: Plan;
  client: Client;
  queue: Queue<WatchEvent>;
  report: Reporter;
  printer: Printer;
  display: Display | undefined;
  over: AbortController;
}

/**
 * Steps the machine through the events until it says that it is over, and does what it asks for. Resolves after the summary, with
 * what ended the watch.
 */
async function runMachine(parts: Parts): Promise<{ error: Error | undefined }> {
  const { plan, queue, printer, display, over, context, report } = parts;
  const { clock } = context;
  const moment = (): Moment => ({ monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() });
  const timers = new Set<() => void>();
  let state = startWatch(plan, moment());
  let undelivered = 0;
  let stopped: Error | undefined;
  let end: (WatchEffect & { type: 'end' }) | undefined;
  try {
    for await (const batch of queue.batches()) {
      const effects: WatchEffect[] = [];
      const now = moment();
      for (const event of batch) {
        const step = watchState(state, event, now);
        state = step.state;
        for (const effect of step.effects) effects.push(effect);
        const last = effects.at(-1);
        if (last?.type === 'end') end = last;
        if (end !== undefined) break;
      }
      if (end !== undefined) {
        context.io.beginEnd();
        over.abort(OVER);
      }
      const items = perform(effects, parts, timers);
      display?.take(effects, state);
      if (display === undefined && items.length > 0) {
        undelivered += items.length;
        const onDelivered = (count: number) => {
          undelivered -= count;
        };
        if (stopped === undefined) stopped = await printer.print(items, onDelivered).then(() => undefined, whatStopped);
      }
      if (end !== undefined) break;
    }
  } finally {
    for (const cancel of timers) cancel();
  }
  await display?.close();
  await report.summary({ ...summaryOf(state, end?.end ?? 'failed', moment()), undelivered });
  return { error: end?.error ?? stopped };
}

/** The watch ended before its output was taken, or before jq was done: the rest is counted. Everything else is thrown. */
function whatStopped(thrown: unknown): Error {
  if (thrown === OVER || thrown instanceof ReaderStopped) return new ReaderStopped();
  throw thrown;
}

/** Does what the machine asks for; what is to be printed is handed back. */
function perform(effects: readonly WatchEffect[], parts: Parts, timers: Set<() => void>): Printable[] {
  const { report, queue, context, client, over } = parts;
  const { clock } = context;
  const items: Printable[] = [];
  for (const effect of effects) {
    switch (effect.type) {
      case 'show':
        items.push(effect);
        break;
      case 'caught-up':
        report.caughtUp(effect.change);
        items.push({ entry: entryOf(effect.change), atMs: clock.wallMs(), data: undefined });
        break;
      case 'stream':
        report.stream(effect.event);
        break;
      case 'detail':
        report.detail(effect.text);
        break;
      case 'read':
        report.read(effect.report);
        break;
      case 'unread':
        if (!over.signal.aborted) report.unread(effect);
        break;
      case 'wake': {
        const cancel = clock.after(effect.inMs, () => {
          timers.delete(cancel);
          queue.push({ type: 'tick' });
        });
        timers.add(cancel);
        break;
      }
      case 'read-page':
      case 'read-bicycle':
        if (!over.signal.aborted) void read(client, effect).then(queue.push);
        break;
    }
  }
  return items;
}

function endOf(reason: unknown): WatchEnd {
  const { kind } = asFleetError(reason);
  return kind === 'terminated' || kind === 'hangup' ? kind : 'interrupted';
}

/** The end of `--for`: alone it is what was asked for, with `--until` it is a failure. */
function timeIsUp(plan: Plan): FleetError | undefined {
  if (plan.until === undefined) return undefined;
  const wanted = plan.until.map(({ text }) => text).join(' and ');
  return new FleetError('timeout', `${wanted} was not met within ${(plan.forMs ?? 0) / 1000} s`);
}
