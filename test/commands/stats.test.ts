// Tests that `fleet bicycles stats` accepts fields whose names are special in JavaScript. Its output
// is in test/transcripts/bicycles/stats.md.

import { expect, test } from 'vitest';
import { environmentOf } from '../support/environment.js';
import { runFleet } from '../support/run.js';
import { useSandbox } from '../support/sandbox.js';
import { openServer, sendJson } from '../support/server.js';

const sandbox = useSandbox({ bicycles: 3 });

test.each(['__proto__', 'constructor', 'toString'])(
  'accepts %s as the name of a field',
  async (field) => {
    const refused = await runFleet(['bicycles', 'stats', '--by', field], {
      env: await environmentOf(sandbox()),
    });
    expect(refused.code).toBe(2);
    const { env } = await openServer((response) =>
      sendJson(response, 200, `[{"uuid":"u","${field}":"x"}]`),
    );
    const { code, stdout } = await runFleet(['bicycles', 'stats', '--by', field, '--json'], {
      env,
    });
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      [{ group: field, value: 'x', count: 1, percent: 100 }],
    ]);
  },
);
