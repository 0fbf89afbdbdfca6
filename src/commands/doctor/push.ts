// Checks the push channel with one subscription that is closed immediately.

import { organizationTopic, readTopic } from '../../api/push.js';
import type { FleetError } from '../../errors.js';
import { targetsOf } from '../../follow/subscribe.js';
import { connectOnce } from '../../http/stream/connection.js';
import { streamHeaders } from '../../http/stream.js';
import { showAddress } from '../../settings/keys.js';
import { organizationsOf } from '../../settings/token.js';
import { type Finding, failed, ok, warning } from './finding.js';
import type { Examination } from './settings.js';

/**
 * The organization ID that is used when neither the settings nor the token contain an organization.
 * The check with this ID only shows whether the address can be reached.
 */
const NO_ORGANIZATION = '00000000-0000-0000-0000-000000000000';

/**
 * Subscribes to the organization's topic at the push address (interface.md section 4.6), in the
 * same way as `fleet watch`. Then closes the subscription.
 */
export async function checkPush(known: Examination, sseUrl: URL): Promise<Finding[]> {
  const { context, token = '', role } = known;
  const organization = known.organization ?? organizationsOf(token)[0];
  const topic = organizationTopic(organization ?? NO_ORGANIZATION);
  let refusal: FleetError | undefined;
  for (const target of targetsOf(sseUrl, topic, token, role)) {
    const startedAt = context.clock.monotonicMs();
    refusal = await subscribe(known, target.url);
    context.signal.throwIfAborted();
    const after = `after ${Math.round(context.clock.monotonicMs() - startedAt)} ms`;
    if (refusal === undefined)
      return [ok('push', `subscribed as ${readTopic(target.topic)?.role} ${after}`)];
    if (refusal.status !== 403) break;
  }
  if (refusal === undefined) return [];
  if (known.token === undefined && (refusal.status === 401 || refusal.status === 403))
    return [ok('push', `${showAddress(sseUrl)} answers; it needs a token`)];
  const { kind, status = 500, hint = '' } = refusal;
  const address = showAddress(sseUrl);
  if (kind !== 'network' && organization === undefined && status < 500)
    return [warning('push', `${address} answers; which organization to subscribe to is not known`)];
  if (kind !== 'network') return [failed('push', refusal)];
  return [failed('push', refusal.with({ hint: `check sse_url, ${address}; ${hint}` }))];
}

/**
 * Opens a subscription. Returns undefined on success, and the error otherwise. If no answer
 * arrived, the error is of kind `network`.
 */
async function subscribe(
  { context, settings, token, renewal, limit }: Examination,
  url: URL,
): Promise<FleetError | undefined> {
  const { clock, io } = context;
  const over = new AbortController();
  let isOpen = false;
  const { error } = await connectOnce({
    network: await context.network(),
    tokens: { refusalHint: renewal },
    clock,
    url,
    headers: streamHeaders(settings.apiVersion.value, token),
    lastEventId: '',
    timeoutMs: settings.timeout.value,
    idleMs: settings.timeout.value,
    signal: AbortSignal.any([limit, over.signal]),
    subject: 'the subscription',
    secrets: io.secrets,
    room: () => undefined,
    log: { request() {}, response() {} },
    onOpen() {
      isOpen = true;
      over.abort();
    },
    onReceived() {},
  });
  return isOpen ? undefined : error;
}
