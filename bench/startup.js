// Measures the start-up and one page: whole processes beside a bare Node, gh and curl, and the time
// of each phase of a page.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  CHOSEN_NODES,
  CHOSEN_ROUNDS,
  compare,
  environment,
  interleave,
  isInstalled,
  median,
  PROGRAM,
  run,
} from './measure.js';
import { findNode } from './nodes.js';

const ROUNDS = CHOSEN_ROUNDS ?? 20;
/** The token that asks the service of the bench for one page of 20. */
const TOKEN = 'total=20.size=20';
const NODE_MAJOR = Number(process.versions.node.split('.')[0]);
const PAGE_MOST = 3.2;
/** The number of listed modules for each command. */
const MODULES_SHOWN = 8;
/** A page takes less time when Node keeps its compiled code. */
const CACHED_PAGE_MOST = 2.5;
const CACHED_HELP_MOST = 1.8;

/** @returns {AsyncGenerator<import('./measure.js').Row>} */
export async function* benchStartup(url, secure) {
  // `gh api` needs a token, but does not check it.
  const env = environment({ FLEET_BASE_URL: url, FLEET_TOKEN: TOKEN, GH_TOKEN: TOKEN });
  const folder = mkdtempSync(join(tmpdir(), 'fleet-bench-'));
  try {
    yield* await againstNode(env);
    yield* await onOtherNodes(env, folder);
    yield* await againstGh(url, env);
    if (secure !== undefined) yield* overTls(secure, env);
    yield* await asPersonSees(url, folder);
    yield* phases(env, folder);
    yield* modules(env, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function againstNode(env) {
  const [node, version, help, listHelp, page, binaryVersion, binaryPage] = await interleave(
    [
      '"$NODE" -e 0',
      '"$NODE" "$FLEET" --version',
      '"$NODE" "$FLEET" --help',
      '"$NODE" "$FLEET" bicycles list --help',
      '"$NODE" "$FLEET" bicycles list --json -q',
      '"$BINARY" --version',
      '"$BINARY" bicycles list --json -q',
    ],
    ROUNDS,
    env,
  );
  return [
    compare('fleet --version', version, node, 'node -e 0', 1.3),
    compare('fleet --help', help, node, 'node -e 0', NODE_MAJOR >= 22 ? CACHED_HELP_MOST : 2),
    compare('fleet bicycles list --help', listHelp, node, 'node -e 0', 1.9),
    compare(
      'one page of 20, --json',
      page,
      node,
      'node -e 0',
      NODE_MAJOR >= 22 ? CACHED_PAGE_MOST : PAGE_MOST,
    ),
    compare('executable: --version', binaryVersion, node, 'node -e 0', 0.45),
    compare('executable: one page of 20, --json', binaryPage, node, 'node -e 0'),
  ];
}

/**
 * Measures the versions of Node in `--node`, which keep their compiled code. The first round, which
 * does not count, fills their cache.
 */
async function onOtherNodes(env, folder) {
  const rows = [];
  for (const name of CHOSEN_NODES) {
    const other = { ...env, NODE: findNode(name), XDG_CACHE_HOME: folder };
    const version = execFileSync(other.NODE, ['--version'], { encoding: 'utf8' }).trim();
    const [node, help, page] = await interleave(
      ['"$NODE" -e 0', '"$NODE" "$FLEET" --help', '"$NODE" "$FLEET" bicycles list --json -q'],
      ROUNDS,
      other,
    );
    rows.push(compare(`fleet --help, Node ${version}`, help, node, 'node -e 0', CACHED_HELP_MOST));
    rows.push(
      compare(`one page of 20, --json, Node ${version}`, page, node, 'node -e 0', CACHED_PAGE_MOST),
    );
  }
  return rows;
}

async function againstGh(url, env) {
  if (!(await isInstalled('gh'))) return [];
  const [gh, version, api, page, binaryPage] = await interleave(
    [
      'gh --version',
      '"$NODE" "$FLEET" --version',
      `gh api ${url}/bicycles/`,
      '"$NODE" "$FLEET" bicycles list --json -q',
      '"$BINARY" bicycles list --json -q',
    ],
    ROUNDS,
    env,
  );
  return [
    compare('fleet --version', version, gh, 'gh --version', 0.75),
    compare('one page of 20, --json', page, api, 'gh api'),
    compare('executable: one page of 20, --json', binaryPage, api, 'gh api', 0.5),
  ];
}

/** Measures https with a verified certificate of a private authority. */
async function* overTls({ url, authority }, env) {
  const ours = `NODE_EXTRA_CA_CERTS=${authority} FLEET_BASE_URL=${url}`;
  const peers = {
    curl: `curl -sf --cacert ${authority} -H "Authorization: JWT $FLEET_TOKEN" ${url}/bicycles/`,
    'gh api': `SSL_CERT_FILE=${authority} gh api ${url}/bicycles/`,
  };
  for (const [name, line] of Object.entries(peers)) {
    if (!(await isInstalled(name.split(' ')[0]))) continue;
    const [page, binaryPage, peer] = await interleave(
      [
        `${ours} "$NODE" "$FLEET" bicycles list --json -q`,
        `${ours} "$BINARY" bicycles list --json -q`,
        line,
      ],
      ROUNDS,
      env,
    );
    yield compare('one page of 20 over https, --json', page, peer, name);
    yield compare(
      'executable: one page of 20 over https, --json',
      binaryPage,
      peer,
      name,
      name === 'curl' ? undefined : 0.5,
    );
  }
}

/** Measures a page with settings from the stored profile, as a table in a terminal of `script`. */
async function asPersonSees(url, folder) {
  if (!(await isInstalled('script'))) return [];
  const env = environment({ FLEET_CONFIG_DIR: folder, TERM: 'xterm-256color' });
  await run(
    `printf ${TOKEN} | "$NODE" "$FLEET" auth login --with-token --no-check --base-url ${url}`,
    env,
  );
  const onTerminal = (line) => `script -qec '${line}' /dev/null`;
  const [node, table] = await interleave(
    [onTerminal('"$NODE" -e 0'), onTerminal('"$NODE" "$FLEET" bicycles list')],
    ROUNDS,
    env,
  );
  return [
    compare('one page of 20, stored profile, table on a terminal', table, node, 'node -e 0', 4.5),
  ];
}

/** Lists the modules that take longest to load, for --version, --help and one page. */
function* modules(env, folder) {
  const hook = fileURLToPath(new URL('modules.cjs', import.meta.url));
  const path = join(folder, 'modules.json');
  for (const line of ['--version', '--help', 'bicycles list --json -q']) {
    execFileSync(process.execPath, ['-r', hook, PROGRAM, ...line.split(' ')], {
      env: { ...env, FLEET_BENCH_MODULES: path },
      stdio: 'ignore',
    });
    const loaded = JSON.parse(readFileSync(path, 'utf8'));
    for (const [name, ms] of loaded
      .sort(([, one], [, other]) => other - one)
      .slice(0, MODULES_SHOWN))
      yield {
        what: `  module of fleet ${line}: ${name}`,
        figure: `${ms.toFixed(1)} ms`,
        peer: '-',
      };
  }
}

/** Lists the phases of a page with their times. */
function phases(env, folder) {
  const hook = fileURLToPath(new URL('phases.cjs', import.meta.url));
  const path = join(folder, 'phases.json');
  const rounds = Array.from({ length: ROUNDS }, () => {
    execFileSync(process.execPath, ['-r', hook, PROGRAM, 'bicycles', 'list', '--json', '-q'], {
      env: { ...env, FLEET_BENCH_PHASES: path },
      stdio: 'ignore',
    });
    return JSON.parse(readFileSync(path, 'utf8'));
  });
  return rounds[0].map(([what], index) => {
    const took = rounds.map((marks) => marks[index][1] - (marks[index - 1]?.[1] ?? 0));
    const figure = `${median(took).toFixed(1)} ms (min ${Math.min(...took).toFixed(1)} ms)`;
    return { what: `  phase of a page: ${what}`, figure, peer: '-' };
  });
}
