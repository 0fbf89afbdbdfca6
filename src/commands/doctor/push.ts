// Whether the push channel answers: one subscription, closed as soon as it stands.

import { organizationTopic, subscribePath } from '../../api/push.js';
import { FleetError } from '../../errors.js';
import { ERROR_BODY_LIMIT_BYTES, readBody } from '../../http/body.js';
import { joinUrl } from '../../http/client.js';
import { ExchangeError, openExchange } from '../../http/exchange.js';
import { answerFailure, networkFailure } from '../../http/failure.js';
import { htmlTitle } from '../../http/foreign.js';
import { streamHeaders } from '../../http/stream.js';
import { KEYS } from '../../settings/keys.js';
import { profileFlag } from '../../settings/resolve.js';
import { type Finding, failed, ok, warning } from './finding.js';
import { changeCommand, explainSilence, type Probe } from './probe.js';

/** How many times the timeout a refusal may take from its first to its last byte. */
const DEADLINE_TIMEOUTS = 4;

/** Opens the topic of the organization at the push address (interface.md section 4.6) and lets it go. */
export async function checkPush(probe: Probe, sseUrl: URL): Promise<Finding> {
  const { known, context } = probe;
  if (known.organization === undefined) {
    const next = `fleet config set organization UUID${profileFlag(known.profile)}`;
    return warning('push', 'not tried: without an organization there is no topic to subscribe to', next);
  }
  const startedAt = context.clock.monotonicMs();
  let first: FleetError | undefined;
  try {
    first = await subscribe(probe, sseUrl, known.organization);
  } catch (thrown) {
    return explainSilence(probe, known.origins.sseUrl, sseUrl, thrown, 'the push channel');
  }
  if (first === undefined)
    return ok('push', `the subscription stands after ${Math.round(context.clock.monotonicMs() - startedAt)} ms`);
  const isElsewhere = first.kind === 'not-found' || first.status === 200;
  const variant = variantOf(sseUrl);
  const isThere = isElsewhere && (await subscribe(probe, variant, known.organization).catch(() => first)) === undefined;
  if (context.signal.aborted) throw context.signal.reason;
  if (!isThere) return failed('push', first);
  const address = KEYS.sse_url.show(variant);
  const hint = changeCommand(known.origins.sseUrl, address, known.profile);
  return failed(
    'push',
    new FleetError(first.kind, `${first.message}; at ${address} the subscription stands`, { hint }),
  );
}

/** Undefined when the subscription stood, else why it was refused. Throws a FleetError of kind `network` when no answer came. */
async function subscribe(
  { context, known, network, token }: Probe,
  sseUrl: URL,
  organization: string,
): Promise<FleetError | undefined> {
  const url = joinUrl(sseUrl, subscribePath(organizationTopic(organization)));
  const request = {
    method: 'GET',
    url,
    headers: streamHeaders(known.apiVersion, token),
    headersTimeoutMs: known.timeoutMs,
    bodyTimeoutMs: known.timeoutMs,
    signal: context.signal,
  };
  // Silence ends a request after the timeout; this ends one that trickles.
  const deadline = { clock: context.clock, milliseconds: DEADLINE_TIMEOUTS * known.timeoutMs };
  try {
    const { status, headers, body } = await openExchange(network.dispatcher, request, deadline);
    const type = headers['content-type'] ?? 'no content type';
    if (status === 200 && /^text\/event-stream\b/i.test(type)) {
      body.destroy();
      return undefined;
    }
    const { bytes } = await readBody(body, {}, ERROR_BODY_LIMIT_BYTES);
    const text = context.io.secrets.hide(bytes.toString('utf8'));
    if (status !== 200) return answerFailure(status, headers, text, 'the subscription', url);
    const title = htmlTitle(text);
    const shown = `${type.slice(0, 60)}${title === undefined ? '' : ` "${title}"`}`;
    return new FleetError('service', `the push address did not answer with an event stream: ${shown}`, {
      status,
      hint: 'check sse_url: it is another address than base_url',
    });
  } catch (error) {
    throw error instanceof ExchangeError ? networkFailure(error, url) : error;
  }
}

function variantOf(sseUrl: URL): URL {
  const path = sseUrl.pathname.replace(/\/+$/, '');
  const other = path.endsWith('/api') ? path.slice(0, -'/api'.length) : `${path}/api`;
  return new URL(`${sseUrl.origin}${other || '/'}`);
}
