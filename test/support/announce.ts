// Says at the end of a run which tests were skipped for want of a tool, and stops what the tests shared.

import { announcePostgres } from './postgres.js';
import { missingTools } from './tools.js';

/** Vitest calls it before the first test, and what it returns after the last. */
export function setup(): () => Promise<void> {
  const stopPostgres = announcePostgres();
  return async () => {
    await stopPostgres();
    const lines = missingTools();
    if (lines.length > 0) process.stderr.write(`\n${lines.map((line) => `!!! ${line}\n`).join('')}\n`);
  };
}
