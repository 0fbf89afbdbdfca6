// Tests `alerts watch --post`: order, retries, restarts and the shapes of the receivers.

import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Sandbox } from '../../src/sandbox/index.js';
import { environmentOf } from '../support/environment.js';
import { newFolder } from '../support/folder.js';
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
  test('--post counts the attempts of earlier runs', () =>
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
  ])('--post sends an alert only once even when the response body %s', (_what, headers, text) =>
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

  test('the --exec command still receives alerts while the --post receiver is down', () =>
    withSandbox({ bicycles: 5 }, async (sandbox) => {
      const hook = await openHook(500);
      const running = await watch(sandbox, ['--post', hook.url, '--exec', 'echo ran']);
      for (const _ of [1, 2]) sandbox.raiseAlert(subject(sandbox), 'lock.shutdown');
      await running.until(() => running.events('exec').length === 2);
      await running.stop();
      expect(hook.posts).toHaveLength(1);
    }));
});
