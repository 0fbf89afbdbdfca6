// `fleet doctor`: looks at everything a command needs, and prints what it finds, failures first.

import type { Context } from '../../context.js';
import { asFleetError, FleetError } from '../../errors.js';
import { type Network, openNetwork } from '../../http/network.js';
import { loadPaint } from '../../terminal/colour.js';
import type { Shape } from '../../terminal/formats.js';
import { chooseListFormat } from '../../terminal/list.js';
import { openProgress } from '../../terminal/progress.js';
import { printReport } from '../report.js';
import { type Finding, type FindingRecord, failed, findingRows, ok, sortFindings } from './finding.js';
import type { Probe } from './probe.js';
import { checkPush } from './push.js';
import { checkService } from './service.js';
import { checkSettings, checkToken, type Known } from './settings.js';
import { checkBuild, checkCertificate, checkFolders, checkTerminal } from './surroundings.js';

/**
 * Prints what it finds, failures first, then throws the first failure: causes are looked at before what follows from them. Resolves when
 * there is none, warnings or not. Nothing is changed, and the token goes to the origins of base_url and sse_url alone.
 */
export async function examine(context: Context): Promise<void> {
  const { io, notice } = context;
  const { known, findings } = await checkSettings(context);
  const { output } = known.settings;
  // A format of the profile is one for bicycles.
  const format = output.origin === 'profile' ? 'table' : chooseListFormat(output);
  const progress = openProgress(context, { draw: () => 'checking settings, network and service' });
  try {
    findings.unshift(checkBuild());
    findings.push(...(await checkFolders(context, known)));
    findings.push(await checkToken(context, known));
    findings.push(...(await checkNetwork(context, known)));
    findings.push(checkTerminal(context));
  } finally {
    await progress.end();
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
    await io.stdout.write(drawRows(findingRows(report, io.stdout, await loadPaint(io.stdout.colorLevel))));
  } else {
    const records = report.map(({ check, outcome, finding, next }) => ({ check, outcome, finding, next }));
    await printReport(context, FINDINGS, records, format);
  }
  await conclude(report, notice);
}

const FINDINGS: Shape<FindingRecord> = { noun: { one: 'finding', many: 'findings' }, columns: [], fields: [] };

async function checkNetwork(context: Context, known: Known): Promise<Finding[]> {
  const { baseUrl, sseUrl, timeoutMs } = known.settings;
  let network: Network;
  try {
    network = await openNetwork(context.io.env, timeoutMs.value);
  } catch (thrown) {
    return [failed('proxy', asFleetError(thrown))];
  }
  const probe: Probe = { ...known, context, network };
  const findings: Finding[] = [];
  try {
    if (baseUrl.value !== undefined) {
      findings.push(...(await checkWay(probe, 'service', baseUrl.value)));
      findings.push(...(await checkService(probe, baseUrl.value)));
    }
    if (sseUrl.value !== undefined) {
      findings.push(...(await checkWay(probe, 'push', sseUrl.value)));
      findings.push(await checkPush(probe, sseUrl.value));
    }
    return findings;
  } finally {
    await network.close();
  }
}

/** How an address is asked; each certificate is looked at once. */
async function checkWay({ context, network, settings }: Probe, name: string, url: URL): Promise<Finding[]> {
  const { proxy, because } = network.routeTo(url);
  const way = proxy === undefined ? `directly: ${because}` : `through ${proxy.origin} (${because})`;
  const isSeen = name === 'push' && url.origin === settings.baseUrl.value?.origin;
  const certificate =
    proxy !== undefined || isSeen
      ? undefined
      : await checkCertificate(context, `${name} tls`, url, settings.timeoutMs.value);
  return [ok('proxy', `${name} is asked ${way}`), ...(certificate === undefined ? [] : [certificate])];
}

/** Says how many are not well, and ends with the first failure's kind. */
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
