// Tests `fleet alerts watch` over real sockets: output, reports, commands and the end.

import { describe, expect, test } from 'vitest';
import type { Sandbox, SandboxOptions } from '../../src/sandbox/index.js';
import { environmentOf } from '../support/environment.js';
import { runFleet } from '../support/run.js';
import { type Running, startFleet } from '../support/running.js';
import { withSandbox } from '../support/sandbox.js';
import { sendJson, sendPage, withServer } from '../support/server.js';

const FAST = ['--every', '100ms'];

async function watch(
  sandbox: Sandbox,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<Running> {
  const running = startFleet(['alerts', 'watch', ...FAST, ...args], {
    env: { ...(await environmentOf(sandbox)), ...env },
  });
  const isKnown = () => /following|"event":"open"/.test(running.stderr());
  await Promise.race([running.until(isKnown), running.ended]);
  return running;
}

const subject = (sandbox: Sandbox) =>
  sandbox.bicycles().find(({ latitude }) => latitude !== null)?.uuid ?? '';

function withWatch(
  args: readonly string[],
  use: (sandbox: Sandbox, running: Running) => Promise<void>,
  options: SandboxOptions = {},
): Promise<void> {
  return withSandbox({ bicycles: 20, ...options }, async (sandbox) => {
    const running = await watch(sandbox, args);
    try {
      await use(sandbox, running);
    } finally {
      await running.stop();
    }
  });
}

describe.concurrent.each(['observed', 'interface'] as const)(
  '`alerts watch` on the service %s',
  (service) => {
    test('prints each new alert and each change once and unchanged, and no earlier alerts', () =>
      withWatch(
        ['--json'],
        async (sandbox, running) => {
          const first = sandbox.raiseAlert(subject(sandbox), 'lock.shutdown', { message: 'Δ 🚲' });
          await running.until(() => running.objects().length === 1);
          const changed = sandbox.changeAlert(first.uuid, { state: 'resolved' });
          await running.until(() => running.objects().length === 2);
          const second = sandbox.raiseAlert(subject(sandbox), 'bicycle.bike_stolen');
          await running.until(() => running.objects().length === 3);
          expect(running.objects()).toEqual([first, changed, second]);
        },
        { service },
      ));
  },
);

describe.concurrent('failures during `alerts watch`', () => {
  test('waits for the Retry-After of a 429', async () => {
    const times: number[] = [];
    await withServer(
      (response) => {
        times.push(performance.now());
        if (times.length === 2)
          sendJson(response, 429, { detail: 'slow down' }, { 'retry-after': '2' });
        else sendPage(response, []);
      },
      async ({ env }) => {
        const running = startFleet(['alerts', 'watch', ...FAST], { env });
        // The third answer is in flight when it is requested; its report comes later.
        await running.until(
          () => times.length >= 3 && /can be read again after/.test(running.stderr()),
        );
        await running.stop();
        expect((times[2] ?? 0) - (times[1] ?? 0)).toBeGreaterThan(1_950);
        expect(running.stderr()).toMatch(/could not be read: .*; trying again in 2 s\n/);
      },
    );
  });

  test('retries after JSON that is nested too deeply, and ends after an HTML page', async () => {
    const deep = `{"results":[{"uuid":"a","extra":${'['.repeat(5000)}${']'.repeat(5000)}}]}`;
    await withServer(
      (response) => sendJson(response, 200, deep),
      async ({ env }) => {
        const { code, stderr } = await runFleet(['alerts', 'watch'], { env });
        expect([code, stderr]).toEqual([
          7,
          expect.stringContaining('nested deeper than 500 levels'),
        ]);
      },
    );
  });

  test('follows a topic of the push channel too, and prints each alert once', () =>
    withSandbox({ bicycles: 10 }, async (sandbox) => {
      const topic = `/${sandbox.organizations[0]?.uuid}/admin/bicycles/*`;
      const running = await watch(sandbox, ['--json', '--every', '1h', '--topic', topic]);
      await running.until(() => running.events('open').length === 2);
      const alert = sandbox.raiseAlert(subject(sandbox), 'lock.shutdown');
      sandbox.publish(topic, 'alert', alert);
      await running.until(() => running.objects().length === 1);
      // A partial alert is not needed, because the list contains the complete one.
      sandbox.publish(topic, 'alert', { state: 'resolved' });
      const changed = sandbox.changeAlert(alert.uuid, { state: 'resolved' });
      sandbox.publish(topic, 'alert', changed);
      await running.until(() => running.objects().length === 2);
      await running.stop();
      expect(running.objects()).toEqual([alert, changed]);
    }));
});
