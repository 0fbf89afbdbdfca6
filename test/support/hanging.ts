// A test that never ends, and everything that tests start. `test/run-end.test.ts` kills its runner.
// The test writes its processes and folders to the file that the variable FLEET_TEST_LIST names.

import { spawn } from 'node:child_process';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { FOLDER_VARIABLE, newFolder } from './folder.js';
import { hasPostgres, POSTGRES_VARIABLE, usePostgres } from './postgres.js';
import { PROGRAM_ARGS, PROGRAM_FILE } from './program.js';
import { makeHome } from './shell.js';
import { openTerminal } from './terminal.js';

const LIST = process.env['FLEET_TEST_LIST'] ?? '';
const makeDatabase = hasPostgres() ? usePostgres() : undefined;

/** Starts a shell with a child in a new session. The shell ignores the signals that ask it to end. */
async function startStubbornShell(): Promise<string[]> {
  const script = 'trap "" TERM HUP INT; sleep 1000 & echo $$ $!; wait';
  const shell = spawn('bash', ['-c', script], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const line = await new Promise<Buffer>((resolve) => shell.stdout.once('data', resolve));
  return `${line}`.trim().split(' ');
}

test('never ends', async () => {
  const pids = [String(process.pid), ...(await startStubbornShell())];

  const home = await makeHome({ FLEET_CONFIG_DIR: newFolder() });
  const sandbox = spawn(
    PROGRAM_FILE,
    [...PROGRAM_ARGS, 'sandbox', '--port', '0', '--sse-port', '0'],
    {
      env: home.env,
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  await new Promise((resolve) => sandbox.stdout.once('data', resolve));
  pids.push(String(sandbox.pid));
  const pidFile = join(home.folder, 'pid');
  const terminal = await openTerminal(home);
  terminal.press(
    `echo $$ > pid; sh -c 'echo $$ >> pid; exec fleet sandbox --port 0 --sse-port 0'\n`,
  );
  await terminal.until(/saved as|was not saved/);
  pids.push(...readFileSync(pidFile, 'utf8').trim().split('\n'));

  if (makeDatabase !== undefined) {
    await makeDatabase();
    const data = join(process.env[POSTGRES_VARIABLE] ?? '', 'data', 'postmaster.pid');
    pids.push(readFileSync(data, 'utf8').split('\n')[0] ?? '');
  }

  const folders = [process.env[FOLDER_VARIABLE], process.env[POSTGRES_VARIABLE]];
  writeFileSync(`${LIST}.new`, JSON.stringify({ pids: pids.map(Number), folders }));
  renameSync(`${LIST}.new`, LIST);
  await new Promise(() => {});
});
