// Bundles the program: one file for what every command loads, one for what a request needs, one for each heavy library and rare command.

import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Our own files that `import` without `await` leads to from an entry: what even `--version` loads. */
function reach(file, reached = new Set()) {
  if (reached.has(file)) return reached;
  reached.add(file);
  const text = readFileSync(file, 'utf8');
  for (const [, from] of text.matchAll(/^(?:import|export)\s(?!type\s)[^;]*?from '(\.[^']+)\.js'/gm)) {
    reach(`${resolve(dirname(file), from)}.ts`, reached);
  }
  return reached;
}

const start = reach(resolve('src/main.ts'));
const RARE =
  /src\/(sandbox|http\/(agent|proxy|stream)|commands\/(sandbox|demo|watch|doctor|completion|help|auth|api|bicycles\/bulk))/;

export default {
  input: 'src/main.ts',
  platform: 'node',
  output: {
    dir: 'dist',
    format: 'esm',
    sourcemap: true,
    cleanDir: true,
    codeSplitting: {
      groups: [
        { name: 'start', test: (id) => start.has(id) || /node_modules\/(commander|leven)\//.test(id), priority: 2 },
        { name: 'request', test: (id) => /\/src\//.test(id) && !RARE.test(id), priority: 1 },
      ],
    },
  },
};
