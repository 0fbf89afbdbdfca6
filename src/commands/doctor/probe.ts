// Asks the service as every command does, once, and explains what kept an answer away.

import { BICYCLES_PATH } from '../../api/bicycle.js';
import type { Context } from '../../context.js';
import { asFleetError, FleetError } from '../../errors.js';
import { type Client, openClient } from '../../http/client.js';
import { ExchangeError } from '../../http/exchange.js';
import type { Network } from '../../http/network.js';
import { readPage } from '../../http/pages.js';
import { isTlsCode } from '../../http/retry.js';
import type { HttpAnswer, Query } from '../../http/types.js';
import { type Explained, profileFlag } from '../../settings/resolve.js';
import { openHttpLog } from '../../views/exchange.js';
import { type Finding, failed } from './finding.js';
import type { Known } from './settings.js';

/** What the checks of the network share. */
export interface Probe {
  context: Context;
  known: Known;
  network: Network;
  token: string | undefined;
}

export interface Question {
  organization?: string | undefined;
  /** In place of the version of the settings; '' asks for none. */
  version?: string;
  /** For an address that is only a guess, which must not get the token. */
  isWithoutToken?: boolean;
}

/** What stands in a request that must not carry the token: the client sends none without one. */
const NO_TOKEN = 'none';

/** One page of bicycles, asked for once by the client of every command. Throws what the client throws. */
export async function ask(probe: Probe, baseUrl: URL, question: Question = {}): Promise<HttpAnswer> {
  const { organization, version, isWithoutToken = false } = question;
  const query: Query = [
    ...(organization === undefined ? [] : [['organization', organization] as const]),
    ['page', '1'],
  ];
  return openProbe(probe, baseUrl, isWithoutToken ? undefined : probe.token, version).probe({
    path: BICYCLES_PATH,
    query,
    subject: 'the list of bicycles',
    ...(version === '' ? { headers: { accept: 'application/json' } } : {}),
  });
}

function openProbe({ context, known, network }: Probe, baseUrl: URL, token = NO_TOKEN, version = ''): Client {
  const { io, clock, signal, flags } = context;
  return openClient({
    baseUrl,
    apiVersion: version === '' ? known.apiVersion : version,
    timeoutMs: known.timeoutMs,
    // Silence and the whole are bounded alike: somebody waits for the report.
    deadlineMs: known.timeoutMs,
    retries: 0,
    network,
    token: { get: async () => token, renew: async () => undefined },
    log: openHttpLog({ ...flags, isJson: io.isJson }, (line) => void io.stderr.write(`${line}\n`)),
    secrets: io.secrets,
    clock,
    signal,
  });
}

/** How many bicycles an answer counts; undefined for one that is no page of them. */
export function countOf(answer: HttpAnswer): number | undefined {
  if (answer.status !== 200) return undefined;
  try {
    const { count, items } = readPage(answer);
    return count ?? items.length;
  } catch {
    return undefined;
  }
}

/** The command that changes a setting where it is set now. */
export function changeCommand({ key, origin, from }: Explained, value: string, profile: string): string {
  if (origin === 'flag')
    return `${from} ${value}, or for good: fleet config set ${key} ${value}${profileFlag(profile)}`;
  if (origin === 'environment') return `export ${from}=${value}`;
  return `fleet config set ${key} ${value}${profileFlag(profile)}`;
}

/** Codes of a connection that was never made: through a proxy, the proxy's own. */
const UNREACHED = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/;
const REFUSED_WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'its name could not be looked up',
};

/**
 * Why no answer came from an address: a dead proxy is named as that, and http where https is spoken, or the reverse, with the corrected
 * address. Throws the reason of an abort.
 */
export async function explainSilence(
  probe: Probe,
  setting: Explained,
  url: URL,
  thrown: unknown,
  name = 'the service',
): Promise<Finding> {
  const { context, known, network } = probe;
  if (context.signal.aborted) throw context.signal.reason;
  const error = asFleetError(thrown);
  const check = setting.key === 'sse_url' ? 'push' : 'http';
  const codes = codesOf(error);
  const { proxy, because } = network.routeTo(url);
  const unreached = codes.find((code) => UNREACHED.test(code));
  if (proxy !== undefined && unreached !== undefined) {
    const reason = REFUSED_WORDS[unreached] ?? unreached;
    return failed(
      'proxy',
      new FleetError('network', `the proxy ${proxy.origin} (${because}) cannot be reached: ${reason}`, {
        hint: `set ${because} to a proxy that runs, or: unset ${because}; NO_PROXY names hosts to reach directly it`,
      }),
    );
  }
  const other = unreached === undefined ? await findScheme(probe, url) : undefined;
  if (other !== undefined) {
    const address = other.href.replace(/\/$/, '');
    const [wrong, right] = [url.protocol.slice(0, -1), other.protocol.slice(0, -1)];
    const message = `the address says ${wrong}, and port ${other.port || (right === 'https' ? 443 : 80)} of ${url.hostname} speaks ${right}`;
    return failed(check, new FleetError('network', message, { hint: changeCommand(setting, address, known.profile) }));
  }
  const isOff = context.io.env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0';
  const hint = check === 'push' && !isOff ? `check sse_url, ${url.href}; ${error.hint ?? ''}` : error.hint;
  return failed(
    check,
    new FleetError(error.kind, error.message.replace('the service at', `${name} at`), {
      trace: error.trace,
      status: error.status,
      hint,
    }),
  );
}

/** The same address with the other scheme, where something speaks that; undefined else. It gets no token. */
export async function findScheme(probe: Probe, url: URL): Promise<URL | undefined> {
  const other = new URL(url);
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  other.protocol = url.protocol === 'https:' ? 'http:' : 'https:';
  other.port = port;
  try {
    const answer = await ask(probe, other, { isWithoutToken: true });
    // Servers say so in clear text when they are spoken to without TLS.
    return other.protocol === 'http:' && answer.status === 400 ? undefined : other;
  } catch (thrown) {
    const isCertificate = codesOf(thrown).some((code) => isTlsCode(code) && !/^EPROTO$|^ERR_SSL/.test(code));
    return other.protocol === 'https:' && isCertificate ? other : undefined;
  }
}

/** The codes of an error and of what caused it. */
function codesOf(error: unknown): string[] {
  const codes: string[] = [];
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++) {
    const { code } = at as NodeJS.ErrnoException;
    if (typeof code === 'string' && !(at instanceof ExchangeError && code === '')) codes.push(code);
    if (at instanceof AggregateError) codes.push(...at.errors.flatMap(codesOf));
  }
  return codes;
}
