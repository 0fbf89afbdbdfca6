// Tests the bicycle names of alerts on a terminal: from the list, the mirror or the message.

import { expect, test } from 'vitest';
import { environmentOf } from '../support/environment.js';
import { newFolder } from '../support/folder.js';
import { runFleet } from '../support/run.js';
import { startFleet } from '../support/running.js';
import { openSandbox } from '../support/sandbox.js';

test('shows bicycle names from the message, the list or the mirror, and the message when charge and position are missing', async () => {
  const sandbox = await openSandbox({ bicycles: 5 });
  const folder = newFolder();
  const env = {
    ...(await environmentOf(sandbox)),
    XDG_STATE_HOME: folder,
    FLEET_ORGANIZATION: sandbox.organizations[0]?.uuid,
  };
  const bicycle = sandbox.bicycles()[0];
  const list = async () => (await runFleet(['alerts', 'list', '--limit', '1'], { env })).stdout;
  sandbox.raiseAlert(bicycle?.uuid ?? '', 'lock.shutdown', {
    extra: {},
    message: 'Lock has shut down: Emmy 12',
  });
  expect(await list()).toContain('Emmy 12  ');
  sandbox.raiseAlert(bicycle?.uuid ?? '', 'lock.shutdown', {
    extra: {},
    message: 'Lock has shut down',
  });
  expect(await list()).not.toContain(bicycle?.name);
  const { code, stderr } = await runFleet(['mirror', 'once'], { env });
  expect(code, stderr).toBe(0);
  expect(await list()).toContain(`${bicycle?.name}  `);
  const watch = startFleet(['alerts', 'watch', '--since', '1m', '--max-events', '2'], { env });
  expect((await watch.ended).stdout).toMatch(/alert new lock.shutdown {2}Lock has shut down\n$/);
  expect((await watch.ended).stdout).toContain(`  ${bicycle?.name}  `);
});
