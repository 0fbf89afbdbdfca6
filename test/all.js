// What `npm test` runs after the build: the check of types and style, and the tests. They run side by side,
// as the tests wait for sockets and processes part of their time.

import { runCommands } from './support/run-commands.js';

const VITEST = 'node_modules/vitest/vitest.mjs';

process.exitCode = await runCommands([
  ['npm', 'run', 'check'],
  [process.execPath, VITEST, 'run', '--config', 'test/vitest.config.ts', ...process.argv.slice(2)],
]);
