// Tests `fleet mirror run` and `once` with a sandbox: the tables after each kind of event, and
// failures.

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, connect as dial, type Socket } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { newFolder } from '../support/folder.js';
import { freePort, listenOn } from '../support/listen.js';
import { useEngines, withDatabase } from '../support/mirror.js';
import { LIMIT_MS, openScenes } from '../support/mirror-scene.js';
import { runFleet } from '../support/run.js';
import { openServer, sendJson } from '../support/server.js';

/** The writer pauses for 10 s or more between these requests. */
const SPEED = 20;
const { openScene } = openScenes(SPEED);
const folder = newFolder();
const engines = useEngines();
const [sqlite] = engines;
const newSqlite = sqlite?.[1] ?? (async () => '');

/** Simulates another writer with the lease. */
const takenOver = (host: string, heartbeatMs: number) =>
  `update writers set owner = 'other', host = '${host}', pid = ${process.pid}, heartbeat = '${new Date(heartbeatMs).toISOString()}'`;

const CURRENT = 'select count(*) as n from gaps where ended is null';

describe.each(engines)('%s', (_kind, newText) => {
  test('follows messages and records each change once', async () => {
    const scene = await openScene(await newText());
    const { sandbox, run, ask, until } = scene;
    const running = run('--json');
    const [uuid = ''] = scene.uuids();
    await running.until(() => running.events('open').length > 0);
    await scene.isWhole();
    sandbox.changeBicycle(uuid, { description: 'one', state_of_charge: 12.5 });
    sandbox.changeBicycle(uuid, { description: 'two' });
    sandbox.publish(`/x/admin/bicycles/${uuid}/`, 'bicycle', { uuid, note: 1, modified: null });
    await until(
      `select field, new, source from changes where bicycle = '${uuid}' and field in ('description', 'state_of_charge', 'modified') order by id`,
      { field: 'state_of_charge', new: '12.5', source: 'push' },
      { field: 'description', new: '"one"', source: 'push' },
      { field: 'description', new: '"two"', source: 'push' },
    );
    const [row] = await ask(
      `select description, state_of_charge_text, raw from bicycles where uuid = '${uuid}'`,
    );
    expect(row).toMatchObject({ description: 'two', state_of_charge_text: '12.5' });
    const alert = sandbox.raiseAlert(uuid, 'lock.bat.low');
    await until(`select bicycle_uuid from alerts where uuid = '${alert.uuid}'`, {
      bicycle_uuid: uuid,
    });
    const closed = (gaps: string) =>
      expect.stringMatching(`"mirrored for .*: .* field changes, ${gaps}; run it again`);
    expect(await running.stop('SIGTERM')).toMatchObject({ code: 143, stderr: closed('0 gaps') });
    expect(await ask(CURRENT)).toEqual([{ n: 0 }]);
    const again = run('--json');
    await again.until(() => again.events('caught-up').length > 0);
    expect(await again.stop('SIGTERM')).toMatchObject({ stderr: closed('1 gap') });
  });

  test('a repeated message about a return does not add a ride', async () => {
    const scene = await openScene(await newText());
    const { sandbox, run, until, act } = scene;
    run();
    const { uuid = '' } =
      sandbox.bicycles(scene.organization).find(({ state }) => state === 'available') ?? {};
    await scene.isWhole();
    const states = `select new from changes where bicycle = '${uuid}' and field = 'state' order by id`;
    await act(uuid, 'rent');
    await act(uuid, 'return');
    const ride = [{ new: '"rented"' }, { new: '"available"' }];
    await until(states, ...ride);
    sandbox.setFaults([{ kind: 'resend' }]);
    sandbox.dropStreams();
    // Late messages on a slow machine cause another gap.
    await until('select min(1) as n from gaps where ended is not null', { n: 1 });
    // Longer than the mirror waits for the new state of a bicycle.
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    await until(states, ...ride);
  });

  test('records an unknown state when only the rider gets messages about a ride', async () => {
    const scene = await openScene(await newText());
    const { sandbox, run, until, env, act } = scene;
    const running = run();
    const [uuid = '', other = ''] = sandbox
      .bicycles(scene.organization)
      .filter(({ state }) => state === 'available')
      .map((bicycle) => bicycle.uuid);
    await scene.isWhole();
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
      // A busy mirror may be too late for a feed, which then contains the IDs of the list.
      for (let stderr = ''; !stderr.includes('from the mirror'); ) {
        const ran = await runFleet(['gbfs', '--out', out, ...flags], { env: feedEnv });
        expect(ran.code).toBe(0);
        stderr = ran.stderr;
      }
      const { data } = JSON.parse(readFileSync(join(out, 'vehicle_status.json'), 'utf8'));
      return new Set(data.vehicles.map(({ vehicle_id: id }: { vehicle_id: string }) => id));
    };
    const before = await idsNow();
    // On a busy machine the mirror may read the list during the ride. It then also records `rented`.
    const isUnknown = async (bicycle: string) => {
      const first = `select old, new from changes where bicycle = '${bicycle}' and field = 'state' order by id limit 1`;
      await until(first, { old: '"available"', new: 'null' });
    };
    const isBack = async (bicycle: string) => {
      const last = `select new from changes where bicycle = '${bicycle}' and field = 'state' order by id desc limit 1`;
      await until(last, { new: '"available"' });
    };
    await act(uuid, 'rent');
    await isUnknown(uuid);
    const during = await idsNow();
    await act(uuid, 'return');
    await isBack(uuid);
    const after = await idsNow();
    // Each feed omits the rented bicycle or has another ID for it.
    expect([...before].filter((id) => !during.has(id))).toHaveLength(1);
    expect([...during].filter((id) => !after.has(id))).toEqual([]);
    expect([...after].filter((id) => !before.has(id))).toHaveLength(1);
    // The ride is so short that its state never counts as unknown.
    await act(other, 'rent');
    await act(other, 'return');
    await isUnknown(other);
    await isBack(other);
    const last = await idsNow();
    expect([...last].filter((id) => !after.has(id))).toHaveLength(1);
    await running.stop('SIGTERM');
  });

  test('replaces or skips data that the database cannot store', async () => {
    const scene = await openScene(await newText());
    const { sandbox, organization, run, until } = scene;
    const [uuid = '', other = '', third = ''] = scene.uuids();
    // First through lists, then through messages.
    sandbox.changeBicycle(uuid, { description: 'a\0b\ud800c\\u0000', [`\0`]: 1 });
    const running = run();
    await scene.said(running, 'watching');
    await until('select count(*) as n from latest', { n: scene.uuids().length });
    const push = (message: object, sender = 'bicycle') =>
      sandbox.publish(`/${organization}/admin/bicycles/*`, sender, message);
    const long = Array.from({ length: 20_000 }, (_, index) =>
      ((index * 7919) % 99_991).toString(36),
    ).join('');
    for (const name of ['\0', '\ud800', long]) {
      push({ uuid: name, name });
      push({ uuid: name, message: name }, 'alert');
    }
    push({ uuid: other, name: long, bleid: long, serial_number: long, state: long });
    // A late message with a time that no database can store.
    push({ uuid: other, modified: '0000-01-01T00:00:00Z' });
    push({
      uuid: third,
      latest_gps_timestamp: '2026-02-30T10:00:00Z',
      state: 'a\udc00\0',
      description: 'last',
    });
    await until(`select description from bicycles where uuid = '${third}'`, {
      description: 'last',
    });
    const field = "raw ->> 'description'";
    await until(`select ${field} as text from bicycles where uuid = '${uuid}'`, {
      text: 'a\ufffdb\ufffdc\\u0000',
    });
    await until(`select count(${field}) - count(${field}) as n from bicycles`, { n: 0 });
    await until(`select count(*) as n from state_durations where state = 'a\ufffd\ufffd'`, {
      n: 1,
    });
    await until(
      `select count(*) as n from bicycles where uuid = '${other}' and ${field.replace('description', 'name')} = '${long}'`,
      { n: 1 },
    );
    expect((await running.stop('SIGTERM')).code).toBe(143);
  });

  test('records one gap between two runs and reads only the changed bicycles', async () => {
    const scene = await openScene(await newText());
    const { sandbox, once, ask } = scene;
    const first = await once();
    expect(first).toMatchObject({ code: 0 });
    const [uuid = '', other = ''] = scene.uuids();
    sandbox.changeBicycle(uuid, { description: 'seen at last' });
    sandbox.requests.length = 0;
    expect((await once()).code).toBe(0);
    expect(sandbox.requests.filter(({ url }) => url.startsWith('/bicycles/'))).toHaveLength(1);
    // The next gap starts at the end of this one.
    const [position] = await ask('select state from writers');
    const [gap] = await ask('select ended from gaps');
    expect(JSON.parse(String(position?.['state'])).heardMs).toBe(
      Date.parse(String(gap?.['ended'])),
    );
    expect(await ask('select reason, found from gaps')).toEqual([
      { reason: 'the mirror was not running', found: 1 },
    ]);
    expect(await ask('select bicycle, field, source from changes')).toEqual([
      { bicycle: uuid, field: 'description', source: 'list' },
    ]);
    expect(
      await ask(`select count(*) as n from bicycles where uuid = '${other}' and gone is null`),
    ).toEqual([{ n: 1 }]);
  });
});

describe('`mirror run` and bicycles that disappear from the list', () => {
  test('marks bicycles as gone when two complete lists do not contain them', async () => {
    const { run, remove, sandbox, until, count, uuids, isWhole } = await openScene(
      await newSqlite(),
    );
    run();
    const [uuid = '', other = ''] = uuids();
    await isWhole();
    await remove(uuid);
    sandbox.setFaults([{ kind: 'noreplay' }]);
    sandbox.dropStreams();
    await until(`select uuid from bicycles where gone is not null`, { uuid });
    await until(`select old, source from changes where field = 'gone'`, {
      old: 'null',
      source: 'list',
    });
    expect(await count(`latest where uuid in ('${uuid}', '${other}')`)).toBe(1);
  });

  test('does not mark a bicycle as gone after an empty or truncated list', async () => {
    const { once, onceAt, openOther, sandbox, tell, uuids, count, ...scene } = await openScene(
      await newSqlite(),
    );
    expect((await once()).code).toBe(0);
    const total = uuids().length;
    const page = { next: null, previous: null, results: [] };
    for (const body of [
      { ...page, count: 0 },
      { ...page, count: total, results: sandbox.bicycles(scene.organization).slice(0, 3) },
      { ...page, count: null, next: '?page=2' },
    ]) {
      const server = await openOther((path) =>
        path.startsWith('/bicycles/') ? JSON.stringify(body) : undefined,
      );
      await tell(`update meta set value = '${server.url}' where key = 'base_url'`);
      const { code } = await onceAt(server.url);
      expect([0, 7, 9]).toContain(code);
      expect(await count('latest')).toBe(total);
    }
  });

  test("keeps an organization's bicycles when a later run omits the organization", async () => {
    const { organization: one, other: two, once, ask } = await openScene(await newSqlite());
    const read = (...organizations: string[]) =>
      once(...organizations.flatMap((each) => ['--organization', each]));
    const present = () =>
      ask('select organization, count(*) as n from latest group by organization order by n');
    expect((await read(one, two)).code).toBe(0);
    const both = await present();
    expect(both).toHaveLength(2);
    for (const organizations of [[one], [two], [one, two]]) {
      expect((await read(...organizations)).code).toBe(0);
      expect(await present()).toEqual(both);
    }
  });
});

describe('the writer lease of `mirror run`', () => {
  test('takes over 15 s after the last heartbeat of a killed writer', async () => {
    const { once, tell } = await openScene(await newSqlite());
    expect((await once()).code).toBe(0);
    await tell(takenOver(hostname(), Date.now() - 12_000));
    const waited = {
      code: 0,
      stderr: expect.stringContaining('waiting to see whether it still runs'),
    };
    expect(await once()).toMatchObject(waited);
  });

  test('reports a refused subscription while waiting for the lease', async () => {
    const { once, run, tell, env } = await openScene(await newSqlite());
    expect((await once()).code).toBe(0);
    await tell(takenOver('elsewhere', Date.now()));
    const { url } = await openServer((response) =>
      sendJson(response, 404, { detail: 'Not found.' }),
    );
    Object.assign(env, { FLEET_SSE_URL: url });
    const { code, stderr } = await run().ended;
    expect([code, stderr]).toEqual([
      5,
      expect.stringMatching(/error: the subscription to \S+ was not found/),
    ]);
  });

  test('rejects a second writer and stops a writer that lost its lease', async () => {
    const scene = await openScene(await newSqlite());
    const { run, once, sandbox, count } = scene;
    const running = run();
    await scene.isWhole();
    await scene.said(running, 'watching');
    const second = `another process is writing the data of ${scene.organization}: process ${process.pid} on`;
    expect(await once()).toMatchObject({ code: 3, stderr: expect.stringContaining(second) });
    await scene.tell(takenOver('elsewhere', Date.now()));
    sandbox.changeBicycle(scene.uuids()[0] ?? '', { description: 'after it' });
    const { code, stderr } = await running.ended;
    expect([code, stderr]).toEqual([
      3,
      expect.stringContaining('on elsewhere keeps the mirror now'),
    ]);
    expect(await count(`changes where new = '"after it"'`)).toBe(0);
  });
});

test('the next run reads the alerts that follow an unreadable page', async () => {
  const { sandbox, uuids, onceAt, openOther, count } = await openScene(await newSqlite());
  let isBroken = false;
  const server = await openOther((path) =>
    isBroken && /^\/alerts\/.*page=2/.test(path) ? '[' : undefined,
  );
  expect((await onceAt(server.url)).code).toBe(0);
  const before = await count('alerts');
  for (let made = 0; made < 250; made++) sandbox.raiseAlert(uuids()[0] ?? '', 'lock.bat.low');
  isBroken = true;
  expect((await onceAt(server.url)).code).toBe(7);
  expect(await count('alerts')).toBe(before + 100);
  isBroken = false;
  expect((await onceAt(server.url)).code).toBe(0);
  expect(await count('alerts')).toBe(before + 250);
});

describe.each([true, false])('a service that counts its alerts: %s', (countsAlerts) => {
  test('the mirror misses no alert when another one is deleted during the read', async () => {
    const { sandbox, organization, onceAt, openOther, ask } = await openScene(await newSqlite());
    const [template] = sandbox.alerts();
    const name = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
    const alerts = Array.from({ length: 250 }, (_, index) => ({
      ...template,
      uuid: name(index),
      modified: new Date(Date.UTC(2026, 2, 1) - index * 60_000).toISOString(),
    }));
    let isDeleted = false;
    const server = await openOther((path) => {
      if (!path.startsWith('/alerts/')) return undefined;
      const query = new URL(path, 'http://localhost').searchParams;
      const page = Number(query.get('page') ?? 1);
      const results = alerts.slice((page - 1) * 100, page * 100);
      query.set('page', String(page + 1));
      const next = alerts.length > page * 100 ? `http://elsewhere/alerts/?${query}` : null;
      const count = countsAlerts ? { count: alerts.length } : {};
      const body = JSON.stringify({ ...count, next, previous: null, results });
      if (page === 1 && !isDeleted) alerts.shift();
      isDeleted = true;
      return body;
    });
    expect((await onceAt(server.url)).code).toBe(0);
    // Without a count only a second reading finds the alert that moved between the pages.
    if (!countsAlerts) expect((await onceAt(server.url)).code).toBe(0);
    const found = await ask('select uuid from alerts order by uuid');
    expect(found).toEqual(Array.from({ length: 250 }, (_, index) => ({ uuid: name(index) })));
    const [writer] = await ask(`select alerts from writers where organization = '${organization}'`);
    expect(writer).toEqual({ alerts: 'read' });
  });
});

describe('errors of `mirror run`', () => {
  test.each(['delete', 'wal'])(
    'does not change a database with other tables in the journal mode %s',
    async (mode) => {
      const path = join(folder, `songs-${mode}.db`);
      await withDatabase(`sqlite:${path}`, async (database) => {
        await database.all(`pragma journal_mode = ${mode}`);
        await database.all('create table songs (name text)');
      });
      // The garbage collector may close a database that a test had open, and then the files beside
      // the database are deleted.
      const before = readFileSync(path);
      const { once } = await openScene(`sqlite:${path}`);
      expect(await once()).toMatchObject({
        code: 3,
        stderr: expect.stringContaining('is not a mirror'),
      });
      expect(readFileSync(path)).toEqual(before);
    },
  );

  test.each(['', '-wal'])('stops the writer after its file (%j) is deleted', async (suffix) => {
    const { run, to, isWhole, said } = await openScene(await newSqlite());
    const running = run();
    await isWhole();
    await said(running, 'watching');
    rmSync(`${to.replace('sqlite:', '')}${suffix}`);
    const { code, stderr } = await running.ended;
    const gone = 'was deleted or replaced while the mirror was written';
    expect([code, stderr]).toEqual([10, expect.stringContaining(gone)]);
  });

  const postgres = engines.find(([kind]) => kind === 'postgres')?.[1];
  test.runIf(postgres !== undefined)(
    'waits while another process locks the database, and reports the wait',
    async () => {
      const to = (await postgres?.()) ?? '';
      const { sandbox, run, isWhole, said, uuids, until } = await openScene(to);
      const running = run('--to', `${to}?options=-c%20lock_timeout=50ms`);
      await said(running, 'watching');
      await isWhole();
      await withDatabase(to, (database) =>
        database.transaction(async () => {
          await database.all('lock table changes');
          sandbox.changeBicycle(uuids()[0] ?? '', { description: 'late' });
          await running.until(() => /is busy: .*lock timeout; trying again/.test(running.stderr()));
        }),
      );
      await said(running, 'the database is back');
      await until(`select count(*) as n from changes where new = '"late"'`, { n: 1 });
    },
  );

  const GONE_AND_BACK = 'a database that goes away and comes back: nothing is lost, nothing twice';
  test.runIf(postgres !== undefined)(GONE_AND_BACK, async () => {
    const to = (await postgres?.()) ?? '';
    const gate = await openGate(Number(new URL(to).port));
    const { sandbox, run, isWhole, said, uuids, until } = await openScene(to);
    const running = run('--to', to.replace(/:\d+\//, `:${gate.port}/`));
    const [uuid = ''] = uuids();
    await said(running, 'watching');
    await isWhole();
    gate.shut();
    const texts = ['one', 'two', 'three'];
    for (const description of texts) sandbox.changeBicycle(uuid, { description });
    await said(running, 'trying again for');
    gate.open();
    await said(running, 'the database is back');
    const rows = texts.map((text) => ({ new: JSON.stringify(text) }));
    await until(`select new from changes where field = 'description' order by id`, ...rows);
    // A hanging request does not keep the program alive.
    gate.stall();
    sandbox.changeBicycle(uuid, { description: 'four' });
    const { code, stderr } = await running.stop('SIGTERM');
    expect(code, stderr).toBe(8);
    gate.shut();
    gate.close();
  });

  test('records a gap after an unreadable message and reads the list again', async () => {
    const { run, sandbox, organization, until, isWhole, said } = await openScene(await newSqlite());
    const running = run();
    await said(running, 'watching');
    await isWhole();
    const deep = Array.from({ length: 600 }).reduce((value) => [value], 1);
    sandbox.publish(`/${organization}/admin/bicycles/*`, 'bicycle', { toJSON: () => ({ deep }) });
    await until('select count(*) as n from gaps where ended is not null', { n: 1 });
  });

  test('deletes records that are older than --keep', async () => {
    const { once, run, count, sandbox, tell, said, uuids } = await openScene(await newSqlite());
    expect((await once()).code).toBe(0);
    sandbox.changeBicycle(uuids()[0] ?? '', { description: 'kept' });
    expect((await once()).code).toBe(0);
    const old = "'2020-01-01T00:00:00.000000Z'";
    await tell(
      `insert into changes (at, received, bicycle, field, source) values (${old}, ${old}, 'x', 'state', 'push')`,
    );
    const port = await freePort();
    const running = run('--keep', '90d', '--metrics', String(port));
    await said(running, 'watching');
    const get = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
    await expect
      .poll(() => count("changes where at < '2021-01-01'"), { timeout: LIMIT_MS })
      .toBe(0);
    expect(await count("meta where key = 'kept_since'")).toBe(1);
    await expect.poll(async () => (await get('/healthz')).status, { timeout: LIMIT_MS }).toBe(200);
    const text = await (await get('/metrics')).text();
    expect(text).toContain(`fleet_mirror_rows ${uuids().length}\n`);
    for (const name of ['messages_total', 'lag_seconds', 'gaps_total', 'database_errors_total'])
      expect(text).toContain(`fleet_mirror_${name} `);
    sandbox.setFaults([{ kind: 'error', status: 503, share: 1 }]);
    sandbox.dropStreams();
    await said(running, 'lost');
    expect((await get('/healthz')).status).toBe(503);
  });
});

/** A proxy for a database connection that can be closed and opened. */
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
  return {
    port: await listenOn(server),
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
