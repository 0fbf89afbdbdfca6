// Runs the story of `nodes.js` in a Node of Windows: `npm run test:windows` starts it on Windows, or under
// Wine. The argument is the folder in which fleet is installed. Prints one line when all steps pass, or
// throws an error with every step that failed.

import { execFile, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { check, untilTold } from './support/story.js';

const FOLDER = process.argv[2] ?? '';
const PROGRAM = join(FOLDER, 'node_modules', 'fleet-cli', 'bin', 'fleet.js');
const LIMIT_MS = 120_000;

const { FLEET_TOKEN: _token, HOME: _home, ...outer } = process.env;
const ENV = {
  ...outer,
  APPDATA: join(FOLDER, 'roaming'),
  LOCALAPPDATA: join(FOLDER, 'local'),
  USERPROFILE: FOLDER,
  HOME: FOLDER,
};

/** Runs fleet and returns its output and exit code. */
function run(args, env = {}, input = undefined) {
  return new Promise((resolve) => {
    const options = { env: { ...ENV, ...env }, timeout: LIMIT_MS };
    const child = execFile(process.execPath, [PROGRAM, ...args], options, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout: stdout.trim(), stderr }),
    );
    child.stdin.end(input);
  });
}

/** Runs a line without quotes and returns its stdout. Rejects unless the line ends with 0. */
async function fleet(line, env) {
  const { code, stdout, stderr } = await run(line.split(' '), env);
  check(code, 0, `exit code of "fleet ${line}" (${stderr})`);
  return stdout;
}

/** Starts fleet and waits until it has written a text. */
async function start(line, text, env = {}) {
  const child = spawn(process.execPath, [PROGRAM, ...line.split(' ')], { env: { ...ENV, ...env } });
  const { ended } = await untilTold(child, text, line);
  return { ended, child };
}

function checkHas(text, part, what) {
  if (!text.includes(part)) throw new Error(`${what}: "${part}" was expected in: ${text}`);
}

const STORY = {
  async version() {
    const { version } = JSON.parse(readFileSync(join(PROGRAM, '..', '..', 'package.json'), 'utf8'));
    check(await fleet('--version'), version, 'fleet --version');
  },
  async list() {
    await fleet('profile use sandbox --quiet');
    checkHas(await fleet('config path'), join('roaming', 'fleet', 'Config'), 'config path');
    check((await fleet('bicycles list --limit 5 -o uuid --quiet')).split('\n').length, 5, 'UUIDs');
    check(
      await fleet('bicycles list --all --jq length'),
      await fleet('bicycles list --count'),
      '--count',
    );
    await fleet(
      'bicycles list --all -o csv --file all.csv --quiet'.replace(
        'all.csv',
        join(FOLDER, 'all.csv'),
      ),
    );
  },
  async 'watch, act'() {
    const [uuid] = (
      await fleet('bicycles list --all --where state=available -o uuid --quiet')
    ).split('\n');
    const watch = await start(`watch --bicycle ${uuid} --until state=rented --for 60s`, 'watching');
    const journal = join(FOLDER, 'act.journal');
    await fleet(`bicycles act ${uuid} rent --yes --journal ${journal}`);
    check((await watch.ended).code, 0, 'exit code of the watch');
    checkHas(await fleet(`journal show ${journal}`), uuid, 'the journal');
    checkHas((await run(['journal', 'show', 'NUL'])).stderr, 'not a regular file', '--journal NUL');
  },
  async create() {
    check((await fleet('bicycles create --name Packed -o uuid')).length, 36, 'length of a UUID');
  },
  async 'compressed answers, twice'() {
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
      response.end(gzipSync('[]'));
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const env = {
      FLEET_BASE_URL: `http://127.0.0.1:${server.address().port}`,
      FLEET_TOKEN: 'token-of-the-test',
    };
    for (let time = 0; time < 2; time += 1)
      check(await fleet('bicycles list --json -q', env), '[]', 'the answer');
    server.close();
    server.closeAllConnections();
  },
  async 'alerts watch, --exec'() {
    const since = ['--since', '30d', '--max-events', '1', '--for', '60s'];
    const command = `"${process.execPath}" -e "process.stdin.pipe(process.stdout)"`;
    const { code, stdout, stderr } = await run(['alerts', 'watch', ...since, '--exec', command]);
    check(code, 0, `exit code of alerts watch (${stderr})`);
    checkHas(`${stdout}${stderr}`, '"uuid"', 'what the command printed');
  },
  async mirror() {
    await fleet('mirror once --quiet');
    check(
      await fleet('bicycles list --offline --count'),
      await fleet('bicycles list --count'),
      'bicycles of the mirror',
    );
  },
  async 'many writers of settings'() {
    const names = Array.from({ length: 12 }, (_, number) => `writer-${number}`);
    await Promise.all(names.map((name) => fleet(`config set retries 5 --profile ${name}`)));
    const listed = await fleet('profile list -o json');
    for (const name of names) checkHas(listed, `"${name}"`, 'profiles');
  },
  async 'settings that another program has open'() {
    const path = join(FOLDER, 'roaming', 'fleet', 'Config', 'config.json');
    const descriptor = openSync(path, 'r');
    const isOver = fleet('config set retries 4 --profile sandbox').finally(() =>
      clearInterval(looking),
    );
    // Windows does not replace a file that is open.
    const looking = setInterval(() => {
      if (!existsSync(`${path}.new`)) return;
      clearInterval(looking);
      setTimeout(() => closeSync(descriptor), 300);
    }, 5);
    await isOver;
    check(await fleet('config get retries --profile sandbox'), '4', 'retries');
  },
  async 'names and paths'() {
    for (const [line, said] of [
      ['config set retries 5 --profile SANDBOX', 'only in case'],
      ['config set retries 5 --profile con', 'reserves this name for a device'],
      ['mirror status --to sqlite:NUL', 'is the name of a device'],
      ['mirror status --to sqlite:/c/Users/ann/mirror.db', 'sqlite:c:\\Users'],
    ])
      checkHas((await run(line.split(' '))).stderr, said, line);
    const { stderr } = await run(['config', 'path'], { FLEET_CONFIG_DIR: '/c/fleet' });
    checkHas(stderr, 'did you mean c:\\fleet?', 'FLEET_CONFIG_DIR');
    checkHas(stderr, 'C:\\Users', 'FLEET_CONFIG_DIR');
  },
  async 'words of the platform'() {
    const login =
      'auth login --with-token --no-check --profile words --base-url https://example.com';
    const { stderr } = await run(login.split(' '), {}, 'a-token-to-keep');
    checkHas(stderr, 'credentials.json\n', 'auth login');
    checkHas(
      (await run(['doctor'], { FLEET_API_VERSION: '99' })).stdout,
      '$env:FLEET_API_VERSION = ',
      'doctor',
    );
  },
  async 'a token command that takes too long'() {
    const env = { FLEET_TOKEN_COMMAND: 'ping -n 30 127.0.0.1' };
    checkHas(
      (await run(['bicycles', 'list', '--timeout', '1'], env)).stderr,
      'no token within 1 s',
      'the command',
    );
  },
  async completion() {
    const asked = await run(['__complete', '--line', "'fleet' 'bicycles' 'a'"]);
    checkHas(asked.stdout, 'act\t', 'completion');
    const profile = join(FOLDER, 'Documents', 'PowerShell', 'profile.ps1');
    await fleet('completion powershell --install --yes');
    checkHas(
      readFileSync(profile, 'utf8'),
      'fleet completion powershell',
      'the profile of PowerShell',
    );
    await fleet('completion powershell --uninstall --yes');
    check(existsSync(profile), false, 'the profile of PowerShell is still there');
  },
  /** The test fakes a terminal, because Wine does not provide one. */
  async 'Ctrl-Z and Ctrl-C on the board'() {
    const terminal = join(FOLDER, 'terminal.mjs');
    writeFileSync(
      terminal,
      `import { PassThrough } from 'node:stream';
       const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode() {} });
       Object.defineProperty(process, 'stdin', { value: stdin });
       Object.assign(process.stdout, { isTTY: true, columns: 80, rows: 24 });
       setTimeout(() => stdin.write('\\x1a'), 4000);
       setTimeout(() => stdin.write('\\x03'), 5000);`,
    );
    const board = await run(['watch', '--live'], {
      NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import ${pathToFileURL(terminal)}`,
    });
    check(board.code, 130, `exit code of the board (${board.stderr})`);
    checkHas(board.stderr, 'messages', 'the summary');
    check(board.stdout.endsWith('\x1b[?1049l'), true, 'the screen is given back');
  },
  async doctor() {
    checkHas(await fleet('doctor'), 'not checked on Windows', 'file modes');
  },
  async demo() {
    await fleet('demo --seconds 2', { FLEET_PROFILE: 'berlin', FLEET_OUTPUT: 'uuid' });
  },
};

const sandbox = await start('sandbox --port 0 --sse-port 0', 'saved as the profile');
try {
  const failures = [];
  for (const [name, step] of Object.entries(STORY))
    await step().catch((error) => failures.push(`${name}: ${error.message}`));
  if (failures.length > 0) throw new Error(failures.join('\n'));
  console.log(`${Object.keys(STORY).join(', ')}: well`);
} finally {
  sandbox.child.kill();
}
