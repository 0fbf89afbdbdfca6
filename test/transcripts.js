// `npm run transcripts`: builds, and runs all transcripts or those of the given paths. With --update
// it rewrites their expected output and prints the names of the changed files.

import { runCommands } from './support/run-commands.js';

const VITEST = 'node_modules/vitest/vitest.mjs';

const words = process.argv.slice(2);
const paths = words.filter((word) => word !== '--update');
const guide = paths.find((path) => /^(?:README\.md|docs\/)/.test(path));
if (guide !== undefined) {
  process.stderr.write(
    `error: ${guide} is not a transcript: it shows real addresses and times\nhint: run "npm test -- test/readme.test.ts", which prints the lines to write into it\n`,
  );
  process.exit(2);
}
if (words.includes('--update')) process.env['FLEET_TRANSCRIPTS'] = 'update';
process.exitCode = await runCommands([
  [
    process.execPath,
    VITEST,
    'run',
    '--config',
    'test/vitest.config.ts',
    ...(paths.length === 0 ? ['test/transcripts'] : paths),
  ],
]);
