// Bundles the program, and prints nothing but what is wrong: one file for what even `--version` loads, one for the words, one for what a request needs, one for each heavy
// library and rare command. Beside them: the licences of the libraries that went in, and the pages of the manual. The sources are ES
// modules and the bundle is CommonJS, for Node takes 3 ms longer to start the loader of the former.

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { build } from 'rolldown';

const FOLDER = 'dist';

/** Our own files that `import` without `await` leads to from a file. */
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
const program = reach(resolve('src/program.ts'));
/** Besides, what one page as JSON needs: the list, the settings, a token, the way to the service. */
const request = [
  'commands/bicycles/list',
  'settings/store',
  'settings/resolve',
  'settings/token',
  'http/network',
  'http/client',
  'views/exchange',
  'terminal/formats/json',
].reduce((reached, file) => reach(resolve(`src/${file}.ts`), reached), new Set());

/** Writes `THIRD-PARTY-LICENSES.txt`: name, version and licence of each library of which something went into the bundle. */
const licences = {
  name: 'licences',
  generateBundle(_options, bundle) {
    const files = Object.values(bundle).flatMap(({ moduleIds = [] }) => moduleIds);
    const folders = files.flatMap((file) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file) ?? []);
    const texts = [...new Set(folders)].sort().map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
      const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
      if (file === undefined) throw new Error(`${name} has no licence to ship`);
      return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
    });
    this.emitFile({
      type: 'asset',
      fileName: 'THIRD-PARTY-LICENSES.txt',
      source: texts.join(`\n${'-'.repeat(80)}\n\n`),
    });
  },
};

/** Puts jq's WebAssembly beside the bundle. */
const webAssembly = {
  name: 'web-assembly',
  generateBundle() {
    const path = createRequire(import.meta.url).resolve('jq-wasm/jq.wasm');
    this.emitFile({ type: 'asset', fileName: 'jq.wasm', source: readFileSync(path) });
  },
};

await build({
  input: ['src/main.ts', 'src/terminal/jq/jq-worker.cjs'],
  platform: 'node',
  // Optional parts of pg that nobody installed.
  external: ['pg-native', 'pg-cloudflare'],
  // What its package.json names first loads its own files in a way that cannot be bundled.
  resolve: { alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' } },
  plugins: [licences, webAssembly],
  output: {
    dir: FOLDER,
    format: 'cjs',
    charset: 'ascii',
    comments: false,
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name]-[hash].cjs',
    sourcemap: true,
    cleanDir: true,
    codeSplitting: {
      groups: [
        { name: 'start', test: (id) => start.has(id), priority: 3 },
        { name: 'program', test: (id) => program.has(id) || /node_modules\/(commander|leven)\//.test(id), priority: 2 },
        { name: 'request', test: (id) => request.has(id), priority: 1 },
      ],
    },
  },
});

execFileSync(process.execPath, ['bin/fleet.js', 'help', '--man-pages', `${FOLDER}/man`, '--quiet'], {
  env: { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' },
});
