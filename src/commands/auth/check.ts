// The request with which `fleet auth login` finds out whether address, organization and token are right, and what came of it.

import { BICYCLE } from '../../api/bicycle.js';
import { findPrefix } from '../../api/prefix.js';
import type { Context } from '../../context.js';
import { asFleetError, errorLines, type FleetError } from '../../errors.js';
import type { Client } from '../../http/client.js';
import { withHint } from '../../http/failure.js';
import { readPage } from '../../http/pages.js';
import type { Query } from '../../http/types.js';
import { KEYS } from '../../settings/keys.js';
import type { Settings } from '../../settings/resolve.js';
import { askYesNo, canAsk } from '../../terminal/prompt.js';

/** Longer than this nobody waits for a login, whatever the timeout of the settings. */
const LONGEST_CHECK_MS = 10_000;

/** What to do after the check; `prefix` is the address that answers instead of the one given. */
export type Outcome = { next: 'save' | 'ask-again' | 'stop' } | { next: 'prefix'; address: string };

/**
 * Asks for a page of bicycles with the new token and reports what came of it. A service that cannot be reached is no reason not to
 * save (VPN, first setup); one that refuses is a question. Throws the refusal where nobody can be asked.
 */
export async function checkLogin(context: Context, settings: Settings, token: string): Promise<Outcome> {
  const baseUrl = settings.baseUrl.value;
  if (baseUrl === undefined) return { next: 'save' };
  const { notice, signal } = context;
  const clientAt = (address: URL): Promise<Client> =>
    context.client({
      settings,
      baseUrl: address,
      timeoutMs: Math.min(settings.timeoutMs.value, LONGEST_CHECK_MS),
      deadlineMs: LONGEST_CHECK_MS,
      retries: 0,
      token: {
        get: async () => token,
        renew: async () => undefined,
        refusalHint: 'get a new token from those who run the service, and log in with it',
      },
    });
  try {
    await reportBicycles(context, await clientAt(baseUrl), settings.organization.value);
    return { next: 'save' };
  } catch (thrown) {
    signal.throwIfAborted();
    const failure = asFleetError(thrown);
    const { kind, status } = failure;
    if (kind === 'internal') throw failure;
    if (kind === 'network') {
      await notice(`warning: not checked: ${failure.message}`);
      await notice('run "fleet doctor" to find out why');
      return { next: 'save' };
    }
    const isElsewhere = kind === 'not-found' || (kind === 'service' && (status === undefined || status < 400));
    const ask = async (variant: URL) => (await clientAt(variant)).probe({ path: BICYCLE.listPath });
    const other = isElsewhere ? await findPrefix(baseUrl, ask) : undefined;
    signal.throwIfAborted();
    return decide(context, failure, other && KEYS.base_url.show(other.address));
  }
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

/** What the operator wants after a refusal; `address` is where the service answers instead. */
async function decide(context: Context, failure: FleetError, address: string | undefined): Promise<Outcome> {
  if (!canAsk(context)) {
    throw address === undefined
      ? failure
      : withHint(failure, `${address} is where the service answers: use --base-url ${address}`);
  }
  const ask = (message: string) => askYesNo(context, { message, instead: 'give --no-check to save without a request' });
  for (const line of errorLines(failure)) await context.notice(line);
  if (address !== undefined && (await ask(`${address} answers. Use that address?`))) return { next: 'prefix', address };
  if (await ask('Try again? Your answers are offered again.')) return { next: 'ask-again' };
  return { next: (await ask('Save it anyway?')) ? 'save' : 'stop' };
}
