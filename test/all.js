// Runs the check of types and style beside the tests for `npm test`, after the build. The tests
// often wait for sockets and processes, so both share the processor well.

import { runCommands } from './support/run-commands.js';

const VITEST = 'node_modules/vitest/vitest.mjs';

process.exitCode = await runCommands([
  ['npm', 'run', 'check'],
  [process.execPath, VITEST, 'run', '--config', 'test/vitest.config.ts', ...process.argv.slice(2)],
]);
