// Measures long lists: 100,000 bicycles in 1,000 pages beside curl and jq, with latency, in other
// formats, and their memory.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compare, environment, interleave, isInstalled, PEER, withExecutable } from './measure.js';

const TOTAL = 100_000;
const SIZE = 100;
const ROUNDS = 5;

/** @returns {AsyncGenerator<import('./measure.js').Row>} */
export async function* benchLists(url) {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-bench-'));
  try {
    yield* longList(url, folder);
    yield await latency(url);
    yield await firstRow(url);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function wish(url, { total = TOTAL, more = '' } = {}) {
  return environment({ FLEET_BASE_URL: url, FLEET_TOKEN: `total=${total}.size=${SIZE}${more}` });
}

const fleet = (format, program = '"$NODE" "$FLEET"') =>
  `${program} bicycles list --all -q -o ${format} > /dev/null`;

/**
 * Measures undici alone, which writes the received bytes. It shows the cost of the transport. Like
 * fleet, it requests eight pages ahead.
 */
const UNDICI = `
import { Agent } from 'undici';
const agent = new Agent();
const read = (page) => new Promise((resolve, onResponseError) => {
  const chunks = [];
  agent.dispatch({ origin: process.env.FLEET_BASE_URL, path: '/bicycles/?total=${TOTAL}&size=${SIZE}&page=' + page, method: 'GET', headers: {} },
    { onRequestStart() {}, onResponseStart() {}, onResponseData(_, chunk) { chunks.push(chunk); }, onResponseEnd() { resolve(Buffer.concat(chunks)); }, onResponseError });
});
const ahead = [];
for (let page = 1; page <= ${TOTAL / SIZE}; page++) {
  while (ahead.length < 9 && page + ahead.length <= ${TOTAL / SIZE}) ahead.push(read(page + ahead.length));
  const bytes = await ahead.shift();
  await new Promise((resolve) => process.stdout.write(bytes, resolve));
}
await agent.destroy();
`;
const asLine = (script) => `"$NODE" ${PEER} -e '${script.replaceAll("'", `'"'"'`)}' > /dev/null`;

async function* longList(url, folder) {
  const config = join(folder, 'urls');
  const lines = Array.from(
    { length: TOTAL / SIZE },
    (_, index) => `url = "${url}/bicycles/?total=${TOTAL}&size=${SIZE}&page=${index + 1}"`,
  );
  writeFileSync(config, `${lines.join('\n')}\n`);
  const hasCurl = await isInstalled('curl');
  const hasJq = await isInstalled('jq');
  const curlJq = `curl -s -K ${config} | jq -c '.results[]' > /dev/null`;
  const { jsonl, binary, csv, table, bare, curl, jq } = await interleave(
    {
      jsonl: fleet('jsonl'),
      ...withExecutable({ binary: fleet('jsonl', '"$BINARY"') }),
      csv: fleet('csv'),
      table: fleet('table'),
      bare: asLine(UNDICI),
      ...(hasCurl ? { curl: `curl -s -K ${config} > /dev/null` } : {}),
      ...(hasCurl && hasJq ? { jq: curlJq } : {}),
    },
    ROUNDS,
    wish(url),
  );
  yield compare('100,000 bicycles, jsonl', jsonl, bare, 'a bare undici loop');
  yield compare('100,000 bicycles, csv', csv, jsonl, 'jsonl', 2);
  yield compare('100,000 bicycles, table', table, jsonl, 'jsonl', 3);
  if (curl !== undefined) {
    yield compare('100,000 bicycles, jsonl', jsonl, curl, 'curl', 1.5);
    if (binary !== undefined)
      yield compare('executable: 100,000 bicycles, jsonl', binary, curl, 'curl', 1.5);
    yield compare('a bare undici loop', bare, curl, 'curl');
  }
  if (jq !== undefined) {
    yield compare('100,000 bicycles, jsonl', jsonl, jq, 'curl | jq -c', 0.3);
    if (binary !== undefined)
      yield compare('executable: 100,000 bicycles, jsonl', binary, jq, 'curl | jq -c', 0.3);
  }
  yield* memory(url, jsonl, bare);
}

/**
 * A client that requests one page after the other on one connection and prints the items. It shows
 * the gain of requesting pages ahead.
 */
const SEQUENTIAL = `
import { Agent, get } from 'node:http';
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const read = (page) => new Promise((resolve) => get(process.env.FLEET_BASE_URL + '/bicycles/?total=${TOTAL}&size=${SIZE}&page=' + page,
  { agent, headers: { authorization: 'JWT ' + process.env.FLEET_TOKEN } }, (response) => {
    const chunks = []; response.on('data', (chunk) => chunks.push(chunk)); response.on('end', () => resolve(JSON.parse(Buffer.concat(chunks))));
  }));
for (let page = 1; page <= ${TOTAL / SIZE}; page++) { const { results } = await read(page); process.stdout.write(results.map((one) => JSON.stringify(one)).join('\\n') + '\\n'); }
`;

async function latency(url) {
  const { ours, peer } = await interleave(
    { ours: fleet('jsonl'), peer: asLine(SEQUENTIAL) },
    3,
    wish(url, { more: '.delay=20' }),
  );
  return compare('100,000 bicycles, jsonl, 20 ms a page', ours, peer, 'page after page', 0.08);
}

/** Compares the memory of the measured runs with a list of a tenth of the size. */
async function* memory(url, large, bare) {
  const env = wish(url, { total: TOTAL / 10 });
  const { small } = await interleave({ small: fleet('jsonl') }, ROUNDS, env, 0);
  const row = (peer, ratio, most) => ({
    what: 'memory, 100,000 bicycles',
    figure: `${Math.round(large.peakMb)} MB`,
    peer,
    ratio,
    ...(most === undefined ? {} : { most, met: ratio <= most }),
  });
  yield row('at most 115 MB', large.peakMb / 115, 1);
  yield row(`10,000: ${Math.round(small.peakMb)} MB`, large.peakMb / small.peakMb, 1.25);
  yield row(`a bare undici loop ${Math.round(bare.peakMb)} MB`, large.peakMb / bare.peakMb);
}

/**
 * Checks that the first row is printed before the second page is answered. Each page takes 200 ms.
 */
async function firstRow(url) {
  const env = environment({ FLEET_BASE_URL: url, FLEET_TOKEN: 'total=2000.size=100.delay=200' });
  const { first, all } = await interleave(
    {
      first: '"$NODE" "$FLEET" bicycles list --all -q -o jsonl | head -1 > /dev/null',
      all: '"$NODE" "$FLEET" bicycles list --all -q -o jsonl > /dev/null',
    },
    3,
    env,
  );
  return compare('first row of 20 pages, 200 ms each', first, all, 'all rows');
}
