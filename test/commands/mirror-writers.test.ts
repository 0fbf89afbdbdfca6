// Tests several writers of one mirror: each writes its organizations, and a second one is rejected
// or waits.

import { spawn } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { useEngines } from '../support/mirror.js';
import { LIMIT_MS, openScenes, type Scene } from '../support/mirror-scene.js';
import { PROGRAM_ARGS, PROGRAM_FILE } from '../support/program.js';
import { runFleet } from '../support/run.js';

const { openScene } = openScenes(10);

/** Starts a writer and a standby; resolves with a function that ends the first writer. */
async function openPair({ run, isWhole, said, ask }: Scene) {
  const first = run();
  await isWhole();
  const standby = run('--standby');
  await said(standby, 'waiting for its end');
  const [owner] = await ask('select owner from writers');
  return async () => {
    await first.stop('SIGTERM');
    await said(standby, 'watching');
    expect(await ask('select owner from writers')).not.toEqual([owner]);
  };
}

/** Changes from now on are recorded. */
async function goesOn({ sandbox, uuids, until }: Scene) {
  const [uuid = ''] = uuids();
  sandbox.changeBicycle(uuid, { description: 'after it' });
  await until(`select new from changes where bicycle = '${uuid}'`, { new: '"after it"' });
}

describe.each(useEngines())('%s', (kind, newText) => {
  test.runIf(kind === 'postgres')(
    'allows one writer for each organization, and `mirror status` shows both',
    async () => {
      const scene = await openScene(await newText());
      const { organization: one, other: two, to, env, run, once, until, isWhole } = scene;
      for (const { code, stderr } of await Promise.all([once(), once(), once()]))
        if (code !== 0) expect(stderr).toContain(`another process is writing the data of ${one}`);
      const nobodyIsGone = () =>
        until('select count(*) as n from bicycles where gone is not null', { n: 0 });
      run();
      await isWhole();
      const second = run('--organization', two);
      await isWhole(two);
      await goesOn(scene);
      await nobodyIsGone();
      const writer = `another process is writing the data of ${one}: process ${process.pid} on`;
      expect(await once()).toMatchObject({ code: 3, stderr: expect.stringContaining(writer) });
      const status = async () => runFleet(['mirror', 'status', '--to', to, '--json'], { env });
      await expect.poll(async () => (await status()).code, { timeout: LIMIT_MS }).toBe(0);
      const both = [one, two].sort();
      expect(JSON.parse((await status()).stdout)).toMatchObject({
        organizations: both,
        writers: both.map((organization) => ({ organization, pid: process.pid, alive: true })),
      });
      await second.stop('SIGTERM');
      const unwritten = `no writer is running for ${two}`;
      expect(await status()).toMatchObject({ code: 9, stderr: expect.stringContaining(unwritten) });
      // Gaps of another writer stay unchanged.
      await nobodyIsGone();
    },
  );

  test.runIf(kind === 'sqlite')('SQLite has one writer, whatever its organizations', async () => {
    const { organization, other, run, once, isWhole, ask } = await openScene(await newText());
    run();
    await isWhole();
    const refused = {
      code: 3,
      stderr: expect.stringContaining(`another process is writing the data of ${organization}`),
    };
    expect(await once('--organization', other)).toMatchObject(refused);
    expect(await ask('select organization from writers')).toEqual([{ organization }]);
  });

  test('--standby records the return of a bicycle whose rental was not published', async () => {
    const scene = await openScene(await newText());
    const { sandbox, organization, until, act } = scene;
    const takeOver = await openPair(scene);
    const { uuid = '' } =
      sandbox.bicycles(organization).findLast(({ state }) => state === 'available') ?? {};
    // The next writer may read the list during the ride.
    const states = `select new from changes where bicycle = '${uuid}' and field = 'state' and new <> '"rented"' order by id`;
    sandbox.setFaults([{ kind: 'norented' }]);
    await act(uuid, 'rent');
    await until(states, { new: 'null' });
    await takeOver();
    await act(uuid, 'return');
    await until(states, { new: 'null' }, { new: '"available"' });
    await until('select count(*) as n from gaps where ended is null', { n: 0 });
    await goesOn(scene);
  });

  test('--standby keeps the state of a bicycle that returned before the takeover', async () => {
    const scene = await openScene(await newText());
    const { sandbox, organization, until, act } = scene;
    const takeOver = await openPair(scene);
    const { uuid = '' } =
      sandbox.bicycles(organization).findLast(({ state }) => state === 'available') ?? {};
    const states = `select new from changes where bicycle = '${uuid}' and field = 'state' order by id`;
    await act(uuid, 'rent');
    await until(states, { new: '"rented"' });
    await act(uuid, 'return');
    await until(states, { new: '"rented"' }, { new: '"available"' });
    // The writer continues for longer than it waits for a new state.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    await takeOver();
    await goesOn(scene);
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    await until(states, { new: '"rented"' }, { new: '"available"' });
  });

  test('--standby returns to waiting when another process takes over the mirror', async () => {
    const scene = await openScene(await newText());
    const running = scene.run('--standby');
    await scene.isWhole();
    const past = new Date(Date.now() - 12_000).toISOString();
    await scene.tell(
      `update writers set owner = 'other', host = 'elsewhere', heartbeat = '${past}'`,
    );
    await scene.said(running, 'on elsewhere keeps the mirror now; waiting for its end');
    await goesOn(scene);
  });

  test('--standby replaces a killed writer and records the gap in between', async () => {
    const { sandbox, organization, to, env, ...scene } = await openScene(await newText());
    const { run, said, isWhole, tell, until, ask } = scene;
    const killed = spawn(PROGRAM_FILE, [...PROGRAM_ARGS, 'mirror', 'run', '--to', to], {
      env,
      stdio: 'ignore',
    });
    await isWhole();
    const standby = run('--standby');
    await said(standby, 'waiting for its end');
    killed.kill('SIGKILL');
    const [{ uuid = '' } = {}] = sandbox.bicycles(organization);
    sandbox.changeBicycle(uuid, { description: 'meanwhile' });
    // The lease of 15 s is valid for three more seconds.
    const past =
      kind === 'sqlite'
        ? "strftime('%Y-%m-%dT%H:%M:%f000Z', 'now', '-12 seconds')"
        : "now() - interval '12 s'";
    await tell(`update writers set heartbeat = ${past}`);
    await said(standby, 'watching');
    await until(`select new, source from changes where bicycle = '${uuid}'`, {
      new: '"meanwhile"',
      source: 'list',
    });
    await until('select count(*) as n from gaps where ended is null', { n: 0 });
    expect(await ask('select reason from gaps')).toEqual([
      { reason: 'the mirror was not running' },
    ]);
  });
});
