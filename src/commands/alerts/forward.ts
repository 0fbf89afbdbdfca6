// `--forward`: forwards webhooks to another receiver, one body at a time and in order. Each is
// retried until it is accepted.

import { reasonOf } from '../../errors.js';
import type { Stderr } from '../../follow/stderr.js';
import { readWhole } from '../../http/exchange.js';
import type { Dispatcher } from '../../http/network.js';
import { LONGEST_ASKED_PAUSE_MS, readRetryAfter } from '../../http/retry.js';
import { type Clock, doublingPauseMs, sleep } from '../../system/clock.js';
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

/** How long the receiver may take to answer. */
const ANSWER_LIMIT_MS = 10_000;
const ANSWER_LIMIT_BYTES = 1024 * 1024;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;
/** A body that was refused this often is dropped, because it would block all later ones. */
const REFUSAL_LIMIT = 10;
/** Client errors that ask for a retry. */
const PASSING_STATUSES: readonly number[] = [408, 425, 429];

/** Forwards waiting and future bodies. */
export function openForwarder(options: ForwardOptions) {
  const { queue, onFailure } = options;
  const over = new AbortController();
  const counts = { forwarded: 0, givenUp: 0 };
  let isBusy = false;
  const work = async () => {
    if (isBusy) return;
    isBusy = true;
    for (let first = queue.first(); first !== undefined; first = queue.first()) {
      counts[(await passOn(first, options, over.signal)) ? 'forwarded' : 'givenUp']++;
      queue.done();
    }
    isBusy = false;
  };
  const start = () =>
    void work().catch((thrown) => {
      if (!over.signal.aborted) onFailure(thrown);
    });
  start();
  return {
    /**
     * Queues a body until it is forwarded. Throws a FleetError of kind `output` when it cannot be
     * stored.
     */
    add(forwarded: Forwarded): void {
      queue.add(forwarded);
      start();
    },
    counts: () => ({ ...counts, waiting: queue.size() }),
    /** Cancels the request in flight. Waiting bodies stay on disk. */
    close: () => over.abort(new Error('the listener ends')),
  };
}

/**
 * Sends a body until it is accepted. Returns false when it was refused too often. Reports the first
 * failure and the recovery once each. Rejects when the forwarder is closed.
 */
async function passOn(
  forwarded: Forwarded,
  options: ForwardOptions,
  signal: AbortSignal,
): Promise<boolean> {
  const { url, queue, clock, stderr } = options;
  const { print, atNow } = stderr;
  // The query may contain a secret.
  const name = url.origin + url.pathname;
  let failingSinceMs: number | undefined;
  let refusals = 0;
  for (let failures = 1; ; failures++) {
    const { status, reason, askedMs = 0 } = await sendBody(forwarded, options, signal);
    signal.throwIfAborted();
    if (status >= 200 && status < 300) {
      if (failingSinceMs === undefined) return true;
      const downMs = clock.monotonicMs() - failingSinceMs;
      const line = `${name} accepts webhooks again after ${showDuration(downMs)}`;
      print(true, { event: 'forward-back', seconds: Math.round(downMs) / 1000 }, atNow(line));
      return true;
    }
    if (status >= 400 && status < 500 && !PASSING_STATUSES.includes(status)) refusals++;
    if (refusals >= REFUSAL_LIMIT) {
      const line = `a webhook was dropped: ${name} kept refusing it: ${reason}`;
      print(true, { event: 'forward-given-up', message: reason }, atNow(line));
      return false;
    }
    const backoffMs = doublingPauseMs(failures, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
    const retryInMs = Math.max(backoffMs, Math.min(askedMs, LONGEST_ASKED_PAUSE_MS));
    if (failingSinceMs === undefined) {
      failingSinceMs = clock.monotonicMs();
      const line = `${name} does not accept webhooks: ${reason}; they are queued, trying again in ${showDuration(retryInMs)}`;
      print(
        true,
        { event: 'forward-failing', message: reason, waiting: queue.size() },
        atNow(line),
      );
    }
    await sleep(clock, retryInMs, signal);
  }
}

/** Sends a body once. Never rejects. */
async function sendBody(
  { body, headers }: Forwarded,
  { url, dispatcher, clock }: ForwardOptions,
  signal: AbortSignal,
) {
  const limits = { limitBytes: ANSWER_LIMIT_BYTES, timeoutMs: ANSWER_LIMIT_MS };
  const request = { method: 'POST', url, headers, body, signal, ...limits };
  try {
    const answer = await readWhole(dispatcher, request, { clock, milliseconds: ANSWER_LIMIT_MS });
    const askedMs = readRetryAfter(answer.headers['retry-after'], clock.wallMs());
    return { status: answer.status, reason: `HTTP ${answer.status}`, askedMs };
  } catch (error) {
    return { status: 0, reason: reasonOf(error), askedMs: undefined };
  }
}
