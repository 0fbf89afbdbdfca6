// Measures the processor time and memory of live views with 100,000 bicycles at 2,000 messages per
// second. The machine may be busy.

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { environment, isInstalled, limit, PROGRAM } from './measure.js';
import { cpuSecondsOf, peakMbOf } from './process-figures.js';

const TOTAL = 100_000;
const PER_SECOND = 2_000;
const ORGANIZATION = '6f1c0b5e-2f0e-4c56-9d3a-0d6f3a1f7c11';
const READ_MS = 20_000;
const SECONDS = 30;
const TABS = 60;

function serviceOf(url, folder) {
  const token = `total=${TOTAL}.size=100.moves=1000000000.rate=${PER_SECOND}`;
  return environment({
    FLEET_BASE_URL: url,
    FLEET_SSE_URL: url,
    FLEET_TOKEN: token,
    XDG_STATE_HOME: folder,
  });
}

/** Returns the share of one core that a process uses from now on. */
async function coresOf(pid) {
  const [cpu, startedAt] = [cpuSecondsOf(pid), performance.now()];
  await sleep(SECONDS * 1000);
  return ((cpuSecondsOf(pid) - cpu) * 1000) / (performance.now() - startedAt);
}

function row(what, value, most, unit) {
  const figure = `${value.toFixed(value < 10 ? 2 : 0)} ${unit}`;
  return { ...limit(what, figure, value, most, unit), runs: 1 };
}

/** Measures full-screen views in a terminal of 140 by 50, if `script` is installed. */
export async function* liveScreens(url) {
  if (!(await isInstalled('script'))) return;
  const folder = mkdtempSync(join(tmpdir(), 'fleet-bench-'));
  for (const command of [
    `map --live --organization ${ORGANIZATION}`,
    `watch ${ORGANIZATION} --live`,
  ]) {
    const line = `stty cols 140 rows 50; echo $$ > ${folder}/pid; exec ${process.execPath} ${PROGRAM} ${command}`;
    const env = { ...serviceOf(url, folder), TERM: 'xterm-256color', LANG: 'C.UTF-8' };
    const child = spawn('script', ['-qec', line, '/dev/null'], {
      env,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    await sleep(READ_MS);
    const pid = Number(readFileSync(`${folder}/pid`, 'utf8'));
    const what = `${command.split(' ', 1)[0]} --live, 100,000 bicycles, 2,000 messages a second`;
    yield row(what, await coresOf(pid), 1, 'cores');
    child.stdin.write('q');
    await new Promise((resolve) => child.once('close', resolve));
  }
  rmSync(folder, { recursive: true, force: true });
}

/** Measures how often one tab of the served page is updated while 59 other tabs do not read. */
export async function* liveTabs(url) {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-bench-'));
  const command = [PROGRAM, 'map', '--serve', '0', '--organization', ORGANIZATION];
  const child = spawn(process.execPath, command, {
    env: serviceOf(url, folder),
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const page = await new Promise((resolve) =>
    child.stdout.once('data', (text) => resolve(String(text).trim())),
  );
  await sleep(READ_MS);
  const { sequence } = await (await fetch(`${page}fleet`)).json();
  let updates = 0;
  const tabs = Array.from({ length: TABS }, (_, index) =>
    get(`${page}events?after=${sequence}`, (response) => {
      if (index > 0) return response.pause();
      response.on('data', (piece) => {
        updates += String(piece).split('event: update').length - 1;
      });
    }).on('error', () => {}),
  );
  const cores = await coresOf(child.pid);
  yield row('map --serve, 100,000 bicycles, 2,000 messages a second', cores, 1, 'cores');
  yield row(
    'the same, from one update of a tab to the next',
    (SECONDS * 1000) / updates,
    110,
    'ms',
  );
  yield row(`the same, most memory, ${TABS - 1} tabs do not read`, peakMbOf(child.pid), 400, 'MB');
  for (const tab of tabs) tab.destroy();
  child.kill('SIGINT');
  await new Promise((resolve) => child.once('close', resolve));
  rmSync(folder, { recursive: true, force: true });
}
