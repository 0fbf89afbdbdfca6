// Checks what the service answers: prefix, version, token, organization, clock.

import { BICYCLE } from '../../api/bicycle.js';
import { wholeUuid } from '../../api/links.js';
import { countOf, findPrefix, isRefusal, prefixVariants } from '../../api/prefix.js';
import { joinUrl } from '../../http/client.js';
import { answerFailure } from '../../http/failure.js';
import { foreignText, htmlTitle, isHtml } from '../../http/foreign.js';
import { answeredAtMs } from '../../http/retry.js';
import type { HttpAnswer } from '../../http/types.js';
import { KEYS } from '../../settings/keys.js';
import { organizationsOf } from '../../settings/token.js';
import { showDuration } from '../../terminal/time.js';
import { type Finding, failed, failure, ok, warning } from './finding.js';
import { ask, changeCommand, explainSilence, type Probe, tryToAsk } from './probe.js';

/** Beyond this, times of bicycles and the ends of tokens are judged wrongly. */
const CLOCK_TOLERANCE_MS = 60_000;
/** The only version that the interface names (section 9). */
const DOCUMENTED_VERSION = '1.0';

/** Asks for a page of bicycles of the organization, and says what the answer means. */
export async function checkService(probe: Probe, baseUrl: URL): Promise<Finding[]> {
  const { settings, context } = probe;
  const organization = wholeUuid(settings.organization.value ?? '');
  let answer: HttpAnswer;
  try {
    answer = await ask(probe, baseUrl, organization);
  } catch (thrown) {
    return [await explainSilence(probe, settings.baseUrl, baseUrl, thrown)];
  }
  const { status, milliseconds, trace } = answer;
  const request = trace.requestId === undefined ? 'without trace headers' : `request ${trace.requestId}`;
  const path = joinUrl(baseUrl, BICYCLE.listPath).pathname;
  const findings = [
    ok('http', `GET ${path} answered ${status} in ${milliseconds} ms, ${request}`),
    checkClock(answer, context.clock.wallMs()),
  ];
  const whole = organization !== undefined && isSuspect(answer) ? await tryToAsk(probe, baseUrl) : undefined;
  const all = whole === undefined ? undefined : countOf(whole);
  if (whole === undefined || all === undefined || organization === undefined)
    return [...findings, ...(await judgeAnswer(probe, baseUrl, answer))];
  findings.push(judgeOrganization(probe, organization, answer, all));
  return [...findings, ...(await judgeAnswer(probe, baseUrl, whole))];
}

/** Whether an answer may be as it is because of the organization that was asked for. */
function isSuspect(answer: HttpAnswer): boolean {
  const { status, text, headers } = answer;
  return !isHtml(text, headers['content-type']) && ([400, 403, 404, 422].includes(status) || countOf(answer) === 0);
}

async function judgeAnswer(probe: Probe, baseUrl: URL, answer: HttpAnswer): Promise<Finding[]> {
  const { settings, token, renewal } = probe;
  const { status, headers, trace } = answer;
  const address = KEYS.base_url.show(baseUrl);
  const count = countOf(answer);
  if (count !== undefined) {
    const service = trace.version === undefined ? '' : `; the service is ${trace.version}`;
    return [
      ok('prefix', `${count} bicycles at ${address}`),
      ok('version', `${settings.apiVersion.value} is supported${service}`),
    ];
  }
  const refused = (check: string, subject: string) => {
    const text = probe.context.io.secrets.hide(answer.text);
    return failed(check, answerFailure(status, headers, text, subject, { refusalHint: renewal }));
  };
  if (status === 406) {
    const { value } = settings.apiVersion;
    const next = `${changeCommand(probe, settings.apiVersion, DOCUMENTED_VERSION)}; or ask those who run the service`;
    return [failure('version', 'rejected', `the service does not speak version ${value} (HTTP 406)`, next)];
  }
  if (isRefusal(answer)) {
    const prefix = ok('prefix', `service found at ${address}; it wants a token`);
    return token === undefined ? [prefix] : [prefix, refused('access', 'the token')];
  }
  if (status === 407 || status === 429 || status >= 500) return [refused('service', 'the list of bicycles')];
  return [await judgePrefix(probe, baseUrl, answer)];
}

/** What is wrong with the organization of the settings, where the service has `all` bicycles without it. */
function judgeOrganization(probe: Probe, organization: string, answer: HttpAnswer, all: number): Finding {
  const named = organizationsOf(probe.token ?? '');
  const [right = 'UUID'] = named.length === 1 && named[0] !== organization ? named : [];
  const next = changeCommand(probe, probe.settings.organization, right);
  const names = named.length === 0 ? '' : `; the token names ${named.slice(0, 5).join(', ')}`;
  const wrong = (finding: string) => failure('organization', 'config', `${finding}${names}`, next);
  if (countOf(answer) === undefined) return wrong(`the service answers ${answer.status} for ${organization}`);
  if (all > 0) return wrong(`${organization} has no bicycles for this token, which sees ${all} without it`);
  if (named.length > 0 && !named.includes(organization)) return wrong(`${organization} is not in the token`);
  return warning('organization', `${organization} has no bicycles, or you have no access: the token sees none at all`);
}

/** Section 4: "Some samples prefix paths with /api and some do not": looks whether it is the other way round here. */
async function judgePrefix(probe: Probe, baseUrl: URL, { status, headers, text }: HttpAnswer): Promise<Finding> {
  const address = KEYS.base_url.show(baseUrl);
  const title = htmlTitle(text);
  const what = isHtml(text, headers['content-type'])
    ? `an HTML page${title === undefined ? '' : ` "${title}"`}`
    : status === 200
      ? 'something that is no list'
      : `${status}`;
  const found = `${address} answers ${what} instead of bicycles`;
  const wrong = (finding: string, next: string) =>
    failure('prefix', status === 404 || status === 410 ? 'not-found' : 'service', finding, next);
  const other = await findPrefix(baseUrl, (variant) => ask(probe, variant));
  probe.context.signal.throwIfAborted();
  if (other !== undefined) {
    const right = KEYS.base_url.show(other.address);
    const answers = `${found}, and ${right} answers ${other.status === 200 ? 'them' : other.status}`;
    return wrong(answers, changeCommand(probe, probe.settings.baseUrl, right));
  }
  const location = headers['location'];
  if (location !== undefined && status >= 300 && status < 400) {
    const redirected = `${address} redirects to ${foreignText(location)}, which gets no token`;
    return wrong(redirected, 'set base_url to where the service is now');
  }
  const tried = prefixVariants(baseUrl).map((variant) => KEYS.base_url.show(variant));
  const nowhere = `${found}; ${tried.join(' and ')} ${tried.length === 1 ? 'does' : 'do'} not answer them either`;
  return wrong(nowhere, 'ask the operator of the service for its address, prefix included');
}

/** Where in its second a time in whole seconds lies, on average, and how far off that may be. */
const HALF_A_SECOND_MS = 500;

/** RFC 9110 section 6.6.1: `Date` is when the answer was made, in whole seconds. */
function checkClock({ headers, milliseconds }: HttpAnswer, now: number): Finding {
  const date = answeredAtMs(headers);
  if (date === undefined) return ok('clock', 'the service does not say its time');
  const difference = now - milliseconds / 2 - (date + HALF_A_SECOND_MS);
  const certainMs = Math.max(0, Math.abs(difference) - HALF_A_SECOND_MS - milliseconds / 2);
  if (certainMs < 1000) return ok('clock', 'the same as the service, within a second');
  const off = `${showDuration(certainMs)} ${difference > 0 ? 'ahead of' : 'behind'} the service`;
  if (certainMs <= CLOCK_TOLERANCE_MS) return ok('clock', off);
  return warning(
    'clock',
    `this machine is ${off}: ages and token expiry are wrong`,
    'set the clock of this machine (timedatectl set-ntp true)',
  );
}
