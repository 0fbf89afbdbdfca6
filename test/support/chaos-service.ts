// A service over bare sockets that creates, changes and deletes bicycles, with lag, broken
// connections, stalls, wrong data and refusals.

import type { Socket } from 'node:net';
import type { Bicycle } from '../../src/api/bicycle.js';
import type { openLuck } from './luck.js';
import {
  type Behaviour,
  type PushRequest,
  STREAM_HEAD,
  sendStatus,
  startMisbehaving,
} from './misbehaving.js';
import type { Made as MadeOnce, Removed } from './watch-rules.js';
import { secondOf } from './watch-scenario.js';

export const ORGANIZATION = '6f1c0b5e-2f0e-4c56-9d3a-0d6f3a1f7c11';
const PAGE_SIZE = 5;
/** The age of the lists that a cache keeps. */
const CACHE_MS = 30_000;
/** Higher than the first versions, and lower than those of any change before a restore. */
const FIRST_FALLEN_VERSION = 100;
/** More concurrent requests would look like an overloaded service. */
const MOST_REMOVED = 3;

/** The time of the program and its service. */
export interface Life {
  /** The speed of the simulated time. */
  readonly speed: number;
  readonly epochMs: number;
  now(): number;
}

export type Made = MadeOnce & { version: number | undefined };

interface Connection {
  readonly socket: Socket;
  /** Undefined: all bicycles. */
  readonly uuid: string | undefined;
  /** Whether a stalled stream loses its data or sends it later. */
  stall: 'none' | 'dead' | 'late';
  late: string[];
}

export type Luck = ReturnType<typeof openLuck>;

/** The current behaviour of the service. */
export interface Mood {
  push: 'fine' | '503' | 'html' | 'hang' | '429' | 'reset' | 'half-head';
  list: 'fine' | '503' | 'html' | 'hang' | 'cut' | 'slow' | '401' | 'cache';
  token: number;
  /** Returns whether enough time is left for the longest accepted delay. */
  mayAskMuch: boolean;
  /** No change happens before the first failure or after the last one. */
  isTroubled: boolean;
}

export interface Service {
  readonly url: string;
  readonly fleet: ReadonlyMap<string, Bicycle>;
  readonly made: readonly Made[];
  readonly removed: readonly Removed[];
  /** When the program began to read changes: each request for a first page or for one bicycle. */
  readonly readingsMs: readonly number[];
  readonly mood: Mood;
  change(): void;
  /** Deletes a bicycle without a message. */
  remove(): void;
  /** The versions count from an older value, as after a restore. */
  fall(): void;
  noise(): void;
  /** A comment keeps an open stream from being silent. */
  beat(): void;
  cut(how: 'end' | 'destroy' | 'mid'): void;
  stall(how: 'dead' | 'late'): void;
  release(): void;
  isStanding(): boolean;
  close(): Promise<void>;
}

export interface Traits {
  hasVersions: boolean;
  replay: 'none' | 'ids' | 'silent';
  isPartial: boolean;
  hasFuture: boolean;
  hasMicroseconds: boolean;
  size: number;
  /** How much older the list of a replica is; 0 disables the replica. */
  lagMs: number;
  /** Whether versions sometimes fall. */
  hasFalls: boolean;
  /** The number of bicycles that are followed by name; 0 follows the whole organization. */
  followed: number;
}

export function uuidAt(index: number): string {
  return `14c6d2ad-7236-46f1-b76f-${String(index).padStart(12, '0')}`;
}

export async function openService(
  luck: Luck,
  traits: Traits,
  { speed, epochMs, now: lifeMs }: Life,
): Promise<Service> {
  const {
    hasVersions,
    replay,
    isPartial,
    hasFuture,
    hasMicroseconds,
    size,
    lagMs,
    hasFalls,
    followed,
  } = traits;
  const timeOf = (atMs: number) =>
    hasMicroseconds ? `${new Date(atMs).toISOString().slice(0, 23)}000Z` : secondOf(atMs);
  const fleet = new Map<string, Bicycle>();
  for (let index = 0; index < size; index++) {
    const uuid = uuidAt(index);
    const modified =
      hasFuture && index === 0 ? '2131-01-01T00:00:00Z' : timeOf(epochMs - 60_000 * (index + 1));
    const version = hasVersions ? { concurrency_version: index } : {};
    fleet.set(uuid, {
      uuid,
      name: `B${index}`,
      modified,
      state: 'available',
      state_of_charge: -index,
      latitude: 1,
      longitude: 2,
      ...version,
    });
  }
  const mood: Mood = { push: 'fine', list: 'fine', token: 0, mayAskMuch: false, isTroubled: false };
  const made: Made[] = [];
  const removed: Removed[] = [];
  const readingsMs: number[] = [];
  /** An earlier state of the fleet for the replica. */
  let past: { atMs: number; fleet: Map<string, Bicycle> }[] = [];
  /** A reading uses one replica, because a change between two replicas could not be detected. */
  const lags = new Map<string, boolean>();
  /** The bicycles with versions that count from an older value, as after a restore. */
  const fallen = new Set<string>();
  const log: { number: number; uuid: string; text: string }[] = [];
  const connections = new Set<Connection>();
  let cutsMid = false;

  const send = (connection: Connection, text: string) => {
    if (connection.stall === 'dead') return;
    if (connection.stall === 'late') return void connection.late.push(text);
    if (!cutsMid) return void connection.socket.write(text);
    cutsMid = false;
    connection.socket.write(text.slice(0, 1 + luck.below(text.length - 2)), () => {
      if (luck.chance(0.5)) connection.socket.destroy();
      else connection.socket.end();
    });
    connections.delete(connection);
  };
  const broadcast = (uuid: string | undefined, text: string) => {
    for (const connection of [...connections]) {
      if (connection.uuid === undefined || uuid === undefined || connection.uuid === uuid)
        send(connection, text);
    }
  };

  const behave: Behaviour = (socket, request) => {
    const token = request.headers['authorization'];
    const isPush = request.path.startsWith('/subscribe/');
    const how = isPush ? mood.push : mood.list;
    if (token !== `JWT token-${mood.token}` || how === '401')
      return sendStatus(socket, 401, {}, '{"detail":"expired"}');
    if (how === '503')
      return sendStatus(socket, 503, {
        'Retry-After': mood.mayAskMuch && luck.chance(0.3) ? '1000000' : '1',
      });
    if (how === '429') return sendStatus(socket, 429, { 'Retry-After': 'soon' });
    if (how === 'html')
      return sendStatus(socket, 200, { 'Content-Type': 'text/html' }, '<title>Log in</title>');
    if (how === 'hang') return;
    if (how === 'reset') return void socket.resetAndDestroy();
    if (how === 'half-head')
      return void socket.write('HTTP/1.1 200 OK\r\nContent-Ty', () => socket.destroy());
    if (isPush) return subscribe(socket, request);
    if (how === 'cache') return list(socket, request, false, CACHE_MS);
    if (how === 'slow') return void setTimeout(() => list(socket, request, false), 5_000 / speed);
    list(socket, request, how === 'cut');
  };
  const subscribe = (socket: Socket, { path, headers }: PushRequest) => {
    const topic = decodeURIComponent(path.slice('/subscribe/'.length, -1));
    const uuid = topic.endsWith('*') ? undefined : topic.split('/').at(-2);
    const connection: Connection = { socket, uuid, stall: 'none', late: [] };
    const lastId = headers['last-event-id'];
    socket.write(STREAM_HEAD);
    if (luck.chance(0.3))
      socket.write(
        `retry: ${mood.mayAskMuch && luck.chance(0.1) ? '99999999999' : luck.below(3_000)}\n: hello\n\n`,
      );
    if (replay === 'ids' && lastId !== undefined) {
      for (const event of log) {
        if (event.number > Number(lastId) && (uuid === undefined || event.uuid === uuid))
          socket.write(event.text);
      }
    }
    connections.add(connection);
    socket.on('close', () => connections.delete(connection));
  };
  /** The fleet at the time of the reading. */
  const listed = (ordering: string, page: number, cacheMs: number): Bicycle[] => {
    if (page === 1) lags.set(ordering, lagMs > 0 && mood.isTroubled && luck.chance(0.3));
    const ageMs = cacheMs > 0 ? cacheMs : lags.get(ordering) === true ? lagMs : 0;
    const old = ageMs > 0 ? past.findLast(({ atMs }) => atMs <= lifeMs() - ageMs) : undefined;
    const field = ordering.includes('modified') ? 'modified' : 'uuid';
    const sorted = [...(old?.fleet ?? fleet).values()].sort((a, b) =>
      String(a[field]).localeCompare(String(b[field])),
    );
    return ordering.startsWith('-') ? sorted.reverse() : sorted;
  };
  /** Answers a list or a bicycle. With `cacheMs`, the list is a copy of a cache of that age. */
  const list = (socket: Socket, { path }: PushRequest, isCut: boolean, cacheMs = 0) => {
    const url = new URL(path, 'http://x');
    const [, noun, uuid = ''] = url.pathname.split('/');
    if (uuid !== '' || isFirstPageOfChanges(url)) readingsMs.push(lifeMs());
    const age: { [name: string]: string } =
      cacheMs > 0 && uuid === '' ? { Age: String(cacheMs / 1000) } : {};
    const answer = (status: number, text: string) =>
      sendStatus(socket, status, { 'Content-Type': 'application/json', ...age }, text);
    if (noun !== 'bicycles' || (uuid !== '' && !fleet.has(uuid)))
      return answer(404, '{"detail":"Not found."}');
    if (uuid !== '') return answer(200, JSON.stringify(fleet.get(uuid)));
    const page = Number(url.searchParams.get('page') ?? 1);
    const all = listed(url.searchParams.get('ordering') ?? '-created', page, cacheMs);
    const results = all.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE);
    url.searchParams.set('page', String(page + 1));
    const next = page * PAGE_SIZE < all.length ? url.href : null;
    const body = JSON.stringify({ count: all.length, next, previous: null, results });
    if (!isCut) return answer(200, body);
    socket.write(
      `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, luck.below(body.length))}`,
      () => socket.destroy(),
    );
  };
  const server = await startMisbehaving(behave);

  return {
    url: server.url,
    fleet,
    made,
    removed,
    readingsMs,
    mood,
    isStanding: () => connections.size >= Math.max(1, followed),
    change() {
      const uuid = luck.pick([...fleet.keys()]);
      past = [
        ...past.filter(({ atMs }) => atMs > lifeMs() - Math.max(10 * lagMs, 2 * CACHE_MS)),
        { atMs: lifeMs(), fleet: new Map(fleet) },
      ];
      const id = made.length + 1;
      const before = fleet.get(uuid) ?? {};
      const ahead = hasFuture && uuid === uuidAt(0) && luck.chance(0.5) ? 86_400_000 : 0;
      const atMs = lifeMs();
      const isFallen = hasFalls && fallen.has(uuid);
      const high = Math.round(atMs - epochMs) * 100 + (id % 100) + 1_000;
      const version: { concurrency_version?: number } = hasVersions
        ? { concurrency_version: isFallen ? id + FIRST_FALLEN_VERSION : high }
        : {};
      const bicycle: Bicycle = {
        ...before,
        modified: timeOf(atMs + ahead),
        state_of_charge: id,
        ...version,
      };
      fleet.set(uuid, bicycle);
      made.push({ id, uuid, atMs, version: version.concurrency_version });
      const { latitude: _latitude, state: _state, ...rest } = bicycle;
      const topic = `/${ORGANIZATION}/admin/bicycles/${uuid}/`;
      const data = JSON.stringify({
        topic,
        sender: 'bicycle',
        message: isPartial ? rest : bicycle,
      });
      const end = luck.chance(0.2) ? '\r\n' : '\n';
      const text = `${replay === 'none' ? '' : `id: ${id}${end}`}data: ${data}${end}${end}`;
      log.push({ number: id, uuid, text });
      broadcast(uuid, text);
    },
    fall() {
      // Within one second only the version defines an order.
      for (const [uuid, { modified }] of fleet)
        if (String(modified) < timeOf(lifeMs() - 1_000)) fallen.add(uuid);
    },
    remove() {
      if (removed.length === MOST_REMOVED || fleet.size < 4) return;
      const uuid = luck.pick([...fleet.keys()].filter((one) => Number(one.slice(-12)) >= followed));
      if (uuid === undefined) return;
      fleet.delete(uuid);
      removed.push({ uuid, atMs: lifeMs() });
    },
    beat() {
      // A long delay from the start must not keep the watch disconnected at the end.
      const text = mood.mayAskMuch ? ':\n\n' : 'retry: 1000\n\n';
      for (const { socket, stall } of connections) if (stall === 'none') socket.write(text);
    },
    noise() {
      const kinds = [
        ':\n\n',
        'data: {oops\n\n',
        `data: {"sender":"bicycle","message":${'['.repeat(20_000)}${']'.repeat(20_000)}}\n\n`,
        `data: ${'x'.repeat(1_200_000)}\n\n`,
        `:${'c'.repeat(100_000)}\n\n`,
        'event: ping\ndata\n\n',
        'data: {"sender":"alert","message":{"alert_type":"lock.shutdown","state":"new"}}\n\n',
        'data: 17\n\n',
      ];
      broadcast(undefined, kinds[luck.below(kinds.length)] ?? '');
    },
    cut(how) {
      cutsMid ||= how === 'mid';
      if (how === 'mid') return;
      for (const { socket } of connections)
        if (luck.chance(0.8)) how === 'end' ? socket.end() : socket.resetAndDestroy();
      for (const connection of connections)
        if (!connection.socket.writable) connections.delete(connection);
    },
    stall(how) {
      for (const connection of connections) if (connection.stall === 'none') connection.stall = how;
    },
    release() {
      for (const connection of connections) {
        if (connection.stall !== 'late') continue;
        connection.stall = 'none';
        for (const text of connection.late.splice(0)) send(connection, text);
      }
    },
    close: server.close,
  };
}

/** Whether a request begins to read changes. A request for the count asks for pages of one bicycle. */
function isFirstPageOfChanges({ searchParams }: URL): boolean {
  const [ordering, page, size] = ['ordering', 'page', 'page_size'].map((name) =>
    searchParams.get(name),
  );
  return ordering === '-modified' && page === null && size !== '1';
}

/** The possible behaviours of a service. */
export function chooseTraits(luck: Luck, size: number): Traits {
  return {
    hasVersions: luck.chance(0.5),
    replay: luck.chance(0.4) ? 'ids' : luck.chance(0.5) ? 'silent' : 'none',
    isPartial: luck.chance(0.3),
    hasFuture: luck.chance(0.3),
    hasMicroseconds: luck.chance(0.3),
    lagMs: luck.pick([0, 0, 0, 3_000, 4_000 + luck.below(16_000)]),
    hasFalls: luck.chance(0.3),
    size,
    followed: 0,
  };
}
