// Tests what roles and locks of PostgreSQL may do to a mirror, and the time of its data.

import { randomUUID } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readStatus } from '../../src/mirror/status.js';
import { commit, prepare } from '../../src/mirror/write.js';
import { databaseTime, takeLease, type Writer } from '../../src/mirror/writers.js';
import { openedDatabase, useEngines, withDatabase } from '../support/mirror.js';
import { runFleet } from '../support/run.js';

const baseUrl = new URL('https://service.test/');
const env = { FLEET_CONFIG_DIR: '/nonexistent/fleet-tests', FLEET_BASE_URL: baseUrl.href };
const postgres = useEngines().filter(([kind]) => kind === 'postgres');

const newWriter = (): Writer => ({
  owner: randomUUID(),
  host: 'here',
  pid: process.pid,
  organizations: ['o'],
});

describe.each(postgres)('%s', (_kind, newText) => {
  test('`mirror query` exits with 3 for superusers and superuser role members', async () => {
    const to = await newText();
    const plain = `plain_${randomUUID().slice(0, 8)}`;
    const member = `${plain}_member`;
    await withDatabase(to, async (database) => {
      await prepare(database, baseUrl);
      await database.all(`create role ${plain} login`);
      await database.all(`create role ${member} login noinherit in role postgres`);
      await database.all(`grant select on all tables in schema public to ${plain}, ${member}`);
    });
    onTestFinished(() =>
      withDatabase(to, async (database) => {
        await database.all(`drop owned by ${plain}, ${member}`);
        for (const name of [plain, member]) await database.all(`drop role ${name}`);
      }),
    );
    const query = (user: string, ...more: string[]) => {
      const address = to.replace('postgres@', `${user}@`);
      const sql = "select pg_read_file('postgresql.conf', 0, 1) as text";
      return runFleet(['mirror', 'query', sql, '-o', 'csv', '--to', address, ...more], { env });
    };
    for (const user of ['postgres', member])
      expect(await query(user)).toMatchObject({
        code: 3,
        stdout: '',
        stderr: expect.stringMatching(/is a superuser.*--allow-superuser/s),
      });
    expect(await query('postgres', '--allow-superuser')).toMatchObject({ code: 0 });
    expect(await query(plain)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /the database reported an error: permission denied for function/,
      ),
    });
  });

  test('an advisory lock of a reader does not block the mirror writer', async () => {
    const to = await newText();
    const reader = await openedDatabase(to, { access: 'read' });
    const sql =
      'select pg_advisory_lock(key) from generate_series(723500, 723520) as key union all select null from generate_series(1, 100000)';
    const { chunks } = await reader.query(sql);
    await chunks[Symbol.asyncIterator]().next();
    const database = await openedDatabase(to);
    await database.all("set lock_timeout to '5s'");
    await prepare(database, baseUrl);
    expect(await takeLease(database, newWriter())).toBeUndefined();
  });

  test('only one of several concurrent processes becomes the mirror writer', async () => {
    const to = await newText();
    const leases = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const database = await openedDatabase(to);
        await prepare(database, baseUrl);
        return takeLease(database, newWriter());
      }),
    );
    expect(leases.filter((other) => other === undefined)).toHaveLength(1);
  });

  test('adds no organization when another writer holds one of the leases', async () => {
    const database = await openedDatabase(await newText());
    await prepare(database, baseUrl);
    await takeLease(database, newWriter());
    const both = { ...newWriter(), organizations: ['new', 'o'] };
    expect(await takeLease(database, both)).toMatchObject({ organization: 'o' });
    expect(await database.all('select organization from writers')).toEqual([{ organization: 'o' }]);
  });

  test('a mirror reports the age of its data, even when a batch is delayed', async () => {
    const to = await newText();
    const database = await openedDatabase(to);
    await prepare(database, baseUrl);
    const writer = newWriter();
    await takeLease(database, writer);
    const other = await openedDatabase(to);
    const beforeMs = Date.parse(await databaseTime(other));
    const AN_HOUR_MS = 3_600_000;
    let isLocked = true;
    const state = {
      ...{ owner: writer.owner, organizations: ['o'], batch: 1, batchId: randomUUID() },
      ...{ heardMs: Date.now(), checkedMs: Date.now(), isWhole: true, proven: undefined },
      behindMs: 0,
    };
    let writing: Promise<unknown> = Promise.resolve();
    await other.transaction(async () => {
      await other.all('select * from writers for update');
      writing = commit(database, writer, {
        writes: { bicycles: [], changes: [], steps: [] },
        ...{ gap: undefined, isSameGap: true, state, previousBatchIds: [undefined] },
        nowMs: Date.now(),
        // The batch waits for the lock, so its wait is known only afterwards.
        waitedMs: () => (isLocked ? 0 : AN_HOUR_MS),
      });
      await other.all('select pg_sleep(1.5)');
      isLocked = false;
    });
    await writing;
    const { asOfMs = Number.NaN } = await readStatus(database);
    expect(asOfMs).toBeLessThan(beforeMs);
  });
});
