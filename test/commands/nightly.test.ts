// Tests the notification recipes of docs/alerts.md with a real alert, an outage and a restart.

import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openQuickClock } from '../support/fast-clock.js';
import { newFolder } from '../support/folder.js';
import { blocksOf, readText } from '../support/guides.js';
import { runFleet } from '../support/run.js';
import { openSandbox } from '../support/sandbox.js';
import { openServer } from '../support/server.js';

const RECIPES = blocksOf(readText('docs/alerts.md'), 'sh')[0]?.trim().split('\n') ?? [];

test('docs/alerts.md has four notification recipes', () => {
  const tools = ['notify-send', 'SLACK', 'TEAMS', 'sendmail'];
  expect(RECIPES.map((line) => /notify-send|SLACK|TEAMS|sendmail/.exec(line)?.[0])).toEqual(tools);
});

test.each(RECIPES)('the notification recipe works: %s', async (recipe) => {
  const folder = newFolder();
  const posted: string[] = [];
  // These scripts replace the desktop and the mail program and record their input.
  for (const name of ['notify-send', 'sendmail']) {
    await writeFile(
      join(folder, name),
      `#!/bin/sh\necho "$@" >> ${folder}/said\n[ -t 0 ] || cat >> ${folder}/said\n`,
    );
    await chmod(join(folder, name), 0o755);
  }
  const { url } = await openServer((response, { body }) => {
    posted.push(body);
    response.end();
  });
  const sandbox = await openSandbox({ bicycles: 5 });
  const env = {
    FLEET_BASE_URL: sandbox.baseUrl,
    FLEET_TOKEN: await sandbox.token(),
    FLEET_CONFIG_DIR: folder,
    PATH: `${folder}:${process.env['PATH']}`,
    SLACK_URL: url,
    TEAMS_URL: url,
  };
  const flags = ['--state-file', join(folder, 'state'), '--every', '1s', '--exec', recipe];
  const watch = (...more: string[]) =>
    runFleet(['alerts', 'watch', ...flags, ...more], { env, clock: openQuickClock(3) });
  expect((await watch('--for', '30s')).code).toBe(0);
  // The watch is stopped meanwhile, as during a reboot.
  const message = 'Somebody "took" it';
  sandbox.raiseAlert(sandbox.bicycles()[0]?.uuid ?? '', 'bicycle.bike_stolen', { message });
  const run = await watch('--max-events', '1', '--for', '10m');
  expect([run.code, run.stdout]).toEqual([0, expect.stringContaining('bicycle.bike_stolen')]);
  const said = posted.join('') || (await readFile(join(folder, 'said'), 'utf8'));
  expect(said).toContain(posted.length > 0 ? JSON.stringify(message).slice(1, -1) : message);
});
