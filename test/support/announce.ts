// Prepares a test run: names its folders, and starts the watchdog. At the end it prints which tests were
// skipped because a tool is missing, and stops the database that the tests share.

import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startWatchdog } from './end-with-runner.js';
import { announceFolder, FOLDER_VARIABLE } from './folder.js';
import { announcePostgres, POSTGRES_VARIABLE } from './postgres.js';
import { SKIPS_VARIABLE, skippedLines } from './tools.js';

/** Vitest calls this function before the first test and its result after the last one. */
export function setup(): () => Promise<void> {
  const skips = join(tmpdir(), `fleet-skips-${process.pid}`);
  process.env[SKIPS_VARIABLE] = skips;
  const removeFolder = announceFolder();
  const stopPostgres = announcePostgres();
  const folders = [process.env[FOLDER_VARIABLE], process.env[POSTGRES_VARIABLE]];
  startWatchdog([skips, ...folders.filter((folder) => folder !== undefined)]);
  return async () => {
    await stopPostgres();
    removeFolder();
    const lines = skippedLines();
    rmSync(skips, { force: true });
    if (lines.length > 0)
      process.stderr.write(`\n${lines.map((line) => `!!! ${line}\n`).join('')}\n`);
  };
}
