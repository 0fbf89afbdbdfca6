// Tests `fleet alerts watch` over real sockets: output, reports, commands and the end.

import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Sandbox, SandboxOptions } from '../../src/sandbox/index.js';
import { environmentOf } from '../support/environment.js';
import { newFolder } from '../support/folder.js';
import { jsonLines, runFleet } from '../support/run.js';
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

test.concurrent('prints time, bicycle name, type, states and charge, and looks the name up when the alert lacks it', () =>
  withWatch([], async (sandbox, running) => {
    const bicycle = sandbox.bicycles().find(({ latitude }) => latitude !== null);
    const alert = sandbox.raiseAlert(bicycle?.uuid ?? '', 'lock.bat.low', {
      extra: { state_of_charge: 12.5 },
    });
    await running.until(() => running.stdout().includes('\n'));
    sandbox.changeAlert(alert.uuid, { state: 'resolved' });
    await running.until(() => running.stdout().split('\n').length > 2);
    const [first, second] = running.stdout().split('\n');
    expect(first).toMatch(/^\d{4}-\d\d-\d\dT[\d:]+\.000Z {2}/);
    expect(first).toContain(`  ${bicycle?.name}`);
    expect(first).toMatch(/alert new lock\.bat\.low {2}12\.5 {2}-$/);
    expect(second).toContain('alert new -> resolved lock.bat.low');
    expect((await running.stop()).stderr).toMatch(/followed alerts for .*: 2 alerts\n$/);
  }));

test.concurrent('filters by --type and --state, and runs --jq on each alert', () =>
  withWatch(
    ['--type', 'lock.shutdown', '--state', 'resolved', '--jq', '.alert_type, .state'],
    async (sandbox, running) => {
      sandbox.raiseAlert(subject(sandbox), 'lock.bat.low', { state: 'resolved' });
      const alert = sandbox.raiseAlert(subject(sandbox), 'lock.shutdown');
      sandbox.changeAlert(alert.uuid, { state: 'resolved' });
      await running.until(() => running.stdout() !== '');
      expect((await running.stop()).stdout).toBe('lock.shutdown\nresolved\n');
    },
  ));

describe.concurrent('the end of `alerts watch`', () => {
  test('ends with 0 when the first alert matches --until', () =>
    withWatch(['--until', 'alert_type=bicycle.bike_stolen'], async (sandbox, running) => {
      sandbox.raiseAlert(subject(sandbox), 'lock.shutdown');
      await running.until(() => running.stdout() !== '');
      sandbox.raiseAlert(subject(sandbox), 'bicycle.bike_stolen');
      expect((await running.ended).code).toBe(0);
      expect((await running.ended).stdout.split('\n')).toHaveLength(3);
    }));

  test('--for ends with 8 when the service cannot be reached and with 7 when it answers only errors', async () => {
    const args = ['alerts', 'watch', ...FAST, '--for', '500ms', '--json'];
    const env = { FLEET_BASE_URL: 'http://127.0.0.1:9/', FLEET_TOKEN: 'a.b.c' };
    const silent = await runFleet(args, { env });
    expect([silent.code, silent.stderr]).toEqual([
      8,
      expect.stringContaining('the alerts were never read'),
    ]);
    const [closed] = jsonLines(silent.stderr).filter(({ event }) => event === 'closed');
    expect(closed?.['unread_seconds']).toBeGreaterThan(0);
    await withServer(
      (response) => sendJson(response, 503, {}),
      async ({ url }) => {
        const refused = await runFleet(args, { env: { ...env, FLEET_BASE_URL: url } });
        expect(refused.code).toBe(7);
      },
    );
  });

  test('--for ends with 0, and with 124 when --until is also given', () =>
    withSandbox({ bicycles: 5 }, async (sandbox) => {
      expect((await (await watch(sandbox, ['--for', '3s'])).ended).code).toBe(0);
      const { code, stderr } = await (
        await watch(sandbox, ['--for', '300ms', '--until', 'state=new'])
      ).ended;
      expect([code, stderr]).toEqual([
        124,
        expect.stringContaining('state=new was not met within 0.3 s'),
      ]);
    }));

  test('ends after the number of --max-events', () =>
    withWatch(['--max-events', '2', '--json'], async (sandbox, running) => {
      for (let index = 0; index < 3; index++) sandbox.raiseAlert(subject(sandbox), 'lock.shutdown');
      expect((await running.ended).code).toBe(0);
      expect(running.objects()).toHaveLength(2);
    }));

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('%s ends the watch with code %i', (signal, code) =>
    withSandbox({ bicycles: 5 }, async (sandbox) => {
      expect((await (await watch(sandbox)).stop(signal)).code).toBe(code);
    }),
  );

  test.each([
    [['--every', '10ms'], /--every must be 100 ms or more/],
    [['--since', 'soon'], /--since must be a time, not "soon"/],
    [['-o', 'csv'], /alerts watch writes lines, or JSON lines/],
    [['--columns', 'uuid'], /does not support --columns/],
    [['--state', 'neww'], /did you mean "new"/],
    [['--until', 'stat=new'], /did you mean "state"/],
  ] as const)('rejects the arguments %j', async (args, message) => {
    const { code, stderr } = await runFleet(['alerts', 'watch', ...args], {
      env: { FLEET_BASE_URL: 'http://127.0.0.1:1', FLEET_TOKEN: 'a-token' },
    });
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
  });

  test('ends with 4 after a 401 for the first reading', () =>
    withServer(
      (response) => sendJson(response, 401, { detail: 'no' }),
      async ({ env }) => {
        const { code } = await runFleet(['alerts', 'watch'], { env });
        expect(code).toBe(4);
      },
    ));
});

describe.concurrent('failures during `alerts watch`', () => {
  test('reports an outage and its end once, and neither misses nor repeats alerts', () =>
    withWatch(['--json'], async (sandbox, running) => {
      const before = sandbox.raiseAlert(subject(sandbox), 'lock.shutdown');
      await running.until(() => running.objects().length === 1);
      sandbox.setFaults([{ kind: 'error', status: 503, share: 1 }]);
      await running.until(() => running.events('lost').length === 1);
      const missed = sandbox.raiseAlert(subject(sandbox), 'lock.bat.low');
      await new Promise((resolve) => setTimeout(resolve, 1200));
      sandbox.setFaults([]);
      await running.until(() => running.objects().length === 2);
      await running.stop();
      expect(running.objects()).toEqual([before, missed]);
      expect([running.events('lost').length, running.events('back').length]).toEqual([1, 1]);
      expect(running.events('lost')[0]).toMatchObject({ status: 503, kind: 'service' });
    }));

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

describe.concurrent('`alerts watch --since` and `--state-file`', () => {
  test('--since prints each change since that time once', () =>
    withSandbox({ bicycles: 10 }, async (sandbox) => {
      const alert = sandbox.raiseAlert(subject(sandbox), 'lock.shutdown');
      const running = await watch(sandbox, ['--json', '--since', '60s']);
      await running.until(() => running.objects().some(({ uuid }) => uuid === alert.uuid));
      await new Promise((resolve) => setTimeout(resolve, 300));
      await running.stop();
      expect(new Set(running.objects().map(({ uuid }) => uuid)).size).toBe(
        running.objects().length,
      );
    }));

  test('prints missed alerts after a restart and repeats none', () =>
    withSandbox({ bicycles: 10 }, async (sandbox) => {
      const path = join(newFolder(), 'alerts.state');
      const args = ['--json', '--state-file', path];
      const first = await watch(sandbox, args);
      const shown = sandbox.raiseAlert(subject(sandbox), 'lock.shutdown');
      await first.until(() => first.objects().length === 1);
      await first.stop();
      const missed = sandbox.raiseAlert(subject(sandbox), 'lock.shutdown');
      const changed = sandbox.changeAlert(shown.uuid, { state: 'escalated' });
      const second = await watch(sandbox, args);
      await second.until(() => second.objects().length === 2);
      await second.stop();
      expect(second.objects()).toEqual([missed, changed]);
      const third = await watch(sandbox, [...args, '--for', '500ms']);
      await third.ended;
      expect(third.objects()).toEqual([]);
      expect((await stat(path)).mode & 0o777).toBe(0o600);
    }));

  test('does not change a state file of another kind or another service', () =>
    withSandbox({ bicycles: 5 }, async (sandbox) => {
      const path = join(newFolder(), 'alerts.state');
      await writeFile(path, 'my diary\n');
      const refused = await (await watch(sandbox, ['--state-file', path])).ended;
      expect([refused.code, await readFile(path, 'utf8')]).toEqual([3, 'my diary\n']);
      await rm(path);
      await (await watch(sandbox, ['--state-file', path, '--for', '100ms'])).ended;
      const other = await (
        await watch(sandbox, ['--state-file', path], { FLEET_BASE_URL: 'http://127.0.0.1:1' })
      ).ended;
      expect([other.code, other.stderr]).toEqual([
        3,
        expect.stringContaining('remembers the alerts of'),
      ]);
    }));
});

describe.concurrent('`alerts watch --exec`', () => {
  const script = async (folder: string, text: string): Promise<string> => {
    const path = join(folder, 'run.sh');
    await writeFile(path, text);
    return `sh ${path}`;
  };
  const PATH = { PATH: process.env['PATH'] };

  test('runs one command at a time with the alert as JSON on stdin, and prints its output', () =>
    withSandbox({ bicycles: 10 }, async (sandbox) => {
      const folder = newFolder();
      const command = await script(
        folder,
        `mkdir ${folder}/busy || echo TWO AT ONCE >> ${folder}/log\ncat >> ${folder}/log\nsleep 0.1\nrmdir ${folder}/busy\necho said\n`,
      );
      const running = await watch(sandbox, ['--exec', command], PATH);
      const raised = [1, 2, 3].map(() => sandbox.raiseAlert(subject(sandbox), 'lock.shutdown'));
      await running.until(() => running.stderr().split('exec: said').length === 4);
      await new Promise((resolve) => setTimeout(resolve, 300));
      const { stderr } = await running.stop();
      expect(jsonLines(await readFile(`${folder}/log`, 'utf8'))).toEqual(raised);
      expect(stderr).toContain('3 commands run, 0 failed');
    }));

  test('sets an alert aside after --attempts, names it, and continues with the next alert', () =>
    withSandbox({ bicycles: 10 }, async (sandbox) => {
      const running = await watch(
        sandbox,
        ['--json', '--exec', 'grep lock.bat.low > /dev/null && echo found', '--attempts', '1'],
        PATH,
      );
      const poison = sandbox.raiseAlert(subject(sandbox), 'lock.shutdown');
      sandbox.raiseAlert(subject(sandbox), 'lock.bat.low');
      await running.until(() => running.objects().length === 2);
      await running.until(() => running.events('exec-failed').length === 1);
      await running.until(() => running.events('exec').length === 1);
      await new Promise((resolve) => setTimeout(resolve, 300));
      await running.stop();
      expect(running.events('exec-failed')[0]?.['message']).toBe('it ended with exit code 1');
      expect(running.events('set-aside')[0]).toMatchObject({ channel: 'exec', uuid: poison.uuid });
      expect(running.events('closed')[0]).toMatchObject({
        executed: 2,
        exec_failed: 1,
        exec_set_aside: [poison.uuid],
      });
    }));

  test('stops a hanging command at the end, and runs it for the same alert after a restart', () =>
    withSandbox({ bicycles: 10 }, async (sandbox) => {
      const path = join(newFolder(), 'alerts.state');
      const running = await watch(
        sandbox,
        ['--json', '--state-file', path, '--exec', 'cat > /dev/null; echo begun; sleep 300'],
        PATH,
      );
      const alert = sandbox.raiseAlert(subject(sandbox), 'lock.shutdown');
      const second = sandbox.raiseAlert(subject(sandbox), 'lock.bat.low');
      await running.until(() => running.events('exec').length === 1);
      await running.until(() => running.objects().length === 2);
      expect((await running.stop()).code).toBe(130);
      expect(running.events('closed')[0]).toMatchObject({ exec_waiting: 2 });
      const again = await watch(
        sandbox,
        ['--json', '--state-file', path, '--exec', 'cat; echo'],
        PATH,
      );
      await again.until(() => again.events('exec').length === 2);
      await again.stop();
      expect(again.objects()).toEqual([]);
      expect(again.events('exec').map(({ line }) => JSON.parse(String(line)).uuid)).toEqual([
        alert.uuid,
        second.uuid,
      ]);
    }));
});
