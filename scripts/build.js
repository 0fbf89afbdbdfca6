// Bundles the program into `dist`. Prints only errors. The bundle has one file for the code that
// even `--version` loads, one for the command line and its help, one for the code that a request
// needs, and one for each heavy library and rare command. The build also writes the licences of the
// bundled libraries and the pages of the manual. The sources are ES modules, and the bundle is
// CommonJS, because the loader of ES modules takes 3 ms longer to start.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';
import { feature } from 'topojson-client';

const FOLDER = 'dist';
/** The population of the smallest towns that maps name. */
const LEAST_POPULATION = 50_000;

/**
 * Returns the source files that a file imports, directly or through other files. Imports by `await
 * import()` do not count.
 */
function reach(file, reached = new Set()) {
  if (reached.has(file)) return reached;
  reached.add(file);
  const text = readFileSync(file, 'utf8');
  for (const [, from] of text.matchAll(
    /^(?:import|export)\s(?!type\s)[^;]*?from '(\.[^']+)\.js'/gm,
  )) {
    reach(`${resolve(dirname(file), from)}.ts`, reached);
  }
  return reached;
}

const start = reach(resolve('src/main.ts'));
const program = reach(resolve('src/program.ts'));
/** The declarations of all nouns, which the first page of help shows. */
const nouns = readdirSync('src/commands')
  .map((name) => resolve(`src/commands/${name}/index.ts`))
  .filter((file) => existsSync(file))
  .reduce((reached, file) => reach(file, reached), new Set());
/**
 * The additional files that one page as JSON needs: the list, the settings, a token and the HTTP
 * client.
 */
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

// A file that both groups need belongs to the program, so that neither group loads the other.
for (const file of nouns) if (request.has(file)) program.add(file);

/** Returns text for a script element. The text must not contain the end of the element. */
function inScript(text) {
  return text.replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--');
}

function hashOf(text) {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}

/** Returns the outlines of the countries from Natural Earth. Their names are not drawn. */
function readWorld() {
  const world = JSON.parse(
    readFileSync(fileURLToPath(import.meta.resolve('world-atlas/countries-50m.json')), 'utf8'),
  );
  delete world.objects.land;
  for (const country of world.objects.countries.geometries) {
    delete country.properties;
    delete country.id;
  }
  return JSON.stringify(world);
}

/**
 * Returns the populated places of Natural Earth with name, longitude and latitude, the largest
 * first. The data is in the public domain. No code of the package goes into the bundle.
 */
function readTowns() {
  const { cityMapping } = createRequire(import.meta.url)('city-timezones');
  const towns = cityMapping
    .filter(({ pop }) => pop >= LEAST_POPULATION)
    .sort((a, b) => b.pop - a.pop);
  return JSON.stringify(
    towns.map(({ city, lng, lat }) => [
      city,
      ...[lng, lat].map((degrees) => Number(degrees.toFixed(2))),
    ]),
  );
}

/**
 * Builds the page of the map as one file: template, style, script, MapLibre's worker and
 * coastlines. fleet replaces each `{{fleet:…}}` later. Returns the text and the files that it
 * contains.
 */
async function buildPage() {
  const bundle = async (input) => {
    const { output } = await build({
      input,
      platform: 'browser',
      write: false,
      tsconfig: 'src/page/tsconfig.json',
      transform: { define: { 'import.meta': '{}' } },
      output: { format: 'iife', name: 'page', minify: true, comments: false, charset: 'ascii' },
    });
    return output[0];
  };
  const script = await bundle('src/page/main.ts');
  const worker = await bundle(
    fileURLToPath(import.meta.resolve('maplibre-gl/dist/maplibre-gl-worker.mjs')),
  );
  const style = readFileSync('src/page/style.css', 'utf8');
  const code = inScript(script.code);
  const policy = [
    "default-src 'none'",
    `script-src ${hashOf(code)}`,
    `style-src ${hashOf(style)}`,
    'img-src data: blob:{{fleet:elsewhere}}',
    'connect-src blob:{{fleet:elsewhere}}',
    'worker-src blob:',
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types default',
  ].join('; ');
  const parts = {
    policy,
    style,
    script: code,
    worker: inScript(worker.code),
    world: inScript(readWorld()),
    towns: inScript(readTowns()),
    title: '{{fleet:title}}',
    fleet: '{{fleet:data}}',
    details: '{{fleet:details}}',
    tiles: '{{fleet:tiles}}',
  };
  const text = readFileSync('src/page/template.html', 'utf8').replaceAll(
    /{{(\w+)}}/g,
    (_all, name) => parts[name],
  );
  return { text, moduleIds: [...script.moduleIds, ...worker.moduleIds] };
}

const page = await buildPage();

/** Writes the page of the map as a separate file, which only the map loads. */
const pageAsset = {
  name: 'page',
  generateBundle() {
    this.emitFile({ type: 'asset', fileName: 'page.html', source: page.text });
  },
};

/**
 * Returns the folders of the libraries that another library contains in its own bundle. MapLibre GL
 * ships its libraries in one file.
 */
function foldersWithin(folder, found = new Set()) {
  const { dependencies = {} } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  for (const name of Object.keys(dependencies).filter((each) => !each.startsWith('@types/'))) {
    const inner = [join(folder, 'node_modules', name), resolve('node_modules', name)].find((each) =>
      existsSync(each),
    );
    if (inner === undefined || found.has(inner)) continue;
    foldersWithin(inner, found.add(inner));
  }
  return [...found];
}

/** The package with the data of Natural Earth, which is in the public domain. */
const WORLD = 'node_modules/world-atlas';

/**
 * Writes `coastline.json`: the rings of the land. Each ring is a list of longitudes and latitudes
 * in hundredths of a degree. The first pair is absolute, and each further pair is the difference to
 * the previous pair.
 */
const coastline = {
  name: 'coastline',
  generateBundle() {
    const world = JSON.parse(readFileSync(join(WORLD, 'land-110m.json'), 'utf8'));
    const rings = feature(world, world.objects.land).features.flatMap(({ geometry }) =>
      geometry.coordinates.flat(),
    );
    const encoded = rings.map((ring) => {
      const hundredths = ring.map((place) => place.map((degrees) => Math.round(degrees * 100)));
      return hundredths.flatMap(([x, y], index) => {
        const [beforeX, beforeY] = hundredths[index - 1] ?? [0, 0];
        return [x - beforeX, y - beforeY];
      });
    });
    this.emitFile({ type: 'asset', fileName: 'coastline.json', source: JSON.stringify(encoded) });
    this.emitFile({ type: 'asset', fileName: 'towns.json', source: readTowns() });
  },
};

/**
 * The licences of libraries whose npm packages do not contain them, copied from their repositories.
 */
const LEFT_OUT_LICENCES = {
  '@protomaps/basemaps': `# Code Licenses and Attribution

# The BSD 3-Clause License (BSD-3-Clause)

Copyright 2019-2023 Protomaps LLC, Kelso Cartography

Redistribution and use in source and binary forms, with or without modification, are permitted provided that the following conditions are met:

1. Redistributions of source code must retain the above copyright notice, this list of conditions and the following disclaimer.

2. Redistributions in binary form must reproduce the above copyright notice, this list of conditions and the following disclaimer in the documentation and/or other materials provided with the distribution.

3. Neither the name of the copyright holder nor the names of its contributors may be used to endorse or promote products derived from this software without specific prior written permission.

THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS" AND ANY EXPRESS OR IMPLIED WARRANTIES, INCLUDING, BUT NOT LIMITED TO, THE IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT HOLDER OR CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR CONSEQUENTIAL DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR SERVICES; LOSS OF USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY, WHETHER IN CONTRACT, STRICT LIABILITY, OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE OF THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.

# Visual Design

The visual design of the Protomaps basemap styles was created by Geraldine Sarmiento for Protomaps LLC and released under a Creative Commons 0 (CC0) license.

https://creativecommons.org/publicdomain/zero/1.0/

Certain map styles may also include derivatives of icons designed for Mapzen and released under an MIT license.

https://github.com/tangrams/icons/blob/master/LICENSE.md

# Tile Schema

The organization of layers and tags is adapted from the Tilezen project.

https://github.com/tilezen/vector-datasource
https://github.com/tilezen/vector-datasource/blob/master/docs/LICENSE-SCHEMA.md

# The MIT License (MIT)

Copyright (c) 2015-2018 Mapzen
Copyright (c) 2019 Linux Foundation

Permission is hereby granted, free of charge, to any person obtaining a copy of
this software and associated documentation files (the "Software"), to deal in
the Software without restriction, including without limitation the rights to
use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of
the Software, and to permit persons to whom the Software is furnished to do so,
subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS
FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER
IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
`,
  pmtiles: `The below license (BSD-3) applies to the reference implementations in this repository.

The PMTiles specification itself is public domain, or CC0 where applicable.

Sample tilesets available in this repository are subject to their own license terms.

---

Copyright 2021 Protomaps LLC

Redistribution and use in source and binary forms, with or without modification, are permitted provided that the following conditions are met:

1. Redistributions of source code must retain the above copyright notice, this list of conditions and the following disclaimer.

2. Redistributions in binary form must reproduce the above copyright notice, this list of conditions and the following disclaimer in the documentation and/or other materials provided with the distribution.

3. Neither the name of the copyright holder nor the names of its contributors may be used to endorse or promote products derived from this software without specific prior written permission.

THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS" AND ANY EXPRESS OR IMPLIED WARRANTIES, INCLUDING, BUT NOT LIMITED TO, THE IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT HOLDER OR CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR CONSEQUENTIAL DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR SERVICES; LOSS OF USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY, WHETHER IN CONTRACT, STRICT LIABILITY, OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE OF THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.
`,
  saxes: `The ISC License

Copyright (c) Contributors
Copyright (c) Isaac Z. Schlueter and Contributors (sax, from which saxes was forked)

Permission to use, copy, modify, and/or distribute this software for any
purpose with or without fee is hereby granted, provided that the above
copyright notice and this permission notice appear in all copies.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES
WITH REGARD TO THIS SOFTWARE INCLUDING ALL IMPLIED WARRANTIES OF
MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR
ANY SPECIAL, DIRECT, INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES
WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN
ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF OR
IN CONNECTION WITH THE USE OR PERFORMANCE OF THIS SOFTWARE.
`,
};

/**
 * Writes `THIRD-PARTY-LICENSES.txt`: the name, version and licence of each library in the bundle.
 */
const licences = {
  name: 'licences',
  generateBundle(_options, bundle) {
    const files = [
      ...Object.values(bundle).flatMap(({ moduleIds = [] }) => moduleIds),
      ...page.moduleIds,
    ];
    const found = files.flatMap(
      (file) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file) ?? [],
    );
    const within = foldersWithin(resolve('node_modules/maplibre-gl'));
    const folders = [...found, resolve(WORLD), ...within];
    const texts = [...new Set(folders)].sort().map((folder) => {
      const { name, version, license } = JSON.parse(
        readFileSync(join(folder, 'package.json'), 'utf8'),
      );
      const leftOut = LEFT_OUT_LICENCES[name];
      if (leftOut !== undefined) return `${name} ${version} (${license})\n\n${leftOut}`;
      const names = readdirSync(folder);
      const file =
        names.find((each) => /^licen[cs]e/i.test(each)) ??
        names.find((each) => /^readme/i.test(each));
      const whole = file === undefined ? '' : readFileSync(join(folder, file), 'utf8').trim();
      // Some packages have the licence at the end of their README.
      const start = /^licen[cs]e/i.test(file) ? 0 : whole.search(/^#+ *licen[cs]e/im);
      // A library inside MapLibre GL names its licence at least.
      if (start < 0 && !within.includes(folder)) throw new Error(`${name} has no licence to ship`);
      const text = start < 0 ? `See ${name} on npm.` : whole.slice(start);
      return `${name} ${version} (${license ?? 'MIT'})\n\n${text}\n`;
    });
    this.emitFile({
      type: 'asset',
      fileName: 'THIRD-PARTY-LICENSES.txt',
      source: texts.join(`\n${'-'.repeat(80)}\n\n`),
    });
  },
};

/**
 * Parts of undici that a plain request does not need. They are separate files, because V8 would
 * otherwise read them at each start.
 */
const APART = {
  'undici-body': 'undici/lib/web/fetch/body.js',
  'undici-parser': 'undici/lib/llhttp/llhttp-wasm.js',
};
const require = createRequire(import.meta.url);
const apart = new Map(
  Object.entries(APART).map(([name, path]) => [require.resolve(path), `./${name}.cjs`]),
);

/**
 * The other files that the Agent of undici needs: all files that it requires, and the files of
 * fleet that use it.
 */
const undici = ['agent', 'connect', 'connection-stream', 'interim']
  .map((name) => `src/http/${name}.ts`)
  .map((file) => resolve(file));
const addUndici = (file) => {
  if (undici.includes(file) || apart.has(file)) return;
  undici.push(file);
  for (const [, from] of readFileSync(file, 'utf8').matchAll(/require\('(\.[^']+)'\)/g))
    addUndici(createRequire(file).resolve(from));
};
addUndici(require.resolve('undici/lib/dispatcher/agent.js'));

/** Loads the rarely needed parts of undici from their separate files. */
const late = {
  name: 'late',
  resolveId(source, importer = '') {
    if (!importer.includes('/undici/') || !source.startsWith('.')) return null;
    const id =
      apart.get(resolve(dirname(importer), source)) ??
      apart.get(`${resolve(dirname(importer), source)}.js`);
    return id === undefined ? null : { id, external: true };
  },
};

/** Copies the guides into `dist`, for `fleet help`. */
const guides = {
  name: 'guides',
  generateBundle() {
    for (const name of readdirSync('docs').filter((each) => each.endsWith('.md')))
      this.emitFile({ type: 'asset', fileName: name, source: readFileSync(join('docs', name)) });
  },
};

/** Copies the WebAssembly of jq into `dist`. */
const webAssembly = {
  name: 'web-assembly',
  generateBundle() {
    this.emitFile({
      type: 'asset',
      fileName: 'jq.wasm',
      source: readFileSync(require.resolve('jq-wasm/jq.wasm')),
    });
  },
};

/**
 * Turns the wrappers of CommonJS modules into functions. Rolldown wraps each module in an arrow
 * function in parentheses, so that V8 compiles it together with its file. V8 of Node 20 does this
 * only for `function`, and would read each module twice.
 */
const readOnce = {
  name: 'read-once',
  renderChunk: (code) => ({
    code: code.replace(/__commonJSMin\(\(\((.*?)\) => {/g, '__commonJSMin((function($1) {'),
    map: null,
  }),
};

/** `npm run build:binary` writes these executables, and `npm run pack` builds again without them. */
const EXECUTABLES = ['fleet', 'fleet.exe'];
const isBuilt = (name) => !EXECUTABLES.includes(name);
for (const name of existsSync(FOLDER) ? readdirSync(FOLDER).filter(isBuilt) : [])
  rmSync(join(FOLDER, name), { recursive: true });

await build({
  input: { main: 'src/main.ts', 'jq-worker': 'src/terminal/jq/jq-worker.cjs', ...APART },
  platform: 'node',
  // Optional packages of pg, which are not installed.
  external: ['pg-native', 'pg-cloudflare'],
  plugins: [pageAsset, coastline, licences, late, guides, webAssembly, readOnce],
  output: {
    dir: FOLDER,
    format: 'cjs',
    charset: 'ascii',
    comments: false,
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name]-[hash].cjs',
    sourcemap: true,
    codeSplitting: {
      groups: [
        { name: 'start', test: (id) => start.has(id), priority: 3 },
        {
          name: 'program',
          test: (id) => program.has(id) || /node_modules\/(commander|leven)\//.test(id),
          priority: 2,
        },
        { name: 'nouns', test: (id) => nouns.has(id), priority: 1 },
        { name: 'request', test: (id) => request.has(id), priority: 1 },
        { name: 'undici', test: (id) => undici.includes(id), priority: 1 },
      ],
    },
  },
});

execFileSync(
  process.execPath,
  ['bin/fleet.js', 'help', '--man-pages', `${FOLDER}/man`, '--quiet'],
  {
    env: { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' },
  },
);
