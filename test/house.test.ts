// Checks the structure of src: imports between folders, and the only files that import certain
// libraries. Also checks the list of slow tests.

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { SLOW_FILES } from './support/slow-files.js';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const SOURCE = join(ROOT, 'src');

function filesBelow(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? filesBelow(path) : path.endsWith('.ts') ? [path] : [];
  });
}

interface Import {
  from: string;
  to: string;
  isLazy: boolean;
  isTypeOnly: boolean;
}

function importsOf(path: string): Import[] {
  const text = readFileSync(path, 'utf8');
  const from = relative(SOURCE, path);
  const name = (specifier: string) =>
    specifier.startsWith('.')
      ? relative(SOURCE, resolve(dirname(path), specifier)).replace(/\.js$/, '.ts')
      : specifier;
  const fixed = [...text.matchAll(/^(?:import|export)\s+(type\s)?[^'"]*?from\s+'([^']+)'/gm)].map(
    (match) => ({
      from,
      to: name(match[2] ?? ''),
      isLazy: false,
      isTypeOnly: match[1] !== undefined,
    }),
  );
  const lazy = [...text.matchAll(/import\('([^']+)'\)/g)].map((match) => ({
    from,
    to: name(match[1] ?? ''),
    isLazy: true,
    isTypeOnly: false,
  }));
  return [...fixed, ...lazy];
}

const FILES = filesBelow(SOURCE);
const IMPORTS = FILES.flatMap(importsOf);
const LOCAL = IMPORTS.filter(({ to }) => to.endsWith('.ts'));

function roomOf(file: string): string {
  return file.includes('/') ? file.slice(0, file.indexOf('/')) : file.replace(/\.ts$/, '');
}

/**
 * Folders that every folder except the sandbox may import. Each may import only the ones before it.
 */
const LEAVES: readonly string[] = ['errors', 'json', 'globe', 'system'];
/** Additional imports of each folder. They point down and form no circle. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  main: ['cli', 'program', 'context', 'terminal'],
  program: ['commands', 'list', 'cli', 'context', 'terminal'],
  commands: [
    'bulk',
    'follow',
    'input',
    'list',
    'cli',
    'context',
    'follower',
    'mirror',
    'api',
    'views',
    'http',
    'terminal',
    'settings',
    'sandbox',
    'page',
    'rounds',
  ],
  bulk: [
    'input',
    'list',
    'context',
    'follower',
    'api',
    'views',
    'http',
    'terminal',
    'cli',
    'settings',
  ],
  follow: ['list', 'context', 'follower', 'api', 'views', 'http', 'terminal', 'cli', 'settings'],
  input: ['list', 'context', 'api', 'terminal', 'cli'],
  list: ['context', 'mirror', 'api', 'views', 'http', 'terminal', 'settings', 'cli'],
  context: ['settings', 'http', 'terminal', 'views'],
  mirror: ['follower', 'api', 'http', 'terminal'],
  follower: ['api', 'http', 'terminal'],
  views: ['api', 'http', 'page', 'terminal'],
  settings: ['mirror', 'api', 'http', 'cli', 'terminal'],
  api: ['http'],
  http: [],
  terminal: ['cli'],
  cli: ['api', 'http'],
  sandbox: ['api'],
  page: ['api'],
  rounds: [],
};

/** Returns the folders that a file in this folder may import. */
function roomsBelow(room: string): readonly string[] {
  if (LEAVES.includes(room)) return LEAVES.slice(0, LEAVES.indexOf(room));
  return [...(MAY_IMPORT[room] ?? []), ...LEAVES];
}

test('the imports between the src folders have no cycles', () => {
  const reached = (room: string, seen = new Set<string>()): Set<string> => {
    for (const next of roomsBelow(room)) {
      if (!seen.has(next)) reached(next, seen.add(next));
    }
    return seen;
  };
  expect(Object.keys(MAY_IMPORT).filter((room) => reached(room).has(room))).toEqual([]);
});

test('folders of src import only from folders on lower levels', () => {
  const wrong = LOCAL.filter(({ from, to }) => roomOf(from) !== roomOf(to))
    .filter(({ from, to }) => !roomsBelow(roomOf(from)).includes(roomOf(to)))
    .map(({ from, to }) => `${from} -> ${to}`);
  expect(wrong).toEqual([]);
});

test('imports between files have no cycles, including type imports and lazy imports', () => {
  const next = new Map<string, string[]>();
  for (const { from, to } of LOCAL) next.set(from, [...(next.get(from) ?? []), to]);
  const circles: string[] = [];
  const done = new Set<string>();
  const walk = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' -> '));
    if (path.includes(file) || done.has(file)) return;
    for (const to of next.get(file) ?? []) walk(to, [...path, file]);
    done.add(file);
  };
  for (const file of next.keys()) walk(file, []);
  expect(circles).toEqual([]);
});

/** Libraries that slow the start down: only one file imports each of them, and only lazily. */
const HEAVY = [
  'undici',
  'undici/lib/dispatcher/agent.js',
  'eventsource',
  'chalk',
  'conf',
  'yaml',
  'cli-table3',
  'saxes',
  'pg',
  'pg-cursor',
  'pg-copy-streams',
];

test.each(HEAVY)('only one file imports %s, and only lazily', (library) => {
  const importers = IMPORTS.filter(({ to, isTypeOnly }) => to === library && !isTypeOnly);
  expect([...new Set(importers.map(({ from }) => from))]).toHaveLength(1);
  const isReachedLazily = (file: string) =>
    IMPORTS.filter(({ to, isTypeOnly }) => to === file && !isTypeOnly).every(
      ({ isLazy }) => isLazy,
    );
  expect(importers.filter(({ from, isLazy }) => !isLazy && !isReachedLazily(from))).toEqual([]);
});

test('only two files use the loosely typed classes of commander', () => {
  const users = IMPORTS.filter(({ to }) => to === 'commander').map(({ from }) => from);
  expect(users.sort()).toEqual(['cli/command.ts', 'program.ts']);
  expect(
    IMPORTS.filter(({ to, isTypeOnly }) => to.startsWith('@commander-js/') && !isTypeOnly),
  ).toEqual([]);
});

test('only one file loads jq, and only on first use', () => {
  expect(IMPORTS.filter(({ to }) => to.startsWith('jq-wasm'))).toEqual([]);
  const importers = LOCAL.filter(({ to }) => to === 'terminal/jq/open.ts');
  expect(importers.filter(({ isLazy, isTypeOnly }) => !isLazy && !isTypeOnly)).toEqual([]);
});

test('only the `sandbox` and `demo` commands load the sandbox', () => {
  const importers = LOCAL.filter(
    ({ from, to }) => roomOf(to) === 'sandbox' && roomOf(from) !== 'sandbox',
  );
  const strangers = importers.filter(({ from }) => !/^commands\/(sandbox|demo)\//.test(from));
  expect(strangers).toEqual([]);
});

test('the sandbox imports only types and fixed word lists from the api folder', () => {
  const borrowed = filesBelow(join(SOURCE, 'sandbox')).flatMap((path) =>
    [
      ...readFileSync(path, 'utf8').matchAll(
        /import (?!type)\{([^}]*)\} from '[./]*\/api\/[^']+'/g,
      ),
    ].flatMap((match) =>
      (match[1] ?? '').split(',').map((word) => word.trim().replace(/^type .*/, '')),
    ),
  );
  expect(borrowed.filter((word) => word !== '' && !/^[A-Z_]+$/.test(word))).toEqual([]);
});

test('every exported type and function has a unique name', () => {
  const exported = FILES.flatMap((file) =>
    [
      ...readFileSync(file, 'utf8').matchAll(
        /^export (?:async )?(?:interface|type|class|function\*?) ([A-Za-z]\w*)/gm,
      ),
    ].map(([, name = '']) => `${name} of ${relative(SOURCE, file)}`),
  );
  const nameOf = (one: string) => one.split(' ', 1)[0];
  // Overloads of one function are in one file.
  const different = [...new Set(exported)];
  expect(
    different.filter((one) =>
      different.some((other) => other !== one && nameOf(other) === nameOf(one)),
    ),
  ).toEqual([]);
});

test('every command folder is registered and declares its commands in index.ts', () => {
  const program = readFileSync(join(SOURCE, 'program.ts'), 'utf8');
  const nouns = readdirSync(join(SOURCE, 'commands'));
  expect(nouns.filter((noun) => !program.includes(`'./commands/${noun}/index.js'`))).toEqual([]);
  expect(nouns.filter((noun) => !existsSync(join(SOURCE, 'commands', noun, 'index.ts')))).toEqual(
    [],
  );
});

test('declaring a command group does not load its actions, client or settings', () => {
  const eager = LOCAL.filter(
    ({ from, isLazy, isTypeOnly }) =>
      /^commands\/[^/]+\/index\.ts$/.test(from) && !isLazy && !isTypeOnly,
  );
  expect(
    eager
      .filter(({ to }) => /^(http(?!\/methods\.ts)|sandbox)\//.test(to))
      .map(({ from, to }) => `${from} -> ${to}`),
  ).toEqual([]);
});

test('no file calls process.exit, and every file starts with a comment', () => {
  const texts = FILES.map((path) => [relative(SOURCE, path), readFileSync(path, 'utf8')] as const);
  expect(
    texts.filter(([, text]) => /process\.exit\b(?!Code)/.test(text)).map(([file]) => file),
  ).toEqual([]);
  expect(texts.filter(([, text]) => !text.startsWith('// ')).map(([file]) => file)).toEqual([]);
});

/** The sandbox and the page have their own clocks, and a progress line delays nothing. */
const OWN_TIMERS = /^(?:system\/clock\.ts|sandbox\/.*|page\/.*|terminal\/progress\.ts)$/;

test('only the clock reads the time, so that tests can control it', () => {
  const users = FILES.filter((path) =>
    /\bDate\.now\b|\bperformance\.now\b|\bset(?:Timeout|Interval)\(/.test(
      readFileSync(path, 'utf8'),
    ),
  );
  expect(
    users.map((path) => relative(SOURCE, path)).filter((file) => !OWN_TIMERS.test(file)),
  ).toEqual([]);
});

/**
 * Code that exists once, found by text that only its file contains, outside the sandbox and the
 * page.
 */
test.each<[string, RegExp, string]>([
  ['sleep', /\bfunction sleep\b/, 'system/clock.ts'],
  ['list of HTTP methods', /'GET', 'HEAD'/, 'http/methods.ts'],
  ['title of an HTML page', /\bfunction htmlTitle\b/, 'http/server-text.ts'],
  ['decision of a proxy', /'HTTPS_PROXY'/, 'http/proxy.ts'],
  ['decision of what is tried again', /\bRETRY_AFTER_LIMIT_MS =/, 'http/retry.ts'],
  ['way to squeeze JSON', /\bfunction squeeze\b/, 'json/text.ts'],
  ['draft of a whole file', /\.draft`/, 'system/whole-file.ts'],
  ['table of time units', /\bHOUR_MS =/, 'system/time-units.ts'],
  ['size of the earth', /\bEARTH_RADIUS_METRES =/, 'globe/projection.ts'],
])('only one file contains the %s', (_what, words, file) => {
  const places = FILES.filter((path) => words.test(readFileSync(path, 'utf8'))).map((path) =>
    relative(SOURCE, path),
  );
  expect(places.filter((path) => !/^(?:sandbox|page)\//.test(path))).toEqual([file]);
});

test('no test uses a regular expression inside toMatchObject', () => {
  const users = filesBelow(join(ROOT, 'test')).filter((path) =>
    [...readFileSync(path, 'utf8').matchAll(/toMatchObject\(([^;]*?)\);/g)].some(([, body = '']) =>
      /[:[,]\s*\/[^/*'\n]+\/[a-z]*\s*[,}\]]/.test(body),
    ),
  );
  expect(users.map((path) => relative(ROOT, path))).toEqual([]);
});

describe('CONTRIBUTING', () => {
  const text = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8');

  test('CONTRIBUTING mentions only existing files and folders', () => {
    const paths = [...text.matchAll(/`([\w.-]+\/[\w./-]*)`/g)].map(([, path = '']) => path);
    // Paths may omit `src`. Skip names in capitals, which are placeholders, and files that are
    // built or downloaded.
    const named = paths.filter((path) => !/[A-Z]{2}|^(?:dist|node_modules)\//.test(path));
    const missing = named.filter(
      (path) => !existsSync(join(ROOT, path)) && !existsSync(join(SOURCE, path)),
    );
    expect([...new Set(missing)]).toEqual([]);
  });

  test('CONTRIBUTING lists every src folder', () => {
    const [, picture = ''] = /^src\/\n((?: {2}.*\n)*)/m.exec(text) ?? [];
    const drawn = [...picture.matchAll(/^ {2}([\w.-]+)/gm)].map(([, name]) => name);
    expect(drawn.sort()).toEqual(readdirSync(SOURCE).sort());
  });

  test('CONTRIBUTING lists a test for each of the ten promises', () => {
    const rows = [...text.matchAll(/^\| (\d+)\. .* \| `(test\/[^`]+)`: (.*) \|$/gm)];
    expect(rows.map(([, number]) => Number(number))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    const missing = rows.filter(
      ([, , path = '', title = '']) => !readFileSync(join(ROOT, path), 'utf8').includes(title),
    );
    expect(missing.map(([row]) => row)).toEqual([]);
  });
});

test('the list of slow test files contains each existing file once', () => {
  const missing = SLOW_FILES.filter((name) => !existsSync(join(ROOT, 'test', name)));
  expect(missing).toEqual([]);
  expect(new Set(SLOW_FILES).size).toBe(SLOW_FILES.length);
});
