// Tests the user's pager in a real terminal: which output uses it and how it ends.

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { environmentOf } from '../support/environment.js';
import { isAlive } from '../support/running.js';
import { useSandbox } from '../support/sandbox.js';
import { type Home, makeHome } from '../support/shell.js';
import { openTerminal, type Terminal } from '../support/terminal.js';
import { hasTool } from '../support/tools.js';

describe.runIf(hasTool('script'))('the pager', () => {
  const sandbox = useSandbox({ bicycles: 300 });
  let home: Home;
  let terminal: Terminal;
  beforeAll(async () => {
    home = await makeHome(
      { ...(await environmentOf(sandbox())), ORGANIZATION: sandbox().organizations[0]?.uuid },
      {
        mark: `printf 'LESS=%s LV=%s ' "$LESS" "$LV"; exec sed "s/^/$1/"`,
        first: 'read line; echo "$line"',
        // What less does to a terminal: it sets raw mode with signals, and ignores Ctrl-C.
        screen: `trap : INT; trap 'stty sane < /dev/tty; exit' TERM; stty raw isig -echo < /dev/tty; echo SHOWN
        until test -e over; do sleep 0.1; done; stty sane < /dev/tty`,
      },
    );
    terminal = await openTerminal(home);
  });
  afterAll(async () => {
    await terminal.close();
  });

  /** Returns the output of a line up to its exit code, without the echo of the line. */
  async function run(line: string): Promise<string> {
    terminal.press(`clear; ${line}; echo "code $?"\n`);
    const text = await terminal.until(/code \d+\r\n[\s\S]*ready> $/);
    return text.slice(text.indexOf('\n') + 1);
  }

  test.each([
    ['PAGER', "PAGER='mark paged:'"],
    ['FLEET_PAGER before PAGER, with words in quotes', `PAGER=false FLEET_PAGER='mark "paged:"'`],
  ])(
    'starts the pager from %s and prints messages after the output',
    async (_name, environment) => {
      const text = await run(`${environment} fleet bicycles list --columns name,state --limit 3`);
      expect(text).toMatch(/LESS=FRX LV=-c paged:.*NAME/);
      expect(text.match(/paged:/g)).toHaveLength(4);
      expect(text).toMatch(/\u001b\[\d+m/);
      expect(text).toMatch(/Showing 3 of 300[\s\S]*code 0/);
    },
  );

  test.each([['FLEET_PAGER=cat'], ['FLEET_PAGER='], ['FLEET_PAGER="  "']])(
    '%s prints without a pager',
    async (environment) => {
      const text = await run(`${environment} PAGER='mark paged:' fleet bicycles list --limit 3`);
      expect(text).toMatch(/NAME[\s\S]*code 0/);
      expect(text).not.toContain('paged:');
    },
  );

  test("shows a help topic in the pager and keeps the user's LESS variable", async () => {
    const text = await run(`LESS=X PAGER='mark paged:' fleet help output`);
    expect(text).toMatch(/LESS=X LV=-c paged:stdout has only/);
  });

  test.each([
    ['a pipe', 'fleet bicycles list --limit 3 | cat', /^\S*NAME/m],
    ['a file', 'fleet bicycles list --limit 3 -o json --file out.json', /Showing 3/],
    ['a count', 'fleet bicycles list --count', /300/],
    ['a watch', 'fleet watch "$ORGANIZATION" --for 2s', /messages/],
    ['an error', 'fleet bicycles list --where nonsense', /error: /],
  ])('prints %s without the pager', async (_name, line, said) => {
    const text = await run(`export PAGER='mark paged:'; ${line}; export PAGER=`);
    expect(text).not.toContain('paged:');
    expect(text).toMatch(said);
  });

  test('prints the output directly when the pager cannot start', async () => {
    const text = await run('PAGER=/no/such/pager fleet bicycles list --limit 3');
    expect(text).toMatch(
      /the pager "\/no\/such\/pager" could not be started: .*ENOENT[\s\S]*NAME[\s\S]*code 0/,
    );
  });

  test('ends quietly when the user closes the pager early', async () => {
    const text = await run('PAGER=first fleet bicycles list --all -o json');
    expect(text.replace(/\u001b[^a-zA-Z]*[a-zA-Z]/g, '')).toMatch(/^\s*\[\r\ncode 0/);
  });

  test('prints the error and keeps the exit code after the pager ends', async () => {
    const text = await run("PAGER='mark paged:' fleet api /bicycles/nobody/ -i");
    expect(text).toMatch(/HTTP\/1.1 404[\s\S]*error: [\s\S]*code 5/);
  });

  const pid = () => Number(readFileSync(join(home.folder, 'pid'), 'utf8'));
  /** Longer than fleet waits for any process after an interrupt. */
  const LONG_MS = 1_500;
  test.each([
    ['Ctrl-C', 130, '--all', () => terminal.press('\u0003')],
    ['Ctrl-C again and again', 130, '--all', () => terminal.press('\u0003\u0003\u0003\u0003')],
    ['SIGTERM', 143, '--all', () => process.kill(pid(), 'SIGTERM')],
    ['SIGTERM after the last byte', 143, '--limit 3', () => process.kill(pid(), 'SIGTERM')],
  ])('the pager keeps control of the terminal after %s', async (_name, code, flags, interrupt) => {
    rmSync(join(home.folder, 'over'), { force: true });
    const line = `sh -c 'echo $$ > pid; PAGER=screen exec fleet bicycles list ${flags} -o json'`;
    terminal.press(`clear; ${line}; echo "code $?: $(stty -a)"\n`);
    await terminal.until(/SHOWN/);
    interrupt();
    await sleep(LONG_MS);
    expect(isAlive(pid())).toBe(code === 130);
    writeFileSync(join(home.folder, 'over'), '');
    expect(await terminal.until(/code \d+: [\s\S]*ready> $/)).toMatch(
      new RegExp(`code ${code}:[^]*[^-]icanon`),
    );
  });
});
