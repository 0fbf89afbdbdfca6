// Measures the live stream: messages from the socket to stdout beside curl, the delay of a message,
// and the memory with a slow reader.

import { spawn } from 'node:child_process';
import { compare, environment, interleave, isInstalled, PROGRAM, run } from './measure.js';

export const WATCHED_MESSAGES = 200_000;
const ORGANIZATION = '6f1c0b5e-2f0e-4c56-9d3a-0d6f3a1f7c11';

/** Returns the environment of `fleet watch`. `token` describes the service. */
export function watchEnvironment(url, token = `count=${WATCHED_MESSAGES}`) {
  return environment({ FLEET_BASE_URL: url, FLEET_SSE_URL: url, FLEET_TOKEN: token });
}

/** Returns the command line that watches a number of messages. */
export function watchLine(count = WATCHED_MESSAGES) {
  return `"$NODE" "$FLEET" watch ${ORGANIZATION} --json -q --resync-pages 0 --max-events ${count}`;
}

/** @returns {AsyncGenerator<import('./measure.js').Row>} */
export async function* benchWatch(url) {
  yield* await throughput(url);
  yield* await delay(url);
  yield await slowReader(url);
}

async function throughput(url) {
  const env = watchEnvironment(url);
  const ours = `${watchLine()} | cat > /dev/null`;
  const lines = { fleet: ours };
  if ((await isInstalled('curl')) && (await isInstalled('jq'))) {
    const peer = `curl -sN -H "Authorization: JWT $FLEET_TOKEN" "$FLEET_BASE_URL/subscribe/x/"`;
    lines.jq = `{ ${peer} | sed -n 's/^data: //p' | jq -c . > /dev/null; }`;
    lines.curl = `${peer} > /dev/null`;
  }
  const { fleet, jq, curl } = await interleave(lines, 5, env);
  const perMillion = `${((fleet.cpu / WATCHED_MESSAGES) * 1e6).toFixed(1)} s CPU a million`;
  if (jq === undefined)
    return [{ what: `${WATCHED_MESSAGES} messages, watch --json`, figure: perMillion, peer: '-' }];
  return [
    compare('200,000 messages, watch --json | cat', fleet, jq, 'curl -N | sed | jq -c', 0.28),
    compare(`the same (${perMillion})`, fleet, curl, 'curl -N'),
  ];
}

/**
 * Measures the time from the service's write to the output of fleet. Both clocks are on this
 * machine.
 */
function delay(url) {
  const PER_SECOND = 500;
  const SECONDS = 8;
  const count = PER_SECOND * SECONDS;
  return new Promise((resolve) => {
    const delays = [];
    let rest = '';
    const child = spawn(
      process.execPath,
      [
        PROGRAM,
        'watch',
        ORGANIZATION,
        '--json',
        '-q',
        '--resync-pages',
        '0',
        '--max-events',
        String(count),
      ],
      {
        env: watchEnvironment(url, `rate=${PER_SECOND}.count=${count}`),
        stdio: ['ignore', 'pipe', 'ignore'],
      },
    );
    child.stdout.on('data', (chunk) => {
      const now = (performance.timeOrigin + performance.now()) * 1000;
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines)
        delays.push((now - Number(/"modified":"(\d+)"/.exec(line)?.[1])) / 1000);
    });
    child.on('close', () => {
      const sorted = delays.slice(PER_SECOND).sort((a, b) => a - b);
      const at = (part) => sorted[Math.floor(sorted.length * part)] ?? Number.NaN;
      const row = (name, value, most) => ({
        what: `delay of a message at 500 a second, ${name}`,
        figure: `${value.toFixed(2)} ms`,
        peer: `at most ${most} ms`,
        ratio: value / most,
        most: 1,
        met: value <= most,
        runs: 1,
      });
      resolve([row('p50', at(0.5), 0.3), row('p99', at(0.99), 3)]);
    });
  });
}

async function slowReader(url) {
  const SECONDS = 20;
  const reader = `"$NODE" -e 'const { readSync } = require("node:fs"); const buffer = Buffer.alloc(1000); const end = Date.now() + ${SECONDS * 1000}; while (Date.now() < end) { readSync(0, buffer); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100); }'`;
  const { peakMb } = await run(`${watchLine()} | ${reader} || true`, watchEnvironment(url));
  return {
    what: 'watch into a reader of 10 kB/s, memory',
    figure: `${Math.round(peakMb)} MB`,
    peer: 'at most 150 MB',
    ratio: peakMb / 150,
    most: 1,
    met: peakMb <= 150,
    runs: 1,
  };
}
