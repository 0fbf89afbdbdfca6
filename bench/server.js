// The service of the bench. It is a separate process with prepared pages and streams, so that the
// bench measures only the client.

import { EventEmitter, once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';

const PAGE_SIZE = 100;

/** Returns a bicycle of about 650 bytes, like a bicycle of the sandbox. */
function bicycle(index) {
  const hex = index.toString(16).padStart(12, '0');
  const uuid = `6f1c0b5e-2f0e-4c56-9d3a-${hex}`;
  return {
    uuid,
    created: '2025-07-28T07:55:34.432430Z',
    latitude: 52.5 + (index % 1000) / 10_000,
    longitude: 13.3 + (index % 777) / 10_000,
    latest_gps_accuracy: 31.4,
    latest_gps_timestamp: '2026-11-21T09:56:16.071Z',
    state_of_charge: (index % 1000) / 10,
    name: `Ada ${String(index).padStart(6, '0')}`,
    description: '',
    model: 'http://127.0.0.1:4010/bicycle_models/6d010770-feac-4771-b48c-a60a7d213b2e/',
    bleid: 'AXA:99ED657D037B5A1EEC76',
    device_type: 'lock',
    lock: `http://127.0.0.1:4010/locks/${uuid}/`,
    image_url: `http://127.0.0.1:4010/media/bicycles/${uuid}.jpg`,
    serial_number: 'SND0722CD324',
    state: ['available', 'rented', 'in_maintenance', 'lost'][index % 4],
    modified: '2026-11-20T17:31:39.533702Z',
  };
}

const pages = new Map();
const MOST_KEPT = 200_000;

/** Returns a page of a list as bytes. Each page is created once. */
function page(number, total, size) {
  const key = `${number}/${total}/${size}`;
  let bytes = pages.get(key);
  if (bytes === undefined) {
    const first = (number - 1) * size;
    const results = Array.from({ length: Math.min(size, total - first) }, (_, index) =>
      bicycle(first + index),
    );
    const next =
      first + size < total
        ? `http://127.0.0.1/bicycles/?total=${total}&size=${size}&page=${number + 1}`
        : null;
    bytes = Buffer.from(JSON.stringify({ count: total, next, previous: null, results }));
    // The pages of a million bicycles would need most of the memory.
    if (total <= MOST_KEPT) pages.set(key, bytes);
  }
  return bytes;
}

/** Returns an event of about 700 bytes. */
function event(index, sentAt) {
  const message = { ...bicycle(index % 1000), modified: sentAt };
  const data = JSON.stringify({
    topic: '/organization/admin/bicycles/*',
    sender: 'bicycle',
    message,
  });
  return `id: ${index}\ndata: ${data}\n\n`;
}

/** Returns an event of a moved bicycle. Position, charge and time are new in each event. */
function move(index, fleet, at = Date.UTC(2026, 10, 21, 10) + index) {
  const modified = new Date(at).toISOString();
  const moved = {
    latitude: 52.5 + (index % 9973) / 100_000,
    longitude: 13.3 + (index % 9967) / 100_000,
    latest_gps_timestamp: modified,
    modified,
    concurrency_version: index + 1,
  };
  const message = { ...bicycle(index % fleet), ...moved };
  const data = JSON.stringify({
    topic: '/organization/admin/bicycles/*',
    sender: 'bicycle',
    message,
  });
  return `id: ${index}\ndata: ${data}\n\n`;
}

/**
 * Writes `count` events of `fleet` moving bicycles as fast as the reader accepts them. The stream
 * stays open.
 */
async function pourMoves(response, count, fleet) {
  const BATCH = 200;
  for (let index = 0; index < count; index += BATCH) {
    let text = '';
    for (let at = index; at < Math.min(count, index + BATCH); at++) text += move(at, fleet);
    if (!response.write(text)) await new Promise((resolve) => response.once('drain', resolve));
  }
  setInterval(() => response.write(': alive\n\n'), 5_000).unref();
}

/**
 * Writes `count` events of `fleet` moving bicycles at a rate per second. Each event contains the
 * time at which it was sent. The stream stays open.
 */
function dripMoves(response, count, fleet, perSecond) {
  const startedAt = performance.now();
  let index = 0;
  const timer = setInterval(() => {
    const due = Math.min(count, Math.floor(((performance.now() - startedAt) / 1000) * perSecond));
    let text = index === due ? ': alive\n\n' : '';
    for (; index < due; index++) text += move(index, fleet, Date.now());
    response.write(text);
  }, 10);
  response.on('close', () => clearInterval(timer));
}

/** Emits `start` when the bench wants the messages of the streams that wait. */
const moves = new EventEmitter();

/** Keeps a stream open and without messages until the bench starts its messages. */
async function untilStarted(response) {
  const heartbeat = setInterval(() => response.write(': alive\n\n'), 5_000);
  response.on('close', () => clearInterval(heartbeat));
  await once(moves, 'start');
  clearInterval(heartbeat);
}

/** Writes the events of moving bicycles that a token describes. */
async function sendMoves(response, wish) {
  const [count, fleet, rate] = [Number(wish.moves), Number(wish.total), Number(wish.rate)];
  if (wish.waits !== undefined) await untilStarted(response);
  if (response.destroyed) return;
  if (rate > 0) dripMoves(response, count, fleet, rate);
  else await pourMoves(response, count, fleet);
}

/** Writes `count` events as fast as the reader accepts them, then ends the stream. */
async function pour(response, count) {
  const BATCH = 200;
  for (let index = 0; index < count; index += BATCH) {
    let text = '';
    for (let at = index; at < Math.min(count, index + BATCH); at++)
      text += event(at, '2026-11-21T10:00:00.000Z');
    if (!response.write(text)) await new Promise((resolve) => response.once('drain', resolve));
  }
  response.end();
}

/**
 * Writes `perSecond` events per second. Their `modified` is the time at which they were sent, in
 * microseconds.
 */
function drip(response, perSecond, count) {
  const startedAt = performance.now();
  let index = 0;
  const timer = setInterval(() => {
    const due = Math.min(count, Math.floor(((performance.now() - startedAt) / 1000) * perSecond));
    for (; index < due; index++) {
      response.write(
        event(index, String(Math.round((performance.timeOrigin + performance.now()) * 1000))),
      );
    }
    if (index >= count) clearInterval(timer);
  }, 2);
}

const HEADERS = {
  'content-type': 'application/json',
  'x-service-requestid': 'bench',
  'x-service-from': 'bench',
};

const take = (request, response) => {
  const url = new URL(request.url, 'http://x');
  // The token describes the service, because fleet sends it unchanged with each request.
  const wish = Object.fromEntries(
    new URLSearchParams(
      (request.headers.authorization ?? '').replace(/^JWT /, '').replaceAll('.', '&'),
    ),
  );
  const delay = Number(wish.delay ?? 0);
  const answer = (status, bytes) => {
    const send = () => {
      response.writeHead(status, { ...HEADERS, 'content-length': bytes.length });
      response.end(bytes);
    };
    if (delay > 0) setTimeout(send, delay);
    else send();
  };
  if (url.pathname.startsWith('/subscribe/')) {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(': open\n\n');
    if (wish.moves !== undefined) void sendMoves(response, wish);
    else if (wish.rate !== undefined) drip(response, Number(wish.rate), Number(wish.count));
    else void pour(response, Number(wish.count ?? 0));
    return;
  }
  if (url.pathname === '/start-moves') {
    moves.emit('start');
    return answer(200, Buffer.from('{}'));
  }
  if (request.method === 'POST') {
    request.resume();
    const uuid = url.pathname.split('/')[2];
    request.on('end', () =>
      answer(200, Buffer.from(JSON.stringify({ ...bicycle(1), uuid, state: 'reserved' }))),
    );
    return;
  }
  // The bench needs only bicycles. Other lists, such as alerts and zones, are empty.
  if (!url.pathname.startsWith('/bicycles/')) return answer(200, page(1, 0, PAGE_SIZE));
  const total = Number(url.searchParams.get('total') ?? wish.total ?? 20);
  const size = Number(url.searchParams.get('size') ?? wish.size ?? PAGE_SIZE);
  answer(200, page(Number(url.searchParams.get('page') ?? 1), total, size));
};

const listen = (server) =>
  new Promise((resolve) => {
    server.keepAliveTimeout = 60_000;
    server.listen(0, '127.0.0.1', () => resolve(server.address().port));
  });
const [key, cert] = process.argv.slice(2).map((path) => readFileSync(path));
const ports = [await listen(createServer(take))];
if (cert !== undefined) ports.push(await listen(createSecureServer({ key, cert }, take)));
process.send?.(ports);
// A bench that was killed cannot end this process.
process.once('disconnect', () => process.exit());
