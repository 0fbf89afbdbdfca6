// Sends the doctor's one request as every command would, and explains a failure.

import { BICYCLE } from '../../api/bicycle.js';
import type { TopicRole } from '../../api/push.js';
import type { Context } from '../../context.js';
import { asFleetError } from '../../errors.js';
import type { Client } from '../../http/client.js';
import { codesOf } from '../../http/exchange.js';
import { networkWords, withHint } from '../../http/failure.js';
import type { Network } from '../../http/network.js';
import type { HttpAnswer, Query } from '../../http/types.js';
import { profileFlag, type Setting } from '../../settings/resolve.js';
import { setVariables, unsetVariable } from '../../shell-words.js';
import { type Finding, failed, failure } from './finding.js';
import type { CheckedSettings } from './settings.js';

/** What the checks of the network share. */
export interface Probe extends CheckedSettings {
  context: Context;
  network: Network;
  /** The role of `--role`. */
  role: TopicRole | undefined;
}

/** A placeholder token: the client sends no request without one. */
const NO_TOKEN = 'none';

/** A client that asks once, with the settings as they are. */
export function clientOf({ context, settings, token = NO_TOKEN }: Probe, baseUrl: URL): Promise<Client> {
  return context.client({
    settings,
    baseUrl,
    apiVersion: settings.apiVersion.value,
    // Timeout and deadline are the same: the operator waits for the report.
    deadlineMs: settings.timeoutMs.value,
    retries: 0,
    token: { get: async () => token, renew: async () => undefined },
  });
}

/** One page of bicycles, asked for once by the client of every command. Throws what the client throws. */
export async function ask(probe: Probe, baseUrl: URL, organization?: string): Promise<HttpAnswer> {
  const client = await clientOf(probe, baseUrl);
  const query: Query = [['page', '1']];
  return client.probe({
    path: BICYCLE.listPath,
    query: organization === undefined ? query : [['organization', organization], ...query],
    subject: 'the list of bicycles',
  });
}

/** The same; undefined without an answer. Throws the reason of an abort. */
export async function tryToAsk(probe: Probe, baseUrl: URL): Promise<HttpAnswer | undefined> {
  const answer = await ask(probe, baseUrl).catch(() => undefined);
  probe.context.signal.throwIfAborted();
  return answer;
}

/** The command that changes a setting where it is set now. */
export function changeCommand({ settings }: CheckedSettings, { key, origin, from }: Setting, value: string): string {
  const command = `fleet config set ${key} ${value}${profileFlag(settings.profile.value)}`;
  if (origin === 'flag') return `${from} ${value}, or for good: ${command}`;
  return origin === 'environment' ? setVariables({ [from]: value }) : command;
}

/** Codes of a connection that was never made: through a proxy, the proxy's own. */
const UNREACHED = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/;

/**
 * Why no answer came from the address of a setting: a dead proxy is named as that. Throws the reason of an abort.
 */
export async function explainSilence(probe: Probe, setting: Setting, url: URL, thrown: unknown): Promise<Finding> {
  const { context, network } = probe;
  context.signal.throwIfAborted();
  const error = asFleetError(thrown);
  const isPush = setting.key === 'sse_url';
  const check = isPush ? 'push' : 'http';
  const { proxy, because } = network.routeTo(url);
  const unreached = codesOf(error).find((code) => UNREACHED.test(code));
  if (proxy !== undefined && unreached !== undefined) {
    const found = `the proxy ${proxy.origin} (${because}) cannot be reached: ${networkWords(unreached)}`;
    const next = `set ${because} to a proxy that runs, or: ${unsetVariable(because)}; NO_PROXY names hosts to reach directly`;
    return failure('proxy', 'network', found, next);
  }
  if (!isPush) return failed(check, error);
  const hint = `check sse_url, ${url.href}; ${error.hint ?? ''}`;
  return failed(check, withHint(error, hint, error.message.replace('the service at', 'the push channel at')));
}
