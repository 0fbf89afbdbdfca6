// Runs the systemd units of the guides through a crash, an outage of the service and an expired
// token.

import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { parseFault, type Sandbox } from '../../src/sandbox/index.js';
import { newFolder } from '../support/folder.js';
import { blocksOf, readText } from '../support/guides.js';
import { PROGRAM_LINE } from '../support/program.js';
import { runFleet } from '../support/run.js';
import { eventually } from '../support/running.js';
import { withSandbox } from '../support/sandbox.js';

/** `RestartSec` is divided by this number. */
const HURRY = 60;
const PASSWORD = 'secret-of-the-night';

interface Unit {
  /** All exit codes until now. */
  codes: (number | null)[];
  pid(): number;
  /** Stops the unit like `systemctl stop` and returns the exit code. */
  stop(): Promise<number | null>;
}

let started: { child: ChildProcess; end(): void }[] = [];
afterEach(() => {
  for (const { end } of started) end();
  started = [];
});

/** Starts the unit of a guide with additional arguments. */
function startUnit(guide: string, env: NodeJS.ProcessEnv, more: string): Unit {
  const [unit = ''] = blocksOf(readText(guide), 'ini');
  const get = (key: string) => new RegExp(`^${key}=(.*)$`, 'm').exec(unit)?.[1] ?? '';
  expect(get('Restart')).toBe('always');
  const command = get('ExecStart')
    .replace('/usr/local/bin/fleet', PROGRAM_LINE)
    .replaceAll('%h', env['HOME'] ?? '');
  const codes: (number | null)[] = [];
  let isStopping = false;
  const start = (): ChildProcess => {
    const child = spawn(`exec ${command} ${more}`, {
      shell: true,
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    child.on('exit', (code) => {
      codes.push(code);
      const isPrevented = get('RestartPreventExitStatus').split(' ').includes(String(code));
      if (isStopping || isPrevented) return;
      setTimeout(
        () => {
          if (!isStopping) running = start();
        },
        (1_000 * Number(get('RestartSec'))) / HURRY,
      );
    });
    started.push({
      child,
      end: () => {
        isStopping = true;
        child.kill('SIGKILL');
      },
    });
    return child;
  };
  let running = start();
  return {
    codes,
    pid: () => running.pid ?? 0,
    async stop() {
      isStopping = true;
      const ended = new Promise((resolve) => running.on('exit', resolve));
      running.kill('SIGTERM');
      await ended;
      return get('SuccessExitStatus')
        .split(' ')
        .includes(String(codes.at(-1)))
        ? 0
        : (codes.at(-1) ?? null);
    },
  };
}

/** Creates settings with a password login, and a service with tokens that live for 25 seconds. */
async function withLogin(
  use: (sandbox: Sandbox, env: NodeJS.ProcessEnv) => Promise<void>,
): Promise<void> {
  const home = newFolder();
  mkdirSync(join(home, 'bin'));
  writeFileSync(
    join(home, 'bin', 'on-alert'),
    '#!/bin/sh\nsed "s/.*\\"uuid\\":\\"\\([^\\"]*\\).*/\\1/" >> $HOME/handled\n',
  );
  chmodSync(join(home, 'bin', 'on-alert'), 0o755);
  const env: NodeJS.ProcessEnv = {
    PATH: process.env['PATH'],
    HOME: home,
    FLEET_CONFIG_DIR: join(home, 'settings'),
  };
  await withSandbox({ bicycles: 5, faults: LIFE }, async (sandbox) => {
    env['FLEET_ORGANIZATION'] = sandbox.organizations[0]?.uuid;
    await login(sandbox, env);
    await use(sandbox, env);
  });
}

const LIFE = [parseFault('expire=25s')];
const OUTAGE = [...LIFE, parseFault('error=503:100%')];
const LIFE_MS = 25_000;

async function login({ baseUrl, sseUrl }: Sandbox, env: NodeJS.ProcessEnv): Promise<void> {
  const addresses = ['--base-url', baseUrl, '--sse-url', sseUrl];
  const args = [
    'auth',
    'login',
    ...addresses,
    '--email',
    'operator@example.org',
    '--password-stdin',
  ];
  expect(await runFleet(args, { env, stdin: `${PASSWORD}\n` })).toMatchObject({ code: 0 });
}

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test('the systemd unit for alerts handles each alert once despite kill -9 and an outage', () =>
  withLogin(async (sandbox, env) => {
    const raised: string[] = [];
    const raise = () => {
      const { uuid } = sandbox.raiseAlert(
        sandbox.bicycles()[0]?.uuid ?? '',
        'bicycle.bike_stolen',
        {},
      );
      raised.push(String(uuid));
    };
    const path = join(env['HOME'] ?? '', 'handled');
    const handled = () => (existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : []);
    const allHandled = () =>
      eventually(
        () => raised.every((uuid) => handled().includes(uuid)),
        () => `${raised}\n${handled()}`,
      );
    // The service starts later than the unit.
    sandbox.setFaults(OUTAGE);
    const unit = startUnit('docs/alerts.md', env, '--every 1s');
    await wait(3_000);
    sandbox.setFaults(LIFE);
    await eventually(() => existsSync(join(env['HOME'] ?? '', '.fleet-alerts.state')));
    await wait(1_500);
    raise();
    await allHandled();
    process.kill(unit.pid(), 'SIGKILL');
    raise();
    await allHandled();
    expect(unit.codes).toEqual([null]);
    sandbox.setFaults(OUTAGE);
    await wait(3_000);
    raise();
    sandbox.setFaults(LIFE);
    await allHandled();
    await wait(LIFE_MS);
    raise();
    await allHandled();
    expect(unit.codes).toEqual([null]);
    // The command has to end.
    await wait(1_000);
    expect(await unit.stop()).toBe(0);
    // The last alert may be repeated after kill -9.
    expect([...new Set(handled())].toSorted()).toEqual(raised.toSorted());
  }));

test('the systemd unit for alerts continues after the user logs in again', () =>
  withLogin(async (sandbox, env) => {
    await wait(LIFE_MS + 1_000);
    const unit = startUnit('docs/alerts.md', env, '--every 1s');
    await eventually(() => unit.codes.length > 1);
    expect(unit.codes.slice(0, 2)).toEqual([4, 4]);
    await login(sandbox, env);
    const answered = () =>
      sandbox.requests.filter(({ url, status }) => url.includes('/alerts/') && status === 200);
    await eventually(() => answered().length > 2);
    expect(await unit.stop()).toBe(0);
  }));

test('the systemd unit for the mirror continues after kill -9 and an outage', () =>
  withLogin(async (sandbox, env) => {
    sandbox.setFaults(OUTAGE);
    const unit = startUnit('docs/mirroring.md', env, '--metrics 0');
    await wait(2_000);
    sandbox.setFaults(LIFE);
    await eventually(() => sandbox.streamCount() > 0);
    process.kill(unit.pid(), 'SIGKILL');
    await eventually(() => unit.codes.length > 0 && sandbox.streamCount() === 0);
    // A start after a crash waits at most 15 s for the heartbeat of the dead writer.
    await wait(10_000);
    await eventually(() => sandbox.streamCount() > 0);
    await wait(LIFE_MS);
    expect(unit.codes).toEqual([null]);
    process.kill(unit.pid(), 'SIGSTOP');
    await wait(LIFE_MS + 1_000);
    process.kill(unit.pid(), 'SIGCONT');
    await eventually(() => unit.codes.length > 1);
    expect(unit.codes).toEqual([null, 4]);
  }));
