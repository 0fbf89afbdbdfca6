// The built program on a live stream: it ends in time whatever its token command does, and Node has nothing to warn of.

import { spawn } from 'node:child_process';
import { expect, test } from 'vitest';
import { type Behaviour, sendStream, startMisbehaving } from '../support/misbehaving.js';
import { PROGRAM_ARGS, PROGRAM_FILE } from '../support/program.js';

const ORGANIZATION = '6f1c0b5e-2f0e-4c56-9d3a-0d6f3a1f7c11';

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
  seconds: number;
}

/** Runs `fleet watch …` against a push server to its end; `use` may end it. */
async function watch(
  behave: Behaviour,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  use: (child: ReturnType<typeof spawn>) => void = () => {},
): Promise<Ended> {
  const server = await startMisbehaving(behave);
  const startedAt = performance.now();
  const child = spawn(PROGRAM_FILE, [...PROGRAM_ARGS, 'watch', ...args, '--resync-pages', '0'], {
    env: {
      PATH: process.env['PATH'],
      FLEET_CONFIG_DIR: '/nonexistent/fleet-tests',
      FLEET_BASE_URL: server.url,
      FLEET_SSE_URL: server.url,
      FLEET_ORGANIZATION: ORGANIZATION,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => (stdout += chunk));
  child.stderr.on('data', (chunk) => (stderr += chunk));
  use(child);
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  await server.close();
  return { code, stdout, stderr, seconds: (performance.now() - startedAt) / 1000 };
}

const quiet: Behaviour = (socket) => sendStream(socket, ':\n\n');

test.each([
  // It never had a connection.
  ['--for', ['--for', '1s'], 8, () => {}],
  ['Ctrl-C', [], 130, (child) => setTimeout(() => child.kill('SIGINT'), 1_500)],
  ['SIGTERM', [], 143, (child) => setTimeout(() => child.kill('SIGTERM'), 1_500)],
] satisfies [string, string[], number, (child: ReturnType<typeof spawn>) => void][])(
  '%s ends a watch whose token command hangs',
  async (_name, args, code, use) => {
    const got = await watch(quiet, args, { FLEET_TOKEN_COMMAND: 'exec sleep 25' }, use);
    expect(got.code).toBe(code);
    // The command would hold it for 25 seconds; the rest is what a busy machine adds.
    expect(got.seconds).toBeLessThan(12);
  },
);

test('forty --bicycle: Node warns of no leak', async () => {
  const bicycles = Array.from({ length: 40 }, (_, index) => `14c6d2ad-7236-46f1-b76f-6d356b2105${String(index + 10)}`);
  const got = await watch(
    (socket) => sendStream(socket, 'data: {"topic":"t","sender":"task","message":{}}\n\n'),
    [...bicycles.flatMap((uuid) => ['--bicycle', uuid]), '--max-events', '40', '--json'],
    { FLEET_TOKEN: 'token' },
  );
  expect(got.code).toBe(0);
  expect(got.stderr).not.toMatch(/warning/i);
});

test('two events of 400,000 fields hold nothing up: passed over, reported, and the rest arrives', async () => {
  const giant = `${'field: 1\n'.repeat(400_000)}data: {}\n\n`;
  const got = await watch(
    (socket) => sendStream(socket, `${giant}${giant}data: {"topic":"t","sender":"task","message":{}}\n\n`),
    ['--max-events', '1', '--json'],
    { FLEET_TOKEN: 'token' },
  );
  expect(got.code).toBe(0);
  expect(got.stderr.match(/"cause":"too-big"/g)).toHaveLength(4);
  expect(got.seconds).toBeLessThan(10);
});
