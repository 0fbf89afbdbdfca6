// Measures the mirror: the messages per second beside the database driver alone, a steady rate of
// 10,000 messages per second, the first reading beside a list, and a million bicycles.
//
// FLEET_BENCH_SECONDS sets the duration of the steady rate (60). FLEET_BENCH_MILLION sets the size
// of the largest fleet.

import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compare, environment, interleave, limit, PROGRAM, run } from './measure.js';
import { MILLION, STEADY_SECONDS } from './options.js';
import { freePort, startPostgres } from './postgres.js';
import { peakMbOf, residentMbOf } from './process-figures.js';

const ORGANIZATION = '6f1c0b5e-2f0e-4c56-9d3a-0d6f3a1f7c11';
const FLEET = 1_000;
const MESSAGES = 200_000;
const MANY = 100_000;
const MOST_MB = 150;
/** A first reading may take this many times as long as a list. */
const MOST_LISTS = 3;
/** The limits for the memory and the delay of a busy mirror. */
const BUSY_MB = 200;
const LAG_SECONDS = 2;
const STEADY_RATE = 10_000;
/** The first reading and the first messages come together. They do not count. */
const WARM_UP_SECONDS = 5;
const ROUNDS = 15;

const wish = (url, token) =>
  environment({
    FLEET_BASE_URL: url,
    FLEET_SSE_URL: url,
    FLEET_ORGANIZATION: ORGANIZATION,
    FLEET_TOKEN: token,
  });

/** @returns {AsyncGenerator<import('./measure.js').Row>} */
export async function* benchMirror(url) {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-bench-'));
  const database = (name) => `sqlite:${join(folder, name)}.db`;
  const postgres = await startPostgres();
  try {
    const engines = [['SQLite', async (name) => database(name)]];
    if (postgres !== undefined) engines.push(['PostgreSQL', postgres.newDatabase]);
    for (const [name, newDatabase] of engines) {
      yield await messages(url, name, await newDatabase('messages'), await newDatabase('bare'));
      yield* await steady(url, name, await newDatabase('steady'));
    }
    // The path at which the program looks for a mirror by itself.
    const own = `sqlite:${join(folder, 'fleet', 'default.db')}`;
    yield await firstReading(url, own);
    yield await offline(url, folder);
    for (const [name, newDatabase] of engines)
      yield* await million(url, name, await newDatabase('million'));
  } finally {
    await postgres?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Runs a mirror with the service that `wish` describes. Calls `look` with the counters of the
 * mirror every 25 ms until it returns true.
 */
async function follow(url, kind, to, seconds, look) {
  const port = await freePort();
  const child = spawn(
    process.execPath,
    [PROGRAM, 'mirror', 'run', '-q', '--to', to, '--metrics', String(port)],
    {
      env: wish(url, kind),
      stdio: 'ignore',
    },
  );
  try {
    for (
      const endAt = performance.now() + seconds * 1000;
      performance.now() < endAt && child.exitCode === null;
    ) {
      await new Promise((resolve) => setTimeout(resolve, 25));
      const text = await fetch(`http://127.0.0.1:${port}/metrics`).then(
        (answer) => answer.text(),
        () => '',
      );
      const read = (what) =>
        Number(new RegExp(`^fleet_mirror_${what} ([\\d.]+)`, 'm').exec(text)?.[1] ?? 0);
      if (look({ count: read('messages_total'), lag: read('lag_seconds'), pid: child.pid })) return;
    }
    throw new Error(`the messages did not arrive in ${to}`);
  } finally {
    child.kill('SIGTERM');
    await new Promise((resolve) => child.on('close', resolve));
  }
}

/**
 * Measures the messages per second from the first batch to the last message, by the counters of the
 * writer, beside the driver alone with the same rows.
 */
async function messages(url, name, to, bareTo) {
  let first;
  let row;
  await follow(url, `total=${FLEET}.moves=${MESSAGES}`, to, 300, ({ count, pid }) => {
    if (count > 0) first ??= { count, atMs: performance.now() };
    if (first === undefined || count < MESSAGES) return false;
    const perSecond = Math.round((count - first.count) / ((performance.now() - first.atMs) / 1000));
    row = { perSecond, figure: `${perSecond} a second, ${Math.round(peakMbOf(pid))} MB` };
    return true;
  });
  const file = fileURLToPath(new URL('bare.js', import.meta.url));
  const bare = Number(
    execFileSync(process.execPath, [file, bareTo, String(MESSAGES), String(FLEET)], {
      encoding: 'utf8',
    }),
  );
  const ratio = bare / row.perSecond;
  const what = `${MESSAGES} messages of ${FLEET} moving bicycles into ${name}`;
  return {
    what,
    figure: row.figure,
    peer: `the bare driver, ${bare} a second`,
    ratio,
    most: 4,
    met: ratio <= 4,
  };
}

/**
 * Measures a steady rate of messages: how far the mirror is behind by the times of the messages,
 * and its memory, which must not grow.
 */
async function steady(url, name, to) {
  const total = STEADY_RATE * STEADY_SECONDS;
  let [lag, early, late, peak] = [0, 0, 0, 0];
  const seconds = STEADY_SECONDS * 2 + 60;
  await follow(url, `total=${FLEET}.moves=${total}.rate=${STEADY_RATE}`, to, seconds, (now) => {
    if (now.count > WARM_UP_SECONDS * STEADY_RATE) lag = Math.max(lag, now.lag);
    if (now.count < total / 2) early = Math.max(early, residentMbOf(now.pid));
    else late = Math.max(late, residentMbOf(now.pid));
    peak = peakMbOf(now.pid);
    return now.count >= total;
  });
  const what = `${STEADY_RATE} messages a second for ${STEADY_SECONDS} s into ${name}`;
  return [
    limit(`${what}, behind`, `${lag.toFixed(2)} s`, lag, LAG_SECONDS, 's'),
    limit(`the same, memory`, `${Math.round(peak)} MB`, peak, BUSY_MB, 'MB'),
    limit(
      `the same, memory of its second half`,
      `${Math.round(late)} MB`,
      late,
      Math.round(1.1 * early),
      'MB',
    ),
  ];
}

/** Measures the first reading of a mirror beside a list of the same bicycles. */
async function firstReading(url, to) {
  const env = wish(url, `total=${MANY}`);
  await run('"$NODE" "$FLEET" bicycles list --all -o jsonl > /dev/null', env);
  const list = await run('"$NODE" "$FLEET" bicycles list --all -o jsonl > /dev/null', env);
  const mirror = await run(`"$NODE" "$FLEET" mirror once -q --to ${to}`, env);
  return {
    what: `first reading of ${MANY} bicycles`,
    figure: `${mirror.seconds.toFixed(1)} s`,
    peer: `list --all -o jsonl, ${list.seconds.toFixed(1)} s`,
    ratio: mirror.seconds / list.seconds,
    most: MOST_LISTS,
    met: mirror.seconds <= MOST_LISTS * list.seconds,
  };
}

/** Measures one page of a large mirror beside one page of the service. */
async function offline(url, folder) {
  const env = { ...wish(url, `total=${MANY}.size=20`), XDG_STATE_HOME: folder };
  const { mirror, service } = await interleave(
    {
      mirror: '"$NODE" "$FLEET" bicycles list --json -q --offline',
      service: '"$NODE" "$FLEET" bicycles list --json -q --no-mirror',
    },
    ROUNDS,
    env,
  );
  return compare(
    `one page of ${MANY} bicycles, --offline`,
    mirror,
    service,
    'one page from the service',
    1,
  );
}

async function million(url, name, to) {
  const env = wish(url, `total=${MILLION}`);
  const list = await run('"$NODE" "$FLEET" bicycles list --all -o jsonl > /dev/null', env);
  const mirror = await run(`"$NODE" "$FLEET" mirror once -q --to ${to}`, env);
  const sql = 'select state, count(*) as bicycles from latest group by state';
  // The databases of the bench belong to a superuser, whose queries fleet refuses otherwise.
  const command = `"$NODE" "$FLEET" mirror query --allow-superuser -q '${sql}' --to ${to}`;
  const query = await run(`${command} > /dev/null`, env);
  const most = Math.max(120, 1.3 * list.seconds);
  const what = `first reading of ${MILLION} bicycles into ${name}`;
  return [
    limit(
      `${what} (${mirror.cpu.toFixed(0)} s CPU)`,
      `${mirror.seconds.toFixed(1)} s`,
      mirror.seconds,
      Math.round(most),
      's',
    ),
    limit(`${what}, memory`, `${Math.round(mirror.peakMb)} MB`, mirror.peakMb, MOST_MB, 'MB'),
    limit(
      `states of ${MILLION} bicycles, mirror query`,
      `${query.seconds.toFixed(2)} s`,
      query.seconds,
      1,
      's',
    ),
  ];
}
