// Tests `alerts watch --post`: order, retries, restarts and the shapes of the receivers.

import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Sandbox } from '../../src/sandbox/index.js';
import { environmentOf } from '../support/environment.js';
import { newFolder } from '../support/folder.js';
import { runFleet } from '../support/run.js';
import { startFleet } from '../support/running.js';
import { withSandbox } from '../support/sandbox.js';
import { openServer } from '../support/server.js';

const subject = (sandbox: Sandbox) => sandbox.bicycles()[0]?.uuid ?? '';

/**
 * Starts a receiver that answers with these statuses in turn, and then always with the last status.
 */
async function openHook(...statuses: number[]) {
  const posts: { path: string; body: string; headers: NodeJS.Dict<string | string[]> }[] = [];
  const server = await openServer((response, { path, body, headers }) => {
    posts.push({ path, body, headers });
    const status = statuses.length > 1 ? (statuses.shift() ?? 200) : (statuses[0] ?? 200);
    response.writeHead(status).end();
  });
  const accepted = () => posts.map(({ body }) => JSON.parse(body));
  return { url: server.url, posts, accepted };
}

async function watch(sandbox: Sandbox, args: readonly string[]) {
  const running = startFleet(['alerts', 'watch', '--every', '100ms', '--json', ...args], {
    env: await environmentOf(sandbox),
  });
  await running.until(() => running.events('open').length > 0);
  return running;
}

describe('`alerts watch --post`', () => {
  test('posts each alert unchanged and in order, without the token', () =>
    withSandbox({ bicycles: 5 }, async (sandbox) => {
      const hook = await openHook();
      const running = await watch(sandbox, ['--post', `${hook.url}/in?key=1`]);
      const raised = [1, 2, 3].map(() => sandbox.raiseAlert(subject(sandbox), 'lock.shutdown'));
      await running.until(() => hook.posts.length === 3);
      await running.stop();
      expect(hook.accepted()).toEqual(raised);
      expect(hook.posts.map(({ path }) => path)).toEqual(Array(3).fill('/in?key=1'));
      expect(hook.posts[0]?.headers['content-type']).toBe('application/json');
      expect(hook.posts[0]?.headers['authorization']).toBeUndefined();
      expect(running.events('closed')[0]).toMatchObject({ posted: 3, post_failed: 0 });
    }));

  test('tries again after 1 s and keeps the order while the receiver fails', () =>
    withSandbox({ bicycles: 5 }, async (sandbox) => {
      const hook = await openHook(503, 500, 200);
      const running = await watch(sandbox, ['--post', hook.url]);
      const first = sandbox.raiseAlert(subject(sandbox), 'lock.shutdown');
      const second = sandbox.raiseAlert(subject(sandbox), 'lock.bat.low');
      await running.until(() => hook.posts.length === 4);
      await running.until(() => running.events('post-back').length === 1);
      await running.stop();
      expect(hook.accepted()).toEqual([first, first, first, second]);
      expect(running.events('post-failed')).toEqual([
        expect.objectContaining({ uuid: first.uuid, message: 'HTTP 503', retry_in_seconds: 1 }),
      ]);
    }));

  test('delivers over restarts and counts the attempts of earlier runs', () =>
    withSandbox({ bicycles: 5 }, async (sandbox) => {
      const hook = await openHook(500);
      const state = join(newFolder(), 'alerts.state');
      const args = ['--state-file', state, '--post', hook.url, '--attempts', '2'];
      const first = await watch(sandbox, args);
      const poison = sandbox.raiseAlert(subject(sandbox), 'lock.shutdown');
      await first.until(() => first.events('post-failed').length === 1);
      await first.stop();
      const second = await watch(sandbox, args);
      await second.until(() => second.events('set-aside').length === 1);
      await second.stop();
      expect(second.events('set-aside')[0]).toMatchObject({ uuid: poison.uuid, channel: 'post' });
      expect(second.objects()).toEqual([]);
      expect(hook.accepted()).toEqual([poison, poison]);
    }));

  test.each([
    ['breaks off', { 'content-length': '100' }, 'ok'],
    ['cannot be decompressed', { 'content-encoding': 'gzip' }, 'hello'],
    ['is larger than 1 MB', {}, 'x'.repeat(3 * 1024 * 1024)],
  ])('posts an alert once when the body of a 200 %s', (_what, headers, text) =>
    withSandbox({ bicycles: 5 }, async (sandbox) => {
      const bodies: string[] = [];
      const server = await openServer((response, { body }) => {
        bodies.push(body);
        response.writeHead(200, headers);
        response.write(text, () => response.destroy());
      });
      const running = await watch(sandbox, ['--post', server.url]);
      sandbox.raiseAlert(subject(sandbox), 'lock.shutdown');
      const second = sandbox.raiseAlert(subject(sandbox), 'lock.bat.low');
      await running.until(() => bodies.some((body) => JSON.parse(body).uuid === second.uuid));
      await running.stop();
      expect(bodies).toHaveLength(2);
      expect(running.events('post-failed')).toEqual([]);
    }),
  );

  test.each([
    ['alerts watch --post', 'hooks.example.com/services/T0/SECRETSECRETSECRET', []],
    ['alerts watch --post', 'ftp://hooks.example.com/SECRETSECRETSECRET', []],
    ['alerts listen --forward', 'hooks.example.com/SECRETSECRETSECRET', []],
    ['alerts watch --post', 'https://ntfy.example.com/SECRETSECRETSECRET%', ['--template', 'ntfy']],
  ])('%s refuses %s without its secret', (line, address, more) =>
    withSandbox({ bicycles: 5 }, async (sandbox) => {
      const env = await environmentOf(sandbox);
      const run = await runFleet([...line.split(' '), address, ...more], { env });
      expect(run.code).toBe(2);
      expect(run.stderr).not.toContain('SECRET');
    }),
  );

  test('counts undelivered alerts at the end without a state file', () =>
    withSandbox({ bicycles: 5 }, async (sandbox) => {
      const hook = await openHook(500);
      const args = ['alerts', 'watch', '--every', '100ms', '--since', '1d', '-q'];
      const env = await environmentOf(sandbox);
      sandbox.raiseAlert(subject(sandbox), 'lock.shutdown');
      const run = await runFleet([...args, '--max-events', '1', '--post', hook.url], { env });
      expect(run.stderr).toContain(`1 alert not delivered to the post to ${hook.url}`);
    }));

  test('delivers to the command while the address fails', () =>
    withSandbox({ bicycles: 5 }, async (sandbox) => {
      const hook = await openHook(500);
      const running = await watch(sandbox, ['--post', hook.url, '--exec', 'echo ran']);
      for (const _ of [1, 2]) sandbox.raiseAlert(subject(sandbox), 'lock.shutdown');
      await running.until(() => running.events('exec').length === 2);
      await running.stop();
      expect(hook.posts).toHaveLength(1);
    }));

  test.each([
    [
      'slack',
      '/services/T/B/x',
      '/services/T/B/x',
      { text: expect.stringContaining('*Δ &lt;b&gt;*') },
    ],
    [
      'teams',
      '/hook',
      '/hook',
      { type: 'message', attachments: [{ content: { type: 'AdaptiveCard', version: '1.4' } }] },
    ],
    [
      'ntfy',
      '/my-topic',
      '/',
      { topic: 'my-topic', title: 'Δ <b>', priority: 4, tags: ['red_circle', 'lock.shutdown'] },
    ],
    [
      'alertmanager',
      '/api/v2/alerts',
      '/api/v2/alerts',
      [{ labels: { alertname: 'lock.shutdown' }, annotations: { summary: 'Δ <b>', state: 'new' } }],
    ],
  ])('--template %s has the shape of the receiver', (template, path, expectedPath, shape) =>
    withSandbox({ bicycles: 5 }, async (sandbox) => {
      const hook = await openHook();
      const running = await watch(sandbox, [
        '--post',
        `${hook.url}${path}`,
        '--template',
        template,
      ]);
      sandbox.raiseAlert(subject(sandbox), 'lock.shutdown', { message: 'Δ <b>' });
      await running.until(() => hook.posts.length === 1);
      await running.stop();
      expect(hook.posts[0]?.path).toBe(expectedPath);
      expect(hook.accepted()[0]).toMatchObject(shape);
    }),
  );

  test.each([
    [['--post', 'ftp://x/'], '--post needs an http or https address'],
    [['--post', 'https://a:b@x/'], '--post needs an address without a user name or password'],
    [['--template', 'slack'], '--template sets the format of --post'],
    [['--post', 'https://ntfy.sh/', '--template', 'ntfy'], 'the address of --post has no topic'],
    [['--exec', ' '], '--exec needs a command'],
    [['--post', 'https://x/', '--template', 'irc'], 'slack, teams, ntfy'],
    [['--exec', 'true', '--attempts', '0'], '--attempts'],
  ])('refuses %j', async (args, message) => {
    const run = await runFleet(['alerts', 'watch', ...args]);
    expect([run.code, run.stdout, run.stderr]).toEqual([2, '', expect.stringContaining(message)]);
  });
});
