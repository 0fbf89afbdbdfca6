// Tests the writer with a clock and a service that the test controls: table, `changes` and `gaps`
// for each order of events.

import { randomUUID } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import type { Bicycle } from '../../src/api/bicycle.js';
import { FleetError } from '../../src/errors.js';
import type { FollowerEvent, FollowerOutput } from '../../src/follower/events.js';
import { Follower } from '../../src/follower/follower.js';
import type { OpenGap } from '../../src/follower/open-gap.js';
import type { Database, Row } from '../../src/mirror/database.js';
import { Ledger } from '../../src/mirror/ledger.js';
import { commit, prepare, resume as resumeFrom, verify } from '../../src/mirror/write.js';
import { takeLease } from '../../src/mirror/writers.js';
import type { Moment } from '../../src/system/clock.js';
import { openedDatabase, useEngines } from '../support/mirror.js';

const START_MS = Date.UTC(2026, 10, 21, 12);
const PAGE_ITEMS = 2;
const TOPIC = '/o/admin/bicycles/*';
const baseUrl = new URL('https://service.test/');
const plan = { topics: new Map([[TOPIC, 'o']]), organizations: ['o'] };
const [[, newSqlite]] = useEngines();

const at = (seconds: number): Moment => ({
  monotonicMs: seconds * 1000,
  wallMs: START_MS + seconds * 1000,
});
const timeOf = (seconds: number) => new Date(START_MS + seconds * 1000).toISOString();

let database: Database;

beforeEach(async () => {
  database = await openedDatabase(await newSqlite());
});

/** Six bicycles with increasing age; messages omit their links. */
function openService() {
  const bicycles = new Map<string, Bicycle>();
  for (const [index, uuid] of ['a', 'b', 'c', 'd', 'e', 'f'].entries()) {
    const modified = timeOf(-100 * (index + 1));
    bicycles.set(uuid, {
      uuid,
      state: 'available',
      rental_session: null,
      modified,
      concurrency_version: 1,
    });
  }
  return {
    /** Changes a bicycle; returns the message about it. */
    change(uuid: string, state: string, seconds: number): Bicycle {
      const version = Number(bicycles.get(uuid)?.['concurrency_version']) + 1;
      const message = { uuid, state, modified: timeOf(seconds), concurrency_version: version };
      bicycles.set(uuid, {
        ...message,
        rental_session: state === 'rented' ? `https://service.test/${uuid}/` : null,
      });
      return message;
    },
    list: () =>
      [...bicycles.values()].sort((one, other) =>
        String(one.modified) < String(other.modified) ? 1 : -1,
      ),
  };
}

/** A writer that receives every event from the test. */
async function openWriter(service: ReturnType<typeof openService>, startSeconds: number) {
  const writer = { owner: randomUUID(), host: 'here', pid: process.pid, organizations: ['o'] };
  await prepare(database, baseUrl);
  await database.all('update writers set heartbeat = null');
  await takeLease(database, writer);
  const found = await resumeFrom(database, writer);
  const ledger = new Ledger();
  ledger.setSize(found.rows);
  const outputs: FollowerOutput[] = [];
  const options = { ...plan, bicycles: undefined, mostPages: 200, isWhole: true };
  const follower = new Follower(options, ledger, at(startSeconds), (output) =>
    outputs.push(output),
  );
  let heardMs = found.heardMs ?? at(startSeconds).wallMs;
  let batch = 0;
  let previousBatchIds = found.batchIds;
  let gapBefore: OpenGap | undefined;
  /** Unanswered requests to the service. */
  let asked: (FollowerOutput & { type: 'read-page' | 'read-whole' })[] = [];

  /** Writes the result of an event and carries out the effects. */
  const write = async (seconds: number): Promise<void> => {
    for (const output of outputs) if (output.type === 'gap-close') ledger.add(output);
    if (follower.isConnected) heardMs = at(seconds).wallMs;
    const { gap, comparedToMs, known } = follower;
    const writes = ledger.take();
    const reached = { heardMs, checkedMs: comparedToMs, isWhole: known.isWhole, proven: undefined };
    const batchId = randomUUID();
    const state = { ...reached, ...writer, batch: ++batch, batchId, behindMs: 0 };
    const [isSameGap, nowMs] = [gap === gapBefore, at(seconds).wallMs];
    await commit(database, writer, { writes, gap, isSameGap, state, previousBatchIds, nowMs });
    previousBatchIds = [batchId];
    gapBefore = gap;
    for (const output of outputs.splice(0))
      if (output.type === 'read-page' || output.type === 'read-whole') asked.push(output);
    for (const each of writes.steps) {
      if (each.type !== 'verify') continue;
      const meeting = await verify(database, writer, each.reading);
      await step({ type: 'whole-met', id: each.reading.id, ...meeting }, seconds);
    }
  };
  const step = async (event: FollowerEvent, seconds: number): Promise<void> => {
    const items =
      event.type === 'page' ? event.page.items : event.type === 'whole-page' ? event.items : [];
    const uuids = items.map(({ value }) => String(value.uuid));
    await ledger.load(database, uuids);
    follower.take(event, at(seconds));
    await write(seconds);
  };
  /** Takes the current list of the service; `answer` delivers it. */
  const ask = () => {
    const requests = asked;
    asked = [];
    return { requests, list: service.list() };
  };
  const answer = async (
    { requests, list }: ReturnType<typeof ask>,
    seconds: number,
  ): Promise<void> => {
    const items = list.map((value) => ({ json: JSON.stringify(value), value }));
    for (const { type, id, ...request } of requests) {
      if (type === 'read-whole') {
        await step(
          { type: 'whole-page', id, items, count: items.length, isLast: true, askedAt: 0 },
          seconds,
        );
        continue;
      }
      const from = 'next' in request ? Number(request.next?.[0]?.[1] ?? 0) : 0;
      const next =
        from + PAGE_ITEMS < items.length
          ? [['from', String(from + PAGE_ITEMS)] as const]
          : undefined;
      const page = {
        count: items.length,
        items: items.slice(from, from + PAGE_ITEMS),
        next,
        trace: {},
      };
      await step({ type: 'page', id, page }, seconds);
    }
    if (asked.length > 0) await answer(ask(), seconds);
  };
  const happened = (seconds: number) => ({
    topic: TOPIC,
    atMs: at(seconds).wallMs,
    monotonicMs: seconds * 1000,
  });
  const hear = async (message: Bicycle, seconds: number) => {
    const uuid = String(message.uuid);
    await ledger.load(database, [uuid]);
    const { kind, before } = follower.merge(uuid, message, happened(seconds));
    if (kind === 'late') {
      const [startedMs, endedMs] = [message.modified, before?.modified].map((time) =>
        Date.parse(String(time)),
      );
      ledger.add({
        type: 'gap-moment',
        startedMs: startedMs ?? 0,
        endedMs: endedMs ?? 0,
        reason: 'late',
        found: 0,
      });
    }
    await write(seconds);
  };
  const open = (seconds: number, isReturn: boolean) =>
    step({ type: 'open', ...happened(seconds), isReturn, trace: {} }, seconds);
  const resync = (seconds: number, sinceSeconds: number | undefined) => {
    const sinceWallMs = sinceSeconds === undefined ? undefined : at(sinceSeconds).wallMs;
    return step({ type: 'resync', ...happened(seconds), sinceWallMs }, seconds);
  };
  follower.resume(found, at(startSeconds));
  await write(startSeconds);
  await open(startSeconds, false);
  await resync(startSeconds, undefined);
  return {
    step,
    ask,
    answer,
    hear,
    open,
    resync,
    tick: (seconds: number) => step({ type: 'tick' }, seconds),
    /** Answers the second look after a reading of a gap. */
    async lookAgain(seconds: number) {
      await step({ type: 'tick' }, seconds + 31);
      await answer(ask(), seconds + 32);
    },
    lose(seconds: number) {
      const error = new FleetError('network', 'other side closed');
      const times = { lastLifeWallMs: at(seconds).wallMs, downMs: 0, attempt: 1, retryInMs: 0 };
      return step(
        { type: 'lost', ...happened(seconds), cause: 'network', error, ...times },
        seconds,
      );
    },
    /** The connection is open again, and missed messages are not replayed. */
    async findGap(fromSeconds: number, seconds: number) {
      const gap = {
        cause: 'network',
        message: 'other side closed',
        replayed: false,
        droppedEvents: 0,
      } as const;
      const times = {
        fromWallMs: at(fromSeconds).wallMs,
        durationMs: (seconds - fromSeconds) * 1000,
      };
      await step({ type: 'gap', ...happened(seconds), ...gap, ...times }, seconds);
      await resync(seconds, fromSeconds);
    },
  };
}

/**
 * Reads the first list and then updates other bicycles, so that this one is not at the head of the
 * list.
 */
async function begin() {
  const service = openService();
  const mirror = await openWriter(service, 0);
  await mirror.answer(mirror.ask(), 1);
  return { service, mirror };
}

async function moveOthers({ service, mirror }: Awaited<ReturnType<typeof begin>>) {
  for (const [index, uuid] of ['b', 'c', 'd', 'e'].entries()) {
    const seconds = 50 + index * 10;
    await mirror.hear(service.change(uuid, 'lost', seconds), seconds);
  }
}

async function linkOf(uuid: string): Promise<unknown> {
  const [row] = await database.all('select raw from bicycles where uuid = ?', [uuid]);
  return JSON.parse(String(row?.['raw']))['rental_session'];
}

const gaps = (): Promise<Row[]> => database.all('select started, ended from gaps order by started');
const utc = (seconds: number) => timeOf(seconds).replace('Z', '000Z');

test('within five minutes, fetches links that messages omit', async () => {
  const { service, mirror } = await begin();
  await mirror.hear(service.change('a', 'rented', 10), 10);
  await moveOthers({ service, mirror });
  await mirror.lose(100);
  await mirror.open(101, true);
  await mirror.findGap(100, 101);
  await mirror.answer(mirror.ask(), 102);
  await mirror.lookAgain(102);
  expect(await gaps()).toEqual([{ started: utc(100), ended: utc(101) }]);
  await mirror.tick(302);
  await mirror.answer(mirror.ask(), 303);
  expect(await linkOf('a')).toBe('https://service.test/a/');
});

test('after a writer is killed, fetches links that messages omit', async () => {
  const { service, mirror } = await begin();
  await mirror.hear(service.change('a', 'rented', 10), 10);
  await moveOthers({ service, mirror });
  const next = await openWriter(service, 120);
  await next.answer(next.ask(), 121);
  await next.lookAgain(121);
  expect(await linkOf('a')).toBe('https://service.test/a/');
  expect(await gaps()).toEqual([{ started: utc(80), ended: utc(120) }]);
});

test('after a long list read, fetches links that messages omit', async () => {
  const service = openService();
  const mirror = await openWriter(service, 0);
  const before = mirror.ask();
  await mirror.hear(service.change('a', 'rented', 10), 10);
  await moveOthers({ service, mirror });
  await mirror.answer(before, 600);
  await mirror.tick(601);
  await mirror.answer(mirror.ask(), 602);
  expect(await linkOf('a')).toBe('https://service.test/a/');
});

test('a list requested before the disconnection does not end a gap', async () => {
  const { service, mirror } = await begin();
  await mirror.tick(302);
  const before = mirror.ask();
  await mirror.lose(303);
  service.change('a', 'rented', 303.5);
  service.change('a', 'available', 303.6);
  await mirror.open(304, true);
  await mirror.answer(before, 304);
  expect(await gaps()).toEqual([{ started: utc(303), ended: null }]);
  await mirror.findGap(303, 305);
  await mirror.tick(315);
  await mirror.answer(mirror.ask(), 316);
  await mirror.lookAgain(316);
  expect(await gaps()).toEqual([{ started: utc(303), ended: utc(305) }]);
});

test('a gap lasts until the changes that were missed in it have been undone', async () => {
  const { service, mirror } = await begin();
  await mirror.lose(100);
  service.change('a', 'lost', 100.5);
  service.change('b', 'lost', 100.6);
  await mirror.open(101, true);
  await mirror.findGap(100, 101);
  await mirror.hear(service.change('a', 'available', 103), 103);
  const inFlight = service.change('b', 'available', 105);
  await mirror.answer(mirror.ask(), 106);
  await mirror.hear(inFlight, 107);
  await mirror.lookAgain(106);
  expect(await database.all(`select * from changes where field = 'state'`)).toEqual([]);
  expect(await gaps()).toEqual([{ started: utc(100), ended: utc(105) }]);
});

test('records a gap when a message is older than the list', async () => {
  const { service, mirror } = await begin();
  await mirror.tick(302);
  const [first, second] = [
    service.change('a', 'lost', 302.1),
    service.change('a', 'available', 306),
  ];
  await mirror.answer(mirror.ask(), 307);
  await mirror.hear(first, 308);
  await mirror.hear(second, 308);
  expect(await gaps()).toEqual([{ started: utc(302.1), ended: utc(306) }]);
});
