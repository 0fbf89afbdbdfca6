// Checks the service's responses: the prefix, the version, the token, the organization and the
// clock.

import { BICYCLE } from '../../api/bicycle.js';
import { wholeUuid } from '../../api/links.js';
import { NAMED } from '../../api/named.js';
import { ANONYMOUS, fixedToken } from '../../context.js';
import { asFleetError } from '../../errors.js';
import { type Client, joinUrl } from '../../http/client.js';
import { answerFailure } from '../../http/failure.js';
import { redactAddress } from '../../http/headers.js';
import { readPage } from '../../http/pages.js';
import { answeredAtMs } from '../../http/retry.js';
import { describeHtml, foreignText, isHtml } from '../../http/server-text.js';
import type { HttpAnswer, Query } from '../../http/types.js';
import { pickByName, readNames } from '../../list/find-named.js';
import { listSome } from '../../list/pick-one.js';
import { showAddress } from '../../settings/keys.js';
import { profileFlag } from '../../settings/resolve.js';
import { organizationsOf } from '../../settings/token.js';
import { showDuration } from '../../terminal/time.js';
import { countOf, describeTotal, findPrefix, isRefusal } from '../auth/prefix.js';
import { type Finding, failed, failure, ok, warning } from './finding.js';
import { changeCommand, type Examination } from './settings.js';

/**
 * The maximum accepted difference between the clocks. A larger difference causes wrong bicycle
 * times and a wrong token expiry time.
 */
const CLOCK_TOLERANCE_MS = 60_000;

/** Looks up the organization that is set in the settings, in the same way as every command. */
export async function checkOrganization(known: Examination): Promise<Finding[]> {
  const { settings, context } = known;
  const { value = '' } = settings.organization;
  known.organization = wholeUuid(value);
  const several = organizationsOf(known.token ?? '');
  if (value === '' && several.length > 1) return [await nameOrganizations(known, several)];
  if (known.organization !== undefined || value === '' || settings.baseUrl.value === undefined)
    return [];
  try {
    const names = await readNames(
      await clientOf(known, settings.baseUrl.value),
      NAMED.organization,
    );
    known.organization = pickByName(NAMED.organization, value, names);
    return [];
  } catch (thrown) {
    context.signal.throwIfAborted();
    return [failed('organization', asFleetError(thrown))];
  }
}

/** Warns that no organization is set, and lists the organizations in the token. */
async function nameOrganizations(known: Examination, uuids: readonly string[]): Promise<Finding> {
  const { settings, context } = known;
  const { baseUrl, profile } = settings;
  const read = async (url: URL) => readNames(await clientOf(known, url), NAMED.organization);
  const names = baseUrl.value && (await read(baseUrl.value).catch(() => undefined));
  context.signal.throwIfAborted();
  const listed = listSome(uuids.map((uuid) => [uuid, names?.get(uuid)?.[0]]));
  const next = `fleet config set organization NAME${profileFlag(profile.value)}`;
  return warning(
    'organization',
    `not set, and the token names ${uuids.length}: ${listed}; fleet watch needs one as an argument`,
    next,
  );
}

/** Requests a page of the organization's bicycles and interprets the response. */
export async function checkService(known: Examination, baseUrl: URL): Promise<Finding[]> {
  const { organization } = known;
  let answer: HttpAnswer;
  let count: number | undefined;
  let whole: HttpAnswer | undefined;
  try {
    answer = await ask(known, baseUrl, organization);
    count = countOf(answer);
    if (organization !== undefined && (count ?? 0) === 0) whole = await ask(known, baseUrl);
  } catch (thrown) {
    known.context.signal.throwIfAborted();
    return [failed('http', asFleetError(thrown))];
  }
  const { status, milliseconds, trace } = answer;
  const request =
    trace.requestId === undefined ? 'without trace headers' : `request ${trace.requestId}`;
  const path = joinUrl(baseUrl, BICYCLE.listPath).pathname;
  const findings = [
    ok('http', `GET ${path} answered ${status} in ${milliseconds} ms, ${request}`),
    checkClock(answer, known.context.clock.wallMs()),
  ];
  const all = whole === undefined ? undefined : countOf(whole);
  if (all !== undefined && whole !== undefined) {
    const next = changeCommand(known, 'organization', 'UUID');
    const wrong = (finding: string) =>
      findings.push(failure('organization', 'config', finding, next));
    if (count === undefined) wrong(`the service answers ${status} for ${organization}`);
    else if (all > 0)
      wrong(`${organization} has no bicycles for this token, which sees ${all} without it`);
    else
      findings.push(
        warning('organization', `${organization} has no bicycles, or you have no access`),
      );
    answer = whole;
  }
  return [...findings, ...(await judgeAnswer(known, baseUrl, answer))];
}

/**
 * Returns a client that sends each request only once. Without a token, the client's requests are
 * anonymous.
 */
function clientOf({ context, settings, token, limit }: Examination, baseUrl: URL): Promise<Client> {
  return context.client({
    deadlineMs: settings.timeout.value,
    retries: 0,
    settings,
    baseUrl,
    token: token === undefined ? ANONYMOUS : fixedToken(token),
    signal: limit,
  });
}

/** Requests one page of bicycles. Throws the client's errors. */
async function ask(known: Examination, baseUrl: URL, organization?: string): Promise<HttpAnswer> {
  const client = await clientOf(known, baseUrl);
  const query: Query = organization === undefined ? [] : [['organization', organization]];
  return client.probe({ path: BICYCLE.listPath, query, subject: 'the list of bicycles' });
}

async function judgeAnswer(
  known: Examination,
  baseUrl: URL,
  answer: HttpAnswer,
): Promise<Finding[]> {
  const { settings, token, renewal } = known;
  const { status, headers, trace } = answer;
  const address = showAddress(baseUrl);
  const count = countOf(answer);
  if (count !== undefined) {
    const service = trace.version === undefined ? '' : `; the service is ${trace.version}`;
    return [
      ok(
        'prefix',
        `${describeTotal(readPage(answer))} bicycles at ${address}${token === undefined ? ', without a token' : ''}`,
      ),
      ok('version', `${settings.apiVersion.value} is supported${service}`),
    ];
  }
  const refused = (check: string, subject = 'the list of bicycles') => {
    const text = known.context.io.secrets.hide(answer.text);
    return failed(check, answerFailure(status, headers, text, subject, { refusalHint: renewal }));
  };
  if (status === 406)
    return [{ ...refused('version'), next: changeCommand(known, 'apiVersion', '1.0') }];
  if (isRefusal(answer)) {
    const prefix = ok('prefix', `service found at ${address}; it needs a token`);
    return token === undefined ? [prefix] : [prefix, refused('access', 'the token')];
  }
  if (status === 407 || status === 429 || status >= 500) return [refused('service')];
  return [await judgePrefix(known, baseUrl, answer)];
}

/**
 * Checks whether the base URL works with `/api` added or removed. Section 4: "Some samples prefix
 * paths with /api and some do not".
 */
async function judgePrefix(
  known: Examination,
  baseUrl: URL,
  { status, headers, text }: HttpAnswer,
): Promise<Finding> {
  const location = headers['location'];
  let what = status === 200 ? 'something that is not a list' : `${status}`;
  if (isHtml(text, headers['content-type'])) what = describeHtml(text);
  if (location !== undefined && status !== 200) {
    what = `a redirect to ${foreignText(redactAddress(location))}`;
  }
  const other = await findPrefix(baseUrl, (variant) => ask(known, variant));
  known.context.signal.throwIfAborted();
  const found = `${showAddress(baseUrl)} answers ${what} instead of bicycles`;
  const kind = status === 404 || status === 410 ? 'not-found' : 'service';
  if (other === undefined)
    return failure(
      'prefix',
      kind,
      found,
      'ask the operator of the service for its address, prefix included',
    );
  const right = showAddress(other.address);
  const finding = `${found}, and ${right} answers ${other.status === 200 ? 'them' : other.status}`;
  return failure('prefix', kind, finding, changeCommand(known, 'baseUrl', right));
}

/**
 * Compares the clocks. RFC 9110 section 6.6.1: `Date` is the time of the response in whole seconds.
 */
function checkClock({ headers }: HttpAnswer, now: number): Finding {
  const date = answeredAtMs(headers);
  if (date === undefined) return ok('clock', 'the service does not say its time');
  const aheadMs = now - date;
  if (Math.abs(aheadMs) <= CLOCK_TOLERANCE_MS)
    return ok('clock', 'the same as the service, within a minute');
  const off = `${showDuration(Math.abs(aheadMs))} ${aheadMs > 0 ? 'ahead of' : 'behind'} the service`;
  const next = 'set the clock of this machine (timedatectl set-ntp true)';
  return warning('clock', `this machine is ${off}: ages and token expiry are wrong`, next);
}
