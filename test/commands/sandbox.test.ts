// Tests that the flags of `fleet sandbox` reach its service.

import { EventEmitter } from 'node:events';
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
