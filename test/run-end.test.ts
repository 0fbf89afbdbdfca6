// Kills a test run and checks that nothing it started continues.

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { newFolder } from './support/folder.js';
import { eventually } from './support/running.js';
import { hasTool } from './support/tools.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs');
const HANGING_RUN = [VITEST, 'run', '--config', 'test/vitest.hanging.config.ts'];
/**
 * A run ends within two seconds on a machine that is not busy. Without a watchdog it takes minutes.
 */
const LIMIT_MS = 60_000;

/** Runs the script of `npm test` with the hanging test run as its only command. */
const STARTER = `
  const { runCommands } = await import(${JSON.stringify(join(ROOT, 'test/support/run-commands.js'))});
  process.exitCode = await runCommands([[process.execPath, ...${JSON.stringify(HANGING_RUN)}]]);
`;

interface HangingRun {
  /** The process that was started. */
  readonly started: ChildProcess;
  readonly pids: number[];
  readonly folders: string[];
}

/** All processes that the tests of this file started. */
const started: ChildProcess[] = [];

afterAll(() => {
  for (const child of started) killGroup(child, 'SIGKILL');
});

/** Starts a command that leads to a hanging run, in a new session. */
async function start(file: string, args: readonly string[]): Promise<HangingRun> {
  const list = join(newFolder(), 'list');
  const env: NodeJS.ProcessEnv = { PATH: process.env['PATH'], FLEET_TEST_LIST: list };
  const child = spawn(file, args, {
    cwd: ROOT,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
  started.push(child);
  await eventually(
    () => existsSync(list) || child.exitCode !== null,
    () => output,
  );
  expect(child.exitCode, output).toBe(null);
  const run: HangingRun = { started: child, ...JSON.parse(readFileSync(list, 'utf8')) };
  expect(run.pids.filter(isRunning)).toEqual(run.pids);
  expect(run.folders.filter((folder) => existsSync(folder))).toEqual(run.folders);
  return run;
}

/** Sends a signal to a process and to those in its group, as a terminal does when it closes. */
function killGroup(leader: ChildProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(-(leader.pid ?? 0), signal);
  } catch {
    // The whole group has ended.
  }
}

/** Whether a process runs. One that has ended and was not collected by its parent does not count. */
function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return false;
  }
}

/** Waits until all processes have ended and the folders are gone. */
async function expectEnd({ pids, folders }: HangingRun): Promise<void> {
  const startedAt = performance.now();
  while (pids.some(isRunning) && performance.now() - startedAt < LIMIT_MS)
    await new Promise((resolve) => setTimeout(resolve, 50));
  expect(pids.filter(isRunning)).toEqual([]);
  await eventually(() => !folders.some((folder) => existsSync(folder)));
}

describe.runIf(process.platform === 'linux' && hasTool('script'))(
  'the processes of a test run',
  { concurrent: true },
  () => {
    const testProgram = ['--input-type=module', '-e', STARTER];

    test.each(['SIGTERM', 'SIGKILL'] as const)('end when Vitest gets %s', async (signal) => {
      const run = await start(process.execPath, HANGING_RUN);
      run.started.kill(signal);
      await expectEnd(run);
    });

    test('all processes of a test run end when its terminal closes', async () => {
      const run = await start(process.execPath, testProgram);
      killGroup(run.started, 'SIGHUP');
      await expectEnd(run);
    });

    test('all processes of a test run end when the npm test process gets SIGKILL', async () => {
      const run = await start(process.execPath, testProgram);
      run.started.kill('SIGKILL');
      await expectEnd(run);
    });

    test('all processes of a test run end when the npm test shell ends', async () => {
      const script = '"$0" "$@"; true';
      const run = await start('sh', ['-c', script, process.execPath, ...testProgram]);
      run.started.kill('SIGTERM');
      await expectEnd(run);
    });
  },
);
