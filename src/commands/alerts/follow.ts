// The loop around the machine of state.ts: reads, prints, runs commands and remembers, one alert after the other.

import type { Context } from '../../context.js';
import type { Client } from '../../http/client.js';
import { openQueue } from '../../http/stream/queue.js';
import { requireSseUrl } from '../../settings/resolve.js';
import { openHttpLog } from '../../views/exchange.js';
import { type Ending, OVER, openEnding } from '../follow/ending.js';
import { IDLE_MS } from '../follow/flags.js';
import { openAlarms, runLoop } from '../follow/loop.js';
import { openPrinter, type Printable } from '../follow/print.js';
import { openStderr, type Stderr } from '../follow/stderr.js';
import { followTopics } from '../follow/stream.js';
import { runCommand } from './exec.js';
import { lastMsOf, openKnownAlerts } from './known.js';
import type { Memory } from './memory.js';
import { openNames } from './names.js';
import type { AlertsPlan } from './plan.js';
import { readAlerts } from './read.js';
import { openAlertsReport, type SummaryInput } from './report.js';
import { type AlertsEffect, type AlertsEvent, alertsState, type Show, startAlerts } from './state.js';

/** What takes webhooks in. */
export interface Receiver {
  /** Keeps a webhook that has to be passed on, before anything of it is shown. */
  pass(id: number, isNews: boolean): void;
  /** Everything that it brought was delivered. */
  accept(id: number): void;
  /** Takes nothing more, answers what waits; resolves within a second. */
  close(): Promise<void>;
  summary(): SummaryInput['more'];
}

export interface ReceiverInput {
  push(event: AlertsEvent): void;
  ending: Ending;
  stderr: Stderr;
}

export interface FollowInput {
  plan: AlertsPlan;
  /** What the first line and the summary say is done. */
  doing: string;
  memory: Memory | undefined;
  /** The command of `--exec`. */
  exec: string | undefined;
  topics: readonly string[];
  baseUrl: URL | undefined;
  openReceiver?(input: ReceiverInput): Promise<Receiver>;
}

/** What is delivered: an alert that is shown, or what is remembered or answered once all before it was delivered. */
type Item = AlertsEffect & { type: 'show' | 'learned' | 'cursor' | 'accepted' };

const NO_MORE: SummaryInput['more'] = { fields: {}, facts: [], isPromise: false };
/** Alerts that are written at once where nothing depends on each: more would wait longer than they need to. */
const TOGETHER = 50;

/** Follows alerts to the end. Throws a FleetError for every end but the wanted ones (cli.md section 3). */
export async function followAlerts(context: Context, input: FollowInput): Promise<void> {
  const { clock, flags, io } = context;
  const { plan, memory, topics } = input;
  const queue = openQueue<AlertsEvent>();
  const ending = openEnding(context, queue.push, plan);
  const { over } = ending;
  const isJson = plan.form === 'json';
  const stderr = openStderr(context, { isJson, namesTopic: topics.length > 1 });
  const report = openAlertsReport(stderr, input.doing, plan.everyMs);
  const done = { executed: 0, execFailed: 0 };
  let receiver: Receiver | undefined;
  let following: Promise<void> | undefined;
  const startedAt = clock.monotonicMs();
  try {
    const printer = await openPrinter(context, plan.form, stderr, over.signal);
    const log = openHttpLog({ ...flags, isJson: io.isJson }, stderr.log);
    const { baseUrl } = input;
    const client = baseUrl && (await context.client({ baseUrl, log: { ...log, retry() {} }, signal: over.signal }));
    receiver = await input.openReceiver?.({ push: queue.push, ending, stderr });
    if (topics.length > 0) {
      const sseUrl = requireSseUrl(await context.settings());
      const { push: emit, room } = queue;
      following = followTopics(context, { topics, sseUrl, idleMs: IDLE_MS, signal: over.signal, log, emit, room });
      following.catch(ending.fail);
    }
    const alarms = openAlarms(clock, () => queue.push({ type: 'tick' }));
    const remembered = { known: memory?.known ?? openKnownAlerts(), cursorMs: memory?.cursorMs };
    const deliverer = { context, input, print: printer.print, report, done, ending, receiver, client };
    const deliver = openDelivery(deliverer);
    queue.push({ type: 'tick' });
    const ended = await runLoop(context, queue, over, {
      start: (now) => startAlerts(plan, remembered, now),
      step: alertsState,
      perform(effects: readonly AlertsEffect[]) {
        const items: Item[] = [];
        for (const effect of effects) {
          report.effect(effect);
          if (effect.type === 'wake') alarms.set(effect.inMs);
          else if (effect.type === 'read-page' && client !== undefined && !over.signal.aborted)
            void readAlerts(client, effect, clock).then(queue.push);
          else if (isItem(effect)) items.push(effect);
        }
        return items;
      },
      deliver,
    }).finally(alarms.close);
    await receiver?.close();
    const more = receiver?.summary() ?? NO_MORE;
    const durationMs = clock.monotonicMs() - startedAt;
    const { counts } = ended.state;
    await report.summary({ end: ended.end, durationMs, counts, done, undelivered: ended.undelivered, more });
    if (ended.error !== undefined) throw ended.error;
  } finally {
    ending.close();
    queue.close();
    await receiver?.close();
    memory?.close();
    await following?.catch(() => {});
  }
}

function isItem(effect: AlertsEffect): effect is Item {
  return effect.type === 'show' || effect.type === 'learned' || effect.type === 'cursor' || effect.type === 'accepted';
}

interface DeliveryParts {
  context: Context;
  input: FollowInput;
  print: Awaited<ReturnType<typeof openPrinter>>['print'];
  report: ReturnType<typeof openAlertsReport>;
  done: { executed: number; execFailed: number };
  ending: Ending;
  receiver: Receiver | undefined;
  client: Client | undefined;
}

/** Delivers items in their order: an alert is printed, its command run, and remembered then; a webhook is answered last. */
function openDelivery(parts: DeliveryParts) {
  const { context, input, print, report, done, ending, receiver, client } = parts;
  const { clock, io } = context;
  const { memory, exec, plan } = input;
  const names = openNames(plan.form === 'lines' ? client : undefined, clock, ending.over.signal);
  // Where each is remembered or handed to a command, one at a time: a kill in between repeats that one alone.
  const together = receiver === undefined && (memory !== undefined || exec !== undefined) ? 1 : TOGETHER;

  async function printableOf({ item, before, mark }: Show): Promise<Printable> {
    const name = await names.of(item.value);
    const entry = { type: 'alert', alert: item.value, before, mark, name } as const;
    return { entry, atMs: lastMsOf(item.value) ?? clock.wallMs(), data: item.json };
  }
  async function run(show: Show): Promise<void> {
    if (exec === undefined) return;
    // What no command ran for counts as not delivered, and comes again after a restart.
    if (ending.cut.aborted) throw OVER;
    done.executed++;
    const options = { env: io.env, clock, signal: ending.cut, say: report.execLine };
    const reason = await runCommand(exec, show.item.json, options);
    if (reason === undefined) return;
    done.execFailed++;
    report.execFailed(show, reason);
  }

  return async (items: readonly Item[], onDelivered: (count: number) => void): Promise<void> => {
    // What is only remembered is no output that anybody misses.
    const shows = items.filter((item) => item.type === 'show').length;
    onDelivered(items.length - shows);
    for (const item of items) if (item.type === 'accepted') receiver?.pass(item.id, item.isNews);
    for (let at = 0; at < items.length; ) {
      const batch = items.slice(at, at + together);
      at += batch.length;
      const shown = batch.filter((item) => item.type === 'show');
      if (shown.length > 0) {
        await print(await Promise.all(shown.map(printableOf)), () => {});
        for (const show of shown) await run(show);
      }
      memory?.keep(batch.flatMap((item) => (item.type === 'show' || item.type === 'learned' ? [item.version] : [])));
      for (const item of batch) if (item.type === 'cursor') memory?.move(item.cursorMs);
      onDelivered(shown.length);
      for (const item of batch) if (item.type === 'accepted') receiver?.accept(item.id);
    }
    await memory?.tidy();
  };
}
