// The built `fleet watch` under random trouble over real sockets: a service that cuts, stalls, lies and refuses, token commands that fail,
// a reader that is slow, a machine that stops and whose date steps; then what was shown is held against what happened.

import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Bicycle } from '../../src/api/bicycle.js';
import { LONGEST_ASKED_PAUSE_MS } from '../../src/http/retry.js';
import { newFolder } from './folder.js';
import { type Behaviour, type PushRequest, STREAM_HEAD, sendStatus, startMisbehaving } from './misbehaving.js';
import { PROGRAM_ARGS, PROGRAM_FILE, preload } from './program.js';
import { type History, judge, type Made, openLuck, type Reading, type Shown } from './watch-oracle.js';

const FAST_LIFE = fileURLToPath(new URL('./fast-life.js', import.meta.url));
const ORGANIZATION = '6f1c0b5e-2f0e-4c56-9d3a-0d6f3a1f7c11';

/** Twenty seconds of life a second: a process on a busy machine keeps up with that. */
const SPEED = 20;
const IDLE_SECONDS = 30;
const PAGE_SIZE = 5;
/** How much later than it happened something may be seen, in real time; a busy machine gets what it kept the processes waiting besides. */
const LATE_MS = 1_500;
/** After the last trouble: longer than every pause of the watch. */
const QUIET_END_MS = 180_000;
/** How soon the program ends whatever happens, in real time; it has two seconds (cli.md section 4, promise 8), a busy machine gets more. */
const END_LIMIT_MS = 10_000;

export interface ProcessScenario {
  seed: number;
  /** How long there are changes and trouble, in the life of the process. */
  durationMs: number;
}

export interface ProcessVerdict {
  faults: string[];
  changes: number;
  shown: number;
  gaps: number;
  caughtUp: number;
  troubles: { [kind: string]: number };
  peakMb: number;
  endMs: number;
  stderr: string;
}

interface Connection {
  readonly socket: Socket;
  /** Undefined: all bicycles. */
  readonly uuid: string | undefined;
  /** What is written while it is stalled: nothing, or all of it later. */
  stall: 'none' | 'dead' | 'late';
  late: string[];
}

type Random = ReturnType<typeof openLuck>;

/** What the service is like at the moment. */
interface Mood {
  push: 'fine' | '503' | 'html' | 'hang' | '429' | 'reset' | 'half-head';
  list: 'fine' | '503' | 'html' | 'hang' | 'cut' | 'slow' | '401';
  token: number;
  /** Whether there is time left for the longest pause that is obeyed. */
  mayAskMuch: boolean;
}

interface Service {
  readonly url: string;
  readonly made: readonly Made[];
  readonly mood: Mood;
  change(): void;
  noise(): void;
  /** A comment, so that a stream that stands is not silent. */
  beat(): void;
  cut(how: 'end' | 'destroy' | 'mid'): void;
  stall(how: 'dead' | 'late'): void;
  release(): void;
  isStanding(): boolean;
  close(): Promise<void>;
}

function secondOf(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 19)}Z`;
}

interface Traits {
  hasVersions: boolean;
  replay: 'none' | 'ids' | 'silent';
  isPartial: boolean;
  hasFuture: boolean;
  hasMicroseconds: boolean;
  size: number;
  /** How many are followed by name; 0: the whole organization. */
  followed: number;
}

function uuidAt(index: number): string {
  return `14c6d2ad-7236-46f1-b76f-${String(index).padStart(12, '0')}`;
}

/** `lifeMs` is the time since the epoch in the life of the process, `epochMs` its beginning. */
async function openService(luck: Random, traits: Traits, epochMs: number, lifeMs: () => number): Promise<Service> {
  const { hasVersions, replay, isPartial, hasFuture, hasMicroseconds, size, followed } = traits;
  const timeOf = (atMs: number) =>
    hasMicroseconds ? `${new Date(atMs).toISOString().slice(0, 23)}000Z` : secondOf(atMs);
  const fleet = new Map<string, Bicycle>();
  for (let index = 0; index < size; index++) {
    const uuid = uuidAt(index);
    const modified = hasFuture && index === 0 ? '2131-01-01T00:00:00Z' : timeOf(epochMs - 60_000 * (index + 1));
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
  const mood: Mood = { push: 'fine', list: 'fine', token: 0, mayAskMuch: false };
  const made: Made[] = [];
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
      if (connection.uuid === undefined || uuid === undefined || connection.uuid === uuid) send(connection, text);
    }
  };

  const behave: Behaviour = (socket, request) => {
    const token = request.headers['authorization'];
    const isPush = request.path.startsWith('/subscribe/');
    const how = isPush ? mood.push : mood.list;
    if (token !== `JWT token-${mood.token}` || how === '401')
      return sendStatus(socket, 401, {}, '{"detail":"expired"}');
    if (how === '503')
      return sendStatus(socket, 503, { 'Retry-After': mood.mayAskMuch && luck.chance(0.3) ? '1000000' : '1' });
    if (how === '429') return sendStatus(socket, 429, { 'Retry-After': 'soon' });
    if (how === 'html') return sendStatus(socket, 200, { 'Content-Type': 'text/html' }, '<title>Log in</title>');
    if (how === 'hang') return;
    if (how === 'reset') return void socket.resetAndDestroy();
    if (how === 'half-head') return void socket.write('HTTP/1.1 200 OK\r\nContent-Ty', () => socket.destroy());
    if (isPush) return subscribe(socket, request);
    if (how === 'slow') return void setTimeout(() => list(socket, request, false), 5_000 / SPEED);
    list(socket, request, how === 'cut');
  };
  const subscribe = (socket: Socket, { path, headers }: PushRequest) => {
    const topic = decodeURIComponent(path.slice('/subscribe/'.length, -1));
    const uuid = topic.endsWith('*') ? undefined : topic.split('/').at(-2);
    const connection: Connection = { socket, uuid, stall: 'none', late: [] };
    const lastId = headers['last-event-id'];
    socket.write(STREAM_HEAD);
    if (luck.chance(0.3))
      socket.write(`retry: ${mood.mayAskMuch && luck.chance(0.1) ? '99999999999' : luck.below(3_000)}\n: hello\n\n`);
    if (replay === 'ids' && lastId !== undefined) {
      for (const event of log) {
        if (event.number > Number(lastId) && (uuid === undefined || event.uuid === uuid)) socket.write(event.text);
      }
    }
    connections.add(connection);
    socket.on('close', () => connections.delete(connection));
  };
  const list = (socket: Socket, { path }: PushRequest, isCut: boolean) => {
    const url = new URL(path, 'http://x');
    const [, , uuid = ''] = url.pathname.split('/');
    if (uuid !== '')
      return sendStatus(socket, 200, { 'Content-Type': 'application/json' }, JSON.stringify(fleet.get(uuid)));
    const sorted = [...fleet.values()].sort((a, b) => String(b.modified).localeCompare(String(a.modified)));
    const page = Number(url.searchParams.get('page') ?? 1);
    const results = sorted.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE);
    url.searchParams.set('page', String(page + 1));
    const next = page * PAGE_SIZE < size ? url.href : null;
    const body = JSON.stringify({ count: size, next, previous: null, results });
    if (!isCut) return sendStatus(socket, 200, { 'Content-Type': 'application/json' }, body);
    socket.write(
      `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, luck.below(body.length))}`,
      () => socket.destroy(),
    );
  };
  const server = await startMisbehaving(behave);

  return {
    url: server.url,
    made,
    mood,
    isStanding: () => connections.size >= Math.max(1, followed),
    change() {
      const uuid = uuidAt(luck.below(size));
      const id = made.length + 1;
      const before = fleet.get(uuid) ?? {};
      const ahead = hasFuture && uuid === uuidAt(0) && luck.chance(0.5) ? 86_400_000 : 0;
      const atMs = lifeMs();
      const version = hasVersions ? { concurrency_version: Math.round(atMs - epochMs) * 100 + (id % 100) + 1_000 } : {};
      const bicycle: Bicycle = { ...before, modified: timeOf(atMs + ahead), state_of_charge: id, ...version };
      fleet.set(uuid, bicycle);
      made.push({ id, uuid, atMs });
      const { latitude: _latitude, state: _state, ...rest } = bicycle;
      const topic = `/${ORGANIZATION}/admin/bicycles/${uuid}/`;
      const data = JSON.stringify({ topic, sender: 'bicycle', message: isPartial ? rest : bicycle });
      const end = luck.chance(0.2) ? '\r\n' : '\n';
      const text = `${replay === 'none' ? '' : `id: ${id}${end}`}data: ${data}${end}${end}`;
      log.push({ number: id, uuid, text });
      broadcast(uuid, text);
    },
    beat() {
      // What was asked for in the beginning must not keep the watch away at the end.
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
      if (how === 'mid') {
        cutsMid = true;
        return;
      }
      for (const { socket } of connections)
        if (luck.chance(0.8)) how === 'end' ? socket.end() : socket.resetAndDestroy();
      if (how === 'destroy' || how === 'end')
        for (const connection of connections) if (!connection.socket.writable) connections.delete(connection);
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

/** Reads what the process writes: lines of stdout, and what stderr says of gaps and readings. */
function openReader(form: Form, followed: ReadonlySet<string> | undefined, lifeMs: () => number) {
  const shown: Shown[] = [];
  const gaps: { fromMs: number; toMs: number }[] = [];
  const reports: Reading[] = [];
  const faults: string[] = [];
  let summary: { [field: string]: unknown } | undefined;
  let stderr = '';
  const readLine = (line: string) => {
    const cells = line.split('  ').filter((cell) => cell !== '');
    const charge = Number(cells.at(-2));
    if (line.includes('lock.shutdown') || / alert |^\S+ {2}(?:-|bicycle) /.test(line) || Number.isNaN(charge)) return;
    const name = cells[1]?.trim() ?? '';
    const how = line.includes('  caught up: ') ? 'caught-up' : line.includes('  late: ') ? 'late' : 'update';
    shown.push({ id: charge, uuid: uuidAt(Number(name.slice(1))), how });
  };
  const readMessage = (line: string) => {
    const { message } = JSON.parse(line);
    if (message?.uuid !== undefined) shown.push({ id: message.state_of_charge, uuid: message.uuid, how: 'update' });
  };
  const readRecord = (line: string) => {
    let record: { [field: string]: unknown };
    try {
      record = JSON.parse(line);
    } catch {
      faults.push(`under --json stderr has a line that is none: ${line.slice(0, 200)}`);
      return;
    }
    const { event } = record;
    if (event === 'gap') gaps.push({ fromMs: lifeMs() - Number(record['seconds']) * 1000, toMs: lifeMs() });
    if (event === 'closed' && 'gap_count' in record) summary = record;
    if (event === 'resync' && 'bicycle' in record) {
      const bicycle = record['bicycle'] as Bicycle;
      shown.push({ id: Number(bicycle.state_of_charge), uuid: String(bicycle.uuid ?? ''), how: 'caught-up' });
    } else if (event === 'resync' && 'pages' in record) {
      reports.push({
        atMs: lifeMs(),
        isOfGap: record['since'] !== null,
        isOpen: record['complete'] !== true || Number(record['unknown']) > 0,
      });
    }
  };
  const readWords = (line: string) => {
    const back = /back after ([\d a-z]+), no updates/.exec(line)?.[1];
    if (back !== undefined) gaps.push({ fromMs: lifeMs() - durationOf(back), toMs: lifeMs() });
    if (line.includes('lost one event')) gaps.push({ fromMs: lifeMs(), toMs: lifeMs() });
    if (/ checked the list: /.test(line)) {
      reports.push({ atMs: lifeMs(), isOfGap: true, isOpen: /, but | not known before/.test(line) });
    }
  };
  const isOurs = ({ uuid }: { uuid: string | undefined }) => followed === undefined || followed.has(uuid ?? '');
  return {
    out: form === 'json' ? readMessage : readLine,
    err(line: string) {
      stderr += `${Math.round(lifeMs() % 1e8)} ${line.slice(0, 300)}\n`;
      if (form === 'json') readRecord(line);
      else readWords(line);
    },
    result: (made: readonly Made[]) => ({
      history: { made: made.filter(isOurs), shown, gaps, reports } satisfies Partial<History>,
      faults,
      summary,
      stderr,
    }),
  };
}

const UNITS_MS: { readonly [unit: string]: number } = { ms: 1, s: 1_000, min: 60_000, h: 3_600_000 };

/** What `1 min 3 s` can mean at most: it is rounded. */
function durationOf(text: string): number {
  let sumMs = 500;
  for (const [, count, unit = ''] of text.matchAll(/(\d+) ([a-z]+)/g)) sumMs += Number(count) * (UNITS_MS[unit] ?? 0);
  return sumMs;
}

type Form = 'lines' | 'json';

function onLines(stream: NodeJS.ReadableStream | null, take: (line: string) => void): void {
  let rest = '';
  stream?.setEncoding('utf8');
  stream?.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) take(line);
  });
}

/** Lets the built program live through one scenario. */
export async function runProcessScenario({ seed, durationMs }: ProcessScenario): Promise<ProcessVerdict> {
  const luck = openLuck(seed);
  const form: Form = luck.chance(0.5) ? 'json' : 'lines';
  const size = 6 + luck.below(20);
  const traits: Traits = {
    hasVersions: luck.chance(0.5),
    replay: luck.chance(0.4) ? 'ids' : luck.chance(0.5) ? 'silent' : 'none',
    isPartial: luck.chance(0.3),
    hasFuture: luck.chance(0.3),
    hasMicroseconds: luck.chance(0.3),
    size,
    followed: luck.chance(0.25) ? Math.min(size, 12) : 0,
  };
  const isBounded = luck.chance(0.3);
  const folder = newFolder();
  const epochMs = Date.now();
  const startedAt = performance.now();
  const lifeMs = () => epochMs + (performance.now() - startedAt) * SPEED;
  /** When it first stood: a busy machine takes its time to start a process. */
  let beganMs = Number.POSITIVE_INFINITY;
  const leftMs = () => beganMs + durationMs - lifeMs();
  const service = await openService(luck, traits, epochMs, lifeMs);
  const script = join(folder, 'token.sh');
  const writeToken = (how: string) => writeFileSync(script, `${how}\necho token-${service.mood.token}\n`);
  writeToken('');
  const steps = Array.from({ length: luck.below(4) }, () => [
    luck.below(durationMs),
    (luck.chance(0.5) ? 1 : -1) * luck.below(7_200_000),
  ]);
  const names = Array.from({ length: traits.followed }, (_, index) => uuidAt(index));
  const args = [
    ...['watch', ORGANIZATION, '--idle', String(IDLE_SECONDS)],
    ...['--resync-pages', isBounded ? '1' : '100', '--timeout', '45', '--sender', 'bicycle'],
    ...names.flatMap((uuid) => ['--bicycle', uuid]),
    ...(form === 'json' ? ['--json'] : []),
  ];
  const child = spawn(PROGRAM_FILE, [...PROGRAM_ARGS, ...args], {
    env: {
      ...preload(FAST_LIFE),
      PATH: process.env['PATH'],
      FLEET_CONFIG_DIR: '/nonexistent/fleet-tests',
      FLEET_BASE_URL: service.url,
      FLEET_SSE_URL: service.url,
      FLEET_TOKEN_COMMAND: `sh ${script}`,
      FLEET_TEST_SPEED: String(SPEED),
      FLEET_TEST_EPOCH: String(epochMs),
      FLEET_TEST_STEPS: JSON.stringify(steps.sort(([a = 0], [b = 0]) => a - b)),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  const reader = openReader(form, names.length === 0 ? undefined : new Set(names), lifeMs);
  onLines(child.stdout, reader.out);
  onLines(child.stderr, reader.err);
  const troubles: { [kind: string]: number } = {};
  const timers = new Set<NodeJS.Timeout>();
  const after = (inMs: number, action: () => void) => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      action();
    }, inMs / SPEED);
    timers.add(timer);
  };
  const change = () => {
    if (leftMs() < 0) return;
    service.change();
    after(luck.chance(0.5) ? luck.below(300) : luck.below(5_000), change);
  };
  const calm = () => {
    Object.assign(service.mood, { push: 'fine', list: 'fine' });
    writeToken('');
    service.release();
    child.stdout?.resume();
    child.kill('SIGCONT');
  };
  const trouble = () => {
    calm();
    if (leftMs() < 0) return;
    service.mood.mayAskMuch = leftMs() > 2 * LONGEST_ASKED_PAUSE_MS + 60_000;
    const kind = chooseTrouble(luck);
    troubles[kind] = (troubles[kind] ?? 0) + 1;
    makeTrouble(kind, { luck, service, child, writeToken });
    after(2_000 + luck.below(40_000), trouble);
  };
  const beat = () => {
    service.beat();
    after(5_000, beat);
  };
  const begin = () => {
    if (!service.isStanding()) return after(100, begin);
    beganMs = lifeMs();
    change();
    after(15_000 + luck.below(10_000), trouble);
  };
  after(100, begin);
  after(100, beat);
  const ownWaitMs = waitOf('self');
  let waitMs = 0;
  let exit: number | null | undefined;
  void ended.then((code) => (exit = code));
  while (exit === undefined && leftMs() > -QUIET_END_MS - waitMs * SPEED) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    waitMs = Math.max(waitMs, waitOf(child.pid) + waitOf('self') - ownWaitMs);
  }
  for (const timer of timers) clearTimeout(timer);
  calm();
  const peakMb = peakOf(child);
  const endAt = performance.now();
  const hasEndedEarly = exit !== undefined;
  child.kill('SIGINT');
  const kill = setTimeout(() => child.kill('SIGKILL'), END_LIMIT_MS);
  const code = await ended;
  clearTimeout(kill);
  const endMs = performance.now() - endAt;
  await service.close();
  const { history, faults, summary, stderr } = reader.result(service.made);
  const wrong = [
    ...faults,
    ...judge({
      ...history,
      hasVersions: traits.hasVersions,
      lateMs: (LATE_MS + waitMs) * SPEED,
      isRaw: form === 'json',
    }),
  ];
  if (hasEndedEarly) wrong.push(`the watch ended with ${code} by itself`);
  else if (code !== 130) wrong.push(`Ctrl-C ended it with ${code}`);
  if (form === 'json' && summary?.['looked_up'] !== true) wrong.push('at the end something was not looked up');
  return {
    faults: wrong.map((fault) => `${JSON.stringify({ form, isBounded, ...traits })}: ${fault}`),
    changes: history.made.length,
    shown: history.shown.length,
    gaps: history.gaps.length,
    caughtUp: history.shown.filter(({ how }) => how === 'caught-up').length,
    troubles,
    peakMb,
    endMs,
    stderr,
  };
}

const TROUBLES = [
  ...['cut-end', 'cut-destroy', 'cut-mid', 'cut-mid', 'stall-dead', 'stall-late', 'noise', 'noise'],
  ...['list-503', 'list-html', 'list-hang', 'list-cut', 'list-slow', 'list-401'],
  ...['push-503', 'push-html', 'push-hang', 'push-429', 'push-reset', 'push-half-head'],
  ...['token-new', 'token-fail', 'token-hang', 'slow-reader', 'stop'],
] as const;

function chooseTrouble(luck: Random): string {
  return TROUBLES[luck.below(TROUBLES.length)] ?? 'noise';
}

interface Target {
  luck: Random;
  service: Service;
  child: ChildProcess;
  writeToken(how: string): void;
}

function makeTrouble(kind: string, { luck, service, child, writeToken }: Target): void {
  const cut = () => service.cut(luck.chance(0.5) ? 'end' : 'destroy');
  if (kind === 'cut-end') service.cut('end');
  else if (kind === 'cut-destroy') service.cut('destroy');
  else if (kind === 'cut-mid') service.cut('mid');
  else if (kind === 'stall-dead') service.stall('dead');
  else if (kind === 'stall-late') service.stall('late');
  else if (kind === 'noise') service.noise();
  else if (kind === 'slow-reader') child.stdout?.pause();
  else if (kind === 'stop') child.kill('SIGSTOP');
  else if (kind.startsWith('list-')) {
    service.mood.list = kind.slice('list-'.length) as Mood['list'];
    cut();
  } else if (kind.startsWith('push-')) {
    service.mood.push = kind.slice('push-'.length) as Mood['push'];
    cut();
  } else {
    if (kind === 'token-new') service.mood.token++;
    writeToken(kind === 'token-fail' ? 'exit 1' : kind === 'token-hang' ? 'exec sleep 4' : '');
    cut();
  }
}

/** How long a process has waited for a processor, in milliseconds; 0 where the machine does not say. */
function waitOf(pid: number | 'self' | undefined): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}

/** The most memory that a process has had, in MB; 0 where the machine does not say. */
function peakOf({ pid }: ChildProcess): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}
