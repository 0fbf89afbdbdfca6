// Measures bulk runs: 2,000 actions beside xargs and curl at two speeds of the service, and the
// memory for 100,000 UUIDs on stdin.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  compare,
  environment,
  interleave,
  isInstalled,
  milliseconds,
  PEER,
  run,
} from './measure.js';

const ACTIONS = 2000;
const PEER_CONCURRENCY = 8;

/** The time of the service for one request in milliseconds, and how often each side runs. */
const SPEEDS = [
  { delayMs: 5, concurrency: 8, rounds: 5 },
  { delayMs: 50, concurrency: 32, rounds: 3 },
];

const FEW = 1000;
const MANY = 100_000;

/** @returns {AsyncGenerator<import('./measure.js').Row>} */
export async function* benchBulk(url) {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-bench-'));
  try {
    yield* beside(url, folder);
    yield* memory(url, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function uuid(index) {
  return `6f1c0b5e-2f0e-4c56-9d3a-${index.toString(16).padStart(12, '0')}`;
}

/** Writes a file with one UUID per line. */
function uuids(folder, count) {
  const path = join(folder, `${count}.txt`);
  writeFileSync(path, Array.from({ length: count }, (_, index) => `${uuid(index)}\n`).join(''));
  return path;
}

/** Measures undici alone, which shows the cost of the service and the transport. */
const UNDICI = `
import { readFileSync } from 'node:fs';
import { Agent } from 'undici';
const [, path, most] = process.argv;
const agent = new Agent({ connections: Number(most) });
const uuids = readFileSync(path, 'utf8').trim().split('\\n');
const act = (uuid) => new Promise((resolve, onResponseError) =>
  agent.dispatch({ origin: process.env.FLEET_BASE_URL, path: '/bicycles/' + uuid + '/actions/', method: 'POST', body: '{"type":"reserve"}',
    headers: { authorization: 'JWT ' + process.env.FLEET_TOKEN, 'content-type': 'application/json' } },
    { onRequestStart() {}, onResponseStart() {}, onResponseData() {}, onResponseEnd: resolve, onResponseError }));
await Promise.all(Array.from({ length: Number(most) }, async () => { for (let uuid = uuids.pop(); uuid !== undefined; uuid = uuids.pop()) await act(uuid); }));
await agent.destroy();
`;

async function* beside(url, folder) {
  const path = uuids(folder, ACTIONS);
  const journal = join(folder, 'journal');
  const hasPeer = (await isInstalled('curl')) && (await isInstalled('xargs'));
  for (const { delayMs, concurrency, rounds } of SPEEDS) {
    const act = `"$NODE" "$FLEET" bicycles act - reserve --yes -q -o jsonl --concurrency ${concurrency}`;
    const token = `delay=${delayMs}`;
    const curl = `curl -s -o /dev/null -H 'Authorization: JWT ${token}' -H 'Content-Type: application/json'`;
    const ours = {
      plain: `${act} < ${path} > /dev/null`,
      kept: `rm -f ${journal}*; ${act} --journal ${journal} < ${path} > /dev/null`,
    };
    const undici = `"$NODE" ${PEER} -e '${UNDICI.replaceAll("'", `'"'"'`)}' ${path} ${concurrency}`;
    const xargs = `xargs -P ${PEER_CONCURRENCY} -I @ ${curl} -d '{"type":"reserve"}' ${url}/bicycles/@/actions/ < ${path}`;
    const env = environment({ FLEET_BASE_URL: url, FLEET_TOKEN: token });
    const { plain, kept, bare } = await interleave({ ...ours, bare: undici }, rounds, env);
    const what = `2,000 actions at ${delayMs} ms, concurrency ${concurrency}`;
    yield compare(`${what}, journal beside none`, kept, plain, 'without', 1.25);
    yield compare(what, plain, bare, 'a bare undici loop', concurrency === 8 ? 1.2 : undefined);
    // No client can be faster than the service with this number of concurrent requests.
    const floor = { seconds: (ACTIONS / concurrency) * (delayMs / 1000) };
    yield {
      ...compare(`${what}, beside what is possible`, plain, floor, 'floor'),
      peer: `floor ${milliseconds(floor.seconds)}`,
    };
    if (!hasPeer) continue;
    // One round is enough without --rounds, because 2,000 processes take long.
    const besideXargs = await interleave({ ...ours, xargs }, 1, env, 0);
    const peer = `xargs -P ${PEER_CONCURRENCY} curl`;
    yield compare(what, besideXargs.plain, besideXargs.xargs, peer, 0.3);
    yield compare(`${what}, journal`, besideXargs.kept, besideXargs.xargs, peer, 0.3);
  }
}

async function* memory(url, folder) {
  const line = (count, more) =>
    `"$NODE" "$FLEET" bicycles act - reserve --yes -q -o jsonl ${more} < ${uuids(folder, count)} > /dev/null`;
  const journal = join(folder, 'memory-journal');
  const env = environment({ FLEET_BASE_URL: url, FLEET_TOKEN: 'bench' });
  const few = await run(line(FEW, ''), env);
  const row = (what, { peakMb }) => ({
    what,
    figure: `${Math.round(peakMb)} MB`,
    peer: `1,000 ${Math.round(few.peakMb)} MB`,
    ratio: peakMb / few.peakMb,
    most: 1.5,
    met: peakMb / few.peakMb <= 1.5,
    runs: 1,
  });
  yield row('100,000 UUIDs on stdin, peak memory', await run(line(MANY, ''), env));
  const kept = await run(line(MANY, `--journal ${journal}`), env);
  yield row('100,000 UUIDs on stdin, peak, journal', kept);
}
