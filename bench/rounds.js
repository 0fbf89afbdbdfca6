// Measures `fleet rounds`: the tours of published instances beside their best known tours, and the
// time and memory for 1,000 stops and 10 vans.

import { spawn } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'rolldown';
import { peakMbOf } from './process-figures.js';

const INSTANCES = JSON.parse(
  readFileSync(new URL('./routing-instances.json', import.meta.url), 'utf8'),
);
const SHARES = { berlin52: 1.03 };
const MOST_SHARE = 1.04;
const MOST_SECONDS = 5;

const STOPS = 1000;
const MOST_SECONDS_OF_MANY = 10;
const MOST_MEGABYTES = 200;

/**
 * Returns the rounded distances of TSPLIB. The first place is the start. It is repeated twice at
 * the end.
 */
function problemOf({ places, demands, vans, capacity }) {
  const [start, ...stops] = places;
  const all = [...stops, start, start];
  const metres = Int32Array.from(
    all.flatMap(([x, y]) =>
      all.map(([otherX, otherY]) => Math.round(Math.hypot(x - otherX, y - otherY))),
    ),
  );
  return {
    stops: stops.length,
    metres,
    secondsPerMetre: 1,
    stopSeconds: 0,
    vans,
    capacity: capacity ?? Number.POSITIVE_INFINITY,
    maxSeconds: Number.POSITIVE_INFINITY,
    demands: demands?.slice(1),
  };
}

async function loadSolver() {
  const file = join(tmpdir(), `fleet-rounds-${process.pid}.mjs`);
  const { output } = await build({
    input: 'src/rounds/solve.ts',
    platform: 'node',
    write: false,
    output: { format: 'esm' },
  });
  writeFileSync(file, output[0].code);
  const solver = await import(pathToFileURL(file).href);
  rmSync(file);
  return solver;
}

/** Serves places in a city as one page. Returns the time and memory of a run. */
async function runMany() {
  let state = 7;
  const next = () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
  const results = Array.from({ length: STOPS }, (_, index) => ({
    uuid: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
    name: `Bike ${index}`,
    latitude: 52.45 + next() * 0.15,
    longitude: 13.25 + next() * 0.3,
  }));
  const body = JSON.stringify({ count: STOPS, next: null, previous: null, results });
  const server = createServer((_request, response) => {
    response.setHeader('Content-Type', 'application/json').end(body);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const words = 'rounds --from 52.52,13.405 --vans 10 --capacity 100 --json';
  const started = performance.now();
  const program = spawn('/usr/bin/env', ['node', 'bin/fleet.js', ...words.split(' ')], {
    env: {
      PATH: process.env.PATH,
      FLEET_CONFIG_DIR: join(tmpdir(), 'fleet-rounds-bench'),
      FLEET_BASE_URL: `http://127.0.0.1:${server.address().port}`,
      FLEET_TOKEN: 'x',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  let megabytes = 0;
  const timer = setInterval(() => {
    megabytes = Math.max(megabytes, peakMbOf(program.pid));
  }, 50);
  await new Promise((resolve) => program.once('exit', resolve));
  clearInterval(timer);
  server.close();
  return { seconds: (performance.now() - started) / 1000, megabytes };
}

export async function* benchRounds() {
  const { solveTours, tourMetres } = await loadSolver();
  for (const instance of INSTANCES) {
    const problem = problemOf(instance);
    const started = performance.now();
    const { tours } = solveTours(problem);
    const seconds = (performance.now() - started) / 1000;
    const length = tours.reduce((sum, tour) => sum + tourMetres(problem, tour), 0);
    const ratio = length / instance.best;
    const most = SHARES[instance.name] ?? MOST_SHARE;
    yield {
      what: `rounds: ${instance.name}, at most ${MOST_SECONDS} s`,
      figure: `${length} in ${seconds.toFixed(1)} s`,
      peer: `best known: ${instance.best}`,
      ratio,
      most,
      met: ratio <= most && seconds <= MOST_SECONDS,
    };
  }
  const { seconds, megabytes } = await runMany();
  yield {
    what: `rounds: ${STOPS} stops, 10 vans, at most ${MOST_SECONDS_OF_MANY} s`,
    figure: `${seconds.toFixed(1)} s, ${megabytes.toFixed(0)} MB`,
    peer: `${MOST_MEGABYTES} MB`,
    ratio: megabytes / MOST_MEGABYTES,
    most: 1,
    met: seconds <= MOST_SECONDS_OF_MANY && megabytes <= MOST_MEGABYTES,
  };
}
