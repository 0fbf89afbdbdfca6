// Tests the built program as a process: signals, pipes, a full disk, and exact output.

import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chownSync, existsSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { environmentOf } from './support/environment.js';
import { newFolder } from './support/folder.js';
import { hostile, withHostile } from './support/hostile.js';
import type { Behaviour } from './support/misbehaving.js';
import { mostly, often } from './support/often.js';
import {
  isExecutable,
  PROGRAM_ARGS,
  PROGRAM_FILE,
  PROGRAM_LINE,
  preload,
} from './support/program.js';
import { runFleet } from './support/run.js';
import { eventually, isAlive } from './support/running.js';
import { openSandbox } from './support/sandbox.js';
import { type Answer, openServer, withServer } from './support/server.js';
import { hasTool } from './support/tools.js';

function environment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], FLEET_CONFIG_DIR: '/nonexistent/fleet-tests', ...env };
}

function start(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  options: SpawnOptions = {},
): ChildProcess {
  const stdio = ['ignore', 'pipe', 'pipe'] as const;
  return spawn(PROGRAM_FILE, [...PROGRAM_ARGS, ...args], {
    env: environment(env),
    stdio: [...stdio],
    ...options,
  });
}

const SIGNALS = [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const;

interface Ended {
  code: number | null;
  stdout: Buffer;
  stderr: string;
}

async function ended(child: ChildProcess): Promise<Ended> {
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout?.on('data', (chunk: Buffer) => out.push(chunk));
  child.stderr?.on('data', (chunk: Buffer) => err.push(chunk));
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { code, stdout: Buffer.concat(out), stderr: Buffer.concat(err).toString() };
}

/** Runs a shell pipeline in which `fleet` is the program. */
function shell(line: string, env: NodeJS.ProcessEnv): Promise<Ended> {
  const script = `fleet() { ${PROGRAM_LINE} "$@"; }; set -o pipefail; ${line}`;
  return ended(
    spawn('bash', ['-c', script], { env: environment(env), stdio: ['ignore', 'pipe', 'pipe'] }),
  );
}

test.each([
  ['--version', /^\d+\.\d+\.\d+\n$/],
  ['version', /^\d+\.\d+\.\d+\n$/],
  ['-V', /^\d+\.\d+\.\d+\n$/],
  ['--help', /bicycles/],
])('%s prints only the expected text and exits with 0', async (flag, words) => {
  const { code, stdout, stderr } = await ended(start([flag], {}));
  expect([code, stderr, String(stdout)]).toEqual([0, '', expect.stringMatching(words)]);
});

test.each(SIGNALS)('%s ends a watch cleanly', async (signal, exitCode) => {
  const sandbox = await openSandbox({ bicycles: 20 });
  const organization = sandbox.organizations[0]?.uuid ?? '';
  const child = start(['watch', organization, '--json'], await environmentOf(sandbox));
  const end = ended(child);
  while (sandbox.streamCount() === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  const bicycle = sandbox.bicycles(organization).find(({ state }) => state === 'available');
  sandbox.act(bicycle?.uuid ?? '', 'rent');
  await new Promise((resolve) => child.stdout?.once('data', resolve));
  child.kill(signal);
  const { code, stdout, stderr } = await end;
  expect(code).toBe(exitCode);
  const first = JSON.parse(stdout.toString().split('\n')[0] ?? '');
  expect(Object.keys(first).sort()).toEqual(['message', 'sender', 'topic']);
  expect(stderr).not.toContain('    at ');
});

test('`watch` with forty --bicycle flags does not cause a Node leak warning', async () => {
  const serve = (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: {"topic":"t","sender":"task","message":{}}\n\n');
  };
  const { url } = await openServer(serve);
  const names = Array.from(
    { length: 40 },
    (_, index) => `14c6d2ad-7236-46f1-b76f-6d356b2105${index + 10}`,
  );
  const flags = ['--max-events', '40', '--json', '--resync-pages', '0'];
  const args = ['watch', ...names.flatMap((uuid) => ['--bicycle', uuid]), ...flags];
  const env = {
    FLEET_BASE_URL: url,
    FLEET_SSE_URL: url,
    FLEET_TOKEN: 't',
    FLEET_ORGANIZATION: names[0],
  };
  const { code, stderr } = await ended(start(args, env));
  expect(code, stderr).toBe(0);
  expect(stderr).not.toMatch(/warning/i);
});

test('`bicycles list | head -1` ends quietly', async () => {
  const sandbox = await openSandbox({ bicycles: 2000 });
  const line = 'fleet bicycles list --all -o jsonl | head -1';
  const { code, stdout, stderr } = await shell(line, await environmentOf(sandbox));
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout.toString().split('\n')).toHaveLength(2);
});

test('writes many megabytes unchanged to a pipe', async () => {
  const pages = often(200);
  const page = (number: number) =>
    Array.from({ length: 100 }, (_, index) =>
      JSON.stringify({
        uuid: `${number}-${index}`,
        name: 'Žofie 🚲'.repeat(40),
        big: 12345678901234567890n.toString(),
        note: 'x'.repeat(500),
      }),
    );
  const { env } = await openServer((response, { page: number }) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      `{"count":${pages * 100},"next":${number < pages ? `"http://x/?page=${number + 1}"` : 'null'},"results":[${page(number).join(',')}]}`,
    );
  });
  const { code, stdout } = await shell('fleet bicycles list --all -o jsonl | cat', env);
  const expected = Array.from(
    { length: pages },
    (_, index) => `${page(index + 1).join('\n')}\n`,
  ).join('');
  expect(code).toBe(0);
  expect(stdout.length).toBeGreaterThan(100_000 * pages);
  expect(createHash('sha256').update(stdout).digest('hex')).toBe(
    createHash('sha256').update(expected).digest('hex'),
  );
});

test.runIf(process.platform === 'linux')('reports a full disk and exits with 10', async () => {
  const sandbox = await openSandbox({ bicycles: 50 });
  const stdio: SpawnOptions['stdio'] = ['ignore', openSync('/dev/full', 'w'), 'pipe'];
  const { code, stderr } = await ended(
    start(['bicycles', 'list', '--json'], await environmentOf(sandbox), { stdio }),
  );
  expect([code, JSON.parse(stderr).error.kind]).toEqual([10, 'output']);
});

// userInfo of Bun returns USER.
test.runIf(hasTool('root') && !isExecutable)(
  "uses the operating system's user name instead of USER",
  async () => {
    const folder = newFolder();
    chownSync(folder, 54321, 54321);
    const end = await ended(
      start(['auth', 'token'], { FLEET_CONFIG_DIR: folder, USER: 'mallory' }),
    );
    expect(end).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(`sudo chown root ${folder}`),
    });
  },
);

test.skipIf(isExecutable)(
  'reports a bug when the event loop is empty before the command ends',
  async () => {
    const deaf = join(newFolder(), 'deaf.cjs');
    writeFileSync(deaf, "require('node:dns').lookup = () => {};");
    const args = ['mirror', 'status', '--to', 'postgres://u@db.invalid/d?connect_timeout=0'];
    const { code, stdout, stderr } = await ended(start(args, preload(deaf)));
    expect({ code, stdout: String(stdout) }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(
      'error: nothing is left that the command could wait for\nhint: this is a bug in fleet',
    );
  },
);

test.each([
  [['--to', 'postgres://u@127.0.0.1/db?port=99999'], {}, 2],
  [['--to', 'postgres://u@127.0.0.1/db'], { PGPORT: '70000' }, 3],
])(
  '`mirror status` %j with the environment %j reports the invalid port',
  async (args, env, code) => {
    const found = await runFleet(['mirror', 'status', ...args], { env });
    expect(found).toMatchObject({
      code,
      stderr: expect.stringMatching(/port is (?:not )?a number from 1 to 65535/),
    });
  },
);

/**
 * Promise 8 of cli.md allows the program two seconds to end. A busy machine gets more. The program is
 * killed before 30 s, which a hang of the output takes.
 */
const KILL_AFTER_MS = 25_000;

/** The time of --for for a watch that must have started before, also on a busy machine. */
const FOR_MS = 8000;

/** An endless list of pages of 100 kB. */
function endlessList(response: ServerResponse, number: number): void {
  const results = Array.from({ length: 100 }, (_, index) => ({
    uuid: `${number}-${index}`,
    note: 'x'.repeat(1000),
  }));
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ count: 1e9, next: `http://x/?page=${number + 1}`, results }));
}

/** An endless stream of messages of 1 kB, as fast as they are read. */
function endlessStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const data = JSON.stringify({
    topic: '/t',
    sender: 'bicycle',
    message: { uuid: 'u', note: 'x'.repeat(1000) },
  });
  const pour = (): void => {
    while (!response.destroyed)
      if (!response.write(`data: ${data}\n\n`)) return void response.once('drain', pour);
  };
  pour();
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** The service sees no request and no reading for this long when a program has filled its pipe. */
const STILL_MS = 400;
const LOOK_MS = 20;

interface EndlessServer {
  url: string;
  env: NodeJS.ProcessEnv;
  /** Waits until the program neither requests, reads nor computes anything. */
  standsStill(pid: number | undefined): Promise<void>;
}

/** A service with endless answers. */
async function withEndless(use: (server: EndlessServer) => Promise<void>): Promise<void> {
  let moves = 0;
  const taken = (socket: Socket) => {
    moves++;
    socket.on('drain', () => moves++);
  };
  const serve: Answer = (response, { path, page }, socket) => {
    taken(socket);
    if (path.startsWith('/subscribe/')) endlessStream(response);
    else endlessList(response, page);
  };
  await withServer(serve, ({ url, env }) =>
    use({
      ...{ url, env },
      async standsStill(pid = 0) {
        // Counts checks instead of time, because a delayed server sees nothing either.
        let seen = 0;
        for (let looks = 0; looks < STILL_MS / LOOK_MS; ) {
          await pause(LOOK_MS);
          // A process that waits for a processor is not idle.
          looks = moves === 0 || moves !== seen || isBusy(pid) ? 0 : looks + 1;
          seen = moves;
        }
      },
    }),
  );
}

/** Reads all of stderr; a part of it may arrive after the end of the process. */
async function errorText(child: ChildProcess): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of child.stderr ?? []) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/**
 * Checks that a process without a reader ends in time with this code, by a signal or by itself
 * after `forMs`.
 */
async function endsWith(
  expected: number,
  child: ChildProcess,
  signal: NodeJS.Signals | undefined,
  forMs = 0,
) {
  const exit = new Promise<number | null>((resolve) => child.once('exit', resolve));
  if (signal !== undefined) child.kill(signal);
  const limit = setTimeout(() => child.kill('SIGKILL'), forMs + KILL_AFTER_MS);
  const code = await exit;
  clearTimeout(limit);
  expect(code).toBe(expected);
}

describe.concurrent('output that no process reads', () => {
  const LIST = ['bicycles', 'list', '--all', '-o', 'jsonl', '-q'];
  const WATCH = ['watch', '--topic', '/t', '--json', '-q', '--resync-pages', '0'];

  const EACH = SIGNALS.flatMap(([signal, code]) =>
    [LIST, WATCH].map((args) => [signal, code, args] as const),
  );
  test.each(mostly(EACH, ([signal, , args]) => (signal === 'SIGTERM') === (args === LIST)))(
    'of stdout: %s ends with %i %j and reports undelivered output',
    async (signal, exitCode, args) => {
      await withEndless(async ({ url, env, standsStill }) => {
        const child = start(args, { ...env, FLEET_SSE_URL: url });
        const said = errorText(child);
        await standsStill(child.pid);
        await endsWith(exitCode, child, signal);
        expect(await said).toMatch(/up to \d+ bytes of output were not delivered/);
      });
    },
  );

  test('SIGTERM ends the program when nothing reads stdout and stderr', async () => {
    await withEndless(async ({ env, standsStill }) => {
      const child = start(
        [...LIST, '-v'].filter((word) => word !== '-q'),
        env,
      );
      await standsStill(child.pid);
      await endsWith(143, child, 'SIGTERM');
    });
  });

  test('limits the buffered stderr lines and counts the dropped lines', async () => {
    const BROKEN = 15_000;
    const serve = (response: ServerResponse) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`${'data: {oops\n\n'.repeat(BROKEN)}data: {"sender":"task"}\n\n`);
    };
    await withServer(serve, async ({ url, env }) => {
      const args = WATCH.filter((word) => word !== '-q');
      const child = start(args, { ...env, FLEET_SSE_URL: url });
      await new Promise((resolve) => child.stdout?.once('data', resolve));
      let stderr = '';
      const isLeftOut = new Promise<void>((resolve) => {
        child.stderr?.on('data', (chunk: Buffer) => {
          stderr += chunk.toString();
          if (/"left-out".*\n/.test(stderr)) resolve();
        });
      });
      await isLeftOut;
      await endsWith(130, child, 'SIGINT');
      expect(stderr.length).toBeLessThan(1_000_000);
      // On a busy machine, the last line may not be delivered before the program ends.
      const lines = stderr
        .slice(0, stderr.lastIndexOf('\n'))
        .split('\n')
        .map((line) => JSON.parse(line));
      const gaps = lines.filter(({ event }) => event === 'gap').length;
      const leftOut = Number.parseInt(lines.find(({ event }) => event === 'left-out').message, 10);
      expect(gaps + leftOut).toBe(BROKEN);
    });
  });

  test('--for ends a watch with exit code 10 when nothing reads stdout', async () => {
    await withEndless(async ({ url, env }) => {
      const child = start([...WATCH, '--for', `${FOR_MS}ms`], { ...env, FLEET_SSE_URL: url });
      const said = errorText(child);
      await endsWith(10, child, undefined, FOR_MS);
      expect(await said).toMatch(/up to \d+ bytes of output were not delivered/);
    });
  });

  test('--max-events ends a watch with exit code 10 when nothing reads stdout', async () => {
    await withEndless(async ({ url, env }) => {
      const child = start([...WATCH, '--max-events', '2000'], { ...env, FLEET_SSE_URL: url });
      const said = errorText(child);
      // 2,000 messages of 1 kB arrive at 256 kB a second.
      await endsWith(10, child, undefined, FOR_MS);
      expect(await said).toMatch(/up to \d+ bytes of output were not delivered/);
    });
  });

  test('a slow reader gets the complete output when no signal arrives', async () => {
    await withServer(
      (response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(
          JSON.stringify(
            Array.from({ length: 2000 }, (_, index) => ({
              uuid: `${index}`,
              note: 'x'.repeat(1000),
            })),
          ),
        );
      },
      async ({ env }) => {
        const { code, stdout } = await shell(
          'fleet bicycles list -o jsonl -q | (sleep 2; cat)',
          env,
        );
        expect(code).toBe(0);
        expect(stdout.toString().split('\n')).toHaveLength(2001);
      },
    );
  });

  test.runIf(hasTool('script'))(
    'a signal ends the program when output to the terminal is stopped',
    async () => {
      await withEndless(async ({ url, standsStill }) => {
        const pidFile = join(newFolder(), 'pid');
        const line = `echo $$ > '${pidFile}'; exec ${PROGRAM_LINE} bicycles list --all --json`;
        // Nobody reads the output of `script`, so `script` does not read the terminal.
        const terminal = spawn('script', ['-qefc', line, '/dev/null'], {
          env: environment({
            FLEET_BASE_URL: url,
            FLEET_TOKEN: 'token-of-the-test',
            SHELL: '/bin/sh',
            TERM: 'xterm',
          }),
          stdio: ['pipe', 'pipe', 'ignore'],
        });
        try {
          while (!existsSync(pidFile)) await pause(20);
          await standsStill(terminal.pid);
          const pid = Number(readFileSync(pidFile, 'utf8'));
          await standsStill(pid);
          process.kill(pid, 'SIGTERM');
          // The test times out when the program does not end.
          while (isRunning(pid)) await pause(20);
        } finally {
          terminal.kill('SIGKILL');
        }
      });
    },
  );
});

/**
 * Returns the state of a process or thread on Linux (R runs or waits for a processor, D waits for a
 * disk, S sleeps), or undefined when it is gone.
 */
function stateOf(path: string | number): string | undefined {
  try {
    return /^State:\s+(\w)/m.exec(readFileSync(`/proc/${path}/status`, 'utf8'))?.[1];
  } catch {
    return undefined;
  }
}

/** Returns whether a thread of the process is busy. Always false without /proc. */
function isBusy(pid: number): boolean {
  const tasks = `/proc/${pid}/task`;
  const threads = existsSync(tasks) ? readdirSync(tasks) : [];
  return threads.some((thread) => ['R', 'D'].includes(stateOf(`${pid}/task/${thread}`) ?? ''));
}

/** Returns whether a process exists and is not a zombie. */
function isRunning(pid: number): boolean {
  return !['Z', 'X', undefined].includes(stateOf(pid));
}

describe.concurrent('programs and services that hang', () => {
  const LIST = ['bicycles', 'list'];
  const JQ = [...LIST, '--jq', 'def f: f; f'];
  const viaProxy = (HTTPS_PROXY: string) => ({
    FLEET_BASE_URL: 'https://bikes.invalid',
    HTTPS_PROXY,
  });
  const tunnel: Behaviour = (socket) =>
    void socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
  const secure = (url: string) => url.replace('http:', 'https:');

  /** The behaviour of the service or its proxy, and the environment that leads there. */
  const STUCK: [
    what: string,
    behaviour: Behaviour,
    args: string[],
    envOf: (url: string) => NodeJS.ProcessEnv,
  ][] = [
    ['a jq program that does not end', hostile('honest'), JQ, () => ({})],
    ['a request that is not answered', hostile('silent'), LIST, () => ({})],
    ['a handshake of TLS', () => {}, LIST, (url) => ({ FLEET_BASE_URL: secure(url) })],
    ['a proxy', () => {}, LIST, viaProxy],
    ['a handshake of TLS behind a proxy', tunnel, LIST, viaProxy],
    ['a handshake with a proxy', () => {}, LIST, (url) => viaProxy(secure(url))],
  ];
  const EACH = STUCK.flatMap((row) =>
    SIGNALS.map(([signal, code]) => [signal, ...row, code] as const),
  );

  test.each(mostly(EACH, ([signal]) => signal === 'SIGTERM'))(
    'the signal %s ends %s',
    async (signal, _, does, args, envOf, code) => {
      await withHostile(does, async ({ url, env, requests, sockets }) => {
        const child = start(args, { ...env, ...envOf(url) });
        while (requests.length + sockets.size === 0) await pause(20);
        await pause(300);
        await endsWith(code, child, signal);
      });
    },
  );

  test('ends with one error when jq needs too much memory', async () => {
    await withHostile(hostile('honest'), async ({ env }) => {
      const stderr = expect.stringMatching(
        /^error: --jq: the program needs more than 256 MB\nhint: .*\n$/,
      );
      const end = await ended(start(['bicycles', 'list', '--jq', 'def f: [f]; f'], env));
      expect(end).toMatchObject({ code: 2, stderr });
    });
  });

  test('SIGTERM ends an unanswered DNS lookup', async () => {
    const slow = join(newFolder(), 'slow.cjs');
    writeFileSync(
      slow,
      `require('node:dns').lookup = () => {
        console.error('asked');
        setTimeout(() => {}, 20_000);
      };`,
    );
    const env = {
      ...preload(slow),
      FLEET_BASE_URL: 'https://bikes.invalid',
      FLEET_TOKEN: 'token-of-the-test',
    };
    const child = start(['bicycles', 'list'], env);
    await new Promise((resolve) => child.stderr?.once('data', resolve));
    await endsWith(143, child, 'SIGTERM');
  });

  test('--for ends a watch whose jq program never ends', async () => {
    // The message that keeps jq busy arrives late, so jq uses no processor time before.
    const serve = (response: ServerResponse) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
      setTimeout(
        () => response.write('data: {"topic":"/t","sender":"bicycle","message":{"uuid":"u"}}\n\n'),
        FOR_MS / 4,
      );
    };
    await withServer(serve, async ({ url, env }) => {
      const flags = ['--jq', 'def f: f; f', '--for', `${FOR_MS}ms`, '-q', '--resync-pages', '0'];
      const child = start(['watch', '--topic', '/t', ...flags], { ...env, FLEET_SSE_URL: url });
      // Undelivered output is an error (cli.md section 4, promise 8).
      await endsWith(10, child, undefined, FOR_MS);
    });
  });
});

describe.concurrent('stderr with --json', () => {
  const FLAGS = [[['-v', '--trace']], [['-v']], [['--trace']], [[]]];
  test.each(mostly(FLAGS, (_, index) => index === 0))(
    'prints only JSON lines with the flags %j',
    async (flags) => {
      await withHostile(
        hostile('honest', { status: 503, body: '{"detail":"no"}' }),
        async ({ env }) => {
          const { stderr } = await ended(
            start(['bicycles', 'list', '--json', '--retries', '1', ...flags], env),
          );
          const keys = stderr
            .trim()
            .split('\n')
            .map((line) => Object.keys(JSON.parse(line))[0]);
          expect(keys).toContain('error');
          expect(keys.includes('trace')).toBe(flags.includes('--trace'));
          expect(keys.includes('request')).toBe(flags.includes('-v'));
        },
      );
    },
  );
});

// Bun prints no such warnings.
describe.skipIf(isExecutable)('Node warnings', () => {
  const hook = join(newFolder(), 'hook.cjs');
  writeFileSync(hook, "process.emitWarning('from the hook', 'ExperimentalWarning')");
  const SHOWN: [string[], RegExp][] = [
    [[], /^$/],
    [['--json'], /^$/],
    [['-v'], /^ExperimentalWarning: from the hook$/m],
    [['-v', '--json'], /^\{"warning":"ExperimentalWarning: from the hook"\}$/m],
  ];
  test.each(mostly(SHOWN, ([flags]) => flags.length !== 1))(
    'prints only JSON lines with the flags %j',
    async (flags, expected) => {
      expect((await ended(start(['config', 'list', ...flags], preload(hook)))).stderr).toMatch(
        expected,
      );
    },
  );
});

/** Lists with a token command that may take one second, in a session without a terminal. */
function listWithCommand(command: string): Promise<Ended> {
  const env = { FLEET_BASE_URL: 'http://127.0.0.1:9', FLEET_TOKEN_COMMAND: command };
  return ended(start(['bicycles', 'list', '--timeout', '1'], env, { detached: true }));
}

test('stops all processes of a token command when stdin is not a terminal', async () => {
  const said = join(newFolder(), 'said');
  const inner = `trap "echo ended > '${said}'; exit" TERM; for i in $(seq 300); do sleep 0.1; done`;
  const end = await listWithCommand(`(${inner}) & wait`);
  expect(end).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('gave no token within 1 s'),
  });
  await eventually(() => existsSync(said));
});

test('kills token command processes that ignore the first signal', async () => {
  const pid = join(newFolder(), 'pid');
  // Only the shell ends after the signal; its children continue.
  const command = `(trap "" TERM; sh -c 'echo $$ > "${pid}"; exec sleep 60') & wait`;
  expect((await listWithCommand(command)).code).toBe(3);
  await eventually(() => !isAlive(Number(readFileSync(pid, 'utf8'))));
});
