// A command that fails prints its own error, and nothing about the requests that were still in flight.

import { expect, it } from 'vitest';
import { runFleet } from '../support/run.js';
import { openServer, sendJson } from '../support/server.js';

const uuidOf = (number: number) => `1c2d3e4f-0000-4000-8000-00000000000${number}`;

it("prints only the row's error when an invalid row interrupts other lookups", async () => {
  const { env } = await openServer(async (response, { path }) => {
    const uuid = path.split('/').at(-2) ?? '';
    if (!uuid.endsWith('1')) await new Promise((resolve) => setTimeout(resolve, 1_000));
    sendJson(response, 200, { uuid, name: `Bicycle ${uuid.at(-1)}`, state: 'available' });
  });
  const rows = [1, 2, 3, 4].map((number) => ({
    uuid: uuidOf(number),
    name: number === 1 ? 'a\u0007b' : 'x',
  }));
  const stdin = rows.map((row) => JSON.stringify(row)).join('\n');
  const args = ['bicycles', 'edit', '-', '--yes', '--concurrency', '4'];
  const run = await runFleet(args, { env, stdin });
  expect(run.code).toBe(2);
  expect(run.stderr).not.toContain('the command is over');
  expect(run.stderr).not.toContain('UND_ERR');
  expect(run.stderr.split('\n').filter((line) => /^(?:error|hint)/.test(line))).toHaveLength(2);
  expect(run.stderr.trim().split('\n')).toHaveLength(2);
});
