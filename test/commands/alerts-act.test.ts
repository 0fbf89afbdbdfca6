// Tests `fleet alerts act` with one and many alerts, with a journal, and on services with and
// without these actions.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Sandbox } from '../../src/sandbox/index.js';
import { newFolder } from '../support/folder.js';
import { jsonLines, type RunOptions, runFleet } from '../support/run.js';
import { openSandbox } from '../support/sandbox.js';
import { openServer, sendJson } from '../support/server.js';

const SOME = 'ffffffff-27cf-4651-a3e0-130b9c9b2b9d';

async function fleet(
  sandbox: Sandbox,
  args: readonly string[],
  { env = {}, ...options }: RunOptions = {},
) {
  const token = { FLEET_TOKEN: await sandbox.token() };
  return runFleet(args, { ...options, env: { FLEET_BASE_URL: sandbox.baseUrl, ...token, ...env } });
}

/** Returns the UUIDs of new alerts. */
async function newAlerts(sandbox: Sandbox): Promise<string[]> {
  const { stdout } = await fleet(sandbox, [
    'alerts',
    'list',
    '--state',
    'new',
    '--all',
    '-o',
    'uuid',
  ]);
  return stdout.trim().split('\n');
}

async function stateOf(sandbox: Sandbox, uuid: string): Promise<string> {
  return (await fleet(sandbox, ['api', `/alerts/${uuid}/`, '--jq', '.state'])).stdout.trim();
}

const writes = (sandbox: Sandbox) => sandbox.requests.filter(({ method }) => method !== 'GET');

test('moves an alert to the state of each action and accepts fields and UUID prefixes', async () => {
  const sandbox = await openSandbox({ bicycles: 200 });
  const [a = '', b = '', c = '', d = ''] = await newAlerts(sandbox);
  const cases = [
    [a, 'resolve', 'resolved'],
    [b.slice(0, 8), 'silence', 'silenced'],
    [c, 'escalate', 'escalated'],
    [d, 'stop', 'stopped'],
  ] as const;
  for (const [alert, action, state] of cases) {
    const fields =
      action === 'escalate' ? ['--field', 'severity=high', '--field', 'description=look'] : [];
    const { code, stdout } = await fleet(sandbox, ['alerts', 'act', alert, action, ...fields]);
    expect([code, stdout]).toEqual([0, expect.stringMatching(new RegExp(`^[^✓]+: ${state}\n$`))]);
  }
  expect(await stateOf(sandbox, b)).toBe('silenced');
  expect(JSON.parse(writes(sandbox)[2]?.body ?? '')).toEqual({
    type: 'escalate',
    severity: 'high',
    description: 'look',
  });
  const refused = await fleet(sandbox, ['alerts', 'act', a, 'silence']);
  expect([refused.code, refused.stderr]).toEqual([
    6,
    expect.stringContaining("not allowed from current state 'resolved'"),
  ]);
});

test('acts on many alerts from stdin and skips those that the journal records as done', async () => {
  const folder = newFolder();
  const journal = join(folder, 'journal');
  const sandbox = await openSandbox({ bicycles: 200 });
  const stdin = (await fleet(sandbox, ['alerts', 'list', '--state', 'new', '--all', '-o', 'jsonl']))
    .stdout;
  const count = stdin.trim().split('\n').length;
  const args = ['alerts', 'act', '-', 'resolve', '--journal', journal, '--yes', '--settle', '0'];
  expect((await fleet(sandbox, args.slice(0, -3), { stdin })).code).toBe(2);
  const first = await fleet(sandbox, args, { stdin });
  expect([first.code, first.stderr]).toEqual([
    0,
    expect.stringContaining(`${count} alerts: ${count} done`),
  ]);
  expect((await readFile(journal, 'utf8')).split('\n')[1]).toContain('"command":"alerts act"');
  const again = await fleet(sandbox, [...args, '--json'], { stdin });
  expect(again.code).toBe(0);
  expect(jsonLines(again.stdout).map(({ outcome }) => outcome)).toEqual(
    new Array(count).fill('skipped'),
  );
  expect(writes(sandbox)).toHaveLength(count);
  const other = await fleet(
    sandbox,
    ['bicycles', 'act', '-', 'rent', '--journal', journal, '--yes'],
    { stdin: `${sandbox.bicycles()[0]?.uuid}\n` },
  );
  expect([other.code, other.stderr]).toEqual([
    2,
    expect.stringContaining('belongs to another run'),
  ]);
});

test('names an unknown alert in the error', async () => {
  const sandbox = await openSandbox({ bicycles: 20 });
  const { code, stderr } = await fleet(sandbox, ['alerts', 'act', SOME, 'resolve']);
  expect([code, stderr]).toEqual([
    5,
    expect.stringContaining(`alert ${SOME} was not found, or you have no access`),
  ]);
  expect((await fleet(sandbox, ['alerts', 'act', 'eeee', 'resolve'])).stderr).toContain(
    'no alert begins with "eeee"',
  );
});

test('distinguishes an unknown action from an unknown alert', async () => {
  const sandbox = await openSandbox({ bicycles: 20 });
  const uuid = sandbox.raiseAlert(sandbox.bicycles()[0]?.uuid ?? '', 'lock.shutdown').uuid;
  const unknown = await fleet(sandbox, ['alerts', 'act', uuid, 'bogus', '--allow-unknown']);
  expect([unknown.code, unknown.stderr]).toEqual([
    5,
    expect.stringContaining('does not know the action "bogus"'),
  ]);
  expect(unknown.stderr).not.toContain('no actions on alerts');
  const missing = await fleet(sandbox, ['alerts', 'act', SOME, 'bogus', '--allow-unknown']);
  expect([missing.code, missing.stderr]).toEqual([
    5,
    expect.stringContaining(`alert ${SOME} was not found`),
  ]);
});

test('reports that a service with only the interface offers no actions on alerts', async () => {
  const sandbox = await openSandbox({ bicycles: 20, service: 'interface' });
  const { code, stderr } = await fleet(sandbox, ['alerts', 'act', SOME, 'resolve']);
  expect([code, stderr]).toEqual([
    5,
    expect.stringContaining('this service has no actions on alerts'),
  ]);
  expect(stderr).not.toContain('prefix');
});

test('stops the run after a 405', async () => {
  const { env, asked } = await openServer((response, asked) =>
    asked.method === 'GET'
      ? sendJson(response, 200, [])
      : sendJson(response, 405, { detail: 'Method "POST" not allowed.' }),
  );
  const uuids = Array.from(
    { length: 50 },
    (_, n) => `3cbf2500-27cf-4651-a3e0-${String(n).padStart(12, '0')}`,
  );
  const args = ['alerts', 'act', '-', 'resolve', '--yes', '--concurrency', '2'];
  const { code, stderr } = await runFleet(args, { env, stdin: uuids.join('\n') });
  expect([code, stderr]).toEqual([
    6,
    expect.stringContaining('this service has no actions on alerts'),
  ]);
  expect(asked.length).toBeLessThan(5);
});

test.each([
  [['alerts', 'act', SOME], 'the action is missing'],
  [['alerts', 'act', SOME, 'resolved'], 'did you mean "resolve"?'],
  [['alerts', 'act', 'resolve'], 'no alert given for "resolve"'],
  [['alerts', 'act', SOME, 'resolve', '--field', 'dry_run=true'], '--field cannot set dry_run'],
])('%j is refused before anything is sent: %s', async (args, message) => {
  const { env, asked } = await openServer((response) => void response.end());
  const { code, stderr } = await runFleet(args, { env });
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  expect(asked).toEqual([]);
});

test.each(['observed', 'interface'] as const)(
  '`bicycles act` names the bicycle in the error for a 404 and not the URL prefix, %s',
  async (service) => {
    const sandbox = await openSandbox({ bicycles: 20, service });
    const { code, stderr } = await fleet(sandbox, ['bicycles', 'act', SOME, 'rent']);
    expect(code).toBe(5);
    expect(stderr).toContain(`bicycle ${SOME} was not found, or you have no access`);
    expect(stderr).not.toContain('prefix');
  },
);
