// Several writers of one mirror: each keeps its own organizations, a second one of the same is refused or waits, and takes over.

import { spawn } from 'node:child_process';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/index.js';
import { environmentOf } from '../support/environment.js';
import { openQuickClock } from '../support/fast-clock.js';
import { useEngines, withDatabase } from '../support/mirror.js';
import { PROGRAM_ARGS, PROGRAM_FILE } from '../support/program.js';
import { runFleet } from '../support/run.js';
import { type Running, startFleet } from '../support/running.js';

/** How many seconds the program lives in one; the database's clock knows nothing of it. */
const SPEED = 10;
const POLL_MS = 50;
const LIMIT_MS = 20_000;

const epochMs = Date.now();
const startedAt = performance.now();
const now = () => Math.round(epochMs + (performance.now() - startedAt) * SPEED);
const clock = openQuickClock(SPEED, now);

let sandbox: Sandbox;
let env: NodeJS.ProcessEnv = {};
let started: Running[] = [];
let [one, two] = ['', ''];

beforeEach(async () => {
  sandbox = await startSandbox({ bicycles: 40, rate: 0, heartbeatMs: 200, now });
  [one = '', two = ''] = sandbox.organizations.map(({ uuid }) => uuid);
  env = { ...(await environmentOf(sandbox)), FLEET_ORGANIZATION: one };
});
afterEach(async () => {
  for (const running of started) await running.stop('SIGTERM').catch(() => {});
  started = [];
  await sandbox.close();
});

function run(to: string, organization: string, ...more: string[]): Running {
  const args = ['mirror', 'run', '--to', to, '--organization', organization, ...more];
  const running = startFleet(args, { env, clock });
  started.push(running);
  return running;
}

const ask = (to: string, sql: string) => withDatabase(to, (database) => database.all(sql), 'read');

async function until(to: string, sql: string, ...rows: object[]): Promise<void> {
  let found: unknown;
  for (const endAt = performance.now() + LIMIT_MS; performance.now() < endAt; ) {
    found = await ask(to, sql).catch((error) => error);
    if (JSON.stringify(found) === JSON.stringify(rows)) return;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  expect(found, started.map(({ stderr }) => stderr()).join('---\n')).toEqual(rows);
}

/** The organization is read whole, and its bicycles are there. */
const isWhole = (to: string, organization: string) =>
  until(
    to,
    `select count(*) as n, (select count(*) from writers where organization = '${organization}' and state like '%"isWhole":true%') as whole
      from bicycles where followed = '${organization}' and gone is null`,
    { n: sandbox.bicycles(organization).length, whole: 1 },
  );

describe.each(useEngines())('%s', (kind, newText) => {
  test.runIf(kind === 'postgres')(
    'a writer an organization: they share the database, and status shows both',
    async () => {
      const to = await newText();
      run(to, one);
      await isWhole(to, one);
      const second = run(to, two);
      await isWhole(to, two);
      const [{ uuid = '' } = {}] = sandbox.bicycles(one);
      sandbox.changeBicycle(uuid, { description: 'of the first' });
      await until(to, `select new from changes where bicycle = '${uuid}'`, { new: '"of the first"' });
      await until(to, 'select count(*) as n from bicycles where gone is not null', { n: 0 });
      const refused = await runFleet(['mirror', 'once', '--to', to, '--organization', one], { env, clock });
      expect([refused.code, refused.stderr]).toEqual([
        3,
        expect.stringContaining(`another writer keeps ${one}: process ${process.pid} on`),
      ]);
      const status = async () => runFleet(['mirror', 'status', '--to', to, '--json'], { env });
      await expect.poll(async () => (await status()).code, { timeout: LIMIT_MS }).toBe(0);
      expect(JSON.parse((await status()).stdout)).toMatchObject({
        organizations: [one, two].sort(),
        writers: [one, two].sort().map((organization) => ({ organization, pid: process.pid, alive: true })),
      });
      await second.stop('SIGTERM');
      const half = await status();
      expect([half.code, half.stderr]).toEqual([9, expect.stringContaining(`${two} is not being updated`)]);
      // What was of another writer is nobody's fault, and stays.
      await until(to, 'select count(*) as n from bicycles where gone is not null', { n: 0 });
    },
    60_000,
  );

  test.runIf(kind === 'sqlite')('SQLite has one writer, whatever its organizations', async () => {
    const to = await newText();
    run(to, one);
    await isWhole(to, one);
    const refused = await runFleet(['mirror', 'once', '--to', to, '--organization', two], { env, clock });
    expect([refused.code, refused.stderr]).toEqual([3, expect.stringContaining(`another writer keeps ${one}`)]);
    expect(await ask(to, 'select organization from writers')).toEqual([{ organization: one }]);
  });

  test('--standby waits for the writer to end, and takes over', async () => {
    const to = await newText();
    const first = run(to, one);
    await isWhole(to, one);
    const standby = run(to, one, '--standby');
    await standby.until(() => standby.stderr().includes('waiting for its end'));
    const [owner] = await ask(to, 'select owner from writers');
    await first.stop('SIGTERM');
    await standby.until(() => standby.stderr().includes('watching'));
    expect(await ask(to, 'select owner from writers')).not.toEqual([owner]);
    const [{ uuid = '' } = {}] = sandbox.bicycles(one);
    sandbox.changeBicycle(uuid, { description: 'after it' });
    await until(to, `select new from changes where bicycle = '${uuid}'`, { new: '"after it"' });
  });

  test('--standby knows of a bicycle that nobody said where it went, and sees it come back', async () => {
    const to = await newText();
    const first = run(to, one);
    await isWhole(to, one);
    const standby = run(to, one, '--standby');
    await standby.until(() => standby.stderr().includes('waiting for its end'));
    const { uuid = '' } = sandbox.bicycles(one).find(({ state }) => state === 'available') ?? {};
    const states = `select old, new from changes where bicycle = '${uuid}' and field = 'state' order by id`;
    const left = { old: '"available"', new: 'null' };
    sandbox.setFaults([{ kind: 'norented' }]);
    const act = async (transition: string) =>
      expect(await runFleet(['bicycles', 'act', uuid, transition, '--yes'], { env })).toMatchObject({ code: 0 });
    await act('rent');
    await until(to, states, left);
    await first.stop('SIGTERM');
    await standby.until(() => standby.stderr().includes('watching'));
    await act('return');
    await until(to, states, left, { old: 'null', new: '"available"' });
    await until(to, 'select count(*) as n from gaps where ended is null', { n: 0 });
  });

  test('--standby of one that slept, and was replaced meanwhile, waits again', async () => {
    const to = await newText();
    const running = run(to, one, '--standby');
    await isWhole(to, one);
    const past = new Date(Date.now() - 12_000).toISOString();
    const other = `update writers set owner = 'other', host = 'elsewhere', heartbeat = '${past}'`;
    await withDatabase(to, (database) => database.all(other));
    await running.until(() => running.stderr().includes('on elsewhere keeps the mirror now; waiting for its end'));
    const [{ uuid = '' } = {}] = sandbox.bicycles(one);
    sandbox.changeBicycle(uuid, { description: 'after it' });
    await until(to, `select new from changes where bicycle = '${uuid}'`, { new: '"after it"' });
  }, 60_000);

  test('--standby takes over from a writer that was killed, and nothing that was sent meanwhile is lost', async () => {
    const to = await newText();
    const killed = spawn(PROGRAM_FILE, [...PROGRAM_ARGS, 'mirror', 'run', '--to', to], { env, stdio: 'ignore' });
    await isWhole(to, one);
    const standby = startFleet(['mirror', 'run', '--to', to, '--standby'], { env });
    started.push(standby);
    await standby.until(() => standby.stderr().includes('waiting for its end'));
    const [{ uuid = '' } = {}, ...others] = sandbox.bicycles(one);
    // Messages leave its links out: the list shows them later, which is no gap.
    sandbox.act(others.find(({ state }) => state === 'available')?.uuid ?? '', 'reserve');
    const made: string[] = [];
    const mover = setInterval(() => {
      made.push(`"${made.length}"`);
      sandbox.changeBicycle(uuid, { description: JSON.parse(made.at(-1) ?? '') });
    }, 50);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    killed.kill('SIGKILL');
    // All but three of its last 15 seconds.
    const past =
      kind === 'sqlite' ? "strftime('%Y-%m-%dT%H:%M:%f000Z', 'now', '-12 seconds')" : "now() - interval '12 s'";
    await withDatabase(to, (database) => database.all(`update writers set heartbeat = ${past}`));
    await standby.until(() => standby.stderr().includes('watching'));
    clearInterval(mover);
    await until(to, `select count(*) as n from changes where new = '${made.at(-1)}'`, { n: 1 });
    const changes = await ask(to, `select new from changes where bicycle = '${uuid}' order by id`);
    expect(changes.map((row) => row['new'])).toEqual(made);
    await until(to, 'select started, ended, reason from gaps');
    await until(to, "select count(*) as n from changes where field = 'reservation' and source = 'list'", { n: 1 });
    await until(to, 'select started, ended, reason from gaps');
  }, 60_000);
});
