// Tests a mirror with messages that arrive late although its writer and its connection work.

import { expect, test } from 'vitest';
import { useEngines } from '../support/mirror.js';
import { openScenes } from '../support/mirror-scene.js';
import { runFleet } from '../support/run.js';

const SPEED = 20;
const LIMIT_MS = 120_000;
const { openScene, clock } = openScenes(SPEED);
const [[, newSqlite]] = useEngines();

test('a mirror is not current while messages arrive 45 s late', async () => {
  const scene = await openScene(await newSqlite());
  const { sandbox, run, to, env, until } = scene;
  const status = () => runFleet(['mirror', 'status', '--to', to, '--json'], { env, clock });
  const running = run('--json');
  const [uuid = ''] = scene.uuids();
  await running.until(() => running.events('open').length > 0);
  await scene.isWhole();

  sandbox.setFaults([{ kind: 'late', milliseconds: 45_000 / SPEED }]);
  sandbox.changeBicycle(uuid, { description: 'late' });
  await until(`select description from bicycles where uuid = '${uuid}'`, { description: 'late' });
  const late = await status();
  expect(late).toMatchObject({ code: 9, stderr: expect.stringContaining('behind') });
  expect(JSON.parse(late.stdout)).toMatchObject({ current: false });
  expect(JSON.parse(late.stdout).behind_seconds).toBeGreaterThan(20);

  sandbox.setFaults([]);
  let changes = 0;
  // On a busy machine some messages are late although the service sends them in time.
  const codeAfterChange = async () => {
    const description = `in time ${++changes}`;
    sandbox.changeBicycle(uuid, { description });
    await until(`select description from bicycles where uuid = '${uuid}'`, { description });
    return (await status()).code;
  };
  await expect.poll(codeAfterChange, { timeout: LIMIT_MS }).toBe(0);
  await running.stop('SIGTERM');
});
