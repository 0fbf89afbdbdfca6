// `fleet doctor`: checks everything that a command needs, and prints the findings, failures first.

import type { TopicRole } from '../../api/push.js';
import type { Context } from '../../context.js';
import { asFleetError, FleetError } from '../../errors.js';
import { printReport } from '../../list/change-report.js';
import { BUN_VERSION, programVersion } from '../../system/program-files.js';
import { count } from '../../terminal/count.js';
import { chooseFormat, REPORT_FORMATS } from '../../terminal/formats.js';
import { openProgress } from '../../terminal/progress.js';
import { describeNext, FINDINGS, type Finding, failed, ok, sortFindings } from './finding.js';
import { checkPush } from './push.js';
import { checkOrganization, checkService } from './service.js';
import { checkSettings, checkToken, type Examination } from './settings.js';

/**
 * Prints the findings, failures first, and then throws the first failure. Resolves when there are
 * no failures. Checks causes before their consequences.
 *
 * Changes nothing, and sends the token only to the origins of base_url and sse_url.
 */
export async function examine(context: Context, { role }: { role?: TopicRole }): Promise<void> {
  const { io, notice } = context;
  const { known, ...checked } = await checkSettings(context);
  let { findings } = checked;
  const format = chooseFormat(known.settings.output, REPORT_FORMATS);
  const late = new AbortController();
  const cancel = context.clock.after(LONGEST_MS, () => late.abort(tooLate()));
  const limit = AbortSignal.any([context.signal, late.signal]);
  const progress = openProgress(context, { draw: () => 'checking settings, network and service' });
  try {
    findings.unshift(checkBuild());
    findings.push(...(await checkToken(context, known, limit)));
    const found = await checkNetwork({ ...known, context, role, limit });
    // A local check may have reported "ok" for a setting that the service refused later. In this
    // case, the "ok" is removed.
    const refuted = found.flatMap(({ check, outcome }) => (outcome === 'failure' ? check : []));
    findings = [
      ...findings.filter(({ check, outcome }) => outcome !== 'ok' || !refuted.includes(check)),
      ...found,
    ];
  } finally {
    cancel();
    progress.end();
  }
  // The report goes to stdout, so secrets must be hidden in it. Data from the service, such as
  // request ids, titles and URLs, may quote the token.
  const { hide } = io.secrets;
  const report = sortFindings(findings).map((each) => ({
    ...each,
    finding: hide(each.finding),
    next: each.next === null ? null : hide(each.next),
  }));
  const records = report.map(({ kind: _kind, ...record }) => record);
  await printReport(context, FINDINGS, records, format);
  await conclude(report, notice);
}

/**
 * The maximum total time of all requests. The limit also applies when a response body never ends.
 */
const LONGEST_MS = 10_000;

function tooLate(): FleetError {
  return new FleetError('network', `no complete response arrived within ${LONGEST_MS / 1000} s`, {
    hint: 'the service is too slow, or its answers never end; for details, run: fleet bicycles list -v',
  });
}

function checkBuild(): Finding {
  const build =
    BUN_VERSION === undefined
      ? `npm package, Node ${process.versions.node}`
      : `one executable, Bun ${BUN_VERSION}`;
  return ok('fleet', `version ${programVersion()}, ${build}, ${process.platform} ${process.arch}`);
}

/** Checks the connection to each URL, and the service's responses at that URL. */
async function checkNetwork(known: Examination): Promise<Finding[]> {
  const { baseUrl, sseUrl, timeout } = known.settings;
  const network = await known.context.network(timeout.value);
  const misnamed = await checkOrganization(known);
  const check = async (
    name: string,
    url: URL | undefined,
    ask: typeof checkService,
  ): Promise<Finding[]> => {
    if (url === undefined) return [];
    try {
      const { proxy, because } = network.routeTo(url);
      const way =
        proxy === undefined ? `directly: ${because}` : `through ${proxy.origin} (${because})`;
      return [ok('proxy', `${name} is reached ${way}`), ...(await ask(known, url))];
    } catch (thrown) {
      known.context.signal.throwIfAborted();
      const error = asFleetError(thrown);
      // The service answered, but the answer cannot be used.
      return [failed(error.kind === 'service' ? name : 'proxy', error)];
    }
  };
  const found = [
    check('service', baseUrl.value, checkService),
    check('push', sseUrl.value, checkPush),
  ];
  return [...(await Promise.all(found)).flat(), ...misnamed];
}

/** Prints the number of problems and throws the first failure. */
async function conclude(findings: readonly Finding[], notice: Context['notice']): Promise<void> {
  const failures = findings.filter(({ outcome }) => outcome === 'failure');
  const warnings = findings.filter(({ outcome }) => outcome === 'warning').length;
  const counted = warnings === 0 ? '' : count(warnings, 'warning');
  const [first] = failures;
  if (first === undefined)
    return notice(counted === '' ? '✓ no problems found' : `! ${counted}, no failures`);
  const names = failures.map(({ check }) => check).join(', ');
  const message = `${count(failures.length, 'failure')} (${names})${counted === '' ? '' : ` and ${counted}`}`;
  throw new FleetError(first.kind ?? 'internal', message, {
    hint: first.next === null ? undefined : describeNext(first.next),
  });
}
