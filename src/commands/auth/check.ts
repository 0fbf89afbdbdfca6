// The one request with which `fleet auth login` finds out whether address, organization and token are right.

import type { Context } from '../../context.js';
import { asFleetError, errorLines } from '../../errors.js';
import type { Settings } from '../../settings/resolve.js';
import { askYesNo, canAsk } from '../../terminal/prompt.js';

/** Longer than this nobody waits for a login, whatever the timeout of the settings. */
const LONGEST_CHECK_MS = 10_000;

/**
 * Asks for a page of bicycles with the new token and says what came of it. Resolves with whether to save: a service that cannot be
 * reached is no reason not to (VPN, first setup); one that refuses is a question. Throws the refusal where nobody can be asked.
 */
export async function checkLogin(context: Context, settings: Settings, token: string): Promise<boolean> {
  const baseUrl = settings.baseUrl.value;
  if (baseUrl === undefined) return true;
  const { io, clock, signal, notice } = context;
  io.secrets.add(token);
  const { openNetwork } = await import('../../http/network.js');
  const { openClient } = await import('../../http/client.js');
  const { readPage } = await import('../../http/pages.js');
  const { BICYCLES_PATH } = await import('../../api/bicycle.js');
  const timeoutMs = Math.min(settings.timeoutMs.value, LONGEST_CHECK_MS);
  const network = await openNetwork(io.env, timeoutMs);
  const client = openClient({
    baseUrl,
    apiVersion: settings.apiVersion.value,
    timeoutMs,
    retries: 0,
    network,
    token: { get: async () => token, renew: async () => undefined },
    log: { request() {}, response() {}, retry() {} },
    secrets: io.secrets,
    clock,
    signal,
  });
  const organization = settings.organization.value;
  try {
    const query = organization === undefined ? [] : [['organization', organization] as const];
    const answer = await client.send({ path: BICYCLES_PATH, query, subject: 'the list of bicycles' });
    const { count, items } = readPage(answer);
    const seen = count ?? items.length;
    await notice(`checked: ${seen} ${seen === 1 ? 'bicycle' : 'bicycles'} at ${baseUrl.href}`);
    if (seen === 0 && organization !== undefined)
      await notice(`warning: this token sees no bicycles of organization ${organization}; check its UUID`);
    return true;
  } catch (thrown) {
    if (signal.aborted) throw signal.reason;
    const failure = asFleetError(thrown);
    if (failure.kind === 'internal') throw failure;
    if (failure.kind === 'network') {
      await notice(`warning: not checked: ${failure.message}`);
      await notice('"fleet doctor" finds out more');
      return true;
    }
    if (!canAsk(context)) throw failure;
    for (const line of errorLines(failure)) await notice(line);
    return askYesNo(context, { message: 'Save it anyway?', instead: 'give --no-check to save without a request' });
  } finally {
    await network.close();
  }
}
