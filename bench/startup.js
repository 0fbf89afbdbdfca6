// Measures the start-up and one page: whole processes beside a bare Node, gh and curl, and the time
// of each phase of a page.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  compare,
  environment,
  interleave,
  isInstalled,
  LONG_ROUNDS,
  median,
  PROGRAM,
  run,
  withExecutable,
} from './measure.js';
import { findNode } from './nodes.js';
import { CHOSEN_NODES, CHOSEN_ROUNDS } from './options.js';

const ROUNDS = CHOSEN_ROUNDS ?? 20;
/** The token that asks the service of the bench for one page of 20. */
const TOKEN = 'total=20.size=20';
/** The number of listed modules for each command. */
const MODULES_SHOWN = 8;

/** Returns the goals on a version of Node. From Node 22 on, fleet keeps its compiled code. */
function goalsOn(version) {
  const major = Number(/\d+/.exec(version)?.[0]);
  return major >= 22
    ? { version: 1.3, help: 1.8, page: 2.5 }
    : { version: 1.3, help: 2, page: 3.2 };
}

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
  const times = await interleave(
    {
      node: '"$NODE" -e 0',
      version: '"$NODE" "$FLEET" --version',
      help: '"$NODE" "$FLEET" --help',
      listHelp: '"$NODE" "$FLEET" bicycles list --help',
      page: '"$NODE" "$FLEET" bicycles list --json -q',
      ...withExecutable({
        binaryVersion: '"$BINARY" --version',
        binaryPage: '"$BINARY" bicycles list --json -q',
      }),
    },
    ROUNDS,
    env,
  );
  const goals = goalsOn(process.version);
  const row = (what, time, most) => compare(what, time, times.node, 'node -e 0', most);
  const rows = [
    row('fleet --version', times.version, goals.version),
    row('fleet --help', times.help, goals.help),
    row('fleet bicycles list --help', times.listHelp, 1.9),
    row('one page of 20, --json', times.page, goals.page),
  ];
  if (times.binaryPage === undefined) return rows;
  return [
    ...rows,
    row('executable: --version', times.binaryVersion, 0.45),
    row('executable: one page of 20, --json', times.binaryPage),
  ];
}

/**
 * Measures the versions of Node in `--node`. The first round, which does not count, fills the cache
 * of compiled code.
 */
async function onOtherNodes(env, folder) {
  const rows = [];
  for (const name of CHOSEN_NODES) {
    const other = { ...env, NODE: findNode(name), XDG_CACHE_HOME: folder };
    const node = execFileSync(other.NODE, ['--version'], { encoding: 'utf8' }).trim();
    const times = await interleave(
      {
        node: '"$NODE" -e 0',
        version: '"$NODE" "$FLEET" --version',
        help: '"$NODE" "$FLEET" --help',
        page: '"$NODE" "$FLEET" bicycles list --json -q',
      },
      ROUNDS,
      other,
    );
    const goals = goalsOn(node);
    const row = (what, time, most) =>
      compare(`${what}, Node ${node}`, time, times.node, 'node -e 0', most);
    rows.push(
      row('fleet --version', times.version, goals.version),
      row('fleet --help', times.help, goals.help),
      row('one page of 20, --json', times.page, goals.page),
    );
  }
  return rows;
}

async function againstGh(url, env) {
  if (!(await isInstalled('gh'))) return [];
  const times = await interleave(
    {
      gh: 'gh --version',
      version: '"$NODE" "$FLEET" --version',
      api: `gh api ${url}/bicycles/`,
      page: '"$NODE" "$FLEET" bicycles list --json -q',
      ...withExecutable({ binaryPage: '"$BINARY" bicycles list --json -q' }),
    },
    ROUNDS,
    env,
  );
  const { gh, version, api, page, binaryPage } = times;
  const rows = [
    compare('fleet --version', version, gh, 'gh --version', 0.75),
    compare('one page of 20, --json', page, api, 'gh api'),
  ];
  if (binaryPage !== undefined)
    rows.push(compare('executable: one page of 20, --json', binaryPage, api, 'gh api', 0.5));
  return rows;
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
    const { page, binaryPage, peer } = await interleave(
      {
        page: `${ours} "$NODE" "$FLEET" bicycles list --json -q`,
        ...withExecutable({ binaryPage: `${ours} "$BINARY" bicycles list --json -q` }),
        peer: line,
      },
      ROUNDS,
      env,
    );
    yield compare('one page of 20 over https, --json', page, peer, name);
    if (binaryPage === undefined) continue;
    const most = name === 'curl' ? undefined : 0.5;
    const what = 'executable: one page of 20 over https, --json';
    yield compare(what, binaryPage, peer, name, most);
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
  const { node, table } = await interleave(
    {
      node: onTerminal('"$NODE" -e 0'),
      table: onTerminal('"$NODE" "$FLEET" bicycles list'),
    },
    ROUNDS,
    env,
  );
  return [
    compare('one page of 20, stored profile, table on a terminal', table, node, 'node -e 0', 4.5),
  ];
}

/** Lists the modules that take longest to load, for --version, --help and one page. */
function* modules(env, folder) {
  for (const line of ['--version', '--help', 'bicycles list --json -q']) {
    const times = loadTimes(line, env, join(folder, 'modules.json'));
    const slowest = times.sort(([, one], [, other]) => other - one).slice(0, MODULES_SHOWN);
    for (const [name, ms] of slowest)
      yield {
        what: `  fleet ${line}: load time of module ${name}`,
        figure: `${ms.toFixed(1)} ms`,
        peer: 'without the modules that it loads',
        runs: LONG_ROUNDS,
      };
  }
}

/** Returns the median load times of the modules that a command loads, as pairs of name and ms. */
function loadTimes(line, env, path) {
  const hook = fileURLToPath(new URL('modules.cjs', import.meta.url));
  const times = new Map();
  for (let round = 0; round < LONG_ROUNDS; round++) {
    execFileSync(process.execPath, ['-r', hook, PROGRAM, ...line.split(' ')], {
      env: { ...env, FLEET_BENCH_MODULES: path },
      stdio: 'ignore',
    });
    for (const [name, ms] of JSON.parse(readFileSync(path, 'utf8')))
      times.set(name, [...(times.get(name) ?? []), ms]);
  }
  return [...times].map(([name, all]) => [name, median(all)]);
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
    const peer = index === 0 ? 'since the start of the process' : 'since the phase before';
    return { what: `  phase of a page: ${what}`, figure, peer };
  });
}
