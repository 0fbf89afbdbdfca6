// Tests the demo, also when a program starts slowly.

import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { newFolder } from '../support/folder.js';
import { PROGRAM_ARGS, PROGRAM_FILE, preload } from '../support/program.js';

const SLOW_WATCH =
  "if (process.argv.includes('watch')) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1700);\n";

test('`demo` rents the new bicycle only after the watch is connected', async () => {
  const folder = newFolder();
  try {
    const slow = join(folder, 'slow.mjs');
    await writeFile(slow, SLOW_WATCH);
    const env = { ...process.env, ...preload(slow) };
    const { stdout } = await promisify(execFile)(
      PROGRAM_FILE,
      [...PROGRAM_ARGS, 'demo', '--seconds', '10'],
      { env },
    );
    expect(stdout).toMatch(/Demo 0001 +available -> rented/);
  } finally {
  }
});
