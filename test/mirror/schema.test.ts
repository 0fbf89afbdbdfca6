// Tests the tables of a mirror: upgrades, equality on both databases, and rejected databases.

import { describe, expect, test } from 'vitest';
import { CHANGE_COLUMNS } from '../../src/mirror/ledger.js';
import {
  BICYCLE_COLUMNS,
  bicycleRow,
  utcOf,
  utcOfMs,
  versionValue,
} from '../../src/mirror/rows.js';
import {
  checkBaseUrl,
  migrate,
  readMeta,
  readSchema,
  SCHEMA_NUMBER,
  turnPartitions,
  writeMeta,
} from '../../src/mirror/schema.js';
import { makeOld, openedDatabase, openedMirror, useEngines } from '../support/mirror.js';
import { refusal } from '../support/refusal.js';

const DAY_MS = 24 * 60 * 60_000;
const UUID = '6f1c0b5e-2f0e-4c56-9d3a-0d6f3a1f7c11';
const OTHER = '0b0e7c1c-6d0a-4b9e-8a34-5f2d9f3a7c10';
const THIRD = '1c3d2e4f-2f0e-4c56-9d3a-0d6f3a1f7c11';
const at = (time: string) => `2026-11-21T${time}.000000Z`;

function rowOf(uuid: string, fields: { [field: string]: unknown }, gone: string | null = null) {
  const [firstSeen, lastSeen] = [at('10:00:00'), at('12:00:00')];
  const facts = { uuid, followed: OTHER, gone, firstSeen, lastSeen, raw: JSON.stringify(fields) };
  return bicycleRow({ uuid, ...fields }, facts);
}

const engines = useEngines();

describe.each(engines)('%s', (kind, newDatabase) => {
  const shown = (time: string) => (kind === 'sqlite' ? at(time) : at(time).replace('.000000', ''));

  test('upgrades the schema once and ties the mirror to one service', async () => {
    const database = await openedDatabase(await newDatabase());
    expect(await readSchema(database)).toBeUndefined();
    await migrate(database);
    await writeMeta(database, { base_url: 'https://one.example/api' });
    await migrate(database);
    expect(await readSchema(database)).toBe(SCHEMA_NUMBER);
    const { base_url: found } = await readMeta(database);
    checkBaseUrl(found, new URL('https://one.example/api/'));
    expect(() => checkBaseUrl(found, new URL('https://two.example/'))).toThrow(
      'the mirror belongs to https://one.example/api, not to https://two.example',
    );
  });

  test('position updates do not change any indexed column of the bicycles table', async () => {
    const database = await openedMirror(await newDatabase());
    const sql = kind === 'sqlite' ? 'sql FROM sqlite_master' : 'indexdef AS sql FROM pg_indexes';
    const indexes = await database.all(
      `SELECT ${sql} WHERE ${kind === 'sqlite' ? 'tbl_name' : 'tablename'} = 'bicycles'`,
    );
    const created = indexes
      .map(({ sql }) => String(sql))
      .filter((sql) => /^create (unique )?index/i.test(sql));
    expect(created.length).toBeGreaterThan(2);
    expect(created.join()).not.toMatch(
      /modified|latitude|longitude|timestamp|last_seen|version|charge/,
    );
  });

  test('rejects a newer schema and a database with other tables', async () => {
    const database = await openedMirror(await newDatabase());
    await writeMeta(database, { schema: String(SCHEMA_NUMBER + 1) });
    await expect(migrate(database)).rejects.toThrow(
      `has schema ${SCHEMA_NUMBER + 1}, and this version of fleet supports up to ${SCHEMA_NUMBER}`,
    );
    const other = await openedDatabase(await newDatabase());
    await other.all('create table bicycles (colour text)');
    await expect(migrate(other)).rejects.toThrow(
      'the database has other tables and is not a mirror',
    );
  });

  test('the views show the current fleet, state durations, rentals and silent bicycles', async () => {
    const database = await openedMirror(await newDatabase());
    await database.write('bicycles', BICYCLE_COLUMNS, [
      rowOf(UUID, {
        state: 'available',
        name: 'B1',
        latitude: '52.10',
        latest_gps_timestamp: '2020-01-01T00:00:00Z',
      }),
      rowOf(OTHER, { state: 'lost', name: 'B2', concurrency_version: 7 }, at('11:30:00')),
      rowOf(THIRD, { state: 'rented', name: 'B3' }),
    ]);
    const change = (time: string, old: string, now: string) => [
      ...[at(time), at(time), UUID, 1, 'state', JSON.stringify(old), JSON.stringify(now), 'push'],
    ];
    await database.write('changes', CHANGE_COLUMNS, [
      change('10:30:00', 'available', 'rented'),
      change('10:45:30', 'rented', 'available'),
    ]);
    expect(await database.all('select name, state from latest order by name')).toEqual([
      { name: 'B1', state: 'available' },
      { name: 'B3', state: 'rented' },
    ]);
    const durations = await database.all(
      'select name, state, started, seconds, next_state, start_known from state_durations order by name, started nulls first',
    );
    const yes = (value: unknown) => value === 1 || value === true;
    const known = durations.map(({ seconds, start_known: isKnown, ...row }) => [
      row,
      Number(seconds),
      yes(isKnown),
    ]);
    // The start and the duration of its state are unknown.
    expect(known).toEqual([
      [{ name: 'B1', state: 'available', started: null, next_state: 'rented' }, 0, false],
      [
        { name: 'B1', state: 'rented', started: shown('10:30:00'), next_state: 'available' },
        930,
        true,
      ],
      [
        { name: 'B1', state: 'available', started: shown('10:45:30'), next_state: null },
        expect.any(Number),
        true,
      ],
      [{ name: 'B2', state: 'lost', started: null, next_state: null }, 0, false],
      [{ name: 'B3', state: 'rented', started: null, next_state: null }, 0, false],
    ]);
    const sql = 'select name, returned_as from rentals where start_known';
    expect(await database.all(sql)).toEqual([{ name: 'B1', returned_as: 'available' }]);
    const silent = await database.all(
      'select name, hours, never from silent where hours > 24 or never order by name',
    );
    expect(silent.map(({ name, hours, never }) => [name, Number(hours) > 24, yes(never)])).toEqual([
      ['B1', true, false],
      ['B3', false, true],
    ]);
    const [row] = await database.all(
      "select latitude_text, raw ->> 'name' as name from bicycles where state = 'available'",
    );
    expect(row).toEqual({ latitude_text: '52.10', name: 'B1' });
  });
});

test.each([
  ['a table meta of another program', 'create table meta (key text primary key, value text)'],
  ['a view of that name', 'create view meta as select 1 as key'],
  ['a table alerts', 'create table alerts (a int)'],
])('rejects a database with %s', async (_what, sql) => {
  for (const [, newText] of engines) {
    const database = await openedDatabase(await newText());
    await database.all(sql);
    if (sql.includes('primary')) await database.all("insert into meta values ('schema', '1')");
    await expect(readSchema(database)).rejects.toMatchObject(refusal('config', /has other tables/));
    await expect(migrate(database)).rejects.toMatchObject({ kind: 'config' });
  }
});

test.each([
  ['2026-11-21T12:00:00Z', '2026-11-21T12:00:00.000000Z'],
  ['2026-11-21T12:00:00.123456789Z', '2026-11-21T12:00:00.123456Z'],
  ['2026-11-21 12:00:00,5', '2026-11-21T12:00:00.500000Z'],
  ['2026-11-21T12:00:00.25+02:00', '2026-11-21T10:00:00.250000Z'],
  ['2026-11-21', '2026-11-21T00:00:00.000000Z'],
  ['2026-02-28T24:00:00Z', '2026-03-01T00:00:00.000000Z'],
  // Databases reject this year, but JavaScript dates accept it.
  ['2026-02-30T00:00:00.5Z', '2026-03-02T00:00:00.500000Z'],
  ['tomorrow', undefined],
])('converts %s to the UTC time %s', (text, utc) => {
  expect(utcOf(text)).toBe(utc);
});

test.each([
  [1, 1],
  ['17', 17n],
  ['9223372036854775808', null],
  [1.5, null],
  [undefined, null],
])('stores the version %s as %s', (version, kept) => {
  expect(versionValue(version)).toBe(kept);
});

test.runIf(engines.length > 1)(
  'the upgrade atomically partitions the PostgreSQL history by month',
  async () => {
    const database = await openedDatabase((await engines[1]?.[1]()) ?? '');
    await makeOld(database);
    const change = (at: string, now: string) => [
      at,
      at,
      UUID,
      1,
      'state',
      '"available"',
      now,
      'push',
    ];
    const before = ['2026-09-30T23:00:00.000000Z', '2026-10-01T00:00:00.000000Z'];
    await database.write(
      'changes',
      CHANGE_COLUMNS,
      before.map((at) => change(at, '"rented"')),
    );
    await database.all('create view mine as select * from rentals');
    // The text ends early.
    await database.all('create table changes_other (a int)');
    await expect(migrate(database)).rejects.toThrow();
    expect(await readSchema(database)).toBe(3);
    expect(await database.all('select id from changes order by id')).toEqual([
      { id: 1 },
      { id: 2 },
    ]);
    await database.all('drop table changes_other');
    await migrate(database);
    const nowMs = Date.now();
    // The first partition has this month.
    const months =
      "select count(*) as n from pg_class where relispartition and relname ~ '^changes_[0-9_]*$'";
    await turnPartitions(database, nowMs);
    expect(await database.all(months)).toEqual([{ n: 1 }]);
    await turnPartitions(database, nowMs + 40 * DAY_MS);
    const later = utcOfMs(nowMs + 40 * DAY_MS);
    await database.write('changes', CHANGE_COLUMNS, [
      change(later, '"lost"'),
      change('2031-01-01T00:00:00.000000Z', '"lost"'),
    ]);
    const kept = await database.all(
      'select id, tableoid::regclass::text as place from changes order by id',
    );
    const month = `changes_${later.slice(0, 7).replace('-', '_')}`;
    expect(kept.map(({ id, place }) => [id, place])).toEqual([
      ...[1, 2].map((id) => [id, 'changes_before']),
      ...[
        [3, month],
        [4, 'changes_other'],
      ],
    ]);
    expect(await database.all('select count(*) as n from mine')).toEqual([{ n: 2 }]);
    // The query of one day reads one partition.
    const day = `at >= '${later.slice(0, 10)}' and at < '${utcOfMs(nowMs + 41 * DAY_MS).slice(0, 10)}'`;
    const plan = JSON.stringify(await database.all(`explain select * from changes where ${day}`));
    expect(plan).toContain(month);
    expect(plan).not.toMatch(/changes_before|changes_other/);
    // Partitions that ended before are dropped completely, but the current month is kept.
    await turnPartitions(database, nowMs + 40 * DAY_MS, nowMs + 40 * DAY_MS);
    expect(await database.all('select id from changes order by id')).toEqual([
      { id: 3 },
      { id: 4 },
    ]);
    expect(await database.all("select to_regclass('changes_before') is null as gone")).toEqual([
      { gone: true },
    ]);
  },
);
