// `--forward`: sends the received webhooks to another receiver, one body at a time and in order.
// Each body is sent again until the receiver accepts it.

import {
  type MessageStore,
  openDeliveryQueue,
  type RetryPolicy,
} from '../../follow/delivery-queue.js';
import { postOnce } from '../../follow/post.js';
import type { Stderr } from '../../follow/stderr.js';
import type { Dispatcher } from '../../http/network.js';
import type { Clock } from '../../system/clock.js';
import { showDuration } from '../../terminal/time.js';
import type { Forwarded, Memory } from './state-file.js';

export interface ForwardOptions {
  url: URL;
  queue: Memory['queue'];
  dispatcher: Dispatcher;
  clock: Clock;
  stderr: Stderr;
  /** Called before the forwarder stops because the queue cannot be written. */
  onFailure(thrown: unknown): void;
}

/** A body that was refused ten times is dropped, because it would block all later bodies. */
const POLICY: RetryPolicy = {
  firstPauseMs: 250,
  longestPauseMs: 30_000,
  attempts: Number.POSITIVE_INFINITY,
  refusals: 10,
};

/** Forwards queued bodies and bodies that are added later. */
export function openForwarder({
  url,
  queue,
  dispatcher,
  clock,
  stderr,
  onFailure,
}: ForwardOptions) {
  const { print, atNow } = stderr;
  // The messages name the address without its query, because the query may contain a secret.
  const name = url.origin + url.pathname;
  const deliveries = openDeliveryQueue<Forwarded>({
    store: countTries(queue),
    policy: POLICY,
    clock,
    onFailure,
    send: ({ body, headers }, signal) =>
      postOnce({ url, headers, body, dispatcher, clock, signal }),
    report: {
      failing({ reason, retryInMs = 0, waiting }) {
        const line = `${name} does not accept webhooks: ${reason}; they are queued, trying again in ${showDuration(retryInMs)}`;
        print(true, { event: 'forward-failing', message: reason, waiting }, atNow(line));
      },
      back(downMs) {
        const line = `${name} accepts webhooks again after ${showDuration(downMs)}`;
        print(true, { event: 'forward-back', seconds: Math.round(downMs) / 1000 }, atNow(line));
      },
      setAside(_forwarded, reason) {
        const line = `a webhook was dropped: ${name} kept refusing it: ${reason}`;
        print(true, { event: 'forward-given-up', message: reason }, atNow(line));
      },
    },
  });
  return {
    /**
     * Adds a body to the queue. Throws a FleetError of kind `output` when the body cannot be
     * stored.
     */
    add(forwarded: Forwarded): void {
      queue.add(forwarded);
      deliveries.start();
    },
    counts() {
      const { delivered, setAside, waiting } = deliveries.counts();
      return { forwarded: delivered, givenUp: setAside, waiting };
    },
    /** Cancels the request in flight. Queued bodies stay on disk. */
    close: deliveries.close,
  };
}

/**
 * Counts the attempts to send the first body. The count is kept only in memory, because it only
 * determines the retry delays.
 */
function countTries(queue: Memory['queue']): MessageStore<Forwarded> {
  let tries = 0;
  return {
    first: queue.first,
    size: queue.size,
    tries: () => tries,
    tried() {
      tries++;
    },
    done() {
      tries = 0;
      queue.done();
    },
  };
}
