// Says at the end of a run which tests were skipped for want of a tool, and stops what the tests shared.

import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { announceFolder } from './folder.js';
import { announcePostgres } from './postgres.js';
import { SKIPS_VARIABLE, skippedLines } from './tools.js';

/** Vitest calls it before the first test, and what it returns after the last. */
export function setup(): () => Promise<void> {
  const skips = join(tmpdir(), `fleet-skips-${process.pid}`);
  process.env[SKIPS_VARIABLE] = skips;
  const removeFolder = announceFolder();
  const stopPostgres = announcePostgres();
  return async () => {
    await stopPostgres();
    removeFolder();
    const lines = skippedLines();
    rmSync(skips, { force: true });
    if (lines.length > 0)
      process.stderr.write(`\n${lines.map((line) => `!!! ${line}\n`).join('')}\n`);
  };
}
