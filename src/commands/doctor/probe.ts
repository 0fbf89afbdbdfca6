// Sends the doctor's one request as every command would, and explains a failure.

import { BICYCLE } from '../../api/bicycle.js';
import type { TopicRole } from '../../api/push.js';
import type { Context } from '../../context.js';
import { asFleetError } from '../../errors.js';
import type { Client } from '../../http/client.js';
import { codesOf } from '../../http/exchange.js';
import { networkWords, withHint } from '../../http/failure.js';
import type { Network } from '../../http/network.js';
import { isTlsCode } from '../../http/retry.js';
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

export interface ProbeQuestion {
  organization?: string | undefined;
  /** For an address that is only a guess, which must not get the token. */
  isWithoutToken?: boolean;
}

/** A placeholder token: the client sends no request without one. */
const NO_TOKEN = 'none';

/** A client that asks once, with the settings as they are. */
export function clientOf(
  { context, settings, token = NO_TOKEN }: Probe,
  baseUrl: URL,
  { isWithoutToken = false }: ProbeQuestion = {},
): Promise<Client> {
  return context.client({
    settings,
    baseUrl,
    apiVersion: settings.apiVersion.value,
    // Timeout and deadline are the same: the operator waits for the report.
    deadlineMs: settings.timeoutMs.value,
    retries: 0,
    token: { get: async () => (isWithoutToken ? NO_TOKEN : token), renew: async () => undefined },
  });
}

/** One page of bicycles, asked for once by the client of every command. Throws what the client throws. */
export async function ask(probe: Probe, baseUrl: URL, question: ProbeQuestion = {}): Promise<HttpAnswer> {
  const { organization } = question;
  const client = await clientOf(probe, baseUrl, question);
  const query: Query = [['page', '1']];
  return client.probe({
    path: BICYCLE.listPath,
    query: organization === undefined ? query : [['organization', organization], ...query],
    subject: 'the list of bicycles',
  });
}

/** The same; undefined without an answer. Throws the reason of an abort. */
export async function tryToAsk(probe: Probe, baseUrl: URL, question?: ProbeQuestion): Promise<HttpAnswer | undefined> {
  const answer = await ask(probe, baseUrl, question).catch(() => undefined);
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
 * Why no answer came from the address of a setting: a dead proxy is named as that, and http where https is spoken, or the reverse, with
 * the corrected address. Throws the reason of an abort.
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
  const other = unreached === undefined ? await findScheme(probe, url) : undefined;
  if (other !== undefined) {
    const [wrong, right] = [url.protocol.slice(0, -1), other.protocol.slice(0, -1)];
    const port = other.port || (right === 'https' ? 443 : 80);
    const found = `the address says ${wrong}, and port ${port} of ${url.hostname} speaks ${right}`;
    return failure(check, 'network', found, changeCommand(probe, setting, other.href.replace(/\/$/, '')));
  }
  if (!isPush) return failed(check, error);
  const hint = `check sse_url, ${url.href}; ${error.hint ?? ''}`;
  return failed(check, withHint(error, hint, error.message.replace('the service at', 'the push channel at')));
}

/** The same address with the other scheme, where something speaks that; undefined else. It gets no token. */
export async function findScheme(probe: Probe, url: URL): Promise<URL | undefined> {
  const other = new URL(url);
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  other.protocol = url.protocol === 'https:' ? 'http:' : 'https:';
  other.port = port;
  try {
    const answer = await ask(probe, other, { isWithoutToken: true });
    // A TLS port answers plain HTTP with an error in clear text.
    return other.protocol === 'http:' && answer.status === 400 ? undefined : other;
  } catch (thrown) {
    const isCertificate = codesOf(thrown).some((code) => isTlsCode(code) && !/^EPROTO$|^ERR_SSL/.test(code));
    return other.protocol === 'https:' && isCertificate ? other : undefined;
  }
}
