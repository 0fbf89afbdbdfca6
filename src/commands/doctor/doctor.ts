// `fleet doctor`: looks at everything a command needs, in the order in which a command needs it, and tells what it finds.

import type { Context } from '../../context.js';
import { FleetError } from '../../errors.js';
import { openNetwork } from '../../http/network.js';
import { programVersion } from '../../place.js';
import { chooseOutput } from '../../settings/resolve.js';
import { escapeJson } from '../../terminal/clean.js';
import { loadPaint } from '../../terminal/colour.js';
import { writeResults } from '../../terminal/jq/results.js';
import { chooseListFormat } from '../../terminal/list.js';
import { drawFinding, type Finding, toRecord } from './finding.js';
import { checkPush } from './push.js';
import { checkReach } from './reach.js';
import { checkService, type Service } from './service.js';
import { checkSettings, checkToken, type Known } from './settings.js';
import { checkNode, checkTerminal, describeWay, findWay } from './surroundings.js';

type Tell = (finding: Finding) => Promise<void>;

/**
 * Tells what it finds as it goes, then throws the first failure: causes are looked at before what follows from them. Resolves when
 * there is none, warnings or not. Nothing is changed, and the token goes to the origins of base_url and sse_url alone.
 */
export async function examine(context: Context): Promise<void> {
  const { io, notice } = context;
  const format = chooseFormat(context);
  const jq = await context.jq();
  const isTable = format === 'table' && jq === undefined;
  const paint = await loadPaint(io.stdout.colorLevel);
  const findings: Finding[] = [];
  const tell: Tell = async (finding) => {
    findings.push(finding);
    if (isTable) await io.stdout.write(drawFinding(finding, io.stdout.width(), paint));
    else if (format === 'jsonl' && jq === undefined) await io.stdout.write(`${toJson(toRecord(finding))}\n`);
  };

  await tell(checkNode(programVersion()));
  const known = await checkSettings(context, tell);
  const token = await checkToken(context, known, tell);
  await checkNetwork(context, known, token, tell);
  await tell(checkTerminal(context));

  const records = findings.map(toRecord);
  if (jq !== undefined)
    await writeResults(await jq.run(format === 'jsonl' ? records.map(toJson) : [toJson(records)]), io.stdout.write);
  else if (format === 'json') await io.stdout.write(`${toJson(records)}\n`);
  await conclude(findings, notice);
}

function toJson(value: object): string {
  return escapeJson(JSON.stringify(value));
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

async function checkNetwork(context: Context, known: Known, token: string | undefined, tell: Tell): Promise<void> {
  const { io, clock, signal } = context;
  const { baseUrl, sseUrl, timeoutMs } = known;
  const limits = { timeoutMs, signal, now: clock.wallMs };
  const network = await openNetwork(io.env, timeoutMs);
  const service: Service = { ...limits, clock, dispatcher: network.dispatcher, known, token };
  const reached = new Map<string, boolean>();
  /** Each origin is looked at once, through the proxy that stands before it. */
  const reach = async (name: string, url: URL): Promise<boolean> => {
    const before = reached.get(url.origin);
    if (before !== undefined) return before;
    const way = findWay(url, io.env);
    await tell(describeWay(name, way));
    const isReached = await (way.proxy === undefined
      ? checkReach(name, url, limits, tell)
      : checkReach('proxy', way.proxy, limits, tell));
    reached.set(url.origin, isReached);
    return isReached;
  };
  try {
    if (baseUrl !== undefined && (await reach('service', baseUrl))) await checkService(service, baseUrl, tell);
    if (sseUrl !== undefined && (await reach('push', sseUrl))) await tell(await checkPush(service, sseUrl));
  } finally {
    await network.close();
  }
}

/** Says how many are not well, and ends with the first failure's kind. */
async function conclude(findings: readonly Finding[], notice: Context['notice']): Promise<void> {
  const failures = findings.filter(({ outcome }) => outcome === 'failure');
  const warnings = findings.filter(({ outcome }) => outcome === 'warning').length;
  const told = warnings === 0 ? '' : `${warnings} ${warnings === 1 ? 'warning' : 'warnings'}`;
  const [first] = failures;
  if (first === undefined) return notice(told === '' ? 'all is well' : `${told}, no failure`);
  const names = failures.map(({ check }) => check).join(', ');
  throw new FleetError(
    first.kind ?? 'internal',
    `${failures.length} ${failures.length === 1 ? 'failure' : 'failures'} (${names})${told === '' ? '' : ` and ${told}`}`,
    first.next === undefined ? {} : { hint: `begin with: ${first.next}` },
  );
}
