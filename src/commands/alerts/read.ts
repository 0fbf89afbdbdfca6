// Asks the service for a page of its alerts, once: when it is asked again is up to the machine.

import { ALERT, type Alert } from '../../api/alert.js';
import type { Clock } from '../../clock.js';
import { asFleetError } from '../../errors.js';
import type { Client } from '../../http/client.js';
import { readPage } from '../../http/pages.js';
import { answeredAtMs, readRetryAfter } from '../../http/retry.js';
import type { AlertsEffect, AlertsEvent } from './events.js';

/** Asks for a page; never rejects. The time at the service is that of the answer's `Date`, else the machine's. */
export async function readAlerts(
  client: Client,
  { query }: AlertsEffect & { type: 'read-page' },
  clock: Clock,
): Promise<AlertsEvent> {
  let retryAfter: string | undefined;
  const onRefusal = ({ headers }: { headers: Readonly<Record<string, string>> }) => {
    retryAfter = headers['retry-after'];
  };
  try {
    const request = { path: ALERT.listPath, query, subject: 'the list of alerts', retries: 0, onRefusal };
    const answer = await client.send(request);
    const serviceMs = answeredAtMs(answer.headers) ?? clock.wallMs();
    return { type: 'page', page: readPage<Alert>(answer), serviceMs };
  } catch (thrown) {
    return { type: 'failed', error: asFleetError(thrown), askedMs: readRetryAfter(retryAfter, clock.wallMs()) };
  }
}
