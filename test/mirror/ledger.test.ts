// Tests the records of a batch: each changed field with the service's time, and nothing for
// technical fields.

import { expect, test } from 'vitest';
import type { Bicycle } from '../../src/api/bicycle.js';
import type { Origin } from '../../src/follower/fleet-store.js';
import { KnownFleet, NO_MARK } from '../../src/follower/known-fleet.js';
import { ServiceTime } from '../../src/follower/service-time.js';
import type { Database } from '../../src/mirror/database.js';
import { CHANGE_COLUMNS, Ledger } from '../../src/mirror/ledger.js';
import { BICYCLE_COLUMNS } from '../../src/mirror/rows.js';
import { openedMirror, useEngines } from '../support/mirror.js';

const UUID = '6f1c0b5e-2f0e-4c56-9d3a-0d6f3a1f7c11';
const START_MS = Date.UTC(2026, 10, 21, 12);
const RECEIVED = '2026-11-21T12:00:30.000000Z';
const GONE = '2026-11-21T12:00:10.000000Z';
const [[, newSqlite]] = useEngines();

const MODIFIED = { modified: '2026-11-21T12:00:20Z', concurrency_version: 2 };
const BEFORE: Bicycle = {
  uuid: UUID,
  modified: '2026-11-21T12:00:00Z',
  concurrency_version: 1,
  state: 'available',
  latitude: 52.1,
  lock: 'https://x/1/',
};

interface Told {
  source: Origin['source'];
  item: Bicycle;
  gone?: boolean;
  isFirstReading?: boolean;
}

/** Records one message or list about the bicycle above and returns the result. */
async function record(
  database: Database,
  { source, item, gone = false, isFirstReading = false }: Told,
) {
  await database.all('delete from bicycles');
  const ledger = new Ledger();
  const now = { monotonicMs: 30_000, wallMs: START_MS + 30_000 };
  const knowledge = new KnownFleet(ledger, new ServiceTime({ monotonicMs: 0, wallMs: START_MS }));
  const place = { followed: 'o' };
  knowledge.compare(BEFORE, NO_MARK, 0, now, place);
  await database.write('bicycles', BICYCLE_COLUMNS, ledger.take().bicycles, ['uuid']);
  if (gone) await database.all(`update bicycles set gone = '${GONE}'`);
  await ledger.load(database, [UUID]);
  if (!isFirstReading) knowledge.setWhole();
  if (source === 'push') knowledge.merge(UUID, item, now, place);
  else knowledge.compare(item, NO_MARK, 0, now, place);
  const { bicycles, changes } = ledger.take();
  const named = (columns: readonly string[], row: readonly unknown[]) =>
    Object.fromEntries(columns.map((column, index) => [column, row[index]]));
  return {
    rows: bicycles.map((row) => named(BICYCLE_COLUMNS, row)),
    changes: changes.map((row) => {
      const { at, field, old, new: now } = named(CHANGE_COLUMNS, row);
      return [at, field, old, now];
    }),
  };
}

test('records changes that messages and lists report', async () => {
  const database = await openedMirror(await newSqlite());
  const at = '2026-11-21T12:00:20.000000Z';
  const told = (told: Told) => record(database, told);
  const rented = { ...MODIFIED, state: 'rented' };
  expect((await told({ source: 'push', item: { uuid: UUID, ...rented } })).changes).toEqual([
    [at, 'state', '"available"', '"rented"'],
  ]);
  // Without its own time it gets its time of arrival; a time in the future is ignored.
  expect((await told({ source: 'push', item: { uuid: UUID, state: 'lost' } })).changes).toEqual([
    [RECEIVED, 'state', '"available"', '"lost"'],
  ]);
  const future = { ...rented, modified: '2031-01-01T00:00:00Z' };
  expect((await told({ source: 'push', item: { uuid: UUID, ...future } })).changes[0]?.[0]).toBe(
    RECEIVED,
  );
  // Technical fields update the row but not the history.
  const books = await told({ source: 'list', item: { ...BEFORE, ...MODIFIED } });
  expect(books).toMatchObject({ changes: [], rows: [{ concurrency_version: 2 }] });
  expect((await told({ source: 'list', item: BEFORE })).rows).toEqual([]);
  // A field that a list adds was unknown before, because messages lack links.
  const wider = { ...BEFORE, ...MODIFIED, note: { a: 1 }, model: null };
  const added = await told({ source: 'list', item: wider });
  expect(added).toMatchObject({ changes: [], rows: [{ raw: expect.stringContaining('"a":1') }] });
  const pushed = await told({
    source: 'push',
    item: { uuid: UUID, ...MODIFIED, note: 1, tag: null },
  });
  expect(pushed.changes).toEqual([[at, 'note', null, '1']]);
  // A list with the same version has more fields, because messages omit links.
  expect(
    (await told({ source: 'list', item: { ...BEFORE, lock: null } })).changes[0]?.slice(1),
  ).toEqual([...['lock', '"https://x/1/"', 'null']]);
});

test('a newer message or list restores a deleted bicycle', async () => {
  const database = await openedMirror(await newSqlite());
  const item = { uuid: UUID, ...MODIFIED };
  const late = await record(database, {
    source: 'push',
    item: { ...item, ...BEFORE, state: 'lost' },
    gone: true,
  });
  expect(late).toEqual({ rows: [], changes: [] });
  const pushed = await record(database, { source: 'push', item, gone: true });
  expect(pushed.rows[0]?.['gone']).toBeNull();
  const lagging = await record(database, { source: 'list', item: BEFORE, gone: true });
  expect(lagging).toEqual({ rows: [], changes: [] });
  const newer = { ...BEFORE, ...MODIFIED };
  const back = await record(database, { source: 'list', item: newer, gone: true });
  expect(back.rows[0]?.['gone']).toBeNull();
  expect(back.changes).toEqual([[RECEIVED, 'gone', JSON.stringify(GONE), 'null']]);
});

/** Returns the recorded states of a bicycle that leaves a state and then reports a state. */
async function recordLeaving({
  state,
  aheadMs = 0,
  leftSeconds,
  back,
}: {
  state: string;
  /** How far the machine's clock is ahead of the service's clock. */
  aheadMs?: number;
  leftSeconds: number;
  back: { seconds: number; modified: string };
}) {
  const database = await openedMirror(await newSqlite());
  const ledger = new Ledger();
  const moment = (seconds: number) => ({
    monotonicMs: seconds * 1000,
    wallMs: START_MS + seconds * 1000 + aheadMs,
  });
  const time = new ServiceTime(moment(0));
  time.set(START_MS, 0);
  const knowledge = new KnownFleet(ledger, time);
  const place = { followed: 'o' };
  knowledge.compare({ ...BEFORE, state }, NO_MARK, 0, moment(0), place);
  knowledge.setWhole();
  await database.write('bicycles', BICYCLE_COLUMNS, ledger.take().bicycles, ['uuid']);
  await ledger.load(database, [UUID]);
  const left = moment(leftSeconds);
  ledger.leave(UUID, state, left.wallMs, time.at(left.monotonicMs));
  ledger.recordLeft(moment(back.seconds).wallMs);
  const item = { ...BEFORE, state, modified: back.modified, concurrency_version: 2 };
  knowledge.merge(UUID, item, moment(back.seconds), place);
  return ledger.take().changes.map((row) => [row[0], row[5], row[6]]);
}

test.each([0, 60_000, -60_000])(
  'orders a ride and its return correctly when the system clock is %i ms ahead',
  async (aheadMs) => {
    const changes = await recordLeaving({
      state: 'available',
      aheadMs,
      leftSeconds: 10.5,
      back: { seconds: 40, modified: '2026-11-21T12:00:39Z' },
    });
    expect(changes).toEqual([
      ['2026-11-21T12:00:10.500000Z', '"available"', 'null'],
      ['2026-11-21T12:00:39.000000Z', 'null', '"available"'],
    ]);
  },
);

test('records the start of a short ride before its end', async () => {
  const changes = await recordLeaving({
    state: 'available',
    leftSeconds: 10.7,
    back: { seconds: 10.9, modified: '2026-11-21T12:00:10Z' },
  });
  const at = '2026-11-21T12:00:10.000000Z';
  expect(changes).toEqual([
    [at, '"available"', 'null'],
    [at, 'null', '"available"'],
  ]);
});

test('a takeover during maintenance is not recorded as a state change', async () => {
  const changes = await recordLeaving({
    state: 'in_maintenance',
    leftSeconds: 10.687,
    back: { seconds: 10.7, modified: '2026-11-21T12:00:10Z' },
  });
  expect(changes).toEqual([]);
});

test('caches bicycle rows until another writer changes the table', async () => {
  const database = await openedMirror(await newSqlite());
  const ledger = new Ledger();
  const now = { monotonicMs: 30_000, wallMs: START_MS + 30_000 };
  const knowledge = new KnownFleet(ledger, new ServiceTime({ monotonicMs: 0, wallMs: START_MS }));
  knowledge.setWhole();
  const batch = async (item: Bicycle) => {
    await ledger.load(database, [UUID]);
    knowledge.merge(UUID, item, now, { followed: 'o' });
    const writes = ledger.take();
    await database.write('bicycles', BICYCLE_COLUMNS, writes.bicycles, ['uuid']);
    return writes;
  };
  expect((await batch(BEFORE)).bicycles).toHaveLength(1);
  await database.all("update bicycles set state = 'lost', raw = replace(raw, 'available', 'lost')");
  // Nothing is requested.
  const moved = await batch({ ...BEFORE, latitude: 52.2, concurrency_version: 2 });
  expect([moved.bicycles.length, moved.changes.length]).toEqual([1, 1]);
  ledger.forget();
  await database.all("update bicycles set gone = '2026-11-21T12:00:40.000000Z'");
  const modified = '2026-11-21T12:00:50Z';
  const rented = await batch({ ...BEFORE, modified, state: 'rented', concurrency_version: 3 });
  expect(rented.bicycles).toHaveLength(1);
  expect(await database.all('select state, gone from bicycles')).toEqual([
    { state: 'rented', gone: null },
  ]);
  // The list of another organization contains the bicycle, so it moved there.
  knowledge.compare(
    { ...BEFORE, modified, state: 'rented', concurrency_version: 3 },
    NO_MARK,
    9,
    now,
    {
      followed: 'p',
    },
  );
  expect(ledger.take().bicycles).toHaveLength(1);
});
