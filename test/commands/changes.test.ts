// Tests Ctrl-C during a change, and errors as JSON. The transcripts test/transcripts/bicycles/create.md
// and act.md show the changes themselves.

import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { environmentOf } from '../support/environment.js';
import { type RunOptions, runFleet } from '../support/run.js';
import { useSandbox } from '../support/sandbox.js';
import { openServer } from '../support/server.js';

const ORGANIZATION = '5f0c1d2e-3b4a-4958-8677-6a5b4c3d2e1f';

const service = useSandbox({ bicycles: 60 });

async function fleet(args: string[], options: RunOptions = {}) {
  return runFleet(args, {
    ...options,
    env: { ...(await environmentOf(service())), ...options.env },
  });
}

const SINGLE_CHANGES = [
  ['bicycles', 'create', '--name', 'Ada'],
  ['api', '/bicycles/', '-X', 'POST', '-f', 'name=Ada'],
];

test.each(SINGLE_CHANGES)(
  'Ctrl-C waits one second for a response and reports an unknown outcome: %s %s',
  async (...args) => {
    const { url, asked } = await openServer(() => {});
    const signals = new EventEmitter();
    const env = { FLEET_BASE_URL: url, FLEET_TOKEN: 't', FLEET_ORGANIZATION: ORGANIZATION };
    const running = runFleet(args, { env, signals });
    while (asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    signals.emit('SIGINT');
    const { code, stderr } = await running;
    expect(code).toBe(130);
    expect(stderr).toMatch(
      /waiting 1 s for 1 request in flight.*it is unknown whether the request was carried out/s,
    );
  },
);

test.each([
  ['--json'],
  ['-o', 'json'],
  ['-ojson'],
  ['--output=json'],
  ['-qo', 'json'],
  ['-qojsonl'],
])('prints an error as JSON when the flags contain %s', async (...flags) => {
  const { code, stderr } = await fleet(['bicycles', 'list', ...flags, '--page', '9999']);
  expect(code).toBe(5);
  expect(JSON.parse(stderr).error.kind).toBe('not-found');
});
