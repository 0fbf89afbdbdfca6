// Tests `fleet watch --live` in a real terminal with job control: the terminal is restored after
// every stop and end.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { environmentOf } from '../support/environment.js';
import { useSandbox } from '../support/sandbox.js';
import { type Home, makeHome } from '../support/shell.js';
import { openTerminal, PROMPT, type Terminal } from '../support/terminal.js';
import { hasTool } from '../support/tools.js';

const CTRL_C = '\u0003';
const CTRL_Z = '\u001a';
const CTRL_BACKSLASH = '\u001c';
/** The last bytes of a frame. */
const FRAME = /\u001b\[\?2026l/;
const OURS = { isAlternate: true, isCursorHidden: true };
const SHELLS = { isAlternate: false, isCursorHidden: false };

describe.runIf(hasTool('script'))('the terminal of --live', () => {
  const sandbox = useSandbox({ bicycles: 30 });
  let home: Home;
  beforeAll(async () => {
    home = await makeHome(await environmentOf(sandbox()));
  });

  /**
   * Starts a watch in its own shell, waits for its first frame and runs the test. The options are
   * shell text before the line, before fleet and after fleet.
   */
  async function live(
    use: (terminal: Terminal, pid: number) => Promise<void>,
    { before = '', beforeFleet = 'exec ', after = '' } = {},
  ): Promise<void> {
    const terminal = await openTerminal(home);
    try {
      // The shell of the script becomes the program, so both have the same process ID.
      const organization = sandbox().organizations[0]?.uuid;
      terminal.press(
        `${before}sh -c 'echo $$ > pid; ${beforeFleet}fleet watch ${organization} --live${after}'\n`,
      );
      await terminal.until(FRAME);
      expect(terminal.screen()).toEqual(OURS);
      await use(terminal, Number(readFileSync(join(home.folder, 'pid'), 'utf8')));
    } finally {
      await terminal.close();
    }
  }

  /** Expects the shell's prompt on the shell's screen, lines with echo, and the exit code of the last job. */
  async function expectShell(terminal: Terminal, code: number): Promise<void> {
    await terminal.until(PROMPT);
    expect(terminal.screen()).toEqual(SHELLS);
    terminal.press('echo "code $?: $(stty -a)"\n');
    const told = await terminal.until(/code \d+: [\s\S]*ready> $/);
    expect(told).toContain(`code ${code}:`);
    expect(told).toMatch(/(?<!-)\bicanon\b/);
    expect(told).toMatch(/(?<!-)\becho\b/);
  }

  const pressing = (keys: string) => (terminal: Terminal) => terminal.press(keys);
  const sending = (signal: NodeJS.Signals) => (_: Terminal, pid: number) =>
    process.kill(pid, signal);
  test.each([
    ['q', 0, pressing('q')],
    ['Ctrl-C', 130, pressing(CTRL_C)],
    ['Ctrl-\\', 131, pressing(CTRL_BACKSLASH)],
    ['SIGHUP', 129, sending('SIGHUP')],
    ['SIGQUIT', 131, sending('SIGQUIT')],
    ['SIGTERM', 143, sending('SIGTERM')],
  ])('%s ends `watch --live` with %i', (_name, code, end) =>
    live(async (terminal, pid) => {
      end(terminal, pid);
      await expectShell(terminal, code);
    }),
  );

  test('Ctrl-Z restores the screen, fg draws it again, and Ctrl-C ends the watch', () =>
    live(async (terminal) => {
      for (const _ of [1, 2]) {
        terminal.press(CTRL_Z);
        await terminal.until(PROMPT);
        expect(terminal.screen()).toEqual(SHELLS);
        // Longer than the longest time between two frames.
        terminal.press('sleep 1.5\n');
        expect(await terminal.until(PROMPT)).not.toMatch(FRAME);
        terminal.press('fg\n');
        await terminal.until(FRAME);
        expect(terminal.screen()).toEqual(OURS);
      }
      terminal.press(CTRL_C);
      await expectShell(terminal, 130);
    }));

  test('`watch --live` ignores Ctrl-Z when no shell could resume fleet', () =>
    live(
      async (terminal) => {
        terminal.press(CTRL_Z);
        await terminal.until(FRAME);
        expect(terminal.screen()).toEqual(OURS);
        terminal.press('q');
        await terminal.until(/\u001b\[\?1049l/);
      },
      { before: 'exec ' },
    ));

  test('Ctrl-Z suspends `watch --live` and the script that runs it', () =>
    live(
      async (terminal) => {
        terminal.press(CTRL_Z);
        await terminal.until(PROMPT);
        expect(terminal.screen()).toEqual(SHELLS);
        terminal.press('fg\n');
        await terminal.until(FRAME);
        terminal.press(CTRL_C);
        await terminal.until(/script: 130/);
      },
      { beforeFleet: '', after: '; echo "script: $?"' },
    ));

  test('`watch --live` reacts to keys again after kill -STOP and fg', () =>
    live(async (terminal, pid) => {
      process.kill(pid, 'SIGSTOP');
      await terminal.until(PROMPT);
      terminal.press('fg\n');
      await terminal.until(FRAME);
      terminal.press('q');
      await expectShell(terminal, 0);
    }));

  test('Enter at the confirmation prompt changes the marked bicycles', () =>
    live(async (terminal) => {
      // Waits until the list is drawn, then marks the first two bicycles.
      await terminal.until(/CHARGE/);
      const actions = () =>
        sandbox().requests.filter(
          ({ method, url }) => method === 'POST' && url.includes('actions'),
        );
      const sentBefore = actions().length;
      terminal.press(' \u001b[B ');
      await terminal.until(/2 marked/);
      terminal.press('a');
      await terminal.until(/TRANSITION for 2 bicycles/);
      terminal.press('\r');
      await terminal.until(/Run \S+ on 2 bicycles[\s\S]*Enter: yes/);
      // A held Enter key, which repeats at once, does not answer the question.
      terminal.press('\r');
      await new Promise((resolve) => setTimeout(resolve, 600));
      expect(actions()).toHaveLength(sentBefore);
      terminal.press('\r');
      await terminal.until(/\w+ on 2 bicycles: done|\w+: 2 bicycles: /);
      expect(actions()).toHaveLength(sentBefore + 2);
      const journals = join(home.folder, 'settings', 'state', 'journals');
      const [journal = ''] = readdirSync(journals);
      expect(readFileSync(join(journals, journal), 'utf8').split('\n').length).toBeGreaterThan(3);
      terminal.press('q');
      await expectShell(terminal, 0);
    }));

  test('a read-only profile refuses changes from the board', () =>
    live(
      async (terminal) => {
        await terminal.until(/CHARGE/);
        terminal.press('a');
        await terminal.until(/read-only|read_only/i);
        terminal.press('q');
        await expectShell(terminal, 0);
      },
      { beforeFleet: 'exec env FLEET_READ_ONLY=1 ' },
    ));

  test('a suspended `watch --live` ends on the normal screen after a signal', () =>
    live(async (terminal, pid) => {
      terminal.press(CTRL_Z);
      await terminal.until(PROMPT);
      process.kill(pid, 'SIGHUP');
      terminal.press('fg\n');
      await expectShell(terminal, 129);
    }));
});
