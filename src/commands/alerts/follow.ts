// Follows alerts by carrying out the effects of the state machine in state.ts. Handles one alert
// after another: prints it, queues it for --exec and --post, and stores the state.

import type { Alert } from '../../api/alert.js';
import { openAlertPages } from '../../api/alert-pages.js';
import type { Context } from '../../context.js';
import { asFleetError } from '../../errors.js';
import { type Deliveries, openDeliveries } from '../../follow/deliveries.js';
import type { DeliveryFlags } from '../../follow/delivery-flags.js';
import { IDLE_MS } from '../../follow/flags.js';
import { follow, type Machine, type Session } from '../../follow/loop.js';
import { openMessageStore } from '../../follow/message-store.js';
import { openPrinter, type Printable } from '../../follow/print.js';
import { followTopics } from '../../follow/subscribe.js';
import { lastMsOf, openKnownAlerts } from '../../follower/known-alerts.js';
import type { Client } from '../../http/client.js';
import { readRetryAfter } from '../../http/retry.js';
import type { Page, Query } from '../../http/types.js';
import { readBicycleNames } from '../../list/bicycle-names.js';
import { requireSseUrl } from '../../settings/resolve.js';
import { type Clock, momentOf, openTimer } from '../../system/clock.js';
import type { AlertsEffect, AlertsEvent, AlertsPlan, Show } from './events.js';
import { openAlertsReport, type SummaryPart } from './notices.js';
import { deliveryMessageOf, openNotifications } from './notification.js';
import { alertsState, newAlertsOf, startAlerts } from './state.js';
import type { Memory } from './state-file.js';
import type { Webhook } from './webhook-receiver.js';

/** A receiver of webhooks. */
export interface Receiver {
  /** Queues a webhook for forwarding. Called before the alerts in the webhook are shown. */
  pass(webhook: Webhook): void;
  /** Stops receiving, and answers the webhooks that are still waiting. Resolves within a second. */
  close(): Promise<void>;
  summary(): SummaryPart;
}

export interface FollowInput {
  plan: AlertsPlan;
  /**
   * Words for messages: `['follow', 'alerts']` becomes "following alerts" and "followed alerts".
   */
  title: readonly [verb: string, what: string];
  memory: Memory | undefined;
  /** The flags `--exec` and `--post`. Undefined when alerts are only printed. */
  deliver: DeliveryFlags | undefined;
  topics: readonly string[];
  baseUrl: URL | undefined;
  openReceiver?(session: Session<AlertsEvent>): Promise<Receiver>;
}

/**
 * Effects of these types are carried out sequentially, in the order in which they were requested.
 * Each effect waits until all earlier alerts have been delivered.
 */
const DELIVERED: readonly string[] = ['show', 'learned', 'cursor', 'accepted'];

/**
 * The number of alerts that are printed in one batch, unless alerts are printed individually.
 * Larger batches would delay the alerts.
 */
const TOGETHER = 50;

/**
 * Follows alerts to the end. Throws a FleetError unless the command ended in an expected way
 * (cli.md section 3).
 */
export async function followAlerts(context: Context, input: FollowInput): Promise<void> {
  const { plan, topics } = input;
  await follow(context, { ...plan, topics }, (session: Session<AlertsEvent>) =>
    openAlerts(context, input, session),
  );
}

async function openAlerts(
  context: Context,
  input: FollowInput,
  session: Session<AlertsEvent>,
): Promise<Machine<AlertsEvent, AlertsEffect, AlertsEffect>> {
  const { clock } = context;
  const { plan, memory, topics, baseUrl, deliver } = input;
  const { stderr, signal, emit, room, log } = session;
  const report = openAlertsReport(stderr, input.title, plan.everyMs);
  if (memory !== undefined) {
    session.atEnd(memory.close);
    session.runBeside(memory.beat(signal));
    if (memory.keptAs !== undefined) report.damaged(memory.keptAs, memory.writtenAt);
  }
  const client = baseUrl && (await session.client(baseUrl, () => {}));
  const receiver = await input.openReceiver?.(session);
  if (receiver !== undefined) session.atEnd(receiver.close);
  if (topics.length > 0) {
    const sseUrl = requireSseUrl(await context.settings());
    session.runBeside(
      followTopics(context, { topics, sseUrl, idle: IDLE_MS, signal, log, emit, room }),
    );
  }
  const deliveries = deliver && (await openAlertDeliveries(context, deliver, session, memory));
  if (deliveries !== undefined) session.atEnd(deliveries.finish);
  const show = await openPrinting(context, plan, session);
  const notificationOf = await openNotifications(context, deliver);
  const startedAt = momentOf(clock);
  const state = startAlerts(plan, memory ?? { known: openKnownAlerts(), marks: {} }, startedAt);
  // The start time is stored before anything is printed. If the run is interrupted, the next run
  // then continues from this time and does not start again.
  memory?.move(state.marks);
  // A watch with a state file prints one alert at a time. If the process is killed, at most one
  // alert is printed twice.
  const together = receiver === undefined && memory !== undefined ? 1 : TOGETHER;
  const timer = openTimer(clock, () => emit({ type: 'tick' }));
  session.atEnd(timer.cancel);
  timer.want(0);
  return {
    step: (event, now) => alertsState(state, event, now),
    perform(effect) {
      report.effect(effect);
      if (effect.type === 'wake') timer.want(effect.inMs);
      else if (effect.type === 'read-page' && client !== undefined && !signal.aborted)
        void readAlerts(client, effect.query, clock, (page) => {
          const alerts = newAlertsOf(state, page);
          return alerts.length === 0 ? undefined : plan.subjects?.read(client, alerts);
        }).then(emit);
      return DELIVERED.includes(effect.type) ? effect : undefined;
    },
    /**
     * Prints an alert, queues it for --exec and --post, and stores that it was printed. If the
     * alert came from a webhook, the webhook is queued for forwarding first, and answered last.
     */
    async deliver(items, onDelivered) {
      // Effects that print nothing cannot get lost when the output closes, so they are treated as
      // delivered immediately.
      onDelivered(items.filter(({ type }) => type !== 'show').length);
      for (const item of items)
        if (item.type === 'accepted' && item.isNews) receiver?.pass(item.webhook);
      for (let at = 0; at < items.length; at += together) {
        const batch = items.slice(at, at + together);
        const shows = batch.filter((item) => item.type === 'show');
        await show(shows);
        for (const { item } of shows)
          deliveries?.add(deliveryMessageOf(item, notificationOf(item)));
        memory?.keep(
          batch.flatMap((item) =>
            item.type === 'show' || item.type === 'learned' ? [item.version] : [],
          ),
        );
        for (const item of batch) {
          if (item.type === 'cursor') memory?.move(item.marks);
          else if (item.type === 'accepted') item.webhook.accept();
        }
        onDelivered(shows.length);
      }
      memory?.tidy();
    },
    summarize({ end, undelivered }) {
      const durationMs = clock.monotonicMs() - startedAt.monotonicMs;
      return report.summary({
        end,
        durationMs,
        counts: state.counts,
        undelivered,
        more: [deliveries?.summary() ?? NO_DELIVERIES, receiver?.summary()].filter(
          (part) => part !== undefined,
        ),
      });
    },
  };
}

/** The summary of deliveries for runs without `--exec` and `--post`: all zeros. */
const NO_DELIVERIES = { fields: { executed: 0, exec_failed: 0 }, facts: [], isPromise: false };

/**
 * Opens the delivery to `--exec` and `--post`. Without a state file, undelivered alerts are only
 * kept in memory.
 */
function openAlertDeliveries(
  context: Context,
  flags: DeliveryFlags,
  session: Session<AlertsEvent>,
  memory: Memory | undefined,
): Promise<Deliveries> {
  return openDeliveries(context, {
    flags,
    session,
    waiting: (channel) => memory?.deliveries[channel] ?? openMessageStore(channel, () => {}),
    isKept: memory !== undefined,
    noun: ['alert', 'alerts'],
  });
}

/** Returns a function that prints alerts. */
async function openPrinting(
  context: Context,
  plan: AlertsPlan,
  { stderr, signal }: Session<AlertsEvent>,
): Promise<(shows: readonly Show[]) => Promise<void>> {
  const print = await openPrinter(context, plan.form, stderr, signal);
  const nameOf = plan.form === 'lines' ? await readBicycleNames(context) : () => undefined;
  const printableOf = ({ item, before, mark }: Show): Printable => {
    const entry = {
      type: 'alert',
      alert: item.value,
      before,
      mark,
      name: nameOf(item.value.bicycle),
    } as const;
    const receivedMs = context.clock.wallMs();
    return { entry, atMs: lastMsOf(item.value) ?? receivedMs, receivedMs, data: item.json };
  };
  return (shows) => print(shows.map(printableOf), () => {});
}

/**
 * Requests one page of the list and the bicycles of its new alerts. Never rejects. The service's
 * time is the `Date` of the response. If the response has no `Date`, this machine's time is used.
 */
async function readAlerts(
  client: Client,
  query: Query,
  clock: Clock,
  readSubjects: (page: Page<Alert>) => Promise<void> | undefined,
): Promise<AlertsEvent> {
  let retryAfter: string | undefined;
  const readPage = openAlertPages(client, {
    retries: 0,
    onRefusal({ headers }) {
      retryAfter = headers['retry-after'];
    },
  });
  try {
    const page = await readPage(query);
    await readSubjects(page);
    return { type: 'page', page, serviceMs: page.dated?.dateMs ?? clock.wallMs() };
  } catch (thrown) {
    return {
      type: 'failed',
      error: asFleetError(thrown),
      askedMs: readRetryAfter(retryAfter, clock.wallMs()),
    };
  }
}
