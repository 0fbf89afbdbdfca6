// Random plans over a fleet that other users change, with kill -9 during `fleet apply` and `fleet
// journal undo`. Counts what must not happen.

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createRandom } from '../../src/system/random.js';
import { environmentOf } from './environment.js';
import { newFolder } from './folder.js';
import { PROGRAM_ARGS, PROGRAM_FILE } from './program.js';
import { jsonLines, runFleet } from './run.js';
import { openSandbox } from './sandbox.js';

/** The errors of a campaign, and the number of attempts. */
export interface PlanCampaignResult {
  plans: number;
  targets: number;
  kills: number;
  undos: number;
  /** Requests that the service answered a second time for one target. */
  sentTwice: number;
  /** Requests that the service dropped, because a kill closed their connection before it read them. */
  dropped: number;
  /** Requests to bicycles that had changed before the run. */
  sentAlthoughChanged: number;
  /** Outcomes that contradict the service. */
  wrongOutcomes: string[];
  /** Bicycles that an undo neither brought back nor listed. */
  lostByUndo: string[];
}

/** A transition with its states before and after. */
const CHANGES = [
  ['available', 'put_in_maintenance', 'in_maintenance'],
  ['available', 'declare_lost', 'lost'],
  ['lost', 'declare_available', 'available'],
  ['in_maintenance', 'declare_available', 'available'],
] as const;

/** The transition of another user for each state. */
const FOREIGN = {
  available: 'declare_unrecoverable',
  lost: 'declare_unrecoverable',
  in_maintenance: 'declare_lost',
} as const;

const MOST_RUNS = 12;

/** Stops after this many plans. */
export async function runPlanCampaign(seed: number, plans: number): Promise<PlanCampaignResult> {
  const random = createRandom(seed);
  const result: PlanCampaignResult = {
    plans: 0,
    targets: 0,
    kills: 0,
    undos: 0,
    sentTwice: 0,
    dropped: 0,
    sentAlthoughChanged: 0,
    wrongOutcomes: [],
    lostByUndo: [],
  };
  while (result.plans < plans) await runOnePlan(random, result);
  return result;
}

async function runOnePlan(random: () => number, result: PlanCampaignResult): Promise<void> {
  const posts: string[] = [];
  const sandbox = await openSandbox({
    bicycles: 80,
    faults: [{ kind: 'latency', milliseconds: 20 }],
    // The service records status 0 for a request whose connection closed before the service carried
    // it out.
    onRequest: ({ method, url, status }) => {
      if (method !== 'POST') return;
      if (status === 0) result.dropped++;
      else posts.push(url.split('/')[2] ?? '');
    },
  });
  const organization = sandbox.organizations[0]?.uuid;
  const env = {
    ...(await environmentOf(sandbox)),
    FLEET_ORGANIZATION: organization,
    XDG_STATE_HOME: newFolder(),
  };
  const [from, transition, to] = CHANGES[Math.floor(random() * CHANGES.length)] ?? CHANGES[0];
  const uuids = sandbox
    .bicycles(organization)
    .filter(({ state }) => state === from)
    .map(({ uuid }) => uuid)
    .slice(0, 5 + Math.floor(random() * 15));
  if (uuids.length === 0) return;
  const plan = join(newFolder(), 'campaign.plan');
  await runFleet(['bicycles', 'act', ...uuids, transition, '--plan', plan], { env });
  const changed = new Set(uuids.filter(() => random() < 0.25));
  for (const uuid of changed) sandbox.act(uuid, FOREIGN[from]);
  const journal = `${plan}.journal`;
  await runWithKills(['apply', plan], env, random, result);
  result.plans++;
  result.targets += uuids.length;
  for (const uuid of uuids) {
    const sent = posts.filter((post) => post === uuid).length;
    if (sent > 1) result.sentTwice++;
    if (changed.has(uuid) && sent > 0) result.sentAlthoughChanged++;
  }
  const outcomes = readOutcomes(journal);
  for (const uuid of uuids) {
    const isInTarget = sandbox.bicycle(uuid)?.state === to;
    const isDone = outcomes.get(uuid) === 'done';
    if (isDone && !isInTarget) result.wrongOutcomes.push(`${uuid} done`);
    if (!isDone && !changed.has(uuid))
      result.wrongOutcomes.push(`${uuid} is ${outcomes.get(uuid)}`);
  }
  if (random() < 0.5)
    await undoPlan({ sandbox, env, journal, uuids, changed, from, random }, result);
}

interface Undo {
  sandbox: Awaited<ReturnType<typeof openSandbox>>;
  env: NodeJS.ProcessEnv;
  journal: string;
  uuids: readonly string[];
  changed: ReadonlySet<string>;
  from: keyof typeof FOREIGN;
  random: () => number;
}

/** Undoes the run after more changes of other users. */
async function undoPlan(
  { sandbox, env, journal, uuids, changed, from, random }: Undo,
  result: PlanCampaignResult,
): Promise<void> {
  const later = new Set(uuids.filter((uuid) => !changed.has(uuid) && random() < 0.2));
  for (const uuid of later) {
    const state = sandbox.bicycle(uuid)?.state as keyof typeof FOREIGN;
    sandbox.act(uuid, FOREIGN[state]);
  }
  const text = await runWithKills(['journal', 'undo', journal], env, random, result);
  result.undos++;
  for (const uuid of uuids) {
    if (changed.has(uuid)) continue;
    const isBack = sandbox.bicycle(uuid)?.state === from;
    const isListed = text.includes(uuid);
    if (!isBack && !isListed) result.lostByUndo.push(uuid);
    if (later.has(uuid) && isBack) result.wrongOutcomes.push(`${uuid} undone although it changed`);
  }
}

/** Runs a command again and again, kills some of the runs, and returns the output of the last one. */
async function runWithKills(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  random: () => number,
  result: PlanCampaignResult,
): Promise<string> {
  for (let run = 1; ; run++) {
    const isKilled = run < MOST_RUNS && random() < 0.5;
    const line = [
      ...PROGRAM_ARGS,
      ...args,
      '--yes',
      '--json',
      '--settle',
      '1',
      '--concurrency',
      '2',
    ];
    const child = spawn(PROGRAM_FILE, line, { env: { ...process.env, ...env } });
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    const ended = new Promise<string | number | null>((resolve) =>
      child.once('close', (code, signal) => resolve(code ?? signal)),
    );
    const timer = isKilled
      ? setTimeout(() => child.kill('SIGKILL'), 200 + random() * 700)
      : undefined;
    const code = await ended;
    clearTimeout(timer);
    if (code === 'SIGKILL') result.kills++;
    else return text;
  }
}

/** Returns the last outcome of each bicycle in a journal. */
function readOutcomes(journal: string): Map<string, string> {
  const outcomes = new Map<string, string>();
  for (const record of jsonLines(readFileSync(journal, 'utf8'))) {
    const { answered, result } = record as { answered?: string; result?: { outcome: string } };
    if (answered !== undefined && result !== undefined) outcomes.set(answered, result.outcome);
  }
  return outcomes;
}
