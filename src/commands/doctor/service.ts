// Whether the service answers as the interface says: prefix, version, token, organization, clock.

import { prefixVariants } from '../../api/prefix.js';
import { FleetError } from '../../errors.js';
import { answerFailure } from '../../http/failure.js';
import { foreignText, htmlTitle, isHtml } from '../../http/foreign.js';
import type { HttpAnswer } from '../../http/types.js';
import { KEYS } from '../../settings/keys.js';
import { profileFlag } from '../../settings/resolve.js';
import { organizationsOf } from '../../settings/token.js';
import { showDuration } from '../../terminal/time.js';
import { type Finding, failed, failure, ok, warning } from './finding.js';
import { ask, changeCommand, countOf, explainSilence, findScheme, type Probe } from './probe.js';

/** Beyond this, times of bicycles and the ends of tokens are judged wrongly. */
const CLOCK_TOLERANCE_MS = 60_000;
/** The only version that the interface names (section 9). */
const DOCUMENTED_VERSION = '1.0';

/** Asks for a page of bicycles of the organization, and says what the answer means. */
export async function checkService(probe: Probe, baseUrl: URL): Promise<Finding[]> {
  const { known, context } = probe;
  const { organization } = known;
  let answer: HttpAnswer;
  try {
    answer = await ask(probe, baseUrl, { organization });
  } catch (thrown) {
    return [await explainSilence(probe, known.origins.baseUrl, baseUrl, thrown)];
  }
  const { requestId } = answer.trace;
  const trace = requestId === undefined ? 'without trace headers' : `request ${requestId}`;
  const findings = [
    ok(
      'http',
      `GET ${baseUrl.pathname.replace(/\/+$/, '')}/bicycles/ answered ${answer.status} in ${answer.milliseconds} ms, ${trace}`,
    ),
    checkClock(answer, context.clock.wallMs()),
  ];
  if (organization !== undefined && !isHtml(answer.text, answer.headers['content-type'])) {
    const whole = await askWithout(probe, baseUrl, answer);
    const wrong = judgeOrganization(probe, organization, answer, whole);
    if (wrong !== undefined) findings.push(wrong);
    if (whole !== undefined && countOf(whole) !== undefined) answer = whole;
  }
  return [...findings, ...(await judgeAnswer(probe, baseUrl, answer))];
}

async function judgeAnswer(probe: Probe, baseUrl: URL, answer: HttpAnswer): Promise<Finding[]> {
  const { known } = probe;
  const { status, headers, text } = answer;
  const address = KEYS.base_url.show(baseUrl);
  const count = countOf(answer);
  if (count !== undefined) {
    const { version } = answer.trace;
    const service = version === undefined ? '' : `; the service is ${version}`;
    return [
      ok('prefix', `${address} leads to ${count} bicycles`),
      ok('version', `${known.apiVersion} is understood${service}`),
    ];
  }
  if (status === 406) return [await findVersion(probe, baseUrl)];
  if ((status === 401 || status === 403) && !isHtml(text, headers['content-type'])) {
    const prefix = ok('prefix', `${address} leads to a service that asks who you are`);
    return probe.token === undefined ? [prefix] : [prefix, judgeRefusal(probe, answer)];
  }
  if (status === 400) {
    const other = await findScheme(probe, baseUrl);
    if (other?.protocol === 'https:') {
      const hint = changeCommand(known.origins.baseUrl, other.href.replace(/\/$/, ''), known.profile);
      return [failure('http', 'network', `${address} says http, and that port speaks https`, hint)];
    }
  }
  if (status === 407 || status === 429 || status >= 500)
    return [failed('service', answerFailure(status, headers, hidden(probe, text), 'the list of bicycles'))];
  return [await findPrefix(probe, baseUrl, answer)];
}

function hidden({ context }: Probe, text: string): string {
  return context.io.secrets.hide(text);
}

/** The same question without the organization, where the answer may be wrong because of it. */
async function askWithout(probe: Probe, baseUrl: URL, answer: HttpAnswer): Promise<HttpAnswer | undefined> {
  const isSuspect = [400, 403, 404, 422].includes(answer.status) || countOf(answer) === 0;
  if (!isSuspect) return undefined;
  const whole = await ask(probe, baseUrl).catch(() => undefined);
  if (probe.context.signal.aborted) throw probe.context.signal.reason;
  return whole;
}

/** What is wrong with the organization of the settings; undefined when nothing is, or when the organization is not to blame. */
function judgeOrganization(
  { known, token = '' }: Probe,
  organization: string,
  answer: HttpAnswer,
  whole: HttpAnswer | undefined,
): Finding | undefined {
  const all = whole === undefined ? undefined : countOf(whole);
  if (all === undefined) return undefined;
  const named = organizationsOf(token);
  const right = named.length === 1 && named[0] !== organization ? (named[0] ?? 'UUID') : 'UUID';
  const next = changeCommand(known.origins.organization, right, known.profile);
  const names = named.length === 0 ? '' : `; the token names ${named.slice(0, 5).join(', ')}`;
  if (countOf(answer) === undefined)
    return failure('organization', 'config', `the service answers ${answer.status} for ${organization}${names}`, next);
  if (all > 0) {
    const reason = `${organization} has no bicycles for this token, which sees ${all} without it${names}`;
    return failure('organization', 'config', reason, next);
  }
  if (named.length > 0 && !named.includes(organization))
    return failure('organization', 'config', `${organization} is not one of the token's${names}`, next);
  return warning('organization', `${organization} has no bicycles, or is not yours: the token sees none at all`);
}

function judgeRefusal(probe: Probe, { status, headers, text }: HttpAnswer): Finding {
  const { known } = probe;
  const { kind, message, hint, trace } = answerFailure(status, headers, hidden(probe, text), 'the token');
  const next = status === 401 ? (known.renewal ?? `fleet auth login${profileFlag(known.profile)}`) : hint;
  return failed('access', new FleetError(kind, message, { status, trace, hint: next }));
}

/** Section 4: "Some samples prefix paths with /api and some do not": looks whether it is the other way round here. */
async function findPrefix(probe: Probe, baseUrl: URL, answer: HttpAnswer): Promise<Finding> {
  const { known, context } = probe;
  const address = KEYS.base_url.show(baseUrl);
  const { status, headers, text } = answer;
  const isPage = isHtml(text, headers['content-type']);
  const title = isPage ? htmlTitle(text) : undefined;
  const what = isPage
    ? `an HTML page${title === undefined ? '' : ` "${title}"`}`
    : status === 200
      ? 'something that is no list'
      : `${status}`;
  const found = `${address} answers ${what} instead of bicycles`;
  const kind = status === 404 || status === 410 ? 'not-found' : 'service';
  const variants = prefixVariants(baseUrl);
  for (const variant of variants) {
    const other = await ask(probe, variant).catch(() => undefined);
    if (context.signal.aborted) throw context.signal.reason;
    if (other === undefined || isHtml(other.text, other.headers['content-type'])) continue;
    const isThere = countOf(other) !== undefined;
    if (!isThere && other.status !== 401 && other.status !== 403) continue;
    const right = KEYS.base_url.show(variant);
    const answers = `${found}, and ${right} answers ${isThere ? 'them' : other.status}`;
    return failure('prefix', kind, answers, changeCommand(known.origins.baseUrl, right, known.profile));
  }
  const location = headers['location'];
  if (location !== undefined && status >= 300 && status < 400) {
    const reason = `${address} redirects to ${foreignText(location)}, which gets no token`;
    return failure('prefix', 'service', reason, 'set base_url to where the service is now');
  }
  const tried = variants.map((variant) => KEYS.base_url.show(variant)).join(' and ');
  return failure(
    'prefix',
    kind,
    `${found}; ${tried} ${variants.length === 1 ? 'does' : 'do'} not answer them either`,
    'ask those who run the service for its address, prefix included',
  );
}

/** 406: the version that was asked for is not there; looks for one that is. */
async function findVersion(probe: Probe, baseUrl: URL): Promise<Finding> {
  const { known, context } = probe;
  const refused = `the service does not speak version ${known.apiVersion} (HTTP 406)`;
  for (const version of [DOCUMENTED_VERSION, '']) {
    if (version === known.apiVersion) continue;
    const other = await ask(probe, baseUrl, { version }).catch(() => undefined);
    if (context.signal.aborted) throw context.signal.reason;
    if (other === undefined || other.status === 406) continue;
    if (version !== '')
      return failure(
        'version',
        'rejected',
        `${refused}, but ${version}`,
        changeCommand(known.origins.apiVersion, version, known.profile),
      );
    const own = other.trace.version === undefined ? '' : ` as ${other.trace.version}`;
    return failure(
      'version',
      'rejected',
      `${refused}; asked without a version it answers${own}`,
      'ask those who run the service which version to name, then: fleet config set api_version VERSION',
    );
  }
  const next = 'ask those who run the service which version to name';
  return failure('version', 'rejected', `${refused}, nor any other that was tried`, next);
}

/** Where in its second a time in whole seconds lies, on average, and how far off that may be. */
const HALF_A_SECOND_MS = 500;

/** RFC 9110 section 6.6.1: `Date` is when the answer was made, in whole seconds. */
function checkClock({ headers, milliseconds }: HttpAnswer, now: number): Finding {
  const date = Date.parse(headers['date'] ?? '');
  if (Number.isNaN(date)) return ok('clock', 'the service does not say its time');
  const difference = now - milliseconds / 2 - (date + HALF_A_SECOND_MS);
  const certainMs = Math.max(0, Math.abs(difference) - HALF_A_SECOND_MS - milliseconds / 2);
  if (certainMs < 1000) return ok('clock', 'the same as the service, within a second');
  const off = `${showDuration(certainMs)} ${difference > 0 ? 'ahead of' : 'behind'} the service`;
  if (certainMs <= CLOCK_TOLERANCE_MS) return ok('clock', off);
  return warning(
    'clock',
    `this machine is ${off}: ages and the ends of tokens are wrong`,
    'set the clock of this machine (timedatectl set-ntp true)',
  );
}
