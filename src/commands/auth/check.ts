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
export type Outcome = { next: 'save' | 'ask-again' | 'stop' } | { next: 'prefix'; address: URL };

/**
 * Asks for a page of bicycles with the new token and reports what came of it. A service that cannot be reached is no reason not to
 * save (VPN, first setup); one that refuses is a question. Throws the refusal where nobody can be asked.
 */
export async function checkLogin(context: Context, settings: Settings, token: string): Promise<Outcome> {
  const baseUrl = settings.baseUrl.value;
  if (baseUrl === undefined) return { next: 'save' };
  const { io, notice, signal } = context;
  const timeoutMs = Math.min(settings.timeoutMs.value, LONGEST_CHECK_MS);
  const { openNetwork } = await import('../../http/network.js');
  const { openClient } = await import('../../http/client.js');
  const network = await openNetwork(io.env, timeoutMs);
  const clientAt = (address: URL): Client =>
    openClient({
      baseUrl: address,
      apiVersion: settings.apiVersion.value,
      timeoutMs,
      deadlineMs: LONGEST_CHECK_MS,
      retries: 0,
      network,
      token: {
        get: async () => token,
        renew: async () => undefined,
        refusalHint: 'get a new token from those who run the service, and log in with it',
      },
      log: { request() {}, response() {}, retry() {} },
      secrets: io.secrets,
      clock: context.clock,
      signal,
    });
  try {
    await reportBicycles(context, clientAt(baseUrl), settings.organization.value);
    return { next: 'save' };
  } catch (thrown) {
    signal.throwIfAborted();
    const failure = asFleetError(thrown);
    if (failure.kind === 'internal') throw failure;
    if (failure.kind === 'network') {
      await notice(`warning: not checked: ${failure.message}`);
      await notice('run "fleet doctor" to find out why');
      return { next: 'save' };
    }
    const { kind, status } = failure;
    const isElsewhere = kind === 'not-found' || (kind === 'service' && (status === undefined || status < 400));
    const ask = (variant: URL) => clientAt(variant).probe({ path: BICYCLE.listPath });
    const other = isElsewhere ? await findPrefix(baseUrl, ask) : undefined;
    signal.throwIfAborted();
    return await decide(context, failure, other?.address);
  } finally {
    await network.close();
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

/** What the operator wants after a refusal. */
async function decide(context: Context, failure: FleetError, address: URL | undefined): Promise<Outcome> {
  const shown = address === undefined ? '' : KEYS.base_url.show(address);
  if (!canAsk(context)) {
    throw address === undefined
      ? failure
      : withHint(failure, `${shown} is where the service answers: use --base-url ${shown}`);
  }
  const instead = 'give --no-check to save without a request';
  for (const line of errorLines(failure)) await context.notice(line);
  if (address !== undefined && (await askYesNo(context, { message: `${shown} answers. Use that address?`, instead })))
    return { next: 'prefix', address };
  if (await askYesNo(context, { message: 'Try again? Your answers are offered again.', instead }))
    return { next: 'ask-again' };
  return { next: (await askYesNo(context, { message: 'Save it anyway?', instead })) ? 'save' : 'stop' };
}
