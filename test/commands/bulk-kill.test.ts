// kill -9 at fifty random points of runs over 200 bicycles: repeated until complete, each bicycle is acted on exactly once.
// The transition is one that a bicycle takes as often as it is sent: a second sending would be counted.

import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { readJournal } from '../../src/commands/bicycles/bulk/journal.js';
import type { Sandbox } from '../../src/sandbox/index.js';
import { createRandom } from '../../src/sandbox/random.js';
import { environmentOf } from '../support/environment.js';
import { withJournal } from '../support/journal.js';
import { withSandbox } from '../support/sandbox.js';

const BIN = fileURLToPath(new URL('../../bin/fleet.js', import.meta.url));
const BICYCLES = 200;
const KILLS = 50;
const MOST_KILLS_A_RUN = 6;

/** As many runs at once as a small machine bears. */
const LANES = 4;

/** What one run of the command came to: killed after so many requests, or its exit code. */
interface Attempt {
  requests: number;
  code: number | null;
}

type Random = () => number;

interface Gateway {
  url: string;
  /** How many POSTs have come so far. */
  posts(): number;
}

/** The longest that a request, and its answer, are on their way. */
const WAY_MS = 8;

/**
 * Runs `use` with a gateway in front of the service, as far away as a network: a request whose sender dies before it arrives is lost,
 * one whose sender dies later is carried out and its answer is lost.
 */
async function withGateway<T>(sandbox: Sandbox, random: Random, use: (gateway: Gateway) => Promise<T>): Promise<T> {
  const agent = new Agent({ keepAlive: true });
  const way = () => new Promise((resolve) => setTimeout(resolve, random() * WAY_MS));
  let posts = 0;
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    if (incoming.method === 'POST') posts += 1;
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('error', () => {});
    incoming.on('end', async () => {
      await way();
      if (incoming.socket.destroyed) return;
      const { method } = incoming;
      const headers = { ...incoming.headers, host: new URL(sandbox.baseUrl).host };
      const forwarded = request(`${sandbox.baseUrl}${incoming.url}`, { method, headers, agent }, async (answer) => {
        const body: Buffer[] = [];
        for await (const chunk of answer) body.push(chunk as Buffer);
        await way();
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers).end(Buffer.concat(body));
      });
      forwarded.end(Buffer.concat(chunks));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await use({
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      posts: () => posts,
    });
  } finally {
    server.closeAllConnections();
    server.close();
    agent.destroy();
  }
}

/** Starts the command, and kills it some milliseconds after a number of requests has come, when there is one. */
async function attempt(
  gateway: Gateway,
  env: NodeJS.ProcessEnv,
  journal: string,
  uuids: readonly string[],
  kill: { afterRequests: number; delayMs: number } | undefined,
): Promise<Attempt> {
  const before = gateway.posts();
  const args = [BIN, 'bicycles', 'act', '-', 'take_over', '--yes', '--journal', journal, '--timeout', '2', '-q'];
  const child: ChildProcess = spawn(process.execPath, args, { env, stdio: ['pipe', 'ignore', 'inherit'] });
  child.stdin?.on('error', () => {});
  child.stdin?.end(`${uuids.join('\n')}\n`);
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
  let timer: NodeJS.Timeout | undefined;
  if (kill !== undefined) {
    const look = () => {
      if (gateway.posts() - before >= kill.afterRequests) timer = setTimeout(() => child.kill('SIGKILL'), kill.delayMs);
      else timer = setTimeout(look, 1);
    };
    look();
  }
  const code = await closed;
  clearTimeout(timer);
  return { requests: gateway.posts() - before, code };
}

/** When the next attempt is to die: while it starts or opens its journal, among its requests, or while it looks up what is in doubt. */
function chooseKill(random: Random, kills: number): { afterRequests: number; delayMs: number } {
  const choice = random();
  if (choice < 1 / 8) return { afterRequests: 0, delayMs: random() * 150 };
  if (kills >= 3 && choice < 5 / 8) return { afterRequests: 0, delayMs: 700 + random() * 1200 };
  return { afterRequests: 1 + Math.floor(random() * 35), delayMs: random() * 12 };
}

async function runUntilComplete(seed: number): Promise<{ attempts: Attempt[]; wrong: string[] }> {
  const random = createRandom(seed);
  return withSandbox({ bicycles: 700, seed }, (sandbox) =>
    withGateway(sandbox, random, (gateway) =>
      withJournal(async (journal) => {
        const env = { ...process.env, ...(await environmentOf(sandbox)), FLEET_BASE_URL: gateway.url };
        const uuids = sandbox
          .bicycles()
          .filter(({ state }) => state === 'available')
          .slice(0, BICYCLES)
          .map(({ uuid }) => uuid);
        expect(uuids).toHaveLength(BICYCLES);
        const attempts: Attempt[] = [];
        while (attempts.at(-1)?.code !== 0 && attempts.length < 20) {
          const kill = attempts.length < MOST_KILLS_A_RUN ? chooseKill(random, attempts.length) : undefined;
          attempts.push(await attempt(gateway, env, journal, uuids, kill));
        }
        const wrong = uuids
          .filter((uuid) => sandbox.actionCount(uuid) !== 1)
          .map((uuid) => `${uuid}: ${sandbox.actionCount(uuid)} times`);
        const { entries } = readJournal(await readFile(journal), journal);
        for (const uuid of uuids) {
          if (entries.get(uuid)?.facts?.outcome !== 'done') wrong.push(`${uuid}: not done in the journal`);
        }
        return { attempts, wrong };
      }),
    ),
  );
}

test(`${KILLS} kills: each of ${BICYCLES} bicycles a run is acted on exactly once`, { timeout: 120_000 }, async () => {
  const rows: { run: number; 'requests when killed': string; 'requests of the last': number; wrong: number }[] = [];
  let kills = 0;
  let seed = 0;
  const work = async () => {
    while (kills < KILLS) {
      seed += 1;
      const run = seed;
      const { attempts, wrong } = await runUntilComplete(run);
      const killed = attempts.filter(({ code }) => code === null);
      kills += killed.length;
      rows.push({
        run,
        'requests when killed': killed.map(({ requests }) => requests).join(' '),
        'requests of the last': attempts.at(-1)?.requests ?? 0,
        wrong: wrong.length,
      });
      expect(wrong).toEqual([]);
      // Killed, killed, …, and the first that nobody kills completes it.
      expect(attempts.map(({ code }) => code)).toEqual([...killed.map(() => null), 0]);
    }
  };
  await Promise.all(Array.from({ length: LANES }, work));
  expect(kills).toBeGreaterThanOrEqual(KILLS);
  if (process.env['FLEET_SHOW_KILLS'] !== undefined) console.table(rows.sort((left, right) => left.run - right.run));
});
