// `--forward`: passes webhooks on to another receiver, as the machine of forward-state.ts says.

import type { Clock } from '../../clock.js';
import { readWhole } from '../../http/exchange.js';
import type { Network } from '../../http/network.js';
import { readRetryAfter } from '../../http/retry.js';
import { showDuration } from '../../terminal/time.js';
import { momentOf, openAlarms } from '../follow/loop.js';
import type { Stderr } from '../follow/stderr.js';
import type { Forwarded, ForwardQueue } from './forward-queue.js';
import { type ForwardEvent, forwardState, startForward } from './forward-state.js';

export interface Forwarder {
  /** Keeps a body until it was passed on; false when that is not possible now. */
  add(forwarded: Forwarded): boolean;
  hasRoom(): boolean;
  counts(): { forwarded: number; givenUp: number; waiting: number };
  /** Ends what is in flight; what waits stays on the disk. */
  close(): void;
}

export interface ForwardOptions {
  url: URL;
  queue: ForwardQueue;
  network: Network;
  clock: Clock;
  stderr: Stderr;
}

/** How long the receiver may take to answer. */
const ANSWER_LIMIT_MS = 10_000;
const ANSWER_LIMIT_BYTES = 1024 * 1024;

export function openForwarder({ url, queue, network, clock, stderr }: ForwardOptions): Forwarder {
  const over = new AbortController();
  const alarms = openAlarms(clock, () => take({ type: 'tick' }));
  const counts = { forwarded: 0, givenUp: 0 };
  // What stands behind the question mark may be a secret.
  const name = url.origin + url.pathname;
  let state = startForward(queue.size());
  let isDiskSaid = false;

  function take(event: ForwardEvent): void {
    if (over.signal.aborted) return;
    const step = forwardState(state, event, momentOf(clock));
    state = step.state;
    for (const effect of step.effects) {
      switch (effect.type) {
        case 'send':
          void sendFirst();
          break;
        case 'wake':
          alarms.set(effect.inMs);
          break;
        case 'done':
          forget(effect.reason);
          break;
        case 'failing': {
          const { reason, retryInMs } = effect;
          const line = `${name} does not take webhooks: ${reason}; they wait, trying again in ${showDuration(retryInMs)}`;
          stderr.print(true, { event: 'forward-failing', message: reason, waiting: queue.size() }, stderr.atNow(line));
          break;
        }
        case 'back': {
          const line = `${name} takes webhooks again after ${showDuration(effect.downMs)}`;
          stderr.print(true, { event: 'forward-back', seconds: Math.round(effect.downMs) / 1000 }, stderr.atNow(line));
          break;
        }
      }
    }
  }

  function forget(reason: string | undefined): void {
    if (reason === undefined) counts.forwarded++;
    else {
      counts.givenUp++;
      const line = `a webhook was given up: ${name} refused it again and again: ${reason}`;
      stderr.print(true, { event: 'forward-given-up', message: reason }, stderr.atNow(line));
    }
    onDisk(() => {
      queue.done();
      return true;
    });
  }

  /** Whether something could be written; a full disk is said once. */
  function onDisk(write: () => boolean): boolean {
    try {
      return write();
    } catch (error) {
      const message = `the queue of webhooks cannot be written: ${error instanceof Error ? error.message : String(error)}`;
      if (!isDiskSaid) stderr.print(true, { event: 'forward-failing', message }, stderr.atNow(message));
      isDiskSaid = true;
      return false;
    }
  }

  async function sendFirst(): Promise<void> {
    const first = queue.first();
    if (first === undefined) return;
    const { body, headers } = first;
    const request = { method: 'POST', url, headers, body, signal: over.signal, limitBytes: ANSWER_LIMIT_BYTES };
    const limits = { headersTimeoutMs: ANSWER_LIMIT_MS, bodyTimeoutMs: ANSWER_LIMIT_MS };
    const deadline = { clock, milliseconds: ANSWER_LIMIT_MS };
    try {
      const answer = await readWhole(network.dispatcher, { ...request, ...limits }, deadline);
      const { status } = answer;
      const askedMs = readRetryAfter(answer.headers['retry-after'], clock.wallMs());
      take({ type: 'answered', status, reason: `HTTP ${status}`, askedMs });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      take({ type: 'answered', status: undefined, reason, askedMs: undefined });
    }
  }

  take({ type: 'tick' });
  return {
    hasRoom: queue.hasRoom,
    add(forwarded) {
      const isAdded = onDisk(() => queue.add(forwarded));
      if (isAdded) take({ type: 'added' });
      return isAdded;
    },
    counts: () => ({ ...counts, waiting: queue.size() }),
    close() {
      if (over.signal.aborted) return;
      over.abort(new Error('the listener ends'));
      alarms.close();
      queue.close();
    },
  };
}
