// `fleet doctor`: checks everything a command needs and prints the findings, failures first.

import type { TopicRole } from '../../api/push.js';
import type { Context } from '../../context.js';
import { asFleetError, FleetError } from '../../errors.js';
import type { Route } from '../../http/proxy.js';
import { loadPaint } from '../../terminal/colour.js';
import type { Shape } from '../../terminal/formats.js';
import { chooseListFormat } from '../../terminal/list.js';
import { openProgress } from '../../terminal/progress.js';
import { printReport } from '../shared/change-report.js';
import { isScreen, writeResult } from '../shared/list/target.js';
import { type Finding, type FindingRecord, failed, findingRows, ok, sortFindings } from './finding.js';
import { offerOrganizations } from './organization.js';
import type { Probe } from './probe.js';
import { checkPush } from './push.js';
import { checkService } from './service.js';
import { type CheckedSettings, checkSettings, checkToken } from './settings.js';
import { checkBuild, checkTerminal } from './surroundings.js';

/**
 * Prints what it finds, failures first, then throws the first failure: causes are looked at before what follows from them. Resolves when
 * there is none, warnings or not. Nothing is changed, and the token goes to the origins of base_url and sse_url alone.
 */
export async function examine(context: Context, { role }: { role?: TopicRole }): Promise<void> {
  const { io, notice } = context;
  const endsAtMs = context.clock.monotonicMs() + WHOLE_MS;
  const { known, findings } = await checkSettings(context);
  const { output } = known.settings;
  // A format of the profile is one for bicycles.
  const format = output.origin === 'profile' ? 'table' : chooseListFormat(output);
  const progress = openProgress(context, { draw: () => 'checking settings, network and service' });
  try {
    findings.unshift(checkBuild());
    findings.push(await checkToken(context, known, TOKEN_MS));
    findings.push(...(await checkNetwork(context, limited(known, QUESTION_MS), role, endsAtMs)));
    findings.push(checkTerminal(context));
  } finally {
    progress.end();
  }
  // What the service says of itself (request ids, titles, addresses) may quote the token, and the report goes to stdout.
  const { hide } = io.secrets;
  const report = sortFindings(findings).map(({ finding, next, ...others }) => ({
    ...others,
    finding: hide(finding),
    next: next === null ? null : hide(next),
  }));
  if (format === 'table' && (await context.jq()) === undefined) {
    const { drawRows } = await import('../../terminal/report.js');
    const output = isScreen(context) ? io.stdout : PLAIN;
    await writeResult(context, drawRows(findingRows(report, output, await loadPaint(output.colorLevel))));
  } else {
    const records = report.map(({ check, outcome, finding, next }) => ({ check, outcome, finding, next }));
    await printReport(context, FINDINGS, records, format);
  }
  await conclude(report, notice);
}

/** How a file looks at a report. */
const PLAIN = { isTerminal: false, hasUnicode: true, colorLevel: 0, width: () => undefined } as const;

const FINDINGS: Shape<FindingRecord> = { noun: { one: 'finding', many: 'findings' }, columns: [], fields: [] };

/** A question that takes longer, and a whole examination that does, are findings themselves: the operator waits for the report. */
const QUESTION_MS = 2000;
const TOKEN_MS = 5000;
const WHOLE_MS = 10_000;

/** The settings with shorter limits. */
function limited(known: CheckedSettings, milliseconds: number): CheckedSettings {
  const { timeoutMs } = known.settings;
  const value = Math.min(timeoutMs.value || milliseconds, milliseconds);
  return { ...known, settings: { ...known.settings, timeoutMs: { ...timeoutMs, value } } };
}

const TOO_SLOW = new FleetError('network', `not finished within ${WHOLE_MS / 1000} s`, {
  hint: 'the service answers slowly, or not at all; try again later',
});

/** Looks at the service and the push channel side by side, until that moment of the monotonic clock at most. */
async function checkNetwork(
  whole: Context,
  known: CheckedSettings,
  role: TopicRole | undefined,
  endsAtMs: number,
): Promise<Finding[]> {
  const { baseUrl, sseUrl, timeoutMs, organization } = known.settings;
  const over = new AbortController();
  const cancel = whole.clock.after(endsAtMs - whole.clock.monotonicMs(), () => over.abort(TOO_SLOW));
  const signal = AbortSignal.any([whole.signal, over.signal]);
  const context: Context = { ...whole, signal, client: (overrides) => whole.client({ signal, ...overrides }) };
  const probe: Probe = { ...known, role, context, network: await context.network(timeoutMs.value) };
  const inTime = (name: string, findings: Promise<Finding[]>) =>
    findings.catch((thrown: unknown) => {
      if (thrown !== TOO_SLOW) throw thrown;
      return [failed(name, TOO_SLOW)];
    });
  try {
    const findings = await Promise.all([
      inTime('http', checkAddress(probe, { name: 'service', url: baseUrl.value, check: checkService })),
      inTime('push', checkAddress(probe, { name: 'push', url: sseUrl.value, check: checkPush })),
      organization.value === undefined && organization.problem === undefined
        ? inTime('organization', offerOrganizations(probe))
        : [],
    ]);
    return findings.flat();
  } finally {
    cancel();
  }
}

interface Address {
  name: string;
  /** Undefined: not set, which is a finding already. */
  url: URL | undefined;
  check(probe: Probe, url: URL): Promise<Finding[]>;
}

/** How an address is asked, and what answers there. */
async function checkAddress(probe: Probe, { name, url, check }: Address): Promise<Finding[]> {
  if (url === undefined) return [];
  const { network } = probe;
  let route: Route;
  try {
    route = network.routeTo(url);
  } catch (thrown) {
    return [failed('proxy', asFleetError(thrown))];
  }
  const { proxy, because } = route;
  const way = proxy === undefined ? `directly: ${because}` : `through ${proxy.origin} (${because})`;
  return [ok('proxy', `${name} is reached ${way}`), ...(await check(probe, url))];
}

/** Prints the number of problems, and throws the first failure. */
async function conclude(findings: readonly Finding[], notice: Context['notice']): Promise<void> {
  const failures = findings.filter(({ outcome }) => outcome === 'failure');
  const warnings = findings.filter(({ outcome }) => outcome === 'warning').length;
  const counted = warnings === 0 ? '' : `${warnings} ${warnings === 1 ? 'warning' : 'warnings'}`;
  const [first] = failures;
  if (first === undefined) return notice(counted === '' ? '✓ no problems found' : `! ${counted}, no failure`);
  const names = failures.map(({ check }) => check).join(', ');
  throw new FleetError(
    first.kind ?? 'internal',
    `${failures.length} ${failures.length === 1 ? 'failure' : 'failures'} (${names})${counted === '' ? '' : ` and ${counted}`}`,
    { hint: first.next === null ? undefined : `start with: ${first.next}` },
  );
}
