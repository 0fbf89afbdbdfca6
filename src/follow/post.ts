// Sends a message to a URL by POST.

import { reasonOf } from '../errors.js';
import { readHead } from '../http/exchange.js';
import type { Dispatcher } from '../http/network.js';
import { readRetryAfter } from '../http/retry.js';
import type { Clock } from '../system/clock.js';
import type { Attempt } from './delivery-queue.js';

export interface PostOptions {
  readonly url: URL;
  readonly headers: { readonly [name: string]: string };
  readonly body: string | Buffer;
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** The time limit for the receiver's response. */
const ANSWER_LIMIT_MS = 10_000;
/** Client errors (4xx) after which a retry can succeed. */
const PASSING_STATUSES: readonly number[] = [408, 425, 429];

/**
 * Sends a message once. Never rejects. A message counts as delivered after any 2xx status, even
 * with a broken response body. Another attempt would deliver the message twice.
 */
export async function postOnce(options: PostOptions): Promise<Attempt> {
  const { url, headers, body, dispatcher, clock, signal } = options;
  const request = {
    method: 'POST',
    url,
    headers,
    body,
    signal,
    timeoutMs: ANSWER_LIMIT_MS,
  };
  try {
    const answer = await readHead(dispatcher, request, { clock, milliseconds: ANSWER_LIMIT_MS });
    const { status } = answer;
    return {
      isDelivered: status >= 200 && status < 300,
      reason: `HTTP ${status}`,
      askedMs: readRetryAfter(answer.headers['retry-after'], clock.wallMs()),
      isRefused: status >= 400 && status < 500 && !PASSING_STATUSES.includes(status),
    };
  } catch (error) {
    return { isDelivered: false, reason: reasonOf(error) };
  }
}
