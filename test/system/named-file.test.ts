// Tests files that users name in every command: pipes without a writer and endless devices.

import { execFileSync, spawn } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/system/clock.js';
import { openNamedFile } from '../../src/system/named-file.js';
import { newFolder } from '../support/folder.js';
import { runFleet } from '../support/run.js';
import { startFleet, startProgram } from '../support/running.js';
import { openServer, sendJson } from '../support/server.js';

const folder = newFolder();
const pipe = join(folder, 'pipe');
execFileSync('mkfifo', [pipe]);

const ENV = { FLEET_BASE_URL: 'http://127.0.0.1:1', FLEET_TOKEN: 't' };
const ORGANIZATION = ['--organization', 'aaaaaaaa-0000-4000-8000-000000000001'];

/** The commands that read a file, with this file. */
const readers = (path: string): [string, string[], NodeJS.ProcessEnv][] => [
  [
    'FLEET_TOKEN_FILE',
    ['bicycles', 'list'],
    { FLEET_BASE_URL: ENV.FLEET_BASE_URL, FLEET_TOKEN_FILE: path },
  ],
  ['create --from', ['bicycles', 'create', '--from', path, ...ORGANIZATION, '--yes'], ENV],
  ['api --input', ['api', '/x/', '-X', 'POST', '--input', path], ENV],
  ['api -F', ['api', '/x/', '-X', 'POST', '-F', `a=@${path}`], ENV],
];

describe('--file with a named pipe', () => {
  const args = ['auth', 'token', '--file', pipe];

  test('--file fails after --timeout when the named pipe has no reader', async () => {
    expect(await runFleet([...args, '--timeout', '1'], { env: ENV })).toMatchObject({
      code: 10,
      stderr: expect.stringContaining(
        'could not be written: nothing read from it for 1 s (--timeout)',
      ),
    });
  });

  test('Ctrl-C ends the wait when --file is a named pipe without a reader', async () => {
    const running = startFleet(args, { env: ENV });
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect((await running.stop()).code).toBe(130);
  });

  test('--file writes everything when the reader opens the named pipe later', async () => {
    const running = runFleet(args, { env: ENV });
    await new Promise((resolve) => setTimeout(resolve, 200));
    const reader = spawn('cat', [pipe]);
    let text = '';
    reader.stdout.on('data', (chunk) => (text += chunk));
    expect((await running).code).toBe(0);
    await new Promise((resolve) => reader.on('close', resolve));
    expect(text).toBe('t\n');
  });

  test.each([
    ['--timeout', 10, 'its reader took nothing for 1 s (--timeout)'],
    ['Ctrl-C', 130, ''],
  ])(
    "%s ends the command when the named pipe's reader stops reading",
    async (end, code, message) => {
      const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
      const large = JSON.stringify(Array.from({ length: 40_000 }, (_, index) => ({ uuid: index })));
      const { url } = await openServer((response) => sendJson(response, 200, large));
      const env = { ...ENV, FLEET_BASE_URL: url };
      const timeout = end === 'Ctrl-C' ? '30' : '1';
      const running = startFleet(['api', '/x/', '--file', pipe, '--timeout', timeout], { env });
      if (end === 'Ctrl-C') setTimeout(() => void running.stop(), 700);
      expect(await running.ended).toMatchObject({ code, stderr: expect.stringContaining(message) });
      closeSync(reader);
    },
  );

  test('reports that the reader closed the named pipe', async () => {
    spawn('head', ['-c', '10', pipe]);
    const large = JSON.stringify(Array.from({ length: 40_000 }, (_, index) => ({ uuid: index })));
    const { url } = await openServer((response) => sendJson(response, 200, large));
    const run = await runFleet(['api', '/x/', '--file', pipe], {
      env: { ...ENV, FLEET_BASE_URL: url },
    });
    expect([run.code, run.stderr]).toEqual([10, expect.stringContaining('its reader closed it')]);
  });
});

test.each(['/dev/null', '/dev/full'])('writes to the device %s for --file', async (device) => {
  const run = await runFleet(['auth', 'token', '--file', device], { env: ENV });
  if (device === '/dev/null') expect(run).toEqual({ code: 0, stdout: '', stderr: '' });
  else expect([run.code, run.stderr]).toEqual([10, expect.stringContaining('no space left')]);
});

test.each(['sslrootcert', 'sslcert', 'PGSERVICEFILE'])(
  'ends with Ctrl-C while %s of PostgreSQL names a pipe without a writer',
  async (name) => {
    const isService = name === 'PGSERVICEFILE';
    const query = isService ? 'service=x' : `sslmode=require&${name}=${pipe}`;
    const env = { ...ENV, ...(isService ? { PGSERVICEFILE: pipe } : {}) };
    const running = startFleet(['mirror', 'status', '--to', `postgres://127.0.0.1:1/x?${query}`], {
      env,
    });
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect((await running.stop()).code).toBe(130);
  },
);

describe('a named pipe without a writer', () => {
  test.each(readers(pipe))('%s: ends after --timeout', async (_case, args, env) => {
    const stderr = expect.stringContaining(
      'cannot be read: nothing came from it for 1 s (--timeout)',
    );
    const code = 'FLEET_TOKEN_FILE' in env ? 3 : 2;
    expect(await runFleet([...args, '--timeout', '1'], { env })).toMatchObject({ code, stderr });
  });

  test.each(readers(pipe))('%s: ends on Ctrl-C', async (_case, args, env) => {
    const running = startFleet(args, { env });
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect((await running.stop()).code).toBe(130);
  });

  test('a signal stops a read before the named pipe opens', async () => {
    const over = new AbortController();
    const opening = openNamedFile(pipe, {
      silenceMs: 10_000,
      signal: over.signal,
      clock: systemClock(),
    });
    over.abort(new Error('over'));
    await expect((await opening).chunks.next()).rejects.toThrow('over');
  });

  test('the built program ends within two seconds after SIGTERM', async () => {
    const { FLEET_BASE_URL } = ENV;
    const env = {
      ...process.env,
      FLEET_BASE_URL,
      FLEET_TOKEN_FILE: pipe,
      FLEET_CONFIG_DIR: folder,
    };
    const running = startProgram(['bicycles', 'list'], env);
    // A writer can open the pipe after the program opened it.
    let writer: number | undefined;
    while (writer === undefined) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      try {
        writer = openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
      } catch {}
    }
    expect((await running.stop('SIGTERM')).code).toBe(143);
    closeSync(writer);
  });
});

test('reads a named pipe completely when a writer opens it later', async () => {
  const running = runFleet(['api', '/x/', '-X', 'POST', '--input', pipe], { env: ENV });
  setTimeout(() => spawn('sh', ['-c', `printf '{"a":1}' > "${pipe}"`]), 200);
  const { code, stderr } = await running;
  expect({ code, stderr }).toEqual({
    code: 8,
    stderr: expect.stringContaining('connection refused'),
  });
});

test.each(readers('/dev/zero').slice(1))(
  'rejects an endless device as input with exit 2: %s',
  async (what, args, env) => {
    const words =
      what === 'create --from'
        ? 'a line of /dev/zero is longer than a megabyte'
        : 'has more than 64 MB';
    expect(await runFleet(args, { env })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(words),
    });
  },
);
