// Runs the check of types and style beside the tests, after the build. The tests often wait for
// sockets and processes, so both share the processor well.
//
// `node test/run.js quick` is `npm test`: it omits the files of `slow-files.ts`.
// `node test/run.js all` is `npm run test:all`. Further arguments go to vitest:
// `npm test -- test/commands/watch.test.ts`.

import { runCommands } from './support/run-commands.js';

const VITEST = 'node_modules/vitest/vitest.mjs';

const [selection, ...words] = process.argv.slice(2);
// A number is the value of a flag, such as `--bail 1`. Any other word names files.
const isFlag = (word) => word.startsWith('-') || /^\d+$/.test(word);
// A named file runs although it is slow.
const isQuick = selection === 'quick' && words.every(isFlag);
const long = words.find((word) => word.includes('.long.test'));
if (long !== undefined) {
  process.stderr.write(
    `error: ${long} is one of the long tests\nhint: run "npm run test:long -- ${long}"\n`,
  );
  process.exit(2);
}
const config = isQuick ? 'test/vitest.quick.config.ts' : 'test/vitest.config.ts';

process.exitCode = await runCommands([
  ['npm', 'run', 'check'],
  [process.execPath, VITEST, 'run', '--config', config, ...words],
]);
if (isQuick)
  process.stderr.write(
    'The slow tests did not run (test/support/slow-files.ts). `npm run test:all` runs all tests.\n',
  );
