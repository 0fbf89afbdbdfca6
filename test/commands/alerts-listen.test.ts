// Tests `fleet alerts listen` over real sockets: requests, output, the state file, forwarding and
// the end.

import { createHmac } from 'node:crypto';
import { statSync } from 'node:fs';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { openMemory } from '../../src/commands/alerts/state-file.js';
import type { Sandbox } from '../../src/sandbox/index.js';
import { systemClock } from '../../src/system/clock.js';
import { environmentOf } from '../support/environment.js';
import { newFolder } from '../support/folder.js';
import { freePort } from '../support/listen.js';
import { runFleet } from '../support/run.js';
import { type Running, startFleet } from '../support/running.js';
import { openSandbox } from '../support/sandbox.js';
import { openServer } from '../support/server.js';

let folder: string;
beforeEach(() => {
  folder = newFolder();
});

/** Returns the texts of all files in the state folder. */
async function stateFiles(): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map((entry) => readFile(join(entry.parentPath, entry.name), 'utf8')),
  );
}

interface Listening extends Running {
  url: string;
  post(body: unknown, headers?: Record<string, string>): Promise<number>;
}

/** Starts a listener and stops it after the test. */
async function listen(
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<Listening> {
  const running = startFleet(
    ['alerts', 'listen', '--json', ...(args.includes('--port') ? [] : ['--port', '0']), ...args],
    {
      env: { XDG_STATE_HOME: folder, PATH: process.env['PATH'], ...env },
    },
  );
  await Promise.race([running.until(() => running.events('listening').length > 0), running.ended]);
  onTestFinished(async () => void (await running.stop()));
  const url = String(running.events('listening')[0]?.['url']);
  const post = async (body: unknown, headers: Record<string, string> = {}) => {
    const isRaw = typeof body === 'string' || body instanceof Blob;
    const { status } = await fetch(url, {
      method: 'POST',
      body: isRaw ? body : JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    });
    return status;
  };
  return { ...running, url, post };
}

const alert = (uuid: string, modified = '2026-03-01T12:00:00Z', state = 'new') => ({
  uuid,
  modified,
  state,
  alert_type: 'lock.shutdown',
});
const sign = (secret: string, body: string) =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
const subject = (sandbox: Sandbox) => sandbox.bicycles()[0]?.uuid ?? '';

/** Sends raw bytes and returns everything that arrives until the connection ends. */
function raw(url: string, text: string, end = true): Promise<string> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () =>
      end ? socket.end(text) : socket.write(text),
    );
    socket.on('data', (chunk) => (answer += chunk));
    socket.on('close', () => resolve(answer));
    socket.on('error', () => resolve(answer));
  });
}

describe('`alerts listen` input', () => {
  test('escapes control characters in alerts on a terminal', async () => {
    const running = startFleet(['alerts', 'listen', '--port', '0'], {
      env: { XDG_STATE_HOME: folder },
      terminal: { columns: 80 },
    });
    await running.until(() => running.stderr().includes('listening at'));
    const url = /http:[^\s]+/.exec(running.stderr())?.[0] ?? '';
    await fetch(url, {
      method: 'POST',
      body: JSON.stringify({
        ...alert('a'),
        alert_type: '\u001b[2Jboo',
        extra: { bicycle_name: '\u0007x' },
      }),
    });
    await running.stop();
    expect(running.stdout()).toContain('boo');
    expect(running.stdout()).not.toMatch(/\u001b\[2J|\u0007/);
  });
});

describe('requests rejected by `alerts listen`', () => {
  test('rejects a chunked request body of more than 1 MB', async () => {
    const { url } = await listen([]);
    const chunk = `10000\r\n${'x'.repeat(65536)}\r\n`;
    const answer = await raw(
      url,
      `POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(20)}`,
      false,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
  });

  test('limits unfinished request bodies to 16 MB by refusing the oldest ones', async () => {
    const { url, post, objects } = await listen([]);
    const head = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n';
    const answers: string[] = [];
    const sockets = Array.from({ length: 40 }, () => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1');
      socket.on('data', (chunk) => answers.push(chunk.toString()));
      socket.on('error', () => {});
      socket.write(head + 'x'.repeat(900_000));
      return socket;
    });
    // 18 bodies of 0.9 MB fit into 16 MB.
    await expect.poll(() => answers.length).toBe(40 - 18);
    expect(answers.every((answer) => answer.startsWith('HTTP/1.1 503 '))).toBe(true);
    expect(await post(alert('a'))).toBe(204);
    expect(objects()).toEqual([alert('a')]);
    for (const socket of sockets) socket.destroy();
  });

  test('survives clients that disconnect mid-request or do not speak HTTP', async () => {
    const { url, post, objects } = await listen([]);
    await raw(url, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"uuid":');
    await raw(url, 'hello\r\n\r\n');
    expect(await post(alert('a'))).toBe(204);
    expect(objects()).toEqual([alert('a')]);
  });
});

describe('`alerts listen --backfill`', () => {
  test('--backfill marks listed alerts as backfilled and ignores later webhooks for them', async () => {
    const sandbox = await openSandbox({ bicycles: 10 });
    const { post, objects, events, until } = await listen(
      ['--backfill', '200ms'],
      await environmentOf(sandbox),
    );
    await until(() => events('open').length === 1);
    const brought = sandbox.raiseAlert(subject(sandbox), 'lock.shutdown');
    expect(await post(brought)).toBe(204);
    const missed = sandbox.raiseAlert(subject(sandbox), 'lock.bat.low');
    await until(() => objects().length === 2);
    expect(await post(missed)).toBe(204);
    const read = sandbox.requests.length;
    await until(() => sandbox.requests.length > read + 1);
    expect(
      objects()
        .map(({ uuid }) => uuid)
        .sort(),
    ).toEqual([brought.uuid, missed.uuid].sort());
    expect(events('caught-up').map(({ uuid }) => uuid)).toContain(missed.uuid);
  });
});

describe('`alerts listen --forward`', () => {
  test('forwards each webhook body once, unchanged and with its signature', async () => {
    const receiver = await openServer((response) => void response.writeHead(200).end('ok'));
    const { post, until, events } = await listen(
      ['--forward', `${receiver.url}/in?key=1`, '--secret-env', 'HOOK'],
      {
        HOOK: 's3cret-s3cret',
      },
    );
    const bodies = ['a', 'b', 'c'].map((uuid) => ` ${JSON.stringify(alert(uuid), null, 1)}\n`);
    for (const body of [...bodies, bodies[1] ?? '']) {
      expect(await post(body, { 'x-fleet-signature': sign('s3cret-s3cret', body) })).toBe(204);
    }
    await until(() => receiver.asked.length === 3);
    expect(receiver.asked.map(({ body }) => body)).toEqual(bodies);
    expect(receiver.asked.map(({ path }) => path)).toEqual(['/in?key=1', '/in?key=1', '/in?key=1']);
    expect(receiver.asked[0]?.headers).toMatchObject({
      'x-fleet-signature': sign('s3cret-s3cret', bodies[0] ?? ''),
      'content-type': 'application/json',
    });
    expect(receiver.asked[0]?.headers).not.toHaveProperty('authorization');
    expect(events('listening')).toHaveLength(1);
  });

  test('redacts the token and webhook secret in a forwarded body and re-signs it', async () => {
    const receiver = await openServer((response) => void response.writeHead(503).end());
    const env = {
      HOOK: 'whsec_5f1d7a84db00a2ce188da2',
      FLEET_TOKEN: 'fk_live-51HqLyj2eZvKYlo2C9f8a7b6c5d',
    };
    const flags = ['--forward', receiver.url, '--secret-env', 'HOOK', '--backfill', '0'];
    const { post, until, stdout } = await listen(flags, env);
    const text = `a ${env.FLEET_TOKEN} and ${env.HOOK.replaceAll('_', '\\u005f')}`;
    const body = JSON.stringify({ ...alert('a'), message: 'TEXT' }).replace('TEXT', text);
    expect(await post(body, { 'x-fleet-signature': sign(env.HOOK, body) })).toBe(204);
    await until(() => receiver.asked.length === 1);
    const hidden = JSON.stringify({ ...alert('a'), message: 'a [hidden] and [hidden]' });
    expect(stdout()).toBe(`${hidden}\n`);
    expect(receiver.asked[0]).toMatchObject({
      body: hidden,
      headers: { 'x-fleet-signature': sign(env.HOOK, hidden), 'content-type': 'application/json' },
    });
    const kept = (await stateFiles()).join('\n');
    expect(kept).toContain(Buffer.from(hidden).toString('base64').slice(0, 40));
    expect(kept).not.toContain(Buffer.from(body).toString('base64').slice(0, 200));
  });

  test('forwards a redacted body without a signature when the secret is unknown', async () => {
    const receiver = await openServer((response) => void response.writeHead(200).end());
    const env = { FLEET_TOKEN: 'fk_live-51HqLyj2eZvKYlo2C9f8a7b6c5d' };
    const { post, until } = await listen(['--forward', receiver.url, '--backfill', '0'], env);
    const body = JSON.stringify({ ...alert('ü'), message: env.FLEET_TOKEN });
    // UTF-16, which the receiver gets as UTF-8.
    const bytes = new Blob([new Uint8Array(Buffer.from(body, 'utf16le'))]);
    const type = 'application/json; charset=utf-16le';
    const headers = { 'content-type': type, 'x-fleet-signature': 'sha256=ab' };
    expect(await post(bytes, headers)).toBe(204);
    await until(() => receiver.asked.length === 1);
    expect(receiver.asked[0]?.body).toBe(JSON.stringify({ ...alert('ü'), message: '[hidden]' }));
    expect(receiver.asked[0]?.headers).toMatchObject({ 'content-type': 'application/json' });
    expect(receiver.asked[0]?.headers).not.toHaveProperty('x-fleet-signature');
  });

  test.each([
    ['as text', (token: string) => token],
    ['in base64', (token: string) => Buffer.from(`JWT ${token}`).toString('base64')],
  ])('redacts a token %s in the headers of a forwarded webhook', async (_name, write) => {
    const receiver = await openServer((response) => void response.writeHead(503).end());
    const env = { FLEET_TOKEN: 'fk_live-51HqLyj2eZvKYlo2C9f8a7b6c5d' };
    const { post, until } = await listen(['--forward', receiver.url, '--backfill', '0'], env);
    const written = write(env.FLEET_TOKEN);
    const sent = {
      'user-agent': `sender ${written}`,
      'content-type': `application/json; x="${written}"`,
      'x-fleet-signature': written,
    };
    expect(await post(alert('a'), sent)).toBe(204);
    await until(() => receiver.asked.length === 1);
    expect(receiver.asked[0]?.headers['user-agent']).toMatch(/^sender \w{0,6}\[hidden\]$/);
    expect(JSON.stringify(receiver.asked[0]?.headers)).not.toContain(written.slice(8, 20));
    for (const text of await stateFiles()) expect(text).not.toContain(written.slice(8, 20));
  });

  test('stores pending forwards in a private file and sends them after a restart', async () => {
    const port = await freePort();
    const gone = `http://127.0.0.1:${port}`;
    const first = await listen(['--forward', gone, '--backfill', '0']);
    for (const uuid of ['a', 'b', 'c']) expect(await first.post(alert(uuid))).toBe(204);
    const { stderr } = await first.stop();
    expect(stderr).toContain('"waiting":3');
    const files = await readdir(join(folder, 'fleet'));
    expect(files).toHaveLength(1);
    for (const name of files)
      expect((await stat(join(folder, 'fleet', name))).mode & 0o777).toBe(0o600);
    const back = await openServer((response) => void response.writeHead(204).end(), port);
    const second = await listen(['--forward', gone, '--backfill', '0']);
    await second.until(() => back.asked.length === 3);
    // The webhook of the same alert arrives again and is ignored.
    expect(await second.post(alert('a'))).toBe(204);
    await second.stop();
    expect(back.asked.map(({ body }) => JSON.parse(body).uuid)).toEqual(['a', 'b', 'c']);
    expect(second.objects()).toEqual([]);
  });
});

test('reports a damaged --forward queue and forwards its readable part', async () => {
  const port = await freePort();
  const gone = `http://127.0.0.1:${port}`;
  const first = await listen(['--forward', gone, '--backfill', '0']);
  for (const uuid of ['a', 'b', 'c']) expect(await first.post(alert(uuid))).toBe(204);
  await first.stop();
  const [name = ''] = await readdir(join(folder, 'fleet'));
  const path = join(folder, 'fleet', name);
  const text = await readFile(path, 'utf8');
  const damaged = text.slice(0, text.lastIndexOf('"body"') + 10);
  await writeFile(path, damaged);
  const back = await openServer((response) => void response.writeHead(204).end(), port);
  const second = await listen(['--forward', gone, '--backfill', '0']);
  await second.until(() => back.asked.length === 2);
  await second.stop();
  const [said] = second.events('damaged');
  expect(await readFile(String(said?.['kept_as']), 'utf8')).toBe(damaged);
});

test('rejects a second listener on the same state file', async () => {
  const receiver = await openServer((response) => void response.writeHead(204).end());
  const { post, until } = await listen(['--forward', receiver.url]);
  const second = await runFleet(['alerts', 'listen', '--port', '0', '--forward', receiver.url], {
    env: { XDG_STATE_HOME: folder },
  });
  expect([second.code, second.stderr]).toEqual([
    3,
    expect.stringContaining(`process ${process.pid}`),
  ]);
  for (let number = 0; number < 15; number++)
    expect(await post(alert(`alert-${number}`))).toBe(204);
  await until(() => receiver.asked.length === 15);
});

test('limits the size of the state file even when forwards are always pending', async () => {
  const path = join(folder, 'listen.state');
  const { signal } = new AbortController();
  const context = { clock: systemClock(), signal, notice: async () => {} };
  const memory = await openMemory(context, path, '');
  const body = Buffer.alloc(100_000);
  memory.queue.add({ body, headers: {} });
  for (let number = 0; number < 60; number++) {
    memory.queue.add({ body, headers: { number: String(number) } });
    memory.queue.done();
    memory.tidy();
  }
  memory.close();
  expect(statSync(path).size).toBeLessThan(3_000_000);
  const again = await openMemory(context, path, '');
  expect([again.queue.size(), again.queue.first()?.headers]).toEqual([1, { number: '59' }]);
  again.close();
});

describe('stopping `alerts listen`', () => {
  test('`alerts listen` does not wait for a slow sender when it receives SIGTERM', async () => {
    const listening = await listen();
    void raw(listening.url, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{', false);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect((await listening.stop('SIGTERM')).code).toBe(143);
    await expect(fetch(listening.url)).rejects.toThrow();
  });
});
