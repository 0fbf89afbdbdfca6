// Tests `fleet sandbox --replay`, which serves a recorded history like a live service.

import { EventEmitter } from 'node:events';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { newFolder } from '../support/folder.js';
import { makeMirror, organizationOf } from '../support/made-mirror.js';
import { withDatabase } from '../support/mirror.js';
import { jsonLines, runFleet } from '../support/run.js';
import { useSandbox } from '../support/sandbox.js';

const recorded = useSandbox({ bicycles: 30 });
const folder = newFolder();

test('replays every change in a mirror from the first to the last', async () => {
  const mirror = `sqlite:${join(folder, 'fleet.db')}`;
  const all = recorded().bicycles(organizationOf(recorded()));
  const [first, second, third] = all;
  if (first === undefined || second === undefined || third === undefined)
    throw new Error('three bicycles are needed');
  const at = (second: number) => `2026-03-01T12:00:0${second}.000000Z`;
  await makeMirror(mirror, {
    sandbox: recorded(),
    changes: [
      { at: at(0), bicycle: first.uuid, field: 'state', old: 'lost', new: first.state },
      { at: at(1), bicycle: second.uuid, field: '*', old: null, new: second },
      { at: at(2), bicycle: third.uuid, field: 'gone', old: null, new: at(2) },
      { at: at(3), bicycle: third.uuid, field: 'gone', old: at(2), new: null },
      { at: at(9), bicycle: first.uuid, field: 'name', old: 'before', new: first.name },
    ],
  });
  const signals = new EventEmitter();
  const env = { FLEET_CONFIG_DIR: folder };
  const seen: string[] = [];
  const asking: Promise<void>[] = [];
  const ask = async () => {
    const state = await runFleet(
      ['--profile', 'sandbox', 'bicycles', 'list', '--all', '--no-mirror', '-o', 'jsonl'],
      {
        env,
      },
    );
    seen.push(state.stdout);
  };
  let isAsked = false;
  const run = await runFleet(
    ['sandbox', '--port', '0', '--sse-port', '0', '--replay', mirror, '--speed', '2'],
    {
      env,
      signals,
      onStderr: (text) => {
        if (text.includes('saved as the profile') && !isAsked) {
          isAsked = true;
          asking.push(ask());
        }
        if (text.includes('replayed: 5 updates'))
          asking.push(ask().finally(() => signals.emit('SIGINT', 'SIGINT')));
      },
    },
  );
  await Promise.all(asking);
  expect([run.code, run.stderr]).toEqual([
    130,
    expect.stringContaining('replayed: 5 updates; the fleet no longer changes'),
  ]);
  const [before, after] = seen.map(
    (lines) => new Map(jsonLines(lines).map((one) => [one['uuid'], one])),
  );
  expect(before?.get(first.uuid)).toMatchObject({ name: 'before' });
  expect(after?.size).toBe(all.length);
  expect(after?.get(first.uuid)).toMatchObject({ name: first.name, state: first.state });
  // Links point to the sandbox and not to the recorded service.
  expect(JSON.stringify([...(after?.values() ?? [])])).not.toContain(recorded().baseUrl);
  expect(
    await withDatabase(mirror, (database) => database.all('select count(*) as n from changes')),
  ).toEqual([{ n: 5 }]);
});
