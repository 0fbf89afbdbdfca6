// Tests the colors of `fleet profile`. The transcript test/transcripts/config/profiles.md shows the
// commands.

import { expect, it } from 'vitest';
import { newFolder } from '../support/folder.js';
import { runFleet } from '../support/run.js';

it('prints a bold header on a terminal with colors', async () => {
  const env = { FLEET_CONFIG_DIR: newFolder(), FORCE_COLOR: '1' };
  await runFleet(['config', 'set', 'retries', '1', '--profile', 'berlin'], { env });
  const { stdout } = await runFleet(['profile', 'list'], { env, terminal: { columns: 120 } });
  expect(stdout).toMatch(
    /^\u001b\[1mNAME\u001b\[22m +\u001b\[1mACTIVE\u001b\[22m +\u001b\[1mBASE_URL\u001b/,
  );
});
