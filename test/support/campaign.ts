// Runs of `bicycles act`, `edit` and `create` that are killed, interrupted, or stopped while another
// run takes over, at random moments. The gateway loses, delays, halves and repeats requests, the
// fleet moves, clocks step, disks are slow, and two runs compete for one journal. The reports are then
// compared with what the service carried out.

import { type ChildProcess, spawn } from 'node:child_process';
import {
  Agent,
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
} from 'node:http';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Sandbox, ServiceKind } from '../../src/sandbox/index.js';
import { createRandom } from '../../src/system/random.js';
import { environmentOf } from './environment.js';
import { withJournal } from './journal.js';
import { listenOn } from './listen.js';
import { PROGRAM_ARGS, PROGRAM_FILE, preload } from './program.js';
import { withSandbox } from './sandbox.js';

const SLOW_DISK_FILE = fileURLToPath(new URL('./slow-disk.js', import.meta.url));
const HURRY_FILE = fileURLToPath(new URL('./hurry.js', import.meta.url));

/** The clocks of the processes are ten times faster: ten seconds of `--settle` take one second. */
const HURRY = 10;
const SETTLE_SECONDS = 10;
const TIMEOUT_SECONDS = 4;

/**
 * The longest real time that the gateway delays a request: more than --timeout, but much less than
 * --settle, with a margin for slow machines.
 */
const LONGEST_DELAY_MS = 500;
/** The longest time of a request and its answer without a fault. */
const WAY_MS = 6;
/** A bicycle moves at this interval: twenty times a second. */
const MOVE_EVERY_MS = 50;
/** The longest additional time of a flush on a slow disk, by the clock of the runs. */
const SLOWEST_FLUSH_MS = 3500;
/** A run that takes longer in real time hangs. */
const HANG_MS = 120_000;
/** The largest error of a machine's clock in both directions. */
const LARGEST_SHIFT_MS = 3 * 3_600_000;

type Random = () => number;
type Fate = 'pass' | 'lose' | 'delay' | 'halve' | 'repeat';

export interface Campaign {
  seed: number;
  bicycles: number;
  kills: number;
  /** The input: only UUIDs, or bicycles with their state. */
  input: 'uuids' | 'bicycles';
  /** The default is `act`. */
  command?: 'act' | 'edit' | 'create';
  /** Whether the service trims texts. */
  isTrimming?: boolean;
  /** Whether the service requires unique names, and edits contain versions. */
  service?: ServiceKind;
  hasSlowDisk?: boolean;
}

export interface CampaignResult {
  kills: number;
  /** How often a run was suspended while another one took over. */
  stops: number;
  attempts: number;
  interruptions: number;
  hangs: number;
  outcomes: { [outcome: string]: number };
  /** Errors: repeated actions, wrong `done` results, missing results, and wrong exit codes. */
  wrong: string[];
}

interface Gateway {
  url: string;
  /** The number of received requests for changes. */
  posts(): number;
  /**
   * The number of executed requests of a client by bicycle; a request that the gateway repeats
   * counts once.
   */
  carriedOut: ReadonlyMap<string, number>;
}

function chooseFate(random: Random, isPost: boolean, mayRepeat: boolean): Fate {
  const choice = random();
  if (!isPost) return choice < 0.02 ? 'lose' : choice < 0.04 ? 'repeat' : 'pass';
  if (choice < 0.06) return 'lose';
  if (choice < 0.1) return 'delay';
  if (choice < 0.14) return 'halve';
  return choice < 0.17 && mayRepeat ? 'repeat' : 'pass';
}

async function withGateway<T>(
  sandbox: Sandbox,
  random: Random,
  mayRepeat: boolean,
  use: (gateway: Gateway) => Promise<T>,
): Promise<T> {
  const agent = new Agent({ keepAlive: true });
  const carriedOut = new Map<string, number>();
  let posts = 0;
  const wait = (milliseconds: number) =>
    new Promise((resolve) => setTimeout(resolve, milliseconds));
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    const isPost = incoming.method !== 'GET';
    if (isPost) posts += 1;
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('error', () => {});
    outgoing.on('error', () => {});
    incoming.on('end', async () => {
      const fate = chooseFate(random, isPost, mayRepeat);
      await wait(random() * (fate === 'delay' ? LONGEST_DELAY_MS : WAY_MS));
      if (fate === 'lose') return incoming.socket.destroy();
      // A delayed request arrives even when its sender was killed.
      if (fate !== 'delay' && incoming.socket.destroyed) return;
      const answer = await forward(incoming, Buffer.concat(chunks));
      if (fate === 'repeat') await forward(incoming, Buffer.concat(chunks));
      const uuid = incoming.url?.split('/')[2] ?? '';
      if (isPost && answer.status < 300) carriedOut.set(uuid, (carriedOut.get(uuid) ?? 0) + 1);
      await wait(random() * WAY_MS);
      if (fate !== 'halve')
        return outgoing.writeHead(answer.status, answer.headers).end(answer.body);
      outgoing.writeHead(answer.status, {
        ...answer.headers,
        'content-length': answer.body.length,
      });
      outgoing.write(answer.body.subarray(0, answer.body.length / 2), () =>
        incoming.socket.destroy(),
      );
    });
  });
  const forward = (incoming: IncomingMessage, body: Buffer) =>
    new Promise<{ status: number; headers: IncomingHttpHeaders; body: Buffer }>(
      (resolve, reject) => {
        const { method, url, headers } = incoming;
        const { host: _, ...passed } = headers;
        const options = { method, headers: passed, agent };
        const forwarded = request(`${sandbox.baseUrl}${url}`, options, async (answer) => {
          const parts: Buffer[] = [];
          for await (const part of answer) parts.push(part as Buffer);
          resolve({
            status: answer.statusCode ?? 500,
            headers: answer.headers,
            body: Buffer.concat(parts),
          });
        });
        forwarded.on('error', reject);
        forwarded.end(body);
      },
    );
  const url = `http://127.0.0.1:${await listenOn(server)}`;
  try {
    return await use({ url, posts: () => posts, carriedOut });
  } finally {
    server.closeAllConnections();
    server.close();
    agent.destroy();
  }
}

interface Attempt {
  /** Null when it was killed. */
  code: number | null;
  stdout: string;
  stderr: string;
  isHanging: boolean;
}

/** The environment that loads the fast clock and the slow disk. */
function preloads(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const hurry = preload(HURRY_FILE);
  if (env['FLEET_TEST_DISK_MS'] === undefined) return hurry;
  const slow = `--import ${pathToFileURL(SLOW_DISK_FILE)}`;
  return { NODE_OPTIONS: `${hurry['NODE_OPTIONS']} ${slow}` };
}

interface Command {
  words: readonly string[];
  env: NodeJS.ProcessEnv;
  journal: string;
  input: string;
}

/** Starts the command; `kill` sets when to kill it, by received requests or by time. */
function attempt(
  { words, env, journal, input }: Command,
  gateway: Gateway,
  kill: Kill | undefined,
): Promise<Attempt> {
  const flags = [
    '--settle',
    String(SETTLE_SECONDS),
    '--timeout',
    String(TIMEOUT_SECONDS),
    '--unknown',
    'leave',
  ];
  const args = [...PROGRAM_ARGS, ...words, '--yes', '--json', '-q', ...flags];
  const before = gateway.posts();
  const child: ChildProcess = spawn(PROGRAM_FILE, [...args, '--journal', journal], {
    env: { ...env, ...preloads(env) },
  });
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (chunk) => (stdout += chunk));
  child.stderr?.on('data', (chunk) => (stderr += chunk));
  child.stdin?.on('error', () => {});
  child.stdin?.end(input);
  let timer: NodeJS.Timeout | undefined;
  if (kill !== undefined) {
    const { meanwhile } = kill;
    const strike = () => {
      if (meanwhile === undefined) return child.kill(kill.signal);
      child.kill('SIGSTOP');
      return meanwhile().finally(() => child.kill('SIGCONT'));
    };
    const look = () => {
      if (gateway.posts() - before >= kill.afterPosts) timer = setTimeout(strike, kill.delayMs);
      else timer = setTimeout(look, 1);
    };
    look();
  }
  return new Promise((resolve) => {
    let isHanging = false;
    const hanging = setTimeout(() => {
      isHanging = true;
      child.kill('SIGKILL');
    }, HANG_MS);
    child.once('close', (code) => {
      clearTimeout(timer);
      clearTimeout(hanging);
      resolve({ code, stdout, stderr, isHanging });
    });
  });
}

interface Kill {
  afterPosts: number;
  delayMs: number;
  signal: NodeJS.Signals;
  /** Suspends the process for this time, as with Ctrl-Z and fg; kills it when absent. */
  meanwhile?: () => Promise<unknown>;
}

/** During the requests, at the start, or during the settling time. */
function chooseKill(random: Random): Kill {
  const signal = random() < 0.1 ? 'SIGINT' : 'SIGKILL';
  const choice = random();
  if (choice < 0.2) return { signal, afterPosts: 0, delayMs: random() * 500 };
  if (choice < 0.35) return { signal, afterPosts: 0, delayMs: 400 + random() * 600 };
  return { signal, afterPosts: 1 + Math.floor(random() * 25), delayMs: random() * 10 };
}

/** Kills runs until the number of kills is reached, completes one run, and compares the results. */
export async function runCampaign(campaign: Campaign): Promise<CampaignResult> {
  const { seed, bicycles, kills, command = 'act', isTrimming = false } = campaign;
  const { service = 'observed', hasSlowDisk = false } = campaign;
  const random = createRandom(seed);
  const faults = isTrimming ? [{ kind: 'trim' as const }] : [];
  return withSandbox({ bicycles: bicycles * 4, seed, service, faults }, (sandbox) =>
    withGateway(sandbox, random, command !== 'create', (gateway) =>
      withJournal(async (journal) => {
        const job = chooseJob(sandbox, campaign);
        const moving = startMoving(sandbox, job.uuids, random);
        try {
          const env = {
            ...process.env,
            ...(await environmentOf(sandbox)),
            FLEET_BASE_URL: gateway.url,
            FLEET_ORGANIZATION: sandbox.organizations[0]?.uuid,
            ...(hasSlowDisk ? { FLEET_TEST_DISK_MS: String(SLOWEST_FLUSH_MS) } : {}),
          };
          const { attempts, last, stops } = await killAndResume(
            () => ({
              words: job.words,
              journal,
              input: `${job.lines.join('\n')}\n`,
              env: {
                ...env,
                FLEET_TEST_HURRY: String(HURRY),
                FLEET_TEST_SHIFT: String(shiftOf(random)),
              },
            }),
            gateway,
            kills,
            random,
          );
          // Requests that the gateway still holds arrive now.
          await new Promise((resolve) => setTimeout(resolve, LONGEST_DELAY_MS));
          return { stops, ...compare(job, gateway, attempts, last) };
        } finally {
          clearInterval(moving);
        }
      }),
    ),
  );
}

/** The command of a campaign, its input, and the changes in the service. */
interface Job {
  words: readonly string[];
  lines: readonly string[];
  /** The keys of the results: UUIDs, or the rows of creations. */
  keys: readonly string[];
  /** The bicycles that move during the runs. */
  uuids: readonly string[];
  /** How often the change of a key was executed. */
  carriedOut(key: string, gateway: Gateway): number;
}

const LONGEST_NAME_CHARACTERS = 128;

function chooseJob(sandbox: Sandbox, campaign: Campaign): Job {
  const { seed, bicycles, input, command = 'act' } = campaign;
  const chosen = sandbox
    .bicycles()
    .filter(({ state }) => state === 'available' || state === 'in_maintenance')
    // The service rejects an edit of the bicycle with the name that is too long.
    .filter(({ name }) => name.length <= LONGEST_NAME_CHARACTERS)
    .slice(0, bicycles);
  const uuids = chosen.map(({ uuid }) => uuid);
  // Every second text ends with white space, which a service may trim.
  const textOf = (index: number) => `new ${seed}/${index}${index % 2 === 0 ? ' ' : ''}`;
  if (command === 'act') {
    const whole = chosen.map((bicycle) => JSON.stringify(bicycle));
    return {
      words: ['bicycles', 'act', '-', 'take_over'],
      lines: input === 'uuids' ? uuids : whole,
      keys: uuids,
      uuids,
      carriedOut: (uuid, gateway) => gateway.carriedOut.get(uuid) ?? 0,
    };
  }
  if (command === 'edit') {
    const texts = new Map(uuids.map((uuid, index) => [uuid, textOf(index)]));
    const isEdited = (uuid: string) =>
      String(sandbox.bicycle(uuid)?.['note']).trim() === texts.get(uuid)?.trim();
    return {
      words: ['bicycles', 'edit', '-'],
      lines: uuids.map((uuid) => JSON.stringify({ uuid, note: texts.get(uuid) })),
      keys: uuids,
      uuids,
      carriedOut: (uuid) => (isEdited(uuid) ? 1 : 0),
    };
  }
  const names = uuids.map((_, index) => textOf(index));
  return {
    words: ['bicycles', 'create', '--from', '-'],
    lines: names.map((name) => JSON.stringify({ name })),
    keys: names.map((_, index) => String(index + 1)),
    uuids,
    carriedOut: (row) => {
      const name = names[Number(row) - 1]?.trim();
      return sandbox.bicycles().filter((bicycle) => bicycle.name.trim() === name).length;
    },
  };
}

function shiftOf(random: Random): number {
  return Math.round((random() * 2 - 1) * LARGEST_SHIFT_MS);
}

/**
 * Positions change, and sometimes a bicycle is declared lost, from which the transition may also
 * start.
 */
function startMoving(sandbox: Sandbox, uuids: readonly string[], random: Random): NodeJS.Timeout {
  return setInterval(() => {
    const uuid = uuids[Math.floor(random() * uuids.length)] ?? '';
    if (random() < 0.05 && sandbox.bicycle(uuid)?.state === 'in_maintenance')
      sandbox.act(uuid, 'declare_lost');
    else sandbox.changeBicycle(uuid, { latitude: 52.4 + random() / 10 });
  }, MOVE_EVERY_MS);
}

async function killAndResume(
  command: () => Command,
  gateway: Gateway,
  kills: number,
  random: Random,
): Promise<{ attempts: Attempt[]; last: Attempt; stops: number }> {
  const attempts: Attempt[] = [];
  let stops = 0;
  const killed = () => attempts.filter(({ code }) => code === null).length;
  while (killed() < kills && attempts.length < kills * 40) {
    const competitors = random() < 0.3 ? 2 : 1;
    // On a machine that kills slowly, runs end too early. In this case the campaign kills them at
    // their start, whatever work is left.
    const early = (): Kill => ({ signal: 'SIGKILL', afterPosts: 0, delayMs: random() * 100 });
    const choose = attempts.length < kills * 3 ? chooseKill : early;
    if (random() < 0.4) {
      // The second run finds the first one silent, takes over, and continues as far as possible.
      // Then the first one wakes up.
      const meanwhile = async () => {
        attempts.push(
          await attempt(command(), gateway, random() < 0.5 ? choose(random) : undefined),
        );
        stops += 1;
      };
      attempts.push(await attempt(command(), gateway, { ...choose(random), meanwhile }));
      continue;
    }
    const started = Array.from({ length: competitors }, () =>
      attempt(command(), gateway, choose(random)),
    );
    attempts.push(...(await Promise.all(started)));
  }
  for (let tries = 0; ; tries++) {
    const last = await attempt(command(), gateway, undefined);
    // The gateway may lose the first reading of the list more often than it is retried.
    if (tries === 3 || last.code === 0 || last.code === 9) return { attempts, last, stops };
    attempts.push(last);
  }
}

function compare(
  { keys, carriedOut }: Job,
  gateway: Gateway,
  attempts: readonly Attempt[],
  last: Attempt,
): Omit<CampaignResult, 'stops'> {
  const wrong: string[] = [];
  const outcomes: { [outcome: string]: number } = {};
  const reported = new Map<string, string[]>();
  const messages = new Map<string, string | null>();
  for (const line of last.stdout.split('\n').filter((text) => text !== '')) {
    const { uuid, row, outcome, message } = JSON.parse(line) as {
      uuid: string;
      row?: number;
      outcome: string;
      message: string | null;
    };
    const key = row === undefined ? uuid : String(row);
    reported.set(key, [...(reported.get(key) ?? []), outcome]);
    messages.set(key, message);
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  }
  for (const key of keys) {
    const times = carriedOut(key, gateway);
    const [outcome = 'missing', ...more] = reported.get(key) ?? [];
    const isDone = ['done', 'skipped', 'unchanged'].includes(outcome);
    if (times > 1) wrong.push(`${key}: carried out ${times} times`);
    if (isDone && times === 0) wrong.push(`${key}: ${outcome}, and it never was`);
    if (outcome === 'failed' && times > 0) wrong.push(`${key}: failed, and it was carried out`);
    if (outcome === 'missing' || more.length > 0)
      wrong.push(`${key}: reported ${[outcome, ...more].join(', ')}`);
    if (outcome === 'not-sent' || outcome === 'refused')
      wrong.push(`${key}: ${outcome}: ${messages.get(key)}`);
  }
  if (last.code !== 0 && last.code !== 9)
    wrong.push(`the last run ended with ${last.code}: ${last.stderr}`);
  for (const { code, stderr } of attempts) {
    // On a slow machine a live run may look dead: then the other run takes over and this one stops.
    if (code === 10 && stderr.includes('was taken over by another run')) continue;
    if (![null, 0, 2, 8, 9, 130].includes(code)) wrong.push(`a run ended with ${code}: ${stderr}`);
  }
  const hangs = [...attempts, last].filter(({ isHanging }) => isHanging).length;
  if (hangs > 0) wrong.push(`${hangs} runs did not end`);
  const kills = attempts.filter(({ code }) => code === null).length;
  const interruptions = attempts.filter(({ code }) => code === 130).length;
  return { kills, interruptions, hangs, attempts: attempts.length + 1, outcomes, wrong };
}
