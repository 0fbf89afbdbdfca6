// The mirror: messages applied a second, the first reading beside a list, memory and a query at a million bicycles.
//
// PostgreSQL is measured where FLEET_BENCH_POSTGRES names an empty database: `postgres://USER@HOST/DATABASE`.

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compare, environment, interleave, PROGRAM, run } from './measure.js';

const ORGANIZATION = '6f1c0b5e-2f0e-4c56-9d3a-0d6f3a1f7c11';
const FLEET = 1_000;
const MESSAGES = 200_000;
const MANY = 100_000;
const MILLION = Number(process.env.FLEET_BENCH_MILLION ?? 1_000_000);
const MOST_MB = 150;
const ROUNDS = 15;

const wish = (url, token) =>
  environment({ FLEET_BASE_URL: url, FLEET_SSE_URL: url, FLEET_ORGANIZATION: ORGANIZATION, FLEET_TOKEN: token });

/** A figure against a limit. */
function limit(what, figure, value, most, unit) {
  return { what, figure, peer: `at most ${most} ${unit}`, ratio: value / most, most: 1, met: value <= most };
}

/** @returns {AsyncGenerator<import('./measure.js').Row>} */
export async function* benchMirror(url) {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-bench-'));
  const database = (name) => `sqlite:${join(folder, name)}.db`;
  try {
    yield await messages(url, 'SQLite', database('messages'), 20_000);
    const postgres = process.env.FLEET_BENCH_POSTGRES;
    if (postgres !== undefined) yield await messages(url, 'PostgreSQL', postgres, 10_000);
    // Where the program looks for a mirror by itself.
    const own = `sqlite:${join(folder, 'fleet', 'default.db')}`;
    yield* await firstReading(url, own, database('flagless'));
    yield await offline(url, folder);
    yield* await million(url, database('million'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** From the first batch to the last message, by the writer's own counters. */
async function messages(url, name, to, goal) {
  const port = await freePort();
  const child = spawn(process.execPath, [PROGRAM, 'mirror', 'run', '-q', '--to', to, '--metrics', String(port)], {
    env: wish(url, `total=${FLEET}.moves=${MESSAGES}`),
    stdio: 'ignore',
  });
  const read = async (what) => {
    const text = await fetch(`http://127.0.0.1:${port}/metrics`).then(
      (answer) => answer.text(),
      () => '',
    );
    return Number(new RegExp(`^fleet_mirror_${what} (\\d+)`, 'm').exec(text)?.[1] ?? 0);
  };
  try {
    let first;
    for (const endAt = performance.now() + 300_000; performance.now() < endAt && child.exitCode === null; ) {
      await new Promise((resolve) => setTimeout(resolve, 25));
      const count = await read('messages_total');
      if (count > 0) first ??= { count, atMs: performance.now() };
      if (first === undefined || count < MESSAGES) continue;
      const seconds = (performance.now() - first.atMs) / 1000;
      const perSecond = Math.round((count - first.count) / seconds);
      return {
        what: `${MESSAGES} messages of ${FLEET} moving bicycles into ${name}`,
        figure: `${perSecond} a second, ${Math.round(peakOf(child.pid))} MB`,
        peer: `at least ${goal}`,
        ratio: goal / perSecond,
        most: 1,
        met: perSecond >= goal,
      };
    }
    throw new Error(`the messages did not arrive in ${name}`);
  } finally {
    child.kill('SIGTERM');
    await new Promise((resolve) => child.on('close', resolve));
  }
}

/** The second row: what the flag of V8 buys that src/commands/mirror/run.ts sets. */
async function firstReading(url, to, other) {
  const env = wish(url, `total=${MANY}`);
  await run('"$NODE" "$FLEET" bicycles list --all -o jsonl > /dev/null', env);
  const list = await run('"$NODE" "$FLEET" bicycles list --all -o jsonl > /dev/null', env);
  const mirror = await run(`"$NODE" "$FLEET" mirror once -q --to ${to}`, env);
  const hook = fileURLToPath(new URL('without-flags.cjs', import.meta.url));
  const hooked = { ...env, NODE_OPTIONS: `--require ${hook}` };
  const without = await run(`"$NODE" "$FLEET" mirror once -q --to ${other}`, hooked);
  const first = {
    what: `first reading of ${MANY} bicycles`,
    figure: `${mirror.seconds.toFixed(1)} s`,
    peer: `list --all -o jsonl, ${list.seconds.toFixed(1)} s`,
    ratio: mirror.seconds / list.seconds,
    most: 2,
    met: mirror.seconds <= 2 * list.seconds,
  };
  const memory = {
    what: `the same, memory (${mirror.cpu.toFixed(1)} s CPU)`,
    figure: `${Math.round(mirror.peakMb)} MB`,
    peer: `without a flag of V8, ${Math.round(without.peakMb)} MB (${without.cpu.toFixed(1)} s CPU)`,
    ratio: mirror.peakMb / without.peakMb,
    most: 0.95,
    met: mirror.peakMb <= 0.95 * without.peakMb,
  };
  return [first, memory];
}

/** One page of a mirror of many, beside one page of the service. */
async function offline(url, folder) {
  const env = { ...wish(url, `total=${MANY}.size=20`), XDG_STATE_HOME: folder };
  const [mirror, service] = await interleave(
    ['"$NODE" "$FLEET" bicycles list --json -q --offline', '"$NODE" "$FLEET" bicycles list --json -q --no-mirror'],
    ROUNDS,
    env,
  );
  return compare(`one page of ${MANY} bicycles, --offline`, mirror, service, 'one page from the service', 1);
}

async function million(url, to) {
  const env = wish(url, `total=${MILLION}`);
  const { peakMb } = await run(`"$NODE" "$FLEET" mirror once -q --to ${to}`, env);
  const sql = 'select state, count(*) as bicycles from latest group by state';
  const query = await run(`"$NODE" "$FLEET" mirror query '${sql}' --to ${to} > /dev/null`, env);
  return [
    limit(`first reading of ${MILLION} bicycles, memory`, `${Math.round(peakMb)} MB`, peakMb, MOST_MB, 'MB'),
    limit(`states of ${MILLION} bicycles, mirror query`, `${query.seconds.toFixed(2)} s`, query.seconds, 1, 's'),
  ];
}

function peakOf(pid) {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
