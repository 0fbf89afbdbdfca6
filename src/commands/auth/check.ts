// Checks address, organization and token of a login with one request.

import { BICYCLE } from '../../api/bicycle.js';
import { wholeUuid } from '../../api/links.js';
import { findPrefix } from '../../api/prefix.js';
import { ANONYMOUS, type Context } from '../../context.js';
import { asFleetError, errorLines, FleetError } from '../../errors.js';
import type { Client } from '../../http/client.js';
import { withHint } from '../../http/failure.js';
import { readPage } from '../../http/pages.js';
import type { Query } from '../../http/types.js';
import { KEYS } from '../../settings/keys.js';
import type { Settings } from '../../settings/resolve.js';
import { askYesNo, canAsk } from '../../terminal/prompt.js';

/** The longest wait for a login, whatever the timeout of the settings. */
const LONGEST_CHECK_MS = 10_000;

/** Limits of a client for a login. */
export function limitsOfLogin({ timeoutMs }: Settings) {
  return { timeoutMs: Math.min(timeoutMs.value, LONGEST_CHECK_MS), deadlineMs: LONGEST_CHECK_MS, retries: 0 };
}

/**
 * Asks for a page of bicycles with the new token; resolves with whether to save it. A service that cannot be reached is no reason not
 * to (VPN, first setup); one that refuses is a question. Throws the refusal without a terminal.
 */
export async function checkLogin(context: Context, settings: Settings, token: string): Promise<boolean> {
  const baseUrl = settings.baseUrl.value;
  if (baseUrl === undefined) return true;
  const { notice } = context;
  const refusalHint = 'get a new token from those who run the service, and log in with it';
  const tokens = { get: async () => token, renew: async () => undefined, refusalHint };
  try {
    const client = await context.client({ settings, ...limitsOfLogin(settings), token: tokens });
    await reportBicycles(context, client, wholeUuid(settings.organization.value ?? ''));
    return true;
  } catch (thrown) {
    const failure = asFleetError(await withPrefixHint(context, settings, thrown));
    if (failure.kind === 'internal') throw failure;
    if (failure.kind === 'network') {
      await notice(`warning: not checked: ${failure.message}`);
      await notice('run "fleet doctor" to find out why');
      return true;
    }
    if (!canAsk(context)) throw failure;
    for (const line of errorLines(failure)) await notice(line);
    return askYesNo(context, { message: 'Save it anyway?', instead: 'give --no-check to save without a request' });
  }
}

/** What was thrown, with the address to use where the service answers under another prefix. That is asked without a token. */
export async function withPrefixHint(context: Context, settings: Settings, thrown: unknown): Promise<unknown> {
  context.signal.throwIfAborted();
  const baseUrl = settings.baseUrl.value;
  if (!(thrown instanceof FleetError) || baseUrl === undefined) return thrown;
  const { kind, status = 0 } = thrown;
  if (kind !== 'not-found' && (kind !== 'service' || status >= 400)) return thrown;
  const other = await findPrefix(baseUrl, async (variant) => {
    const limits = limitsOfLogin(settings);
    const client = await context.client({ ...limits, settings, baseUrl: variant, token: ANONYMOUS });
    return client.probe({ path: BICYCLE.listPath });
  });
  if (other === undefined) return thrown;
  const address = KEYS.base_url.show(other.address);
  return withHint(thrown, `${address} is where the service answers: use --base-url ${address}`);
}

async function reportBicycles({ notice }: Context, client: Client, organization: string | undefined): Promise<void> {
  const query: Query = organization === undefined ? [] : [['organization', organization]];
  const { count, items } = readPage(
    await client.send({ path: BICYCLE.listPath, query, subject: 'the list of bicycles' }),
  );
  const seen = count ?? items.length;
  await notice(`✓ checked: ${seen} ${seen === 1 ? 'bicycle' : 'bicycles'} at ${client.baseUrl.href}`);
  if (seen === 0 && organization !== undefined)
    await notice(`warning: this token sees no bicycles of organization ${organization}; check its UUID`);
}
