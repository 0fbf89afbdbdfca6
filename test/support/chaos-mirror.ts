// Runs `fleet mirror run` under failures and compares its table, changes and gaps with the service.

import { join } from 'node:path';
import type { Bicycle } from '../../src/api/bicycle.js';
import { BOOKKEEPING } from '../../src/follower/known-fleet.js';
import type { Database } from '../../src/mirror/database.js';
import { readLeases } from '../../src/mirror/writers.js';
import { type Backup, openBackup } from './backup.js';
import { type Consumer, pause, runChaos, type Trial, type Verdict, type World } from './chaos.js';
import { chooseTraits, type Luck, ORGANIZATION } from './chaos-service.js';
import { newFolder } from './folder.js';
import { withDatabase } from './mirror.js';
import { hasTool } from './tools.js';

const SPEED = 10;
/** The tolerance for the time of a change in simulated time, plus the delays of a busy machine. */
const SLACK_MS = 15_000;
const END_LIMIT_MS = 60_000;
/** The largest age of fields that messages omit (`fleet help mirroring`), in real milliseconds. */
const LINKS_MS = (5 * 60_000) / SPEED;

/** @param to the address of an empty database */
export function runMirror(trial: Trial, to: string): Promise<Verdict> {
  return runChaos(trial, SPEED, (luck) => openMirror(luck, to));
}

function openMirror(luck: Luck, to: string): Consumer {
  let copy: Copy | undefined;
  let differences: string[] = [];
  const disk = openDisk(luck, to);
  return {
    args: ['mirror', 'run', '--to', to],
    // Records are identified by their version. Versions with a wrong time are only for the watch.
    traits: { ...chooseTraits(luck, 15 + luck.below(30)), hasVersions: true, hasFuture: false },
    isKilled: true,
    hasTerminal: luck.chance(0.4) && hasTool('script'),
    troubles: { 'database-back': disk.saveOrRestore },
    hasSteps: false,
    end: ['SIGTERM', 143],
    excuse: { code: 8, message: 'did not answer in time during shutdown' },
    takeLine() {},
    // The database's clock is not accelerated, so its 15 s after the last heartbeat pass at once.
    afterDeath: () =>
      withDatabase(to, (database) => database.all('update writers set heartbeat = null'), 'write'),
    async begin(world) {
      copy = await copyWhole(to, world, () => {
        if (luck.chance(0.1) && world.program.kills() < 2) world.program.kill();
      });
    },
    /** Waits until the table equals the list, links included. */
    async settle({ service }) {
      await disk.settled();
      const endAt = performance.now() + LINKS_MS + END_LIMIT_MS;
      do {
        await pause(200);
        const read = (database: Database) => compare(database, ORGANIZATION, service.fleet);
        differences = await withDatabase(to, read, 'read').catch((error) => [String(error)]);
      } while (differences.length > 0 && performance.now() < endAt);
    },
    async judge(world) {
      if (copy === undefined) return ['the first reading did not end'];
      const first = copy;
      return [
        ...disk.faults,
        ...differences.slice(0, 5),
        ...(await withDatabase(to, (database) => judge(database, first, world))),
      ];
    },
  };
}

/** How often a restore is tried, because it can deadlock with the writer. */
const MOST_RESTORES = 10;

/** Saves the database and sets it back to the last copy, while the writer runs or is down. */
function openDisk(luck: Luck, to: string) {
  const backup = openBackup(join(newFolder(), 'backup.db'));
  const faults: string[] = [];
  let isSaved = false;
  let last: Promise<void> = Promise.resolve();
  const change = async (step: keyof Backup) => {
    for (let tries = 1; ; tries++) {
      try {
        return await withDatabase(to, backup[step], 'write');
      } catch (error) {
        if (tries === MOST_RESTORES) return void faults.push(`${step} failed: ${error}`);
        await pause(50);
      }
    }
  };
  return {
    faults,
    saveOrRestore() {
      const step = isSaved && luck.chance(0.7) ? 'restore' : 'save';
      isSaved = true;
      last = last.then(() => change(step));
    },
    settled: () => last,
  };
}

type Fields = { [field: string]: unknown };

/** What happened to the service and the program, as far as it is checked. */
export type Happened = Pick<World, 'stderr' | 'waitMs'> & {
  /** The tolerance for the time of a change. */
  readonly slackMs?: number;
  readonly life: Pick<World['life'], 'now' | 'speed'>;
  readonly service: Pick<World['service'], 'made' | 'removed'>;
  readonly program: Pick<World['program'], 'halts'>;
};

/** The table after the first complete reading. */
export interface Copy {
  readonly rows: ReadonlyMap<string, Fields>;
  readonly lastChange: number;
  readonly atMs: number;
}

export async function copyWhole(
  to: string,
  world: Happened,
  onWait: () => void,
  organizations = 1,
): Promise<Copy> {
  const endAt = performance.now() + END_LIMIT_MS;
  for (;;) {
    await pause(150);
    const copy = await withDatabase(to, (database) =>
      database.transaction(async (): Promise<Copy | undefined> => {
        if (database.kind === 'postgres')
          await database.all('set transaction isolation level repeatable read');
        const leases = await readLeases(database).catch(() => []);
        if (leases.length < organizations || leases.some(({ state }) => state?.isWhole !== true))
          return undefined;
        const rows = await database.all('select uuid, raw from bicycles');
        const [last] = await database.all('select max(id) as id from changes');
        const parsed = rows.map(
          ({ uuid, raw }) => [String(uuid), JSON.parse(String(raw)) as Fields] as const,
        );
        return {
          rows: new Map(parsed),
          lastChange: Number(last?.['id'] ?? 0),
          atMs: world.life.now(),
        };
      }),
    ).catch(() => undefined);
    if (copy !== undefined) return copy;
    if (performance.now() > endAt)
      throw new Error(`the first reading did not end:\n${world.stderr}`);
    onWait();
  }
}

/** Returns the bicycles of an organization and its list. */
export async function compare(
  database: Database,
  organization: string,
  list: ReadonlyMap<string, Bicycle>,
): Promise<string[]> {
  const differences: string[] = [];
  const openGaps = 'select count(*) as n from gaps where ended is null and organization = ?';
  const [open] = await database.all(openGaps, [organization]);
  if (Number(open?.['n']) > 0) differences.push('a gap is open');
  const bicycles = 'select uuid, state, raw from bicycles where gone is null and followed = ?';
  const rows = await database.all(bicycles, [organization]);
  if (rows.length !== list.size) differences.push(`${rows.length} rows, ${list.size} bicycles`);
  for (const { uuid, state, raw } of rows) {
    const [kept, served] = [JSON.parse(String(raw)) as Fields, list.get(String(uuid)) ?? {}];
    if (state !== served['state'])
      differences.push(`${uuid}: state ${state} for ${served['state']}`);
    for (const field of new Set([...Object.keys(kept), ...Object.keys(served)])) {
      const [a, b] = [JSON.stringify(kept[field]), JSON.stringify(served[field])];
      if (a !== b && field !== 'distance') differences.push(`${uuid}.${field}: ${a} for ${b}`);
    }
  }
  return differences;
}

/** Returns the moment up to which the mirror claims to have received every message. */
async function heardUntil(database: Database): Promise<number> {
  const leases = await readLeases(database);
  return Math.min(...leases.map(({ state }) => state?.heardMs ?? Number.POSITIVE_INFINITY));
}

/** Replays the changes from the first snapshot and reports differences that no gap explains. */
export async function judge(database: Database, copy: Copy, world: Happened): Promise<string[]> {
  const { service, program, waitMs, life } = world;
  const { made, removed } = service;
  const { halts } = program;
  const found: string[] = [];
  const changes = await database.all('select * from changes order by id');
  const state = new Map([...copy.rows].map(([uuid, row]) => [uuid, { ...row }]));
  const seen = new Set<string>();
  const names = new Set<string>();
  for (const { id, bicycle, version, field, old, new: now } of changes) {
    seen.add(`${bicycle} ${version}`);
    const name = `${bicycle} ${version} ${field} ${now}`;
    if (version !== null && names.has(name)) found.push(`change ${id} is recorded twice: ${name}`);
    names.add(name);
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
    if (before !== old)
      found.push(`change ${id} of ${uuid}.${field}: from ${old}, where it was ${before}`);
    row[String(field)] = JSON.parse(String(now));
  }
  for (const { uuid, raw } of await database.all('select uuid, raw from bicycles')) {
    const [replayed, kept] = [state.get(String(uuid)) ?? {}, JSON.parse(String(raw)) as Fields];
    for (const field of Object.keys(kept)) {
      if (BOOKKEEPING.has(field) || JSON.stringify(replayed[field]) === JSON.stringify(kept[field]))
        continue;
      found.push(
        `${uuid}.${field}: replayed ${JSON.stringify(replayed[field])}, kept ${JSON.stringify(kept[field])}`,
      );
    }
  }
  const slackMs = (world.slackMs ?? SLACK_MS) + waitMs * life.speed;
  // A connection that broke during a suspension was last alive, by its own clock, when the writer
  // continued; its gap began before.
  const beforeHalt = (ms: number) => {
    const during = halts.filter(({ fromMs, toMs }) => fromMs <= ms && ms <= toMs + slackMs);
    return Math.min(ms, ...during.map(({ fromMs }) => fromMs));
  };
  const all = await database.all(
    'select b.uuid, g.started, g.ended from bicycles b join gaps g on g.organization = b.followed',
  );
  const heardMs = await heardUntil(database);
  const gapsOf = (uuid: string) =>
    all
      .filter((row) => row['uuid'] === uuid)
      .map(({ started, ended }) => [
        beforeHalt(Date.parse(String(started))) - slackMs,
        ended === null ? Number.POSITIVE_INFINITY : Date.parse(String(ended)) + slackMs,
      ])
      // The next writer begins a gap here. The connection may have been silent since then.
      .concat([[heardMs - slackMs, Number.POSITIVE_INFINITY]]);
  for (const { uuid, version, atMs } of made) {
    if (atMs <= copy.atMs || seen.has(`${uuid} ${version}`)) continue;
    const gaps = gapsOf(uuid);
    if (gaps.some(([from = 0, to = 0]) => atMs >= from && atMs <= to)) continue;
    const at = new Date(atMs).toISOString();
    const nextMs = Math.min(...gaps.map(([from = 0]) => from).filter((from) => from > atMs)) - atMs;
    const others = made.flatMap((each) => (each.uuid === uuid ? [each.version] : []));
    found.push(
      `a change of ${uuid} at ${at} is neither recorded nor in a gap, ${nextMs} ms before the next: ${version} of ${others.join(', ')}`,
    );
  }
  return found.slice(0, 20);
}
