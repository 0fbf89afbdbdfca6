// Delivers messages to the command of `--exec`, to the URL of `--post`, or to both. Each message is
// delivered at least once and in order. A failing receiver does not delay the other receiver.

import type { Context } from '../context.js';
import { addAddressSecrets } from '../system/secrets.js';
import { count } from '../terminal/count.js';
import { showDuration } from '../terminal/time.js';
import type { DeliveryFlags } from './delivery-flags.js';
import { type Attempt, openDeliveryQueue, type RetryPolicy } from './delivery-queue.js';
import { runCommand } from './exec.js';
import type { Session } from './loop.js';
import type { Channel, DeliveryMessage, WaitingMessages } from './message-store.js';
import { postOnce } from './post.js';
import { renderPost } from './post-templates.js';
import type { LogFields, Stderr } from './stderr.js';

export interface DeliveriesOptions {
  flags: DeliveryFlags;
  session: Pick<Session<never>, 'stderr' | 'ending'>;
  /** Returns the messages that wait for a channel. They come from the state file or from memory. */
  waiting(channel: Channel): WaitingMessages;
  /**
   * Whether messages that are still waiting at the end of the program are kept for the next run.
   */
  isKept: boolean;
  /** The noun for the messages in notices, such as `['alert', 'alerts']`. */
  noun: readonly [one: string, many: string];
}

export type Deliveries = Awaited<ReturnType<typeof openDeliveries>>;

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

/**
 * Opens the receivers that `--exec` and `--post` name, and starts to deliver the messages that
 * earlier runs could not deliver.
 */
export async function openDeliveries(context: Context, options: DeliveriesOptions) {
  const { flags, session } = options;
  const receivers = [
    ...(flags.exec === undefined ? [] : [openExec(context, options, flags.exec)]),
    ...(flags.post === undefined ? [] : [await openPost(context, options, flags.post)]),
  ];
  const closeAll = () => {
    for (const { queue } of receivers) queue.close();
  };
  // A signal or the end of `--for` also cancels a delivery that is in progress.
  session.ending.cut.addEventListener('abort', closeAll, { once: true });
  return {
    /** Queues a message for every receiver. Throws when it cannot be stored. */
    add(message: DeliveryMessage): void {
      for (const receiver of receivers) receiver.add(message);
    },
    /**
     * Tries one last time to deliver the waiting messages. Does not try when a signal or `--for`
     * ended the run.
     */
    async finish(): Promise<void> {
      if (!session.ending.cut.aborted) {
        await Promise.all(receivers.map(({ queue }) => queue.finish()));
      }
      closeAll();
    },
    /** Returns the deliveries section of the final summary. */
    summary() {
      const parts = receivers.map((receiver) => receiver.summary());
      return {
        fields: Object.assign({}, ...parts.map(({ fields }) => fields)) as LogFields,
        facts: parts.flatMap(({ facts }) => facts),
        isPromise: parts.some(({ isPromise }) => isPromise),
      };
    },
  };
}

/** Opens one receiver, which is a command or an address, with its queue and its notices. */
function openReceiver(
  context: Context,
  { flags, session, waiting, isKept, noun }: DeliveriesOptions,
  channel: Channel,
  title: string,
  send: (message: DeliveryMessage, signal: AbortSignal) => Promise<Attempt>,
) {
  const { clock } = context;
  const { stderr, ending } = session;
  const store = waiting(channel);
  const policy: RetryPolicy = {
    firstPauseMs: FIRST_PAUSE_MS,
    longestPauseMs: LONGEST_PAUSE_MS,
    attempts: flags.attempts,
    refusals: Number.POSITIVE_INFINITY,
  };
  const aside: string[] = [];
  const report = reportOf(stderr, channel, title, noun[0]);
  const setAside = (message: DeliveryMessage, reason: string) => {
    aside.push(message.id);
    report.setAside(message, reason);
  };
  const queue = openDeliveryQueue<DeliveryMessage>({
    store,
    policy,
    clock,
    send,
    onFailure: ending.fail,
    report: { ...report, setAside },
  });
  return {
    queue,
    add(message: DeliveryMessage): void {
      if (!store.hasRoom()) {
        setAside(message, 'too many messages wait already');
        return;
      }
      store.add(message);
      queue.start();
    },
    summary() {
      const { delivered, attempts, failed, waiting: left } = queue.counts();
      const name = channel === 'exec' ? 'executed' : 'posted';
      const whose = channel === 'exec' ? 'the command' : title;
      const facts = [
        channel === 'exec'
          ? attempts > 0 && `${count(attempts, 'command')} run, ${failed} failed`
          : (delivered > 0 || failed > 0) &&
            `${count(delivered, noun[0])} posted, ${count(failed, 'attempt')} failed`,
        aside.length > 0 && `${count(aside.length, noun[0])} set aside (${showIds(aside)})`,
        left > 0 &&
          (isKept
            ? `${count(left, noun[0])} still in the queue for ${whose}`
            : `${count(left, noun[0])} not delivered to ${whose}`),
      ].filter((fact) => fact !== false);
      const fields: LogFields = {
        [name]: channel === 'exec' ? attempts : delivered,
        [`${channel}_failed`]: failed,
        [`${channel}_waiting`]: left,
        [`${channel}_set_aside`]: aside,
      };
      return { fields, facts, isPromise: failed > 0 || left > 0 || aside.length > 0 };
    },
  };
}

/** The maximum number of IDs that a text summary shows. The JSON summary contains all of them. */
const MOST_SHOWN_IDS = 5;

function showIds(ids: readonly string[]): string {
  const shown = ids.slice(0, MOST_SHOWN_IDS).join(', ');
  return ids.length > MOST_SHOWN_IDS ? `${shown}, and ${ids.length - MOST_SHOWN_IDS} more` : shown;
}

function reportOf(stderr: Stderr, channel: Channel, title: string, noun: string) {
  const say = (fields: LogFields, line: string) => stderr.print(true, fields, stderr.atNow(line));
  return {
    failing({ message: { id }, reason, retryInMs, waiting }: FailureOf): void {
      const again = retryInMs === undefined ? '' : `; trying again in ${showDuration(retryInMs)}`;
      say(
        {
          event: `${channel}-failed`,
          uuid: id,
          message: reason,
          retry_in_seconds: retryInMs === undefined ? null : retryInMs / 1000,
          waiting,
        },
        `${title} failed for the ${noun} ${id}: ${reason}${again}`,
      );
    },
    back(downMs: number): void {
      say(
        { event: `${channel}-back`, seconds: Math.round(downMs) / 1000 },
        `${title} works again after ${showDuration(downMs)}`,
      );
    },
    setAside({ id }: DeliveryMessage, reason: string): void {
      say(
        { event: 'set-aside', channel, uuid: id, message: reason },
        `the ${noun} ${id} was set aside and will not be delivered: ${title} failed: ${reason}`,
      );
    },
  };
}

interface FailureOf {
  readonly message: DeliveryMessage;
  readonly reason: string;
  readonly retryInMs: number | undefined;
  readonly waiting: number;
}

function openExec(context: Context, options: DeliveriesOptions, command: string) {
  const { io, clock } = context;
  const { stderr } = options.session;
  const say = (line: string) => stderr.print(true, { event: 'exec', line }, `exec: ${line}`);
  const title = 'the command of --exec';
  return openReceiver(context, options, 'exec', title, async ({ json }, signal) => {
    const reason = await runCommand(command, json, { env: io.env, clock, signal, say });
    return { isDelivered: reason === undefined, reason: reason ?? '' };
  });
}

const JSON_HEADERS = { 'content-type': 'application/json', 'user-agent': 'fleet' };

async function openPost(context: Context, options: DeliveriesOptions, url: URL) {
  const { clock } = context;
  const { template } = options.flags;
  const dispatcher = (await context.network()).dispatcherTo(url);
  const title = `the post to ${url.origin}`;
  addAddressSecrets(url, context.io.secrets);
  return openReceiver(context, options, 'post', title, ({ json, notification }, signal) => {
    const post =
      template === undefined || notification === undefined
        ? { url, body: json }
        : renderPost(template, url, notification);
    return postOnce({ ...post, headers: JSON_HEADERS, dispatcher, clock, signal });
  });
}
