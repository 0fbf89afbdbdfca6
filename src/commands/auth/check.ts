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

/** What to do after the check; `prefix` is the address that answers instead of the one given. */
export type TokenOutcome = { next: 'save' } | { next: 'stop' } | { next: 'prefix'; address: string };

/** Limits of a client for a login. */
export function limitsOfLogin({ timeoutMs }: Settings) {
  return { timeoutMs: Math.min(timeoutMs.value, LONGEST_CHECK_MS), deadlineMs: LONGEST_CHECK_MS, retries: 0 };
}

/**
 * Asks for a page of bicycles with the new token and reports what came of it. A service that cannot be reached is no reason not to
 * save (VPN, first setup); one that refuses is a question. Throws the refusal without a terminal.
 */
export async function checkLogin(context: Context, settings: Settings, token: string): Promise<TokenOutcome> {
  const baseUrl = settings.baseUrl.value;
  if (baseUrl === undefined) return { next: 'save' };
  const { notice, signal } = context;
  const clientAt = (address: URL): Promise<Client> =>
    context.client({
      settings,
      baseUrl: address,
      ...limitsOfLogin(settings),
      token: {
        get: async () => token,
        renew: async () => undefined,
        refusalHint: 'get a new token from those who run the service, and log in with it',
      },
    });
  try {
    await reportBicycles(context, await clientAt(baseUrl), wholeUuid(settings.organization.value ?? ''));
    return { next: 'save' };
  } catch (thrown) {
    signal.throwIfAborted();
    const failure = asFleetError(thrown);
    const { kind } = failure;
    if (kind === 'internal') throw failure;
    if (kind === 'network') {
      await notice(`warning: not checked: ${failure.message}`);
      await notice('run "fleet doctor" to find out why');
      return { next: 'save' };
    }
    return decide(context, failure, await prefixFor(failure, baseUrl, clientAt));
  }
}

/** Where the service answers instead, when a failure looks like another prefix. */
async function prefixFor(
  { kind, status }: FleetError,
  baseUrl: URL,
  clientAt: (address: URL) => Promise<Client>,
): Promise<string | undefined> {
  if (kind !== 'not-found' && (kind !== 'service' || (status !== undefined && status >= 400))) return undefined;
  const ask = async (variant: URL) => (await clientAt(variant)).probe({ path: BICYCLE.listPath });
  const other = await findPrefix(baseUrl, ask);
  return other && KEYS.base_url.show(other.address);
}

/** The failure of a login with a password, with the address to use where another prefix answers. */
export async function hintOfPrefix(
  context: Context,
  settings: Settings,
  baseUrl: URL,
  thrown: unknown,
): Promise<unknown> {
  context.signal.throwIfAborted();
  if (!(thrown instanceof FleetError)) return thrown;
  const clientAt = (address: URL) =>
    context.client({ ...limitsOfLogin(settings), settings, baseUrl: address, token: ANONYMOUS });
  const address = await prefixFor(thrown, baseUrl, clientAt);
  if (address !== undefined)
    return withHint(thrown, `${address} is where the service answers: use --base-url ${address}`);
  if (thrown.kind !== 'not-found') return thrown;
  return withHint(thrown, 'this service has no login there: give --login-path, or a token with "fleet auth login"');
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

/** The operator's choice after a refusal; `address` is where the service answers instead. */
async function decide(context: Context, failure: FleetError, address: string | undefined): Promise<TokenOutcome> {
  if (!canAsk(context)) {
    throw address === undefined
      ? failure
      : withHint(failure, `${address} is where the service answers: use --base-url ${address}`);
  }
  const ask = (message: string) => askYesNo(context, { message, instead: 'give --no-check to save without a request' });
  for (const line of errorLines(failure)) await context.notice(line);
  if (address !== undefined && (await ask(`${address} answers. Use that address?`))) return { next: 'prefix', address };
  return (await ask('Save it anyway?')) ? { next: 'save' } : { next: 'stop' };
}
