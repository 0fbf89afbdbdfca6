// Kills the built program at random moments while it follows alerts. No alert may be lost, and at
// most the last one may be repeated.

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Sandbox } from '../../src/sandbox/index.js';
import { environmentOf } from '../support/environment.js';
import { newFolder } from '../support/folder.js';
import { freePort } from '../support/listen.js';
import { mostly } from '../support/often.js';
import { PROGRAM_ARGS, PROGRAM_FILE } from '../support/program.js';
import { eventually, type Running, startProgram } from '../support/running.js';
import { withSandbox } from '../support/sandbox.js';
import { startServer } from '../support/server.js';

async function start(sandbox: Sandbox, folder: string, args: readonly string[]): Promise<Running> {
  const running = startProgram(['alerts', ...args], {
    ...{ PATH: process.env['PATH'], FLEET_CONFIG_DIR: join(folder, 'settings') },
    ...(await environmentOf(sandbox)),
  });
  await Promise.race([running.until(() => running.events('open').length > 0), running.ended]);
  return running;
}

const subject = (sandbox: Sandbox) => sandbox.bicycles()[0]?.uuid ?? '';

test.concurrent('--forward delivers all webhook bodies in order after an outage and SIGKILL', async () => {
  const port = await freePort();
  const gone = `http://127.0.0.1:${port}`;
  await withSandbox({ bicycles: 5 }, async (sandbox) => {
    const folder = newFolder();
    const args = ['listen', '--json', '--port', '0', '--forward', gone];
    const first = await start(sandbox, folder, args);
    const url = String(first.events('listening')[0]?.['url']);
    const bodies = Array.from({ length: 50 }, (_, index) =>
      JSON.stringify({ uuid: `a${index}`, modified: '2026-03-01T12:00:00Z' }),
    );
    for (const body of bodies)
      expect((await fetch(url, { method: 'POST', body })).status).toBe(204);
    await first.stop('SIGKILL');
    const back = await startServer((response) => void response.writeHead(204).end(), port);
    const second = await start(sandbox, folder, args);
    await second.until(() => back.asked.length === 50);
    await second.stop();
    expect(back.asked.map(({ body }) => body)).toEqual(bodies);
    await back.close();
  });
});

const ENDINGS = [
  [['--for', '10s'], undefined, 10],
  [[], 'SIGTERM', 143],
] as const;

test.concurrent.each(mostly(ENDINGS, ([, signal]) => signal !== undefined))(
  '%j ends after %s with code %i when its reader stalls, and prints the unread alerts again later',
  (args, signal, code) =>
    withSandbox({ bicycles: 5, pageSize: 100 }, async (sandbox) => {
      const folder = newFolder();
      const message = 'x'.repeat(5_000);
      const raised = Array.from(
        { length: 300 },
        () => sandbox.raiseAlert(subject(sandbox), 'lock.shutdown', { message }).uuid,
      );
      const state = ['--state-file', join(folder, 'alerts.state')];
      const env = {
        PATH: process.env['PATH'],
        FLEET_CONFIG_DIR: join(folder, 'settings'),
        ...(await environmentOf(sandbox)),
      };
      const child = spawn(
        PROGRAM_FILE,
        [...PROGRAM_ARGS, 'alerts', 'watch', '--since', '1m', '--json', ...state, ...args],
        { env },
      );
      // The service may end before the watch is seen to follow.
      const exit = new Promise((resolve) => child.once('exit', resolve));
      const ended = new Promise((resolve) => child.stdout.once('end', resolve));
      let stderr = '';
      let stdout = '';
      child.stderr.on('data', (chunk) => (stderr += chunk));
      // This line is deleted when the watch has ended.
      child.stdout.on('data', (chunk) => (stdout += chunk)).pause();
      await eventually(() => stderr.includes('"event":"open"'));
      // The pipe is full soon after.
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      if (signal !== undefined) child.kill(signal);
      expect(await exit, stderr).toBe(code);
      expect(stderr).toMatch(/"undelivered":[1-9]/);
      await ended;
      const again = await start(sandbox, folder, ['watch', '--json', ...state]);
      const whole = stdout.split('\n').slice(0, -1);
      const seen = () =>
        new Set([
          ...whole.map((line) => JSON.parse(line).uuid),
          ...again.objects().map(({ uuid }) => uuid),
        ]);
      await eventually(() => {
        const all = seen();
        return raised.every((uuid) => all.has(uuid));
      }, again.stderr);
      await again.stop();
      // The alert that was in the pipe when the program was killed may be printed again.
      expect(
        whole.length + again.objects().filter(({ uuid }) => raised.includes(String(uuid))).length,
      ).toBeLessThanOrEqual(301);
    }),
  60_000,
);
