// Tests prompts in a real terminal with job control: Ctrl-Z and `fg` keep the question, and every
// signal restores the terminal.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { environmentOf } from '../support/environment.js';
import { inState, useSandbox } from '../support/sandbox.js';
import { openServer } from '../support/server.js';
import { type Home, makeHome } from '../support/shell.js';
import { openTerminal, PROMPT, type Terminal } from '../support/terminal.js';
import { hasTool } from '../support/tools.js';

const CTRL_C = '\u0003';
const CTRL_Z = '\u001a';
const CTRL_BACKSLASH = '\u001c';
const PASSWORD = /Password of operator@example\.com[^\n]*$/;
const ORGANIZATION = /Organization \([^\n]*$/;

describe.runIf(hasTool('script'))('a prompt on a terminal', () => {
  const sandbox = useSandbox({ bicycles: 30 });
  let home: Home;
  let login: string;
  beforeEach(async () => {
    home = await makeHome(await environmentOf(sandbox()));
    login = `fleet auth login --email operator@example.com --base-url ${sandbox().baseUrl} --sse-url ${sandbox().sseUrl}`;
  });

  /**
   * Starts a command line without a token in its own shell. The file `pid` contains the process ID
   * of fleet.
   */
  const inTerminal = (line: string, use: (terminal: Terminal) => Promise<void>) =>
    inShell(`unset FLEET_TOKEN FLEET_ORGANIZATION; ${line}`, use);

  async function inShell(line: string, use: (terminal: Terminal) => Promise<void>) {
    const terminal = await openTerminal(home);
    try {
      terminal.press(`${line}\n`);
      await use(terminal);
    } finally {
      await terminal.close();
    }
  }

  const asJob = (line: string) => `sh -c 'echo $$ > pid; exec ${line}'`;
  const readPid = () => Number(readFileSync(join(home.folder, 'pid'), 'utf8'));

  /** Expects the shell's prompt, a terminal that echoes, and the exit code of the last job. */
  async function expectShell(terminal: Terminal, code: number): Promise<string> {
    const before = await terminal.until(PROMPT);
    terminal.press('echo "code $?: $(stty -a)"\n');
    const text = await terminal.until(/code \d+: [\s\S]*ready> $/);
    // The text before it is the typed line, which contains the word "echo".
    const told = text.slice(text.search(/code \d+:/));
    expect(told).toContain(`code ${code}:`);
    expect(told).toMatch(/(?<!-)\bicanon\b/);
    expect(told).toMatch(/(?<!-)\becho\b/);
    return before;
  }

  test('asks for the password again after Ctrl-Z and fg', () =>
    inTerminal(login, async (terminal) => {
      await terminal.until(PASSWORD);
      terminal.press('hunter');
      for (const _ of [1, 2]) {
        terminal.press(CTRL_Z);
        await terminal.until(PROMPT);
        terminal.press('fg\n');
        await terminal.until(PASSWORD);
      }
      terminal.press('2 and more\r');
      const rest = await terminal.until(ORGANIZATION);
      expect(rest).toContain('logged in as operator@example.com');
      expect(rest).not.toMatch(/hunter|2 and more/);
      terminal.press('1\r');
      await expectShell(terminal, 0);
    }));

  test('pressing Ctrl-Z several times suspends a prompt only once', () =>
    inTerminal(login, async (terminal) => {
      await terminal.until(PASSWORD);
      terminal.press(`hunter${CTRL_Z}${CTRL_Z}${CTRL_Z}`);
      await terminal.until(PROMPT);
      terminal.press('fg\n');
      await terminal.until(PASSWORD);
      terminal.press(' and more\r');
      expect(await terminal.until(ORGANIZATION)).not.toMatch(/Stopped|hunter|and more/);
      terminal.press(CTRL_C);
      await expectShell(terminal, 130);
    }));

  test.each([
    ['Ctrl-\\', (terminal: Terminal) => terminal.press(`hunter${CTRL_BACKSLASH}`)],
    ['SIGQUIT', () => process.kill(readPid(), 'SIGQUIT')],
  ])('does not write a core dump when %s ends a password prompt', (_name, end) =>
    inTerminal(`ulimit -c unlimited; ${asJob(login)}`, async (terminal) => {
      await terminal.until(PASSWORD);
      end(terminal);
      expect(await expectShell(terminal, 131)).not.toContain('core dumped');
    }),
  );

  test('a prompt with echo keeps the typed text after Ctrl-Z and fg', () =>
    inTerminal(login, async (terminal) => {
      await terminal.until(PASSWORD);
      terminal.press('x\r');
      await terminal.until(ORGANIZATION);
      terminal.press('nowhere');
      terminal.press(CTRL_Z);
      await terminal.until(PROMPT);
      terminal.press('fg\n');
      await terminal.until(/Organization \([^\n]*nowhere(?:\u001b\[\d+G)?$/);
      terminal.press('\r');
      await terminal.until(/use its number[\s\S]*Organization \([^\n]*$/);
      terminal.press(CTRL_C);
      await expectShell(terminal, 130);
    }));

  test.each([
    ['of several lines', 'first line\rsecond line\r', /it must be one line/],
    ['of two lines without a last line break', 'first line\rsecond', /it must be one line/],
    ['with a NUL character', 'secr\0et\r', /it must not contain a NUL character/],
  ])('rejects a password %s and asks again', (_what, keys, reason) =>
    inTerminal(login, async (terminal) => {
      await terminal.until(PASSWORD);
      terminal.press(keys);
      const refused = await terminal.until(
        new RegExp(`${reason.source}[\\s\\S]*${PASSWORD.source}`),
      );
      expect(refused).not.toMatch(/first|second|secr/);
      terminal.press('secret words\r');
      await terminal.until(ORGANIZATION);
      terminal.press(CTRL_C);
      await expectShell(terminal, 130);
    }),
  );

  test.each([
    ['CR', '\r'],
    ['LF', '\n'],
    ['CRLF', '\r\n'],
  ])('does not echo a token that is pasted after an address and %s', (_name, end) =>
    inTerminal('unset FLEET_BASE_URL FLEET_SSE_URL; fleet auth login', async (terminal) => {
      await terminal.until(/Address of the service[^\n]*$/);
      const { baseUrl } = sandbox();
      terminal.press(`${baseUrl}${end}${end}9944b09199c62bcf9418ad84${end}`);
      const shown = await terminal.until(/logging in: [\s\S]*(?:Push address|Access token)[^\n]*$/);
      expect(shown).toContain(baseUrl);
      expect(shown).not.toContain('9944b09199');
      terminal.press(CTRL_C);
      await expectShell(terminal, 130);
    }),
  );

  test('a second login sends only the newly typed password', async () => {
    const server = await openServer((response) => void response.writeHead(403).end());
    const line = `fleet auth login --email operator@example.com --base-url ${server.url} --sse-url ${server.url}`;
    await inTerminal(line, async (terminal) => {
      await terminal.until(PASSWORD);
      terminal.press('first line\rsecond');
      await terminal.until(new RegExp(`must be one line[\\s\\S]*${PASSWORD.source}`));
      terminal.press('secret words\r');
      await expectShell(terminal, 4);
    });
    expect(server.asked.map(({ body }) => JSON.parse(body).password)).toEqual(['secret words']);
  });

  test('a prompt continues after kill -STOP and fg', () =>
    inTerminal(asJob(login), async (terminal) => {
      await terminal.until(PASSWORD);
      process.kill(readPid(), 'SIGSTOP');
      await terminal.until(PROMPT);
      terminal.press('fg\n');
      await terminal.until(PASSWORD);
      terminal.press('secret words\r');
      expect(await terminal.until(ORGANIZATION)).not.toContain('secret words');
      terminal.press(CTRL_C);
      await expectShell(terminal, 130);
    }));

  test('Ctrl-Z suspends a prompt and the script that runs fleet', () =>
    inTerminal(`sh -c '${login}; echo "script: $?"'`, async (terminal) => {
      await terminal.until(PASSWORD);
      terminal.press(CTRL_Z);
      await terminal.until(PROMPT);
      terminal.press('fg\n');
      await terminal.until(PASSWORD);
      terminal.press('secret words\r');
      await terminal.until(ORGANIZATION);
      terminal.press(CTRL_C);
      await terminal.until(/script: 130/);
    }));

  test('a prompt ignores Ctrl-Z when no shell could resume fleet', () =>
    inTerminal(`exec ${login}`, async (terminal) => {
      await terminal.until(PASSWORD);
      terminal.press(CTRL_Z);
      await terminal.until(PASSWORD);
      terminal.press('secret words\r');
      expect(await terminal.until(ORGANIZATION)).not.toContain('secret words');
    }));

  test.each<[string, number, (terminal: Terminal) => void]>([
    ['Ctrl-C', 130, (terminal) => terminal.press(CTRL_C)],
    ['Ctrl-\\', 131, (terminal) => terminal.press(CTRL_BACKSLASH)],
    ['SIGQUIT', 131, () => process.kill(readPid(), 'SIGQUIT')],
    ['SIGTERM', 143, () => process.kill(readPid(), 'SIGTERM')],
    ['SIGHUP', 129, () => process.kill(readPid(), 'SIGHUP')],
  ])('a prompt restores the terminal after %s', (_name, code, end) =>
    inTerminal(asJob(login), async (terminal) => {
      await terminal.until(PASSWORD);
      end(terminal);
      await expectShell(terminal, code);
    }),
  );

  test.each([
    ['y\r', 0, 2],
    ['n\r', 2, 0],
  ])('asks for confirmation on the terminal when stdin is piped (answer: %j)', (key, code, sent) =>
    inShell(
      'fleet bicycles list --state available --limit 2 -o uuid -q | fleet bicycles act - put_in_maintenance',
      async (terminal) => {
        const before = inState(sandbox(), 'available').length;
        await terminal.until(/Run put_in_maintenance on 2 bicycles[\s\S]*\(y\/N\)/);
        terminal.press(key);
        await expectShell(terminal, code);
        expect(before - inState(sandbox(), 'available').length).toBe(sent);
      },
    ),
  );
});
