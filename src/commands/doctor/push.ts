// Whether the push channel answers: one subscription, closed as soon as it stands.

import { organizationTopic, subscribePath } from '../../api/push.js';
import { FleetError } from '../../errors.js';
import { joinUrl } from '../../http/client.js';
import { connectOnce, type Ending } from '../../http/stream/connection.js';
import { streamHeaders } from '../../http/stream.js';
import { KEYS } from '../../settings/keys.js';
import { profileFlag } from '../../settings/resolve.js';
import { type Finding, failed, ok, warning } from './finding.js';
import { changeCommand, type Service } from './service.js';
import { limitTime } from './settings.js';

const CLOSED = new FleetError('interrupted', 'the doctor has seen what it wanted');

/** Opens the topic of the organization at the push address (interface.md section 4.6) and lets it go. */
export async function checkPush(service: Service, sseUrl: URL): Promise<Finding> {
  const { known, signal } = service;
  if (known.organization === undefined)
    return warning(
      'push',
      'not tried: without an organization there is no topic to subscribe to',
      `fleet config set organization UUID${profileFlag(known.profile)}`,
    );
  const started = performance.now();
  const first = await subscribe(service, sseUrl, known.organization);
  if (first === undefined)
    return ok('push', `the subscription stands after ${Math.round(performance.now() - started)} ms`);
  if (signal.aborted) throw signal.reason;
  const status = first.answer?.status;
  const isElsewhere = status === 404 || status === 410 || first.cause === 'no-stream';
  for (const variant of isElsewhere ? variantsOf(sseUrl) : []) {
    const other = await subscribe(service, variant, known.organization);
    if (signal.aborted) throw signal.reason;
    if (other !== undefined) continue;
    const address = KEYS.sse_url.show(variant);
    const hint = changeCommand(known.origins.sseUrl, address, known.profile);
    const told = `${first.error.message}; at ${address} the subscription stands`;
    return failed('push', new FleetError(first.error.kind, told, { hint }));
  }
  return failed('push', first.error);
}

/** Undefined when the subscription stood; else how it ended. */
async function subscribe(service: Service, sseUrl: URL, organization: string): Promise<Ending | undefined> {
  const { dispatcher, clock, known, token, timeoutMs, signal } = service;
  const late = new FleetError(
    'network',
    `the push channel at ${sseUrl.origin} did not answer within ${timeoutMs / 1000} s`,
    {
      hint: 'check sse_url, or give more time with --timeout',
    },
  );
  const limit = limitTime(signal, timeoutMs, late);
  const close = new AbortController();
  let isOpen = false;
  try {
    const ending = await connectOnce({
      dispatcher,
      clock,
      url: joinUrl(sseUrl, subscribePath(organizationTopic(organization))),
      headers: streamHeaders(known.apiVersion, token),
      lastEventId: '',
      signal: AbortSignal.any([limit.signal, close.signal]),
      subject: 'the subscription',
      observer: {
        room: () => undefined,
        onRequest() {},
        onAnswer() {},
        onOpen() {
          isOpen = true;
          close.abort(CLOSED);
        },
        onReceived() {},
        onHold() {},
      },
    });
    return isOpen ? undefined : ending;
  } finally {
    limit.end();
  }
}

function variantsOf(sseUrl: URL): URL[] {
  const path = sseUrl.pathname.replace(/\/+$/, '');
  const other = path.endsWith('/api') ? path.slice(0, -'/api'.length) : `${path}/api`;
  return [new URL(`${sseUrl.origin}${other || '/'}`)];
}
