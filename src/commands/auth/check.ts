// Checks the address, the organization and the token of a login with one request.

import { BICYCLE } from '../../api/bicycle.js';
import { wholeUuid } from '../../api/links.js';
import { ANONYMOUS, type Context, fixedToken } from '../../context.js';
import { FleetError } from '../../errors.js';
import type { Client } from '../../http/client.js';
import { readPage } from '../../http/pages.js';
import type { Query } from '../../http/types.js';
import { showAddress } from '../../settings/keys.js';
import type { Settings } from '../../settings/resolve.js';
import { describeTotal, findPrefix } from './prefix.js';

/**
 * The maximum time for a login check. A longer timeout in the settings has no effect on this check.
 */
const LONGEST_CHECK_MS = 10_000;

/** The service and the token of a login. Without `token`, requests are anonymous. */
export interface LoginPlace {
  settings: Settings;
  baseUrl: URL;
  token?: string;
}

export function clientOfLogin(
  context: Context,
  { settings, baseUrl, token }: LoginPlace,
): Promise<Client> {
  const refusalHint = 'get a new token from the operator of the service, and log in with it';
  return context.client({
    settings,
    baseUrl,
    timeoutMs: Math.min(settings.timeout.value, LONGEST_CHECK_MS),
    deadlineMs: LONGEST_CHECK_MS,
    retries: 0,
    token: token === undefined ? ANONYMOUS : fixedToken(token, refusalHint),
  });
}

/**
 * Checks the new token by requesting a page of bicycles. Throws when the service refuses the token.
 *
 * When the service cannot be reached, for example without a VPN, the check is skipped and the token
 * is saved.
 */
export async function checkLogin(
  context: Context,
  place: LoginPlace,
  organization = '',
): Promise<void> {
  const { notice } = context;
  const uuid = wholeUuid(organization);
  const query: Query = uuid === undefined ? [] : [['organization', uuid]];
  try {
    const client = await clientOfLogin(context, place);
    const answer = await client.send({
      path: BICYCLE.listPath,
      query,
      subject: 'the list of bicycles',
    });
    const total = describeTotal(readPage(answer));
    const noun = total === '1' ? 'bicycle' : 'bicycles';
    await notice(`✓ checked: ${total} ${noun} at ${client.baseUrl.href}`);
  } catch (thrown) {
    if (!(thrown instanceof FleetError) || thrown.kind !== 'network')
      throw await withPrefixHint(context, place, thrown);
    await notice(`warning: the token was not checked: ${thrown.message}`);
    await notice('run "fleet doctor" to find out why');
  }
}

/**
 * Adds a hint to an error when the service answers under a different path prefix. The test of the
 * other prefix does not send the token.
 */
export async function withPrefixHint(
  context: Context,
  place: LoginPlace,
  thrown: unknown,
): Promise<unknown> {
  const { settings, baseUrl } = place;
  context.signal.throwIfAborted();
  if (!(thrown instanceof FleetError)) return thrown;
  const { kind, status = 0 } = thrown;
  if (kind !== 'not-found' && (kind !== 'service' || status >= 400)) return thrown;
  const other = await findPrefix(baseUrl, async (variant) =>
    (await clientOfLogin(context, { settings, baseUrl: variant })).probe({
      path: BICYCLE.listPath,
    }),
  );
  if (other === undefined) return thrown;
  const address = showAddress(other.address);
  return thrown.with({
    hint: `nothing was saved; the service answers at ${address}: use --base-url ${address}`,
  });
}
