// Tests `edit -` on a terminal with rows from a pipe: the question, Ctrl-C, kill -9 and a resumed
// run.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseFault } from '../../src/sandbox/faults.js';
import { environmentOf } from '../support/environment.js';
import { useSandbox } from '../support/sandbox.js';
import { type Home, makeHome } from '../support/shell.js';
import { openTerminal, type Terminal } from '../support/terminal.js';
import { hasTool } from '../support/tools.js';

describe.runIf(hasTool('script'))('`bicycles edit -` on a terminal', () => {
  const sandbox = useSandbox({ bicycles: 30, faults: [parseFault('latency=120ms')] });
  let home: Home;
  let terminal: Terminal;
  beforeAll(async () => {
    home = await makeHome(await environmentOf(sandbox()));
    terminal = await openTerminal(home);
  });
  afterAll(() => terminal.close());
  const rows = () => sandbox().bicycles().slice(0, 6);
  const done = (note: string) => rows().filter((bicycle) => bicycle['note'] === note).length;
  const edits = () =>
    sandbox().requests.filter(({ method, status }) => method === 'PUT' && status === 200).length;

  /** Starts an edit with this note and waits for its question. */
  async function start(note: string): Promise<void> {
    const csv = rows().map(({ uuid }) => `${uuid},${note}\n`);
    writeFileSync(join(home.folder, 'rows.csv'), `uuid,note\n${csv.join('')}`);
    const line = `cat rows.csv | sh -c 'echo $$ > pid; exec fleet bicycles edit - --concurrency 1 --settle 1 --journal ${note}.jsonl'`;
    terminal.press(`clear; ${line}; echo "code $?: $(stty -a)"\n`);
    expect(await terminal.until(/\(y\/N\)/)).toMatch(new RegExp(`${rows()[5]?.name}.* ${note}`));
  }
  const ended = () => terminal.until(/code \d+: [\s\S]*[^-]icanon[\s\S]*ready> $/);

  test('`bicycles edit -` changes nothing after "no" or Ctrl-C at the prompt', async () => {
    const before = edits();
    await start('asked');
    terminal.press('n\r');
    expect(await ended()).toMatch(/nothing was sent[\s\S]*code \d/);
    await start('asked');
    terminal.press('\u0003');
    expect(await ended()).toContain('code 130:');
    expect(edits()).toBe(before);
  });

  test.each([
    ['Ctrl-C', 'code 130:', () => terminal.press('\u0003')],
    [
      'kill -9',
      'code 137:',
      () => process.kill(Number(readFileSync(join(home.folder, 'pid'), 'utf8')), 'SIGKILL'),
    ],
  ])(
    'after %s during the edits, the next run does not repeat any edit',
    async (name, code, stop) => {
      const note = name.replace(/\W/g, '');
      const before = edits();
      await start(note);
      terminal.press('y\r');
      while (done(note) < 2) await new Promise((resolve) => setTimeout(resolve, 20));
      stop();
      expect(await ended()).toContain(code);
      expect(done(note)).toBeLessThan(6);
      await start(note);
      terminal.press('y\r');
      expect(await ended()).toMatch(/already done[\s\S]*code 0:/);
      // One answer may have been lost.
      expect(done(note)).toBe(6);
      expect(edits() - before).toBeLessThanOrEqual(6);
    },
  );
});
