// The webhook of section 6.2: each alert that is raised or changed is sent to one address, in order, with retries and a bounded queue.
import { createHmac } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { LOOPBACK_NAMES } from './guard.js';

export interface WebhookOptions {
  /** Loopback over http only: the sandbox is nobody else's business. */
  url: string;
  /** The key of the signature; without it nothing is signed. */
  secret?: string;
}

/** Alerts that wait while the receiver is down; the oldest are given up beyond it. */
const MOST_WAITING = 10_000;

const RETRY_AFTER_MS = 250;
const ANSWER_LIMIT_MS = 10_000;

/** Reads the address of a webhook. Throws an Error that says why it is not taken. */
export function parseWebhookUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.protocol !== 'http:')
    throw new Error(`the webhook needs an http address, not "${text}"`);
  if (!LOOPBACK_NAMES.includes(url.hostname)) {
    throw new Error(
      `the webhook stays on this machine: 127.0.0.1, localhost or [::1], not "${url.hostname}"`,
    );
  }
  return url;
}

/** Opens the queue. One request is in flight at a time, so that alerts arrive in the order they happened. */
export function openWebhook({ url: address, secret }: WebhookOptions) {
  const url = parseWebhookUrl(address);
  const queue: string[] = [];
  const counts = { delivered: 0, lost: 0 };
  const closing = new AbortController();
  let isBusy = false;

  /** The status of the answer; 0 where there was none. Assumed: "Registration, payload, retries and signing of the webhook: not shown". */
  async function post(body: string): Promise<number> {
    const headers = {
      'Content-Type': 'application/json',
      ...(secret === undefined ? {} : { 'X-Fleet-Signature': signatureOf(secret, body) }),
    };
    const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(ANSWER_LIMIT_MS)]);
    const sent = fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal });
    return sent.then((answer) => answer.arrayBuffer().then(() => answer.status)).catch(() => 0);
  }

  async function work(): Promise<void> {
    if (isBusy) return;
    isBusy = true;
    for (let [body] = queue; body !== undefined; [body] = queue) {
      const status = await post(body);
      const isTaken = status >= 200 && status < 300;
      // A receiver that refuses for good gives the same answer each time; 408 and 429 ask to come again.
      if (isTaken || (status >= 400 && status < 500 && status !== 408 && status !== 429)) {
        queue.shift();
        counts[isTaken ? 'delivered' : 'lost'] += 1;
      } else await pause(RETRY_AFTER_MS, undefined, { signal: closing.signal });
    }
    isBusy = false;
  }

  return {
    /** Queues a JSON text. */
    send: (body: string) => {
      queue.push(body);
      // The one in flight stays where it is.
      if (queue.length > MOST_WAITING) counts.lost += queue.splice(isBusy ? 1 : 0, 1).length;
      // Closing ends it in the middle.
      work().catch(() => {});
    },
    counts: () => ({ ...counts, waiting: queue.length }),
    close: () => closing.abort(),
  };
}

/** `sha256=` and the HMAC-SHA256 of the body in hexadecimal digits. */
function signatureOf(secret: string, body: string): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
}
