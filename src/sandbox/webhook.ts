// The webhook of section 6.2: sends each new or changed alert to one address, in order, with
// retries and a bounded queue.
import { createHmac } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { LOOPBACK_NAMES } from './guard.js';

export interface WebhookOptions {
  /** Only http to loopback is allowed. */
  url: string;
  /** The key of the signature. Without it, requests are not signed. */
  secret?: string;
}

/**
 * How many alerts may wait while the receiver is down. When more alerts are waiting, the oldest
 * ones are dropped.
 */
const MOST_WAITING = 10_000;

const RETRY_AFTER_MS = 250;
const ANSWER_LIMIT_MS = 10_000;

/**
 * Parses a webhook address. Throws an Error for an invalid address. The message describes what is
 * wrong.
 */
export function parseWebhookUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.protocol !== 'http:')
    // The error does not repeat the text of the address, because the path of a webhook is often
    // secret.
    throw new Error('the webhook needs an http address, such as http://127.0.0.1:4020/');
  if (!LOOPBACK_NAMES.includes(url.hostname)) {
    throw new Error(
      `the webhook stays on this machine: 127.0.0.1, localhost or [::1], not "${url.hostname}"`,
    );
  }
  return url;
}

/** Opens the queue. Only one request is in flight, so that alerts arrive in order. */
export function openWebhook({ url: address, secret }: WebhookOptions) {
  const url = parseWebhookUrl(address);
  const queue: string[] = [];
  const counts = { delivered: 0, lost: 0 };
  const closing = new AbortController();
  let isBusy = false;

  /**
   * Sends a webhook. Returns the response status, or 0 when there is no response. Assumed, because
   * the interface says: "Registration, payload, retries and signing of the webhook: not shown".
   */
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
      // The statuses 408 and 429 ask for a retry. All other client errors are permanent refusals,
      // so the alert is dropped.
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
      // Drops the oldest waiting alert. The alert that is being sent stays in the queue.
      if (queue.length > MOST_WAITING) counts.lost += queue.splice(isBusy ? 1 : 0, 1).length;
      // Ignores the rejection that happens when the sandbox closes the webhook.
      work().catch(() => {});
    },
    counts: () => ({ ...counts, waiting: queue.length }),
    close: () => closing.abort(),
  };
}

/** Returns `sha256=` and the HMAC-SHA256 of the body in hexadecimal digits. */
function signatureOf(secret: string, body: string): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
}
