// `fleet mirror run` and `once` against a sandbox: what the tables hold after each kind of event, and how failures end.

import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, connect as dial, type Socket } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Clock } from '../../src/clock.js';
import { END_MS } from '../../src/commands/mirror/keeper.js';
import type { Row } from '../../src/mirror/database.js';
import { writeMeta } from '../../src/mirror/schema.js';
import { HEARTBEAT_MS } from '../../src/mirror/writers.js';
import { type Sandbox, startSandbox } from '../../src/sandbox/index.js';
import { environmentOf } from '../support/environment.js';
import { openQuickClock } from '../support/fast-clock.js';
import { newFolder } from '../support/folder.js';
import { organizationOf } from '../support/made-mirror.js';
import { useEngines, withDatabase } from '../support/mirror.js';
import { runFleet } from '../support/run.js';
import { type Running, startFleet } from '../support/running.js';
import { headersFor } from '../support/sandbox.js';

/** How many seconds program and service live in one: pauses of the writer are 10 s and more. */
const SPEED = 20;
const POLL_MS = 25;
const LIMIT_MS = 20_000;

const epochMs = Date.now();
const startedAt = performance.now();
const now = () => Math.round(epochMs + (performance.now() - startedAt) * SPEED);
const quick = openQuickClock(SPEED, now);
const clock: Clock = {
  ...quick,
  // A twentieth of what the database is given at the end is too little for one on a busy machine.
  after: (milliseconds, action) => quick.after(milliseconds === END_MS ? 2 * END_MS * SPEED : milliseconds, action),
};
const folder = newFolder();
const engines = useEngines();
const [sqlite] = engines;
const newSqlite = sqlite?.[1] ?? (async () => '');

interface Scene {
  sandbox: Sandbox;
  organization: string;
  to: string;
  env: NodeJS.ProcessEnv;
  run(...args: string[]): Running;
  once(...args: string[]): ReturnType<typeof runFleet>;
  ask(sql: string): Promise<Row[]>;
  /** Resolves when the query has these rows. */
  until(sql: string, ...rows: object[]): Promise<void>;
  remove(uuid: string): Promise<void>;
}

async function withScene(to: string, use: (scene: Scene) => Promise<void>, bicycles = 30): Promise<void> {
  const sandbox = await startSandbox({ bicycles, rate: 0, heartbeatMs: 200, now });
  const organization = organizationOf(sandbox);
  const env = { ...(await environmentOf(sandbox)), FLEET_ORGANIZATION: organization };
  const started: Running[] = [];
  const ask = (sql: string) => withDatabase(to, (database) => database.all(sql), 'read');
  try {
    await use({
      sandbox,
      organization,
      to,
      env,
      ask,
      run(...args) {
        const running = startFleet(['mirror', 'run', '--to', to, ...args], { env, clock });
        started.push(running);
        return running;
      },
      once: (...args) => runFleet(['mirror', 'once', '--to', to, ...args], { env, clock }),
      async until(sql, ...rows) {
        let found: unknown;
        for (const endAt = performance.now() + LIMIT_MS; performance.now() < endAt; ) {
          found = await ask(sql).catch((error) => error);
          if (JSON.stringify(found) === JSON.stringify(rows)) return;
          await new Promise((resolve) => setTimeout(resolve, POLL_MS));
        }
        expect(found, started.map(({ stderr }) => stderr()).join('---\n')).toEqual(rows);
      },
      async remove(uuid) {
        const url = `${sandbox.baseUrl}/bicycles/${uuid}/`;
        await fetch(url, { method: 'DELETE', headers: await headersFor(sandbox) });
      },
    });
  } finally {
    for (const running of started) await running.stop('SIGTERM').catch(() => {});
    await sandbox.close();
  }
}

/** Another writer has the lease. */
function takeOver(to: string, host: string, heartbeat: string) {
  const sql = `update writers set owner = 'other', host = '${host}', pid = ${process.pid}, heartbeat = '${heartbeat}'`;
  return withDatabase(to, (database) => database.all(sql));
}

const CURRENT = 'select count(*) as n from gaps where ended is null';
const uuidsOf = ({ sandbox, organization }: Scene) => sandbox.bicycles(organization).map(({ uuid }) => uuid);

describe.each(engines)('%s', (_kind, newText) => {
  test('reads the list, follows messages, records each change once, and ends at SIGTERM', async () => {
    await withScene(await newText(), async (scene) => {
      const { sandbox, run, ask, until } = scene;
      const running = run('--json');
      const [uuid = ''] = uuidsOf(scene);
      const total = uuidsOf(scene).length;
      await until('select count(*) as n from latest', { n: total });
      await running.until(() => running.events('open').length > 0);
      await until(`select count(*) as n from writers where state like '%"isWhole":true%'`, { n: 1 });
      sandbox.changeBicycle(uuid, { description: 'one', state_of_charge: 12.5 });
      sandbox.changeBicycle(uuid, { description: 'two' });
      sandbox.publish(`/x/admin/bicycles/${uuid}/`, 'bicycle', { uuid, note: 1, modified: null });
      await until(
        `select field, new, source from changes where bicycle = '${uuid}' and field in ('description', 'state_of_charge', 'modified') order by id`,
        { field: 'state_of_charge', new: '12.5', source: 'push' },
        { field: 'description', new: '"one"', source: 'push' },
        { field: 'description', new: '"two"', source: 'push' },
      );
      const [row] = await ask(`select description, state_of_charge_text, raw from bicycles where uuid = '${uuid}'`);
      expect(row).toMatchObject({ description: 'two', state_of_charge_text: '12.5' });
      const alert = sandbox.raiseAlert(uuid, 'lock.bat.low');
      await until(`select bicycle_uuid, state from alerts where uuid = '${alert.uuid}'`, {
        bicycle_uuid: uuid,
        state: 'new',
      });
      expect((await running.stop('SIGTERM')).code).toBe(143);
      expect(await ask(CURRENT)).toEqual([{ n: 0 }]);
    });
  });

  test('a ride that is told to its rider alone is a state that nobody knows, and gives another ID to the feed', async () => {
    await withScene(await newText(), async (scene) => {
      const { sandbox, run, until, env } = scene;
      const running = run();
      const [uuid = '', other = ''] = sandbox
        .bicycles(scene.organization)
        .filter(({ state }) => state === 'available')
        .map((bicycle) => bicycle.uuid);
      await until(`select count(*) as n from writers where state like '%"isWhole":true%'`, { n: 1 });
      sandbox.setFaults([{ kind: 'norented' }]);
      const config = newFolder();
      const profiles = { default: { mirror: scene.to } };
      writeFileSync(join(config, 'config.json'), JSON.stringify({ profiles }), { mode: 0o600 });
      const facts = ['system_id=a', 'name=A', 'language=en', 'timezone=UTC', 'opening_hours=24/7'];
      const addresses = ['feed_contact_email=a@b.ch', 'feed_url=https://a.example/'];
      const flags = [...facts, ...addresses].flatMap((fact) => ['--set', fact]);
      const idsNow = async () => {
        const out = newFolder();
        const feedEnv = { ...env, FLEET_CONFIG_DIR: config };
        // A busy machine does not always answer for the mirror in time; the list's IDs are others.
        for (let stderr = ''; !stderr.includes('from the mirror'); ) {
          const ran = await runFleet(['gbfs', '--out', out, ...flags], { env: feedEnv });
          expect(ran.code).toBe(0);
          stderr = ran.stderr;
        }
        const { data } = JSON.parse(readFileSync(join(out, 'vehicle_status.json'), 'utf8'));
        return new Set(data.vehicles.map(({ vehicle_id: id }: { vehicle_id: string }) => id));
      };
      const before = await idsNow();
      const steps = `select field, old, new from changes where bicycle = '${uuid}' and field = 'state' order by id`;
      const [left, back] = [
        { field: 'state', old: '"available"', new: 'null' },
        { field: 'state', old: 'null', new: '"available"' },
      ];
      const act = async (bicycle: string, transition: string) =>
        expect(await runFleet(['bicycles', 'act', bicycle, transition, '--yes'], { env })).toMatchObject({ code: 0 });
      await act(uuid, 'rent');
      await until(steps, left);
      const during = await idsNow();
      await act(uuid, 'return');
      await until(steps, left, back);
      const after = await idsNow();
      // Each feed lacks the one that was ridden, or knows it by another name.
      expect([...before].filter((id) => !during.has(id))).toHaveLength(1);
      expect([...during].filter((id) => !after.has(id))).toEqual([]);
      expect([...after].filter((id) => !before.has(id))).toHaveLength(1);
      // A ride so short that it is back before its state counts as not known.
      await act(other, 'rent');
      await act(other, 'return');
      await until(steps.replace(uuid, other), left, back);
      const last = await idsNow();
      expect([...last].filter((id) => !after.has(id))).toHaveLength(1);
      await running.stop('SIGTERM');
    });
  });

  test('what no database can hold costs a character, or that message, and never the writer', async () => {
    await withScene(await newText(), async (scene) => {
      const { sandbox, organization, run, until } = scene;
      const [uuid = '', other = '', third = ''] = uuidsOf(scene);
      // Lists show them, and messages after them.
      sandbox.changeBicycle(uuid, { description: 'a\0b\ud800c\\u0000', [`\0`]: 1 });
      const running = run();
      await running.until(() => running.stderr().includes('watching'));
      await until('select count(*) as n from latest', { n: uuidsOf(scene).length });
      const push = (message: object, sender = 'bicycle') =>
        sandbox.publish(`/${organization}/admin/bicycles/*`, sender, message);
      const long = Array.from({ length: 20_000 }, (_, index) => ((index * 7919) % 99_991).toString(36)).join('');
      for (const name of ['\0', '\ud800', long]) {
        push({ uuid: name, name });
        push({ uuid: name, message: name }, 'alert');
      }
      push({ uuid: other, name: long, bleid: long, serial_number: long, state: long });
      // Late, by a time that no database has.
      push({ uuid: other, modified: '0000-01-01T00:00:00Z' });
      push({ uuid: third, latest_gps_timestamp: '2026-02-30T10:00:00Z', state: 'a\udc00\0', description: 'last' });
      await until(`select description from bicycles where uuid = '${third}'`, { description: 'last' });
      const field = "raw ->> 'description'";
      await until(`select ${field} as text from bicycles where uuid = '${uuid}'`, { text: 'a\ufffdb\ufffdc\\u0000' });
      await until(`select count(${field}) - count(${field}) as n from bicycles`, { n: 0 });
      await until(`select count(*) as n from state_durations where state = 'a\ufffd\ufffd'`, { n: 1 });
      await until(
        `select count(*) as n from bicycles where uuid = '${other}' and ${field.replace('description', 'name')} = '${long}'`,
        { n: 1 },
      );
      expect((await running.stop('SIGTERM')).code).toBe(143);
    });
  });

  test('what happened while nobody ran is one gap, found by the list, without the whole list', async () => {
    await withScene(await newText(), async (scene) => {
      const { sandbox, once, ask } = scene;
      const first = await once();
      expect(first).toMatchObject({ code: 0 });
      const [uuid = '', other = ''] = uuidsOf(scene);
      sandbox.changeBicycle(uuid, { description: 'seen at last' });
      sandbox.requests.length = 0;
      expect((await once()).code).toBe(0);
      expect(sandbox.requests.filter(({ url }) => url.startsWith('/bicycles/'))).toHaveLength(1);
      // The next gap begins where this one ended.
      const [position] = await ask('select state from writers');
      const [gap] = await ask('select ended from gaps');
      expect(JSON.parse(String(position?.['state'])).heardMs).toBe(Date.parse(String(gap?.['ended'])));
      expect(await ask('select reason, found from gaps')).toEqual([{ reason: 'the mirror was not running', found: 1 }]);
      expect(await ask('select bicycle, field, source from changes')).toEqual([
        { bicycle: uuid, field: 'description', source: 'list' },
      ]);
      expect(await ask(`select count(*) as n from bicycles where uuid = '${other}' and gone is null`)).toEqual([
        { n: 1 },
      ]);
    });
  });
});

describe('bicycles that leave the list', () => {
  test('are marked as gone when two whole readings have shown it', async () => {
    await withScene(await newSqlite(), async (scene) => {
      const { run, remove, sandbox, until, ask } = scene;
      run();
      const [uuid = '', other = ''] = uuidsOf(scene);
      await until(`select count(*) as n from latest where uuid = '${uuid}'`, { n: 1 });
      await remove(uuid);
      sandbox.setFaults([{ kind: 'noreplay' }]);
      sandbox.dropStreams();
      await until(`select uuid from bicycles where gone is not null`, { uuid });
      await until(`select field, old, source from changes where field = 'gone'`, {
        field: 'gone',
        old: 'null',
        source: 'list',
      });
      expect(await ask(`select count(*) as n from latest where uuid in ('${uuid}', '${other}')`)).toEqual([{ n: 1 }]);
    });
  });

  test('stay as they are when a list is empty, cut short or has no count', async () => {
    await withScene(await newSqlite(), async (scene) => {
      const { once, env, ask, sandbox } = scene;
      expect((await once()).code).toBe(0);
      const total = uuidsOf(scene).length;
      for (const body of [
        { count: 0, next: null, previous: null, results: [] },
        { count: total, next: null, previous: null, results: sandbox.bicycles(scene.organization).slice(0, 3) },
        { count: null, next: '?page=2', previous: null, results: [] },
      ]) {
        const server = await serveBody(
          (url) => (url.startsWith('/bicycles/') ? JSON.stringify(body) : undefined),
          sandbox.baseUrl,
        );
        await withDatabase(scene.to, (database) => writeMeta(database, { base_url: server.url }));
        const { code } = await runFleet(['mirror', 'once', '--to', scene.to], {
          env: { ...env, FLEET_BASE_URL: server.url },
          clock,
        });
        server.close();
        expect([0, 7, 9]).toContain(code);
        expect(await ask('select count(*) as n from latest')).toEqual([{ n: total }]);
      }
    });
  });

  test('those of an organization that is followed no more are gone, and read anew when it is again', async () => {
    await withScene(await newSqlite(), async (scene) => {
      const { sandbox, env, to, ask } = scene;
      const [one = '', two = ''] = sandbox.organizations.map(({ uuid }) => uuid);
      const once = (...organizations: string[]) =>
        runFleet(['mirror', 'once', '--to', to, ...organizations.flatMap((each) => ['--organization', each])], {
          env,
          clock,
        });
      const present = () => ask('select organization, count(*) as n from latest group by organization order by n');
      expect((await once(one, two)).code).toBe(0);
      const both = await present();
      expect(both).toHaveLength(2);
      await once(one);
      expect(await present()).toEqual(both.filter(({ organization }) => organization === one));
      await once(one, two);
      expect(await present()).toEqual(both);
    });
  });
});

describe('one writer', () => {
  test('one that was killed is replaced 15 s after its last heartbeat, whatever its host and process number', async () => {
    await withScene(await newSqlite(), async (scene) => {
      const { once, to } = scene;
      expect((await once()).code).toBe(0);
      const heartbeat = new Date(Date.now() - 12_000).toISOString();
      await takeOver(to, hostname(), heartbeat);
      const { code, stderr } = await once();
      expect([code, stderr]).toEqual([0, expect.stringContaining('waiting to see whether it still runs')]);
    });
  }, 30_000);

  test('a second one is refused and told who writes; one that lost its lease writes nothing more', async () => {
    await withScene(await newSqlite(), async (scene) => {
      const { run, once, to, until, sandbox } = scene;
      const running = run();
      await until(CURRENT, { n: 0 });
      await running.until(() => running.stderr().includes('watching'));
      const second = await once();
      expect(second.code).toBe(3);
      expect(second.stderr).toContain(`another writer keeps ${scene.organization}: process ${process.pid} on`);
      await takeOver(to, 'elsewhere', new Date().toISOString());
      sandbox.changeBicycle(uuidsOf(scene)[0] ?? '', { description: 'after it' });
      const { code, stderr } = await running.ended;
      expect(code).toBe(3);
      expect(stderr).toContain('on elsewhere keeps the mirror now');
      await until(`select count(*) as n from changes where new = '"after it"'`, { n: 0 });
    });
  });
});

test('alerts behind a page that could not be read are read the next time', async () => {
  await withScene(await newSqlite(), async ({ sandbox, organization, env, to, ask }) => {
    let isBroken = false;
    const server = await serveBody(
      (url) => (isBroken && /^\/alerts\/.*page=2/.test(url) ? '[' : undefined),
      sandbox.baseUrl,
    );
    const once = () =>
      runFleet(['mirror', 'once', '--retries', '0', '--to', to], {
        env: { ...env, FLEET_BASE_URL: server.url },
        clock,
      });
    expect((await once()).code).toBe(0);
    const count = async () => Number((await ask('select count(*) as n from alerts'))[0]?.['n']);
    const before = await count();
    const [bicycle] = sandbox.bicycles(organization);
    for (let made = 0; made < 250; made++) sandbox.raiseAlert(bicycle?.uuid ?? '', 'lock.bat.low');
    isBroken = true;
    expect((await once()).code).toBe(7);
    expect(await count()).toBe(before + 100);
    isBroken = false;
    expect((await once()).code).toBe(0);
    expect(await count()).toBe(before + 250);
    server.close();
  });
});

describe('what ends it, and what it survives', () => {
  test('another service, a damaged file', async () => {
    await withScene(await newSqlite(), async ({ once, to, env }) => {
      expect((await once()).code).toBe(0);
      const other = { ...env, FLEET_BASE_URL: 'http://127.0.0.1:9' };
      const foreign = await runFleet(['mirror', 'once', '--to', to], { env: other, clock });
      expect(foreign).toMatchObject({ code: 3, stderr: expect.stringContaining('the mirror belongs to') });
      const path = join(folder, 'damaged.db');
      writeFileSync(path, 'this is no database, and long enough to be taken for one'.repeat(100));
      expect((await runFleet(['mirror', 'once', '--to', `sqlite:${path}`], { env, clock })).code).toBe(3);
      expect(statSync(to.replace('sqlite:', '')).mode & 0o777).toBe(0o600);
    });
  });

  test.each(['delete', 'wal'])('a database with other tables in the journal mode %s is left as it is', async (mode) => {
    const path = join(folder, `songs-${mode}.db`);
    await withDatabase(`sqlite:${path}`, async (database) => {
      await database.all(`pragma journal_mode = ${mode}`);
      await database.all('create table songs (name text)');
    });
    // The garbage collector may close what a test had open, and with it go the files beside this one.
    const look = () => readFileSync(path);
    const before = look();
    await withScene(`sqlite:${path}`, async ({ once }) => {
      expect(await once()).toMatchObject({ code: 3, stderr: expect.stringContaining('is not a mirror') });
    });
    expect(look()).toEqual(before);
  });

  test.each(['', '-wal'])('a file (%j) that is deleted ends the writer within two beats', async (suffix) => {
    await withScene(await newSqlite(), async ({ run, to, until }) => {
      const running = run();
      await until(CURRENT, { n: 0 });
      await running.until(() => running.stderr().includes('watching'));
      rmSync(`${to.replace('sqlite:', '')}${suffix}`);
      const deletedAtMs = now();
      const { code, stderr } = await running.ended;
      expect(code).toBe(10);
      expect(stderr).toContain('was deleted or replaced while the mirror was written');
      expect(now() - deletedAtMs).toBeLessThan(2 * HEARTBEAT_MS + SPEED * 1000);
    });
  });

  const postgres = engines.find(([kind]) => kind === 'postgres')?.[1];
  test.runIf(postgres !== undefined)('a lock that another holds for too long is waited for, in words', async () => {
    const to = (await postgres?.()) ?? '';
    await withScene(to, async (scene) => {
      const { sandbox, env, until } = scene;
      const running = startFleet(['mirror', 'run', '--to', `${to}?options=-c%20lock_timeout=50ms`], { env, clock });
      await running.until(() => running.stderr().includes('watching'));
      await until(CURRENT, { n: 0 });
      await withDatabase(to, (database) =>
        database.transaction(async () => {
          await database.all('lock table changes');
          sandbox.changeBicycle(uuidsOf(scene)[0] ?? '', { description: 'late' });
          await running.until(() => /is busy: .*lock timeout; trying again/.test(running.stderr()));
        }),
      );
      await running.until(() => running.stderr().includes('the database is back'));
      await until(`select count(*) as n from changes where new = '"late"'`, { n: 1 });
    });
  });

  test.runIf(postgres !== undefined)(
    'a database that goes away and comes back: nothing is lost, nothing twice',
    async () => {
      const to = (await postgres?.()) ?? '';
      const gate = await openGate(Number(new URL(to).port));
      await withScene(to, async (scene) => {
        const { sandbox, env, until } = scene;
        const through = to.replace(/:\d+\//, `:${gate.port}/`);
        const running = startFleet(['mirror', 'run', '--to', through], { env, clock });
        const [uuid = ''] = uuidsOf(scene);
        await running.until(() => running.stderr().includes('watching'));
        await until(`select count(*) as n from latest where uuid = '${uuid}'`, { n: 1 });
        gate.shut();
        for (const text of ['one', 'two', 'three']) sandbox.changeBicycle(uuid, { description: text });
        await running.until(() => running.stderr().includes('trying again for'));
        gate.open();
        await running.until(() => running.stderr().includes('the database is back'));
        await until(
          `select new from changes where field = 'description' order by id`,
          ...['one', 'two', 'three'].map((text) => ({ new: JSON.stringify(text) })),
        );
        // One that hangs does not keep the program alive.
        gate.stall();
        sandbox.changeBicycle(uuid, { description: 'four' });
        const { code, stderr } = await running.stop('SIGTERM');
        expect(code, stderr).toBe(8);
        gate.shut();
      });
      gate.close();
    },
  );

  test('a message that cannot be read is a gap of no length, and the list says what it may have said', async () => {
    await withScene(await newSqlite(), async (scene) => {
      const { run, sandbox, organization, until } = scene;
      const running = run();
      await running.until(() => running.stderr().includes('watching'));
      await until(`select count(*) as n from latest`, { n: uuidsOf(scene).length });
      sandbox.publish(`/${organization}/admin/bicycles/*`, 'bicycle', { toJSON: () => ({ deep: deep(600) }) });
      await until('select count(*) as n from gaps where ended is not null', { n: 1 });
    });
  });

  test('--keep forgets what is older; --metrics counts, and is healthy only when current', async () => {
    await withScene(await newSqlite(), async (scene) => {
      const { once, run, ask, sandbox, until } = scene;
      expect((await once()).code).toBe(0);
      const [uuid = ''] = uuidsOf(scene);
      sandbox.changeBicycle(uuid, { description: 'kept' });
      expect((await once()).code).toBe(0);
      await withDatabase(scene.to, (database) =>
        database.all(
          "insert into changes (at, received, bicycle, field, source) values ('2020-01-01T00:00:00.000000Z', '2020-01-01T00:00:00.000000Z', 'x', 'state', 'push')",
        ),
      );
      const port = await freePort();
      const running = run('--keep', '90d', '--metrics', String(port));
      await running.until(() => running.stderr().includes('watching'));
      await until("select count(*) as n from changes where at < '2021-01-01'", { n: 0 });
      expect(await ask("select count(*) as n from meta where key = 'kept_since'")).toEqual([{ n: 1 }]);
      let health = await fetch(`http://127.0.0.1:${port}/healthz`);
      for (let tries = 0; health.status !== 200 && tries < 200; tries++) {
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
        health = await fetch(`http://127.0.0.1:${port}/healthz`);
      }
      expect(health.status).toBe(200);
      // No address of a request ends the writer.
      for (const target of ['//', 'http://[', '*']) expect(await statusOf(port, target)).toBe(404);
      const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      expect(text).toContain(`fleet_mirror_rows ${uuidsOf(scene).length}\n`);
      for (const name of ['messages_total', 'lag_seconds', 'gaps_total', 'database_errors_total'])
        expect(text).toContain(`fleet_mirror_${name} `);
      sandbox.setFaults([{ kind: 'error', status: 503, share: 1 }]);
      sandbox.dropStreams();
      await running.until(() => running.stderr().includes('lost'));
      expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(503);
    });
  });
});

/** The status of a request whose target is written as it is. */
function statusOf(port: number, target: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = dial(port, '127.0.0.1', () => socket.write(`GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`));
    socket.on('data', (piece) => {
      resolve(Number(String(piece).split(' ')[1]));
      socket.destroy();
    });
    socket.on('close', () => reject(new Error('no answer')));
    socket.on('error', reject);
  });
}

function deep(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = [value];
  return value;
}

/** Answers what `bodyOf` has a body for; the rest is the sandbox's. */
async function serveBody(bodyOf: (url: string) => string | undefined, behind: string) {
  const { createServer: createHttp } = await import('node:http');
  const server = createHttp(async (request, response) => {
    const { authorization = '', accept = '' } = request.headers;
    const ask = async () => (await fetch(`${behind}${request.url}`, { headers: { authorization, accept } })).text();
    const text = bodyOf(request.url ?? '') ?? (await ask());
    response.writeHead(200, { 'content-type': 'application/json' }).end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { url: `http://127.0.0.1:${port}`, close: () => void server.close(() => {}) };
}

/** A way to a database that can be shut and opened. */
async function openGate(target: number) {
  const sockets = new Set<Socket>();
  let isShut = false;
  const server = createServer((socket) => {
    if (isShut) return void socket.destroy();
    const other = dial(target, '127.0.0.1');
    for (const each of [socket, other]) {
      sockets.add(each);
      each.on('error', () => {});
      each.on('close', () => {
        sockets.delete(each);
        socket.destroy();
        other.destroy();
      });
    }
    socket.pipe(other).pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    shut() {
      isShut = true;
      for (const socket of sockets) socket.destroy();
    },
    stall() {
      for (const socket of sockets) {
        socket.unpipe();
        socket.pause();
      }
    },
    open() {
      isShut = false;
    },
    close: () => void server.close(() => {}),
  };
}

async function freePort(): Promise<number> {
  const gate = await openGate(0);
  gate.close();
  return gate.port;
}
