// Tests that the commands of a mirror leave nothing on a connection of PostgreSQL, so that poolers
// such as PgBouncer can pass it to other programs.

import { expect, onTestFinished, test } from 'vitest';
import { environmentOf } from '../support/environment.js';
import { organizationOf } from '../support/made-mirror.js';
import { useEngines } from '../support/mirror.js';
import { runFleet } from '../support/run.js';
import { startFleet } from '../support/running.js';
import { useSandbox } from '../support/sandbox.js';
import { openStateProxy } from '../support/session-state.js';

const sandbox = useSandbox({ bicycles: 40, rate: 5 });
const postgres = useEngines().find(([kind]) => kind === 'postgres');

const COMMANDS = [
  ['mirror', 'status'],
  ['mirror', 'query', '--allow-superuser', 'select count(*) from bicycles'],
  ['mirror', 'query', '--allow-superuser', "select set_config('search_path', 'nothing', false)"],
  ['mirror', 'upgrade'],
  ['mirror', 'replay', '--speed', 'max'],
  ['bicycles', 'list', '--offline', '--all'],
  ['bicycles', 'stats', '--offline'],
  ['alerts', 'list', '--offline'],
];

test.runIf(postgres !== undefined)(
  'no mirror command changes the session state of its database connection',
  async () => {
    const { address, leftovers, counts } = await openStateProxy((await postgres?.[1]()) ?? '');
    const env = {
      ...(await environmentOf(sandbox())),
      FLEET_ORGANIZATION: organizationOf(sandbox()),
    };
    const check = async (words: readonly string[]) => {
      const before = counts.inspected;
      const run = await runFleet([...words, '--to', address], { env });
      // A mirror without a running writer is not current: exit 9.
      expect([0, 9], `${words.join(' ')}: ${run.stderr}`).toContain(run.code);
      await expect.poll(() => counts.inspected).toBeGreaterThan(before);
      expect(leftovers, words.join(' ')).toEqual([]);
    };
    await check(['mirror', 'once']);
    const writer = startFleet(['mirror', 'run', '--to', address], { env });
    onTestFinished(async () => void (await writer.stop('SIGTERM').catch(() => undefined)));
    const isCurrent = async () =>
      (await runFleet(['mirror', 'status', '--to', address], { env })).code === 0;
    // The list is read a second time 30 s after the start.
    await expect.poll(isCurrent).toBe(true);
    for (const words of COMMANDS) await check(words);
    await writer.stop('SIGTERM');
    await expect.poll(() => counts.inspected).toBe(counts.sessions);
    expect(leftovers).toEqual([]);
  },
);
