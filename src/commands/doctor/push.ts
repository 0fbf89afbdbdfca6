// Checks the push channel with one subscription, closed as soon as it is open.

import { wholeUuid } from '../../api/links.js';
import { prefixVariants } from '../../api/prefix.js';
import { organizationTopic, readTopic, subscribePath } from '../../api/push.js';
import { describeError, type FleetError } from '../../errors.js';
import { joinUrl } from '../../http/client.js';
import { connectOnce } from '../../http/stream/connection.js';
import { streamHeaders } from '../../http/stream.js';
import { KEYS } from '../../settings/keys.js';
import { organizationsOf } from '../../settings/token.js';
import { targetsOf } from '../shared/follow/stream.js';
import { type Finding, failed, failure, ok, warning } from './finding.js';
import { changeCommand, explainSilence, type Probe } from './probe.js';

/** Opens the topic of the organization at the push address (interface.md section 4.6), as a watch does, and closes it. */
export async function checkPush(probe: Probe, sseUrl: URL): Promise<Finding[]> {
  const { settings, context } = probe;
  const { clock, signal } = context;
  const organization = wholeUuid(settings.organization.value ?? '') ?? organizationsOf(probe.token ?? '')[0];
  let startedAt = clock.monotonicMs();
  const topic = organizationTopic(organization ?? NO_ORGANIZATION);
  const [first, ...others] = targetsOf(sseUrl, topic, probe.token ?? '', probe.role);
  let used = first ?? { topic, url: sseUrl };
  let refusal = await subscribe(probe, used.url);
  for (const target of others) {
    if (refusal?.status !== 403) break;
    startedAt = clock.monotonicMs();
    used = target;
    refusal = await subscribe(probe, used.url);
  }
  signal.throwIfAborted();
  const path = subscribePath(used.topic);
  const after = `after ${Math.round(clock.monotonicMs() - startedAt)} ms`;
  if (refusal === undefined) return [ok('push', `subscribed as ${readTopic(used.topic)?.role} ${after}`)];
  if (refusal.kind === 'network') return [await explainSilence(probe, settings.sseUrl, sseUrl, refusal)];
  if (organization === undefined && refusal.status !== undefined && refusal.status < 500)
    return [warning('push', `${KEYS.sse_url.show(sseUrl)} answers; which organization to subscribe to is not known`)];
  const isElsewhere = refusal.kind === 'not-found' || refusal.status === 200;
  for (const variant of isElsewhere ? prefixVariants(sseUrl) : []) {
    const other = await subscribe(probe, joinUrl(variant, path));
    signal.throwIfAborted();
    if (other !== undefined) continue;
    const address = KEYS.sse_url.show(variant);
    const finding = `${describeError(refusal)}; subscribing at ${address} works`;
    return [failure('push', refusal.kind, finding, changeCommand(probe, settings.sseUrl, address))];
  }
  return [failed('push', refusal)];
}

/** Where neither settings nor token name one, it is only tried whether the address can be reached. */
const NO_ORGANIZATION = '00000000-0000-0000-0000-000000000000';

/** Undefined when the subscription was opened, else why not: a FleetError of kind `network` when no answer came. */
async function subscribe({ context, settings, network, token }: Probe, url: URL): Promise<FleetError | undefined> {
  const { clock, signal, io } = context;
  const over = new AbortController();
  let isOpen = false;
  const { error } = await connectOnce({
    network,
    tokens: {},
    clock,
    url,
    headers: streamHeaders(settings.apiVersion.value, token),
    lastEventId: '',
    timeoutMs: settings.timeoutMs.value,
    idleMs: settings.timeoutMs.value,
    signal: AbortSignal.any([signal, over.signal]),
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
