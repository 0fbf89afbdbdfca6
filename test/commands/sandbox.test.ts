// Tests that the flags of `fleet sandbox` reach its service.

import { EventEmitter } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { newFolder } from '../support/folder.js';
import { runFleet } from '../support/run.js';

test('`sandbox --page-size` sets the page size of the service', async () => {
  const env = { FLEET_CONFIG_DIR: newFolder() };
  const signals = new EventEmitter();
  let page = '';
  async function readPage(): Promise<void> {
    const { stdout } = await runFleet(
      ['--profile', 'sandbox', 'bicycles', 'list', '-o', 'uuid', '-q'],
      { env },
    );
    page = stdout;
    signals.emit('SIGINT');
  }
  const args = ['sandbox', '--port', '0', '--sse-port', '0', '--bicycles', '9', '--page-size', '2'];
  const run = await runFleet([...args, '--json'], {
    env,
    signals,
    onStdout: () => void readPage(),
  });
  expect(run.code).toBe(130);
  expect(page.trimEnd().split('\n')).toHaveLength(2);
});

test.each([
  ['saved', '{}', 'sandbox', ['saved as the profile "sandbox"; in another terminal, run:']],
  [
    'not saved',
    '{',
    null,
    [
      'the profile "sandbox" was not saved: ',
      'in another terminal, run: export FLEET_BASE_URL=http',
      'there, also set FLEET_TOKEN to the token in the output',
    ],
  ],
])('`sandbox --json` says whether the profile was %s', async (_how, settings, profile, notices) => {
  const folder = newFolder();
  writeFileSync(join(folder, 'config.json'), settings, { mode: 0o600 });
  const signals = new EventEmitter();
  const args = ['sandbox', '--port', '0', '--sse-port', '0', '--bicycles', '1', '--json'];
  const run = await runFleet(args, {
    env: { FLEET_CONFIG_DIR: folder },
    signals,
    onStdout: () => void signals.emit('SIGINT'),
  });
  expect(run.code).toBe(130);
  const lines = run.stderr.trimEnd().split('\n');
  const said = lines.map((line): string => JSON.parse(line).notice);
  expect(said.slice(0, notices.length)).toEqual(
    notices.map((notice) => expect.stringContaining(notice)),
  );
  // Every line on stderr can be pasted, so none has a hidden token.
  expect(run.stderr).not.toContain('[hidden]');
  expect(JSON.parse(run.stdout)).toMatchObject({
    base_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    token: expect.stringMatching(/^ey/),
    profile,
  });
});
