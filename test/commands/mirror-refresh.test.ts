// Tests a mirror with messages that leave out changes of links.

import { expect, test } from 'vitest';
import { useEngines } from '../support/mirror.js';
import { openScenes } from '../support/mirror-scene.js';

const { openScene } = openScenes(20);
const [[, newSqlite]] = useEngines();

test('reads a bicycle again when a message shows a new model name or version', async () => {
  const scene = await openScene(await newSqlite());
  const { sandbox, run, until } = scene;
  const [uuid = '', other = ''] = scene.uuids();
  const running = run('--json');
  await running.until(() => running.events('open').length > 0);
  await scene.isWhole();
  const reads = () =>
    sandbox.requests.filter(({ url }) => /^\/bicycles\/[^/?]{36}\/$/.test(url)).length;

  sandbox.changeBicycle(uuid, { lock: `${sandbox.baseUrl}/locks/1/` });
  await until(`select lock from bicycles where uuid = '${uuid}'`, {
    lock: `${sandbox.baseUrl}/locks/1/`,
  });
  expect(reads()).toBe(1);
  sandbox.changeBicycle(other, { model: 'https://x/m/2/', bicycle_model_name: 'Other' });
  await until(`select model from bicycles where uuid = '${other}'`, { model: 'https://x/m/2/' });
  expect(reads()).toBe(2);
  // A visible change is complete.
  sandbox.changeBicycle(uuid, { description: 'visible' });
  await until(`select description from bicycles where uuid = '${uuid}'`, {
    description: 'visible',
  });
  expect(reads()).toBe(2);
  await running.stop('SIGTERM');
});
