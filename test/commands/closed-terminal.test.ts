// Tests the end of commands when their terminal is closed, and `nohup`.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { environmentOf } from '../support/environment.js';
import { useSandbox } from '../support/sandbox.js';
import { type Home, makeHome } from '../support/shell.js';
import { openTerminal, PROMPT } from '../support/terminal.js';
import { hasTool } from '../support/tools.js';

describe.runIf(hasTool('script'))('closing the terminal', () => {
  const sandbox = useSandbox({ bicycles: 30, rate: 20 });
  let home: Home;
  beforeEach(async () => {
    home = await makeHome({
      ...(await environmentOf(sandbox())),
      FLEET_ORGANIZATION: 'Nordlicht Bikes',
    });
  });

  /** Returns the text of a file as soon as it has one. */
  async function textOf(name: string): Promise<string> {
    const path = join(home.folder, name);
    return expect
      .poll(() => (existsSync(path) ? readFileSync(path, 'utf8') : ''))
      .not.toBe('')
      .then(() => readFileSync(path, 'utf8'));
  }

  test.each([
    ['at the question for an address', 'auth login --email a@b.example', /Address of the service/],
    ['at a password prompt', 'auth login --email a@b.example --base-url URL', /Password of/],
    ['during watch', 'watch', /->|moved \d/],
    ['on the board', 'watch --live', /\d gap|no gaps/],
    ['during mirror run', 'mirror run', /\d gaps?/],
    ['during alerts watch', 'alerts watch --state-file alerts.json', /read every \d/],
  ])('closing the terminal ends fleet with exit code 129 %s', async (_what, line, shown) => {
    const terminal = await openTerminal(home);
    const command = line.replace('URL', sandbox().baseUrl);
    const setUp = /login/.test(line) ? 'unset FLEET_TOKEN FLEET_ORGANIZATION FLEET_BASE_URL; ' : '';
    // The shell survives SIGHUP and passes its default action to fleet.
    terminal.press(`${setUp}sh -c 'trap : HUP; fleet ${command}; echo $? > code'\n`);
    await terminal.until(shown);
    await terminal.close();
    expect(await textOf('code')).toBe('129\n');
  });

  test.each([
    ['watch', /->|moved \d/],
    ['watch --live', /\d gap|no gaps/],
    ['map --live', /q quit/],
  ])(
    '`%s` ends with 129 when a write to the closed terminal fails before SIGHUP arrives',
    async (line, shown) => {
      const terminal = await openTerminal(home);
      // A closed terminal sends no SIGHUP to the processes of another session.
      terminal.press(`setsid sh -c 'fleet ${line}; echo $? > code'\n`);
      await terminal.until(shown);
      await terminal.close();
      expect(await textOf('code')).toBe('129\n');
    },
  );

  test.each([
    ['nohup fleet watch', 'nohup fleet watch > out 2> err & echo $! > pid'],
    [
      'a script that ignores SIGHUP',
      `sh -c 'trap "" HUP; fleet watch > out & echo $! > pid; wait'`,
    ],
  ])('SIGHUP does not end %s', async (_what, line) => {
    const terminal = await openTerminal(home);
    terminal.press(`${line}\n`);
    const pid = Number(await textOf('pid'));
    await textOf('out');
    await terminal.close();
    process.kill(pid, 'SIGHUP');
    const before = readFileSync(join(home.folder, 'out'), 'utf8').length;
    await expect
      .poll(() => readFileSync(join(home.folder, 'out'), 'utf8').length)
      .toBeGreaterThan(before);
    process.kill(pid, 'SIGTERM');
    const isRunning = () => existsSync(`/proc/${pid}`);
    await expect.poll(isRunning).toBe(false);
  });

  test('SIGHUP ends a `watch` that was started without nohup', async () => {
    const terminal = await openTerminal(home);
    terminal.press(`sh -c 'echo $$ > pid; exec fleet watch'\n`);
    await terminal.until(/->|moved/);
    process.kill(Number(await textOf('pid')), 'SIGHUP');
    await terminal.until(PROMPT);
    terminal.press('echo "code $?"\n');
    await terminal.until(/code 129/);
    await terminal.close();
  });
});
