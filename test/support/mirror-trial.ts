// The built `fleet mirror run` under random trouble: a moving sandbox with cuts, failing lists, changes in the same second and kill -9; then
// the database is held against the service and against what happened.

import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { BOOKKEEPING } from '../../src/follower/known-fleet.js';
import type { Database } from '../../src/mirror/database.js';
import { readLeases } from '../../src/mirror/writers.js';
import { type Fault, type Sandbox, startSandbox } from '../../src/sandbox/index.js';
import { withDatabase } from './mirror.js';
import { PROGRAM_ARGS, PROGRAM_FILE, preload } from './program.js';
import { headersFor } from './sandbox.js';
import { openLuck } from './watch-oracle.js';

const FAST_LIFE = fileURLToPath(new URL('./fast-life.js', import.meta.url));
/** How many seconds the program and the service live in one. */
const SPEED = 10;
/** How much earlier or later than it happened something may be seen, in the life of the service; besides, as late as a busy machine lets this process be. */
const SLACK_MS = 3_000;
const MOVE_MS = 15;
/** More than a fifth, and more than ten, would have to be gone for ten minutes first. */
const MOST_REMOVED = 10;
const END_LIMIT_MS = 60_000;
/** How old what messages leave out may be (README, "Links"), in real milliseconds. */
const LINKS_MS = (5 * 60_000) / SPEED;

export interface Trial {
  readonly seed: number;
  /** The address of an empty database. */
  readonly to: string;
  /** How long there are changes and trouble, in real milliseconds. */
  readonly durationMs: number;
  readonly bicycles: number;
}

export interface TrialVerdict {
  readonly faults: string[];
  readonly made: number;
  readonly recorded: number;
  readonly gaps: number;
  readonly kills: number;
  readonly stderr: string;
}

interface Made {
  readonly uuid: string;
  readonly state: unknown;
  readonly version: unknown;
  readonly atMs: number;
}

/** A bicycle that was deleted, of which nothing is pushed. */
interface Removed {
  readonly uuid: string;
  readonly atMs: number;
}

interface Halt {
  readonly fromMs: number;
  readonly toMs: number;
}

/** What happened, and how late it may have been seen. */
interface Happened {
  readonly made: readonly Made[];
  readonly removed: readonly Removed[];
  readonly halts: readonly Halt[];
  readonly lateMs: number;
}

type Fields = { [field: string]: unknown };

/** The table as it was when the first reading was whole. */
interface Copy {
  readonly rows: ReadonlyMap<string, Fields>;
  readonly lastChange: number;
  readonly atMs: number;
}

export async function runTrial({ seed, to, durationMs, bicycles }: Trial): Promise<TrialVerdict> {
  const luck = openLuck(seed);
  const epochMs = Date.now();
  const startedAt = performance.now();
  const now = () => Math.round(epochMs + (performance.now() - startedAt) * SPEED);
  const sandbox = await startSandbox({ bicycles, seed, rate: 0, pageSize: 20, heartbeatMs: 300, now });
  const organization = sandbox.organizations[0]?.uuid ?? '';
  const env = {
    PATH: process.env['PATH'],
    FLEET_CONFIG_DIR: '/nonexistent/fleet-tests',
    FLEET_BASE_URL: sandbox.baseUrl,
    FLEET_SSE_URL: sandbox.sseUrl,
    FLEET_TOKEN: await sandbox.token(),
    FLEET_TEST_SPEED: String(SPEED),
    FLEET_TEST_EPOCH: String(epochMs),
    ...preload(FAST_LIFE),
  };
  const args = [...PROGRAM_ARGS, 'mirror', 'run', '--to', to, '--organization', organization];
  // The database's clock knows nothing of the hasty life: 15 s after its last heartbeat, all at once.
  const expire = () => withDatabase(to, (database) => database.all('update writers set heartbeat = null'), 'write');
  const runner = openRunner(args, env, now, expire);
  const made: Made[] = [];
  const removed: Removed[] = [];
  let latestMs = 0;
  let dueMs = performance.now() + MOVE_MS;
  const mover = setInterval(() => {
    latestMs = Math.max(latestMs, performance.now() - dueMs);
    move(sandbox, organization, luck, now, made);
    if (luck.chance(0.01)) bear(sandbox, organization, luck);
    // More at once would seem to be a service in trouble.
    if (luck.chance(0.02) && removed.length < MOST_REMOVED) remove(sandbox, organization, luck, now, removed);
    dueMs = performance.now() + MOVE_MS;
  }, MOVE_MS);
  let kills = 0;
  try {
    const copy = await copyWhole(to, runner, now, () => {
      if (luck.chance(0.5) && kills < 2) {
        kills++;
        runner.kill();
      }
    });
    const endAt = performance.now() + durationMs;
    while (performance.now() < endAt) {
      await pause(100 + luck.below(500));
      kills += trouble(sandbox, runner, luck, organization);
    }
    clearInterval(mover);
    // One more gap, the last trouble.
    sandbox.setFaults([{ kind: 'noreplay' }]);
    sandbox.dropStreams();
    runner.proceed();
    const faults = await settle(sandbox, organization, to);
    const endMs = performance.now();
    const code = await runner.stop();
    // In its hasty life the database of a busy machine may be too slow for the last batch.
    const isTooSlow = code === 8 && runner.stderr().includes('did not answer in time at the end');
    if (code !== 143 && !isTooSlow) faults.push(`SIGTERM ended it with ${code}`);
    if (performance.now() - endMs > 10_000) faults.push('SIGTERM took longer than ten seconds');
    const { found, recorded, gaps } = await withDatabase(to, (database) =>
      judge(database, copy, { made, removed, halts: runner.halts(), lateMs: latestMs * SPEED }),
    );
    return { faults: [...faults, ...found], made: made.length, recorded, gaps, kills, stderr: runner.stderr() };
  } finally {
    clearInterval(mover);
    runner.kill();
    await sandbox.close();
  }
}

// The service

/** A change, now and then two in one second or of a bicycle that is new; what the state does not allow is no change. */
function move(sandbox: Sandbox, organization: string, luck: Luck, now: () => number, made: Made[]): void {
  const all = sandbox.bicycles(organization);
  const times = luck.chance(0.2) ? 2 : 1;
  const { uuid } = all[luck.below(all.length)] ?? {};
  for (let time = 0; time < times && typeof uuid === 'string'; time++) {
    const transition = (
      ['reserve', 'rent', 'return', 'put_in_maintenance', 'declare_available', 'declare_lost'] as const
    )[luck.below(6)];
    try {
      const changed = luck.chance(0.5)
        ? sandbox.act(uuid, transition ?? 'rent')
        : sandbox.changeBicycle(uuid, { description: `${luck.below(1_000_000)}`, state_of_charge: luck.below(100) });
      made.push({ uuid, state: changed.state, version: changed.concurrency_version, atMs: now() });
    } catch {}
  }
}

/** A bicycle is new, of which nothing is pushed before its first change. */
function bear(sandbox: Sandbox, organization: string, luck: Luck): void {
  const uuid = `77777777-0000-4000-8000-${String(luck.below(1e9)).padStart(12, '0')}`;
  sandbox.playArrival({ organization, bicycle: { uuid, name: `New ${uuid.slice(-9)}` } });
}

function remove(sandbox: Sandbox, organization: string, luck: Luck, now: () => number, removed: Removed[]): void {
  const all = sandbox.bicycles(organization);
  const { uuid = '' } = all[luck.below(all.length)] ?? {};
  removed.push({ uuid, atMs: now() });
  sandbox.playDeparture(uuid);
}

type Luck = ReturnType<typeof openLuck>;

/** Something goes wrong, or comes right; returns how many programs it killed. */
function trouble(sandbox: Sandbox, runner: Runner, luck: Luck, organization: string): number {
  const faults: Fault[] = [];
  if (luck.chance(0.4)) faults.push({ kind: 'noreplay' });
  if (luck.chance(0.3))
    faults.push({ kind: 'error', status: 503, share: 0.5, only: ({ path }) => path.includes('bicycles') });
  if (luck.chance(0.2)) faults.push({ kind: 'cut', share: 0.3 });
  if (luck.chance(0.2)) faults.push({ kind: 'latency', milliseconds: 50 });
  if (luck.chance(0.2)) faults.push({ kind: 'drop', milliseconds: 200 });
  sandbox.setFaults(faults);
  runner.proceed();
  const kind = luck.below(6);
  if (kind === 0) sandbox.dropStreams();
  else if (kind === 1) runner.halt();
  else if (kind === 2) sandbox.publish(`/${organization}/admin/bicycles/*`, 'bicycle', 'no bicycle');
  else if (kind === 3 || kind === 4) {
    runner.kill();
    return 1;
  }
  return 0;
}

async function listOf(sandbox: Sandbox, organization: string): Promise<Map<string, Fields>> {
  const headers = await headersFor(sandbox);
  const rows = new Map<string, Fields>();
  for (let page = 1; ; page++) {
    const url = `${sandbox.baseUrl}/bicycles/?organization=${organization}&page_size=100&page=${page}`;
    const body = (await (await fetch(url, { headers })).json()) as { results: Fields[]; next: string | null };
    for (const row of body.results) rows.set(String(row['uuid']), row);
    if (body.next === null || body.next === '') return rows;
  }
}

// The program

interface Runner {
  kill(): void;
  halt(): void;
  proceed(): void;
  stop(): Promise<number | null>;
  /** When it stood still, in the life of the service. */
  halts(): readonly Halt[];
  stderr(): string;
}

/** Keeps the program running: one that was killed is started again at once, as systemd does. */
function openRunner(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  now: () => number,
  expire: () => Promise<unknown>,
): Runner {
  const halts: Halt[] = [];
  let haltedMs: number | undefined;
  let child: ChildProcess;
  let text = '';
  let isStopping = false;
  let onEnd: ((code: number | null) => void) | undefined;
  const start = () => {
    child = spawn(PROGRAM_FILE, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
    child.stderr?.on('data', (piece) => {
      text += piece;
    });
    child.on('close', (code) => {
      if (isStopping) return onEnd?.(code);
      text += `--- ended with ${code}\n`;
      void expire()
        .catch(() => {})
        .then(() => (isStopping ? onEnd?.(code) : start()));
    });
  };
  start();
  return {
    kill: () => void child.kill('SIGKILL'),
    halt() {
      haltedMs = now();
      child.kill('SIGSTOP');
    },
    proceed() {
      child.kill('SIGCONT');
      if (haltedMs !== undefined) halts.push({ fromMs: haltedMs, toMs: now() });
      haltedMs = undefined;
    },
    halts: () => halts,
    stop() {
      isStopping = true;
      return new Promise((resolve) => {
        onEnd = resolve;
        child.kill('SIGTERM');
      });
    },
    stderr: () => text,
  };
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

// The database

async function copyWhole(to: string, runner: Runner, now: () => number, onWait: () => void): Promise<Copy> {
  const endAt = performance.now() + END_LIMIT_MS;
  for (;;) {
    await pause(150);
    const copy = await withDatabase(to, (database) =>
      database.transaction(async (): Promise<Copy | undefined> => {
        if (database.kind === 'postgres') await database.all('set transaction isolation level repeatable read');
        const [lease] = await readLeases(database).catch(() => []);
        if (lease?.state?.isWhole !== true) return undefined;
        const rows = await database.all('select uuid, raw from bicycles');
        const [last] = await database.all('select max(id) as id from changes');
        const parsed = rows.map(({ uuid, raw }) => [String(uuid), JSON.parse(String(raw)) as Fields] as const);
        return { rows: new Map(parsed), lastChange: Number(last?.['id'] ?? 0), atMs: now() };
      }),
    ).catch(() => undefined);
    if (copy !== undefined) return copy;
    if (performance.now() > endAt) throw new Error(`the first reading did not end:\n${runner.stderr()}`);
    onWait();
  }
}

/** Waits until the table equals the list, links included; says what differs when it never does. */
async function settle(sandbox: Sandbox, organization: string, to: string): Promise<string[]> {
  const list = await listOf(sandbox, organization);
  const endAt = performance.now() + LINKS_MS + END_LIMIT_MS;
  for (;;) {
    await pause(200);
    const differences = await withDatabase(to, (database) => compare(database, list), 'read').catch((error) => [
      String(error),
    ]);
    if (differences.length === 0) return [];
    if (performance.now() > endAt) return differences.slice(0, 5);
  }
}

async function compare(database: Database, list: ReadonlyMap<string, Fields>): Promise<string[]> {
  const differences: string[] = [];
  const [open] = await database.all('select count(*) as n from gaps where ended is null');
  if (Number(open?.['n']) > 0) differences.push('a gap is open');
  const rows = await database.all('select uuid, state, raw from bicycles where gone is null');
  if (rows.length !== list.size) differences.push(`${rows.length} rows, ${list.size} bicycles`);
  for (const { uuid, state, raw } of rows) {
    const [kept, served] = [JSON.parse(String(raw)) as Fields, list.get(String(uuid)) ?? {}];
    if (state !== served['state']) differences.push(`${uuid}: state ${state} for ${served['state']}`);
    for (const field of new Set([...Object.keys(kept), ...Object.keys(served)])) {
      const [a, b] = [JSON.stringify(kept[field]), JSON.stringify(served[field])];
      if (a !== b && field !== 'distance') differences.push(`${uuid}.${field}: ${a} for ${b}`);
    }
  }
  return differences;
}

/** Replays the changes from the first snapshot, and looks for what neither they nor the gaps account for. */
async function judge(database: Database, copy: Copy, { made, removed, halts, lateMs }: Happened) {
  const found: string[] = [];
  const changes = await database.all('select * from changes order by id');
  const state = new Map([...copy.rows].map(([uuid, row]) => [uuid, { ...row }]));
  const seen = new Set<string>();
  for (const { id, bicycle, version, field, old, new: now } of changes) {
    seen.add(`${bicycle} ${version}`);
    const isGone = field === 'gone' && now !== 'null';
    if (isGone && !removed.some((one) => one.uuid === bicycle))
      found.push(`${bicycle} is marked as gone, and is there`);
    if (Number(id) <= copy.lastChange || field === 'gone') continue;
    const uuid = String(bicycle);
    if (field === '*') {
      if (state.has(uuid)) found.push(`${uuid} came twice`);
      state.set(uuid, JSON.parse(String(now)));
      continue;
    }
    const row = state.get(uuid) ?? {};
    const before = row[String(field)] === undefined ? null : JSON.stringify(row[String(field)]);
    if (before !== old) found.push(`change ${id} of ${uuid}.${field}: from ${old}, where it was ${before}`);
    row[String(field)] = JSON.parse(String(now));
  }
  for (const { uuid, raw } of await database.all('select uuid, raw from bicycles')) {
    const [replayed, kept] = [state.get(String(uuid)) ?? {}, JSON.parse(String(raw)) as Fields];
    for (const field of Object.keys(kept)) {
      if (BOOKKEEPING.has(field) || JSON.stringify(replayed[field]) === JSON.stringify(kept[field])) continue;
      found.push(`${uuid}.${field}: replayed ${JSON.stringify(replayed[field])}, kept ${JSON.stringify(kept[field])}`);
    }
  }
  const slackMs = SLACK_MS + lateMs;
  // A connection that broke during a halt gave its last sign of life when the writer went on, by its own clock: that gap began before.
  const beforeHalt = (ms: number) => {
    const during = halts.filter(({ fromMs, toMs }) => fromMs <= ms && ms <= toMs + slackMs);
    return Math.min(ms, ...during.map(({ fromMs }) => fromMs));
  };
  const gaps = (await database.all('select started, ended from gaps')).map(({ started, ended }) => [
    beforeHalt(Date.parse(String(started))) - slackMs,
    ended === null ? Number.POSITIVE_INFINITY : Date.parse(String(ended)) + slackMs,
  ]);
  for (const { uuid, version, atMs } of made) {
    if (atMs <= copy.atMs || seen.has(`${uuid} ${version}`)) continue;
    if (gaps.some(([from = 0, to = 0]) => atMs >= from && atMs <= to)) continue;
    const at = new Date(atMs).toISOString();
    const nextMs = Math.min(...gaps.map(([from = 0]) => from).filter((from) => from > atMs)) - atMs;
    const others = made.flatMap((each) => (each.uuid === uuid ? [`${each.version} ${each.state}`] : []));
    found.push(
      `a change of ${uuid} at ${at} is neither recorded nor in a gap, ${nextMs} ms before the next: ${version} of ${others.join(', ')}`,
    );
  }
  return { found: found.slice(0, 20), recorded: changes.length, gaps: gaps.length };
}
