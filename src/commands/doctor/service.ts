// Whether the service answers as the interface says: prefix, version, token, clock. The token goes to the base URL's origin alone.

import { BICYCLES_PATH } from '../../api/bicycle.js';
import { prefixVariants } from '../../api/prefix.js';
import type { Clock } from '../../clock.js';
import { asFleetError, FleetError } from '../../errors.js';
import { joinUrl } from '../../http/client.js';
import { ExchangeError, type Headers, readWhole } from '../../http/exchange.js';
import { answerFailure, networkFailure } from '../../http/failure.js';
import { acceptJson, authorization, traceOf } from '../../http/headers.js';
import type { Dispatcher } from '../../http/network.js';
import { readPage } from '../../http/pages.js';
import { KEYS } from '../../settings/keys.js';
import { type Explained, profileFlag } from '../../settings/resolve.js';
import { showDuration } from '../../terminal/time.js';
import { type Finding, failed, failure, ok, warning } from './finding.js';
import type { Limits } from './reach.js';
import type { Known } from './settings.js';

/** Beyond this, times of bicycles and the ends of tokens are judged wrongly. */
const CLOCK_TOLERANCE_MS = 60_000;
/** The only version that the interface names (section 9). */
const DOCUMENTED_VERSION = '1.0';

interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** How many bicycles there are, when it is a page of them. */
  count: number | undefined;
  isPage: boolean;
  milliseconds: number;
}

export interface Service extends Limits {
  dispatcher: Dispatcher;
  clock: Clock;
  known: Known;
  token: string | undefined;
}

/** Asks for a page of bicycles and tells what the answer says about prefix, version, token and clock. */
export async function checkService(
  service: Service,
  baseUrl: URL,
  tell: (finding: Finding) => Promise<void>,
): Promise<void> {
  const { known } = service;
  let answer: Answer;
  try {
    answer = await ask(service, baseUrl, acceptJson(known.apiVersion));
  } catch (thrown) {
    if (service.signal.aborted) throw service.signal.reason;
    return tell(failed('http', asFleetError(thrown)));
  }
  const { requestId, version } = traceOf(answer.headers);
  const trace = requestId === undefined ? 'without trace headers' : `request ${requestId}`;
  await tell(
    ok(
      'http',
      `GET ${joinUrl(baseUrl, BICYCLES_PATH).pathname}?page=1 answered ${answer.status} in ${answer.milliseconds} ms, ${trace}`,
    ),
  );
  await tell(checkClock(answer, service.now()));
  if (answer.status === 406) return tell(await findVersion(service, baseUrl));
  const isRefusal = answer.status === 401 || answer.status === 403;
  if (answer.isPage || (isRefusal && !isHtml(answer))) {
    await tell(
      ok(
        'prefix',
        answer.isPage
          ? `${showUrl(baseUrl)} leads to ${answer.count ?? 'the'} bicycles`
          : `${showUrl(baseUrl)} leads to a service that asks who you are`,
      ),
    );
    if (!isRefusal)
      return tell(
        ok('version', `${known.apiVersion} is understood${version === undefined ? '' : `; the service is ${version}`}`),
      );
    return tell(judgeRefusal(answer, service));
  }
  if (answer.status === 429 || answer.status >= 500)
    return tell(failed('service', answerFailure(answer.status, answer.headers, answer.text, 'the list of bicycles')));
  await tell(await findPrefix(service, baseUrl, answer));
}

/** One request, no redirect followed, nothing tried again. Throws a FleetError of kind `network`. */
async function ask({ dispatcher, token, timeoutMs, signal }: Service, baseUrl: URL, accept: string): Promise<Answer> {
  const url = joinUrl(baseUrl, BICYCLES_PATH, [['page', '1']]);
  const started = performance.now();
  try {
    const { status, headers, body } = await readWhole(dispatcher, {
      method: 'GET',
      url,
      headers: { accept, ...(token === undefined ? {} : { authorization: authorization(token) }) },
      headersTimeoutMs: timeoutMs,
      bodyTimeoutMs: timeoutMs,
      signal,
    });
    const text = body.toString('utf8');
    const milliseconds = Math.round(performance.now() - started);
    return { status, headers, text, milliseconds, ...readCount(status, headers, body) };
  } catch (thrown) {
    throw thrown instanceof ExchangeError ? networkFailure(thrown, url) : thrown;
  }
}

function readCount(status: number, headers: Headers, bytes: Buffer): Pick<Answer, 'count' | 'isPage'> {
  if (status !== 200) return { count: undefined, isPage: false };
  try {
    const { count, items } = readPage({
      status,
      headers,
      text: bytes.toString('utf8'),
      bytes,
      trace: {},
      milliseconds: 0,
    });
    return { count: count ?? items.length, isPage: true };
  } catch {
    return { count: undefined, isPage: false };
  }
}

function isHtml({ headers, text }: Answer): boolean {
  return /html/i.test(headers['content-type'] ?? '') || /^\s*<(!doctype|html)/i.test(text);
}

function showUrl(url: URL): string {
  return KEYS.base_url.show(url);
}

/** The command that changes a setting where it is said now. */
export function changeCommand({ key, origin, from }: Explained, value: string, profile: string): string {
  if (origin === 'flag')
    return `${from} ${value}, or for good: fleet config set ${key} ${value}${profileFlag(profile)}`;
  if (origin === 'environment') return `export ${from}=${value}`;
  return `fleet config set ${key} ${value}${profileFlag(profile)}`;
}

/** Section 4: "Some samples prefix paths with /api and some do not": looks whether it is the other way round here. */
async function findPrefix(service: Service, baseUrl: URL, answer: Answer): Promise<Finding> {
  const { known, signal } = service;
  const what = isHtml(answer)
    ? `an HTML page${/<title[^>]*>([^<]+)/i.exec(answer.text)?.[1]?.replace(/^/, ' "').concat('"') ?? ''}`
    : answer.status === 200
      ? 'something that is no list'
      : `${answer.status}`;
  const found = `${showUrl(baseUrl)} answers ${what} instead of bicycles`;
  const kind = answer.status === 404 || answer.status === 410 ? 'not-found' : 'service';
  for (const variant of prefixVariants(baseUrl)) {
    const other = await ask(service, variant, acceptJson(known.apiVersion)).catch(() => undefined);
    if (signal.aborted) throw signal.reason;
    if (other === undefined || isHtml(other)) continue;
    if (other.isPage || other.status === 401 || other.status === 403) {
      const address = showUrl(variant);
      return failure(
        'prefix',
        kind,
        `${found}, and ${address} answers ${other.isPage ? 'them' : other.status}`,
        changeCommand(known.origins.baseUrl, address, known.profile),
      );
    }
  }
  const location = answer.headers['location'];
  if (location !== undefined && answer.status >= 300 && answer.status < 400)
    return failure(
      'prefix',
      'service',
      `${showUrl(baseUrl)} redirects to ${location}, which gets no token`,
      'set base_url to where the service is now',
    );
  const tried = prefixVariants(baseUrl).map(showUrl).join(' and ');
  return failure(
    'prefix',
    kind,
    `${found}; ${tried} ${prefixVariants(baseUrl).length === 1 ? 'does' : 'do'} not answer them either`,
    'ask those who run the service for its address, prefix included',
  );
}

/** 406: the version that was asked for is not there; looks for one that is. */
async function findVersion(service: Service, baseUrl: URL): Promise<Finding> {
  const { known, signal } = service;
  const refused = `the service does not speak version ${known.apiVersion} (HTTP 406)`;
  const asking = [
    [DOCUMENTED_VERSION, acceptJson(DOCUMENTED_VERSION)],
    [undefined, 'application/json'],
  ] as const;
  for (const [version, accept] of asking) {
    if (version === known.apiVersion) continue;
    const other = await ask(service, baseUrl, accept).catch(() => undefined);
    if (signal.aborted) throw signal.reason;
    if (other === undefined || other.status === 406) continue;
    if (version !== undefined)
      return failure(
        'version',
        'rejected',
        `${refused}, but ${version}`,
        changeCommand(known.origins.apiVersion, version, known.profile),
      );
    const { version: own } = traceOf(other.headers);
    return failure(
      'version',
      'rejected',
      `${refused}; asked without a version it answers${own === undefined ? '' : ` as ${own}`}`,
      'ask those who run the service which version to name, then: fleet config set api_version VERSION',
    );
  }
  return failure(
    'version',
    'rejected',
    `${refused}, nor any other that was tried`,
    'ask those who run the service which version to name',
  );
}

function judgeRefusal({ status, headers, text }: Answer, { token, known }: Service): Finding {
  const error = answerFailure(status, headers, text, token === undefined ? 'a request without a token' : 'the token');
  const next = status === 401 ? `fleet auth login${profileFlag(known.profile)}` : error.hint;
  return failed(
    'access',
    new FleetError('auth', error.message, {
      status,
      trace: error.trace,
      ...(next === undefined ? {} : { hint: next }),
    }),
  );
}

/** Where in its second a time in whole seconds lies, on average, and how far off that may be. */
const HALF_A_SECOND_MS = 500;

/** RFC 9110 section 6.6.1: `Date` is when the answer was made, in whole seconds. */
function checkClock({ headers, milliseconds }: Answer, now: number): Finding {
  const date = Date.parse(headers['date'] ?? '');
  if (Number.isNaN(date)) return ok('clock', 'the service does not tell its time');
  const difference = now - milliseconds / 2 - (date + HALF_A_SECOND_MS);
  const seconds = Math.max(0, Math.abs(difference) - HALF_A_SECOND_MS - milliseconds / 2);
  if (seconds < 1000) return ok('clock', 'the same as the service, within a second');
  const told = `${showDuration(seconds)} ${difference > 0 ? 'ahead of' : 'behind'} the service`;
  if (seconds <= CLOCK_TOLERANCE_MS) return ok('clock', told);
  return warning(
    'clock',
    `this machine is ${told}: ages and the ends of tokens are wrong`,
    'set the clock of this machine (timedatectl set-ntp true)',
  );
}
