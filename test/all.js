// What `npm test` runs after the build: types and style beside the tests, which wait for sockets and processes part of their time.

import { spawn } from 'node:child_process';

function run(command) {
  return new Promise((resolve) => {
    spawn(command, { shell: true, stdio: 'inherit' }).on('close', (code) => resolve(code ?? 1));
  });
}

const tests = ['npx vitest run --config test/vitest.config.ts', ...process.argv.slice(2)].join(' ');
const codes = await Promise.all([run('npm run check'), run(tests)]);
process.exitCode = Math.max(...codes);
