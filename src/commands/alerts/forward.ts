// `--forward`: passes webhooks on to another receiver, as the machine of forward-state.ts says.

import type { Clock } from '../../clock.js';
import { reasonOf } from '../../errors.js';
import { readWhole } from '../../http/exchange.js';
import type { Network } from '../../http/network.js';
import { readRetryAfter } from '../../http/retry.js';
import { showDuration } from '../../terminal/time.js';
import { momentOf, openAlarms } from '../follow/loop.js';
import type { Stderr } from '../follow/stderr.js';
import type { Forwarded, ForwardQueue } from './forward-queue.js';
import { type ForwardEffect, type ForwardEvent, forwardState, startForward } from './forward-state.js';

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
  const report = openForwardReport(stderr, url.origin + url.pathname);
  let state = startForward(queue.size());

  /** Whether something could be written; a full disk costs no webhook: its sender comes again. */
  const onDisk = (write: () => boolean): boolean => {
    try {
      return write();
    } catch (error) {
      report.disk(reasonOf(error));
      return false;
    }
  };
  const take = (event: ForwardEvent): void => {
    if (over.signal.aborted) return;
    const step = forwardState(state, event, momentOf(clock));
    state = step.state;
    for (const effect of step.effects) perform(effect);
  };
  const perform = (effect: ForwardEffect): void => {
    report.effect(effect, queue.size());
    if (effect.type === 'wake') alarms.set(effect.inMs);
    if (effect.type === 'send') {
      const first = queue.first();
      if (first !== undefined) void sendBody(first, { url, network, clock, signal: over.signal }).then(take);
    }
    if (effect.type !== 'done') return;
    counts[effect.reason === undefined ? 'forwarded' : 'givenUp']++;
    onDisk(() => {
      queue.done();
      return true;
    });
  };

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

/** Sends a body once; never rejects. */
async function sendBody(
  { body, headers }: Forwarded,
  { url, network, clock, signal }: Pick<ForwardOptions, 'url' | 'network' | 'clock'> & { signal: AbortSignal },
): Promise<ForwardEvent> {
  const request = { method: 'POST', url, headers, body, signal, limitBytes: ANSWER_LIMIT_BYTES };
  const limits = { headersTimeoutMs: ANSWER_LIMIT_MS, bodyTimeoutMs: ANSWER_LIMIT_MS };
  const deadline = { clock, milliseconds: ANSWER_LIMIT_MS };
  try {
    const answer = await readWhole(network.dispatcher, { ...request, ...limits }, deadline);
    const { status } = answer;
    const askedMs = readRetryAfter(answer.headers['retry-after'], clock.wallMs());
    return { type: 'answered', status, reason: `HTTP ${status}`, askedMs };
  } catch (error) {
    const reason = reasonOf(error);
    return { type: 'answered', status: undefined, reason, askedMs: undefined };
  }
}

/** What passing on says on stderr; `name` is where to. */
function openForwardReport({ print, atNow }: Stderr, name: string) {
  let isDiskReported = false;
  return {
    effect(effect: ForwardEffect, waiting: number): void {
      if (effect.type === 'failing') {
        const { reason, retryInMs } = effect;
        const line = `${name} does not accept webhooks: ${reason}; they are queued, trying again in ${showDuration(retryInMs)}`;
        print(true, { event: 'forward-failing', message: reason, waiting }, atNow(line));
      } else if (effect.type === 'back') {
        const line = `${name} accepts webhooks again after ${showDuration(effect.downMs)}`;
        print(true, { event: 'forward-back', seconds: Math.round(effect.downMs) / 1000 }, atNow(line));
      } else if (effect.type === 'done' && effect.reason !== undefined) {
        const line = `a webhook was dropped: ${name} kept refusing it: ${effect.reason}`;
        print(true, { event: 'forward-given-up', message: effect.reason }, atNow(line));
      }
    },
    disk(reason: string): void {
      if (isDiskReported) return;
      isDiskReported = true;
      const message = `the queue of webhooks cannot be written: ${reason}`;
      print(true, { event: 'forward-failing', message }, atNow(message));
    },
  };
}
