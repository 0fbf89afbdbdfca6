// `fleet doctor`: looks at everything a command needs, and prints what it finds, failures first.

import type { Context } from '../../context.js';
import { asFleetError, FleetError } from '../../errors.js';
import { type Network, openNetwork } from '../../http/network.js';
import { programVersion } from '../../place.js';
import type { Secrets } from '../../secrets.js';
import { chooseOutput } from '../../settings/resolve.js';
import { loadPaint } from '../../terminal/colour.js';
import type { Shape } from '../../terminal/formats.js';
import { chooseListFormat } from '../../terminal/list.js';
import { openProgress } from '../../terminal/progress.js';
import { printReport } from '../report.js';
import { type Finding, type FindingRecord, failed, findingRows, ok, sortFindings, toRecord } from './finding.js';
import type { Probe } from './probe.js';
import { checkPush } from './push.js';
import { checkService } from './service.js';
import { checkSettings, checkToken, type Known } from './settings.js';
import { checkBuild, checkCertificate, checkFolder, checkTerminal, findCache } from './surroundings.js';

/**
 * Prints what it finds, failures first, then throws the first failure: causes are looked at before what follows from them. Resolves when
 * there is none, warnings or not. Nothing is changed, and the token goes to the origins of base_url and sse_url alone.
 */
export async function examine(context: Context): Promise<void> {
  const { io, notice } = context;
  const format = chooseFormat(context);
  // A program that does not compile is said before anything is looked at.
  const isTable = (await context.jq()) === undefined && format === 'table';
  const progress = openProgress(context, { draw: () => 'looking at settings, network and service' });
  let findings: Finding[];
  try {
    findings = sortFindings(await findAll(context)).map((finding) => withoutSecrets(finding, io.secrets));
  } finally {
    await progress.end();
  }
  if (!isTable) await printReport(context, FINDINGS, findings.map(toRecord), format);
  else {
    const paint = await loadPaint(io.stdout.colorLevel);
    const { drawRows } = await import('../../terminal/report.js');
    await io.stdout.write(drawRows(findingRows(findings, io.stdout, paint)));
  }
  await conclude(findings, notice);
}

const FINDINGS: Shape<FindingRecord> = { noun: { one: 'finding', many: 'findings' }, columns: [], fields: [] };

/** What the service says of itself (request ids, titles, addresses) may quote the token, and the report goes to stdout. */
function withoutSecrets(finding: Finding, { hide }: Secrets): Finding {
  return {
    ...finding,
    finding: hide(finding.finding),
    next: finding.next === undefined ? undefined : hide(finding.next),
  };
}

/** Looks at everything, in the order in which a command needs it. */
async function findAll(context: Context): Promise<Finding[]> {
  const { known, findings } = await checkSettings(context);
  const { folder } = known.stored;
  const disk = folder === '' ? [] : [await checkFolder('disk', folder)];
  const cache = findCache(context.io.env);
  if (cache !== undefined) disk.push(await checkFolder('cache', cache));
  const { token, renewal, finding } = await checkToken(context, known);
  return [
    checkBuild(programVersion()),
    ...findings,
    ...disk,
    finding,
    ...(await checkNetwork(context, { ...known, renewal }, token)),
    checkTerminal(context),
  ];
}

/** A format that is broken in the settings must not keep the doctor from saying so. */
function chooseFormat({ io, flags }: Context): 'table' | 'json' | 'jsonl' {
  const nothing = { folder: '', configPath: '', credentialsPath: '', active: undefined, profiles: new Map() };
  try {
    return chooseListFormat(chooseOutput(flags, io.env, nothing));
  } catch (error) {
    if (error instanceof FleetError && error.kind === 'usage') throw error;
    return 'table';
  }
}

async function checkNetwork(context: Context, known: Known, token: string | undefined): Promise<Finding[]> {
  let network: Network;
  try {
    network = await openNetwork(context.io.env, known.timeoutMs);
  } catch (thrown) {
    return [failed('proxy', asFleetError(thrown))];
  }
  const probe: Probe = { context, known, network, token };
  const { baseUrl, sseUrl } = known;
  const findings: Finding[] = [];
  /** Says how an address is asked; each certificate is looked at once. */
  const lookAt = async (name: string, url: URL): Promise<void> => {
    const { proxy, because } = network.routeTo(url);
    const way = proxy === undefined ? `directly: ${because}` : `through ${proxy.origin} (${because})`;
    findings.push(ok('proxy', `${name} is asked ${way}`));
    if (proxy !== undefined || (name === 'push' && url.origin === baseUrl?.origin)) return;
    const certificate = await checkCertificate(context, `${name} tls`, url, known.timeoutMs);
    if (certificate !== undefined) findings.push(certificate);
  };
  try {
    if (baseUrl !== undefined) {
      await lookAt('service', baseUrl);
      findings.push(...(await checkService(probe, baseUrl)));
    }
    if (sseUrl !== undefined) {
      await lookAt('push', sseUrl);
      findings.push(await checkPush(probe, sseUrl));
    }
    return findings;
  } finally {
    await network.close();
  }
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
    { hint: first.next === undefined ? undefined : `begin with: ${first.next}` },
  );
}
