// Runs of `bicycles act` that are killed, or stopped while another takes over, at random moments, behind a gateway that loses, delays, halves and repeats, while the fleet moves,
// clocks step and two runs compete for one journal; then the truth of the gateway is held against what was reported.

import { type ChildProcess, spawn } from 'node:child_process';
import {
  Agent,
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
} from 'node:http';
import { fileURLToPath } from 'node:url';
import type { Sandbox } from '../../src/sandbox/index.js';
import { createRandom } from '../../src/sandbox/random.js';
import { environmentOf } from './environment.js';
import { withJournal } from './journal.js';
import { listenOn } from './listen.js';
import { PROGRAM_ARGS, PROGRAM_FILE, preload } from './program.js';
import { withSandbox } from './sandbox.js';

const HURRY_FILE = fileURLToPath(new URL('./hurry.js', import.meta.url));

/** The processes live ten times faster: ten seconds of `--settle` are one. */
const HURRY = 10;
const SETTLE_SECONDS = 10;
const TIMEOUT_SECONDS = 4;

/**
 * The longest that the gateway keeps a request, in real time: more than --timeout waits, and so much less than --settle leaves it that a
 * slow machine does not make it more.
 */
const LONGEST_DELAY_MS = 500;
/** The longest that an undisturbed request, and its answer, are on their way. */
const WAY_MS = 6;
/** A bicycle moves this often: twenty a second. */
const MOVE_EVERY_MS = 50;
/** A machine's date may be off by so much, both ways. */
const LARGEST_SHIFT_MS = 3 * 3_600_000;

type Random = () => number;
type Fate = 'pass' | 'lose' | 'delay' | 'halve' | 'repeat';

export interface Campaign {
  seed: number;
  bicycles: number;
  kills: number;
  /** What the input says: UUIDs alone, or bicycles with their state. */
  input: 'uuids' | 'bicycles';
}

export interface CampaignResult {
  kills: number;
  /** How often a run was stopped while another took over. */
  stops: number;
  attempts: number;
  outcomes: { [outcome: string]: number };
  /** What must not be: acted on twice, done that was not, missing in the result, an exit code that is none of a finished run. */
  wrong: string[];
}

interface Gateway {
  url: string;
  posts(): number;
  /** How many of a client's requests were carried out, by bicycle; a request that the gateway repeats counts once. */
  carriedOut: ReadonlyMap<string, number>;
}

function chooseFate(random: Random, isPost: boolean): Fate {
  const choice = random();
  if (!isPost) return choice < 0.02 ? 'lose' : choice < 0.04 ? 'repeat' : 'pass';
  if (choice < 0.06) return 'lose';
  if (choice < 0.1) return 'delay';
  if (choice < 0.14) return 'halve';
  return choice < 0.17 ? 'repeat' : 'pass';
}

async function withGateway<T>(
  sandbox: Sandbox,
  random: Random,
  use: (gateway: Gateway) => Promise<T>,
): Promise<T> {
  const agent = new Agent({ keepAlive: true });
  const carriedOut = new Map<string, number>();
  let posts = 0;
  const wait = (milliseconds: number) =>
    new Promise((resolve) => setTimeout(resolve, milliseconds));
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    const isPost = incoming.method === 'POST';
    if (isPost) posts += 1;
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('error', () => {});
    outgoing.on('error', () => {});
    incoming.on('end', async () => {
      const fate = chooseFate(random, isPost);
      await wait(random() * (fate === 'delay' ? LONGEST_DELAY_MS : WAY_MS));
      if (fate === 'lose') return incoming.socket.destroy();
      // What is delayed arrives although its sender is dead.
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
  /** Null: killed. */
  code: number | null;
  stdout: string;
  stderr: string;
}

interface Command {
  env: NodeJS.ProcessEnv;
  journal: string;
  input: string;
}

/** Starts the command; `kill` says when it is to die, by requests that came or by time. */
function attempt(
  { env, journal, input }: Command,
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
  const args = [
    ...PROGRAM_ARGS,
    'bicycles',
    'act',
    '-',
    'take_over',
    '--yes',
    '--json',
    '-q',
    ...flags,
  ];
  const before = gateway.posts();
  const child: ChildProcess = spawn(PROGRAM_FILE, [...args, '--journal', journal], {
    env: { ...env, ...preload(HURRY_FILE) },
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
      if (meanwhile === undefined) return child.kill('SIGKILL');
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
    child.once('close', (code) => {
      clearTimeout(timer);
      resolve({ code, stdout, stderr });
    });
  });
}

interface Kill {
  afterPosts: number;
  delayMs: number;
  /** It is stopped then, and goes on after this, as by Ctrl-Z and fg; killed when absent. */
  meanwhile?: () => Promise<unknown>;
}

/** Among the requests, while it starts or watches a dead run, while it settles. */
function chooseKill(random: Random): Kill {
  const choice = random();
  if (choice < 0.2) return { afterPosts: 0, delayMs: random() * 500 };
  if (choice < 0.35) return { afterPosts: 0, delayMs: 400 + random() * 600 };
  return { afterPosts: 1 + Math.floor(random() * 25), delayMs: random() * 10 };
}

/** Kills runs until there were enough kills, lets one end, and compares. */
export async function runCampaign({
  seed,
  bicycles,
  kills,
  input,
}: Campaign): Promise<CampaignResult> {
  const random = createRandom(seed);
  return withSandbox({ bicycles: bicycles * 4, seed }, (sandbox) =>
    withGateway(sandbox, random, (gateway) =>
      withJournal(async (journal) => {
        const chosen = sandbox
          .bicycles()
          .filter(({ state }) => state === 'available' || state === 'in_maintenance')
          .slice(0, bicycles);
        const uuids = chosen.map(({ uuid }) => uuid);
        const lines = input === 'uuids' ? uuids : chosen.map((bicycle) => JSON.stringify(bicycle));
        const moving = startMoving(sandbox, uuids, random);
        try {
          const env = {
            ...process.env,
            ...(await environmentOf(sandbox)),
            FLEET_BASE_URL: gateway.url,
          };
          const { attempts, last, stops } = await killAndResume(
            () => ({
              journal,
              input: `${lines.join('\n')}\n`,
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
          // What the gateway still holds arrives now.
          await new Promise((resolve) => setTimeout(resolve, LONGEST_DELAY_MS));
          return { stops, ...compare(uuids, gateway, attempts, last) };
        } finally {
          clearInterval(moving);
        }
      }),
    ),
  );
}

function shiftOf(random: Random): number {
  return Math.round((random() * 2 - 1) * LARGEST_SHIFT_MS);
}

/** Positions move, and now and then a bicycle is declared lost, from where the transition may start as well. */
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
  while (killed() < kills && attempts.length < kills * 8) {
    const competitors = random() < 0.3 ? 2 : 1;
    // A machine that is slow to kill lets runs end before their time: then they are killed while they start, whatever is left to do.
    const early = () => ({ afterPosts: 0, delayMs: random() * 100 });
    const choose = attempts.length < kills * 3 ? chooseKill : early;
    if (random() < 0.4) {
      // The second one finds the first silent, takes over, and goes on as far as it comes; then the first one wakes.
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
    // The gateway may lose the reading of the list that a run begins with, more often than it is retried.
    if (tries === 3 || last.code === 0 || last.code === 9) return { attempts, last, stops };
    attempts.push(last);
  }
}

function compare(
  uuids: readonly string[],
  gateway: Gateway,
  attempts: readonly Attempt[],
  last: Attempt,
): Omit<CampaignResult, 'stops'> {
  const wrong: string[] = [];
  const outcomes: { [outcome: string]: number } = {};
  const reported = new Map<string, string[]>();
  for (const line of last.stdout.split('\n').filter((text) => text !== '')) {
    const { uuid, outcome } = JSON.parse(line) as { uuid: string; outcome: string };
    reported.set(uuid, [...(reported.get(uuid) ?? []), outcome]);
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  }
  for (const uuid of uuids) {
    const carriedOut = gateway.carriedOut.get(uuid) ?? 0;
    const [outcome = 'missing', ...more] = reported.get(uuid) ?? [];
    const isDone = outcome === 'done' || outcome === 'skipped';
    if (carriedOut > 1) wrong.push(`${uuid}: acted on ${carriedOut} times`);
    if (isDone && carriedOut === 0) wrong.push(`${uuid}: ${outcome}, and it never was`);
    if (outcome === 'missing' || more.length > 0)
      wrong.push(`${uuid}: reported ${[outcome, ...more].join(', ')}`);
    if (outcome === 'not-sent' || outcome === 'refused') wrong.push(`${uuid}: ${outcome}`);
  }
  if (last.code !== 0 && last.code !== 9)
    wrong.push(`the last run ended with ${last.code}: ${last.stderr}`);
  for (const { code, stderr } of attempts) {
    // A machine that is slow makes a run that lives look dead: the one that takes over goes on, the other stops before its next request.
    if (code === 10 && stderr.includes('was taken over by another run')) continue;
    if (![null, 0, 2, 8, 9].includes(code)) wrong.push(`a run ended with ${code}: ${stderr}`);
  }
  const kills = attempts.filter(({ code }) => code === null).length;
  return { kills, attempts: attempts.length + 1, outcomes, wrong };
}
