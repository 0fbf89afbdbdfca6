// Runs several processes of `fleet mirror run --standby` per organization in one database, kills
// and suspends them at random, and compares the database with the service.

import { type ChildProcess, spawn } from 'node:child_process';
import type { Bicycle } from '../../src/api/bicycle.js';
import { type Sandbox, startSandbox } from '../../src/sandbox/index.js';
import { compare, copyWhole, judge } from './chaos-mirror.js';
import type { Made } from './chaos-service.js';
import { environmentOf } from './environment.js';
import { openLuck } from './luck.js';
import { withDatabase } from './mirror.js';
import { PROGRAM_ARGS, PROGRAM_FILE } from './program.js';
import { headersFor } from './sandbox.js';

const MOVE_MS = 40;
/** The bicycles of each organization. */
const BICYCLES = 60;
/** How long a process is suspended: longer than its lease. */
const HALT_MS = 18_000;

/** Links may be five minutes old. */
const SETTLE_MS = 6 * 60_000;

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

type Luck = ReturnType<typeof openLuck>;

/** Changes a bicycle; does nothing when its state forbids the change. */
function move(sandbox: Sandbox, organization: string, luck: Luck, made: Made[]): void {
  const { uuid = '' } = luck.pick(sandbox.bicycles(organization)) ?? {};
  const transition = luck.pick([
    'reserve',
    'rent',
    'return',
    'put_in_maintenance',
    'declare_available',
    'declare_lost',
  ]);
  try {
    const changed = luck.chance(0.5)
      ? sandbox.act(uuid, transition as Parameters<Sandbox['act']>[1])
      : sandbox.changeBicycle(uuid, {
          description: `${luck.below(1_000_000)}`,
          state_of_charge: luck.below(100),
        });
    made.push({
      id: made.length,
      uuid,
      version: Number(changed.concurrency_version),
      atMs: Date.now(),
    });
  } catch {}
}

/** Waits until the table equals the list; otherwise returns the differences. */
async function settle(sandbox: Sandbox, organization: string, to: string): Promise<string[]> {
  const headers = await headersFor(sandbox);
  const list = new Map<string, Bicycle>();
  for (let page = 1, next: string | null = ''; next !== null; page++) {
    const url = `${sandbox.baseUrl}/bicycles/?organization=${organization}&page_size=100&page=${page}`;
    const body = (await (await fetch(url, { headers })).json()) as {
      results: Bicycle[];
      next: string | null;
    };
    for (const row of body.results) list.set(String(row.uuid), row);
    next = body.next;
  }
  for (const endAt = performance.now() + SETTLE_MS; ; ) {
    await pause(500);
    const differences = await withDatabase(
      to,
      (database) => compare(database, organization, list),
      'read',
    );
    if (differences.length === 0 || performance.now() > endAt) return differences.slice(0, 5);
  }
}

export interface WritersVerdict {
  readonly faults: string[];
  readonly made: number;
  readonly recorded: number;
  readonly gaps: number;
  readonly kills: number;
  readonly takeovers: number;
  /** The longest time without a heartbeat of the organization's writer. */
  readonly silentMs: number;
  readonly stderr: string;
}

export interface WritersTrial {
  readonly seed: number;
  readonly to: string;
  readonly durationMs: number;
  readonly organizations: number;
  /** The number of processes for each organization. */
  readonly processes: number;
}

/** Starts a service with this many organizations. */
function startService({ seed, organizations }: WritersTrial): Promise<Sandbox> {
  const uuid = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
  const names = Array.from({ length: organizations }, (_, index) => uuid(1_000_000 + index));
  const bicycles = Array.from({ length: organizations * BICYCLES }, (_, index) => ({
    bicycle: { uuid: uuid(index), name: `B${index}` },
    organization: names[index % organizations] ?? '',
  }));
  const recorded = { baseUrl: 'http://recorded.example', organizations: names, bicycles };
  return startSandbox({ recorded, seed, rate: 0, pageSize: 20, heartbeatMs: 1_000 });
}

export async function runWritersTrial(trial: WritersTrial): Promise<WritersVerdict> {
  const { seed, to, durationMs, processes } = trial;
  const luck = openLuck(seed);
  const sandbox = await startService(trial);
  const env = { ...(await environmentOf(sandbox)), PATH: process.env['PATH'] };
  const organizations = sandbox.organizations.map(({ uuid }) => uuid);
  let text = '';
  let isOver = false;
  const children = new Map<string, ChildProcess>();
  const start = (organization: string, number: number) => {
    const args = [
      ...PROGRAM_ARGS,
      'mirror',
      'run',
      '--to',
      to,
      '--organization',
      organization,
      '--standby',
    ];
    const child = spawn(PROGRAM_FILE, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
    children.set(`${organization} ${number}`, child);
    child.stderr?.on('data', (piece) => {
      text += `${number} of ${organization.slice(0, 4)}: ${piece}`;
    });
    child.on('close', async (code) => {
      text += `--- ${number} of ${organization.slice(0, 4)} ended with ${code}\n`;
      await pause(luck.below(3_000));
      if (!isOver) start(organization, number);
    });
  };
  for (const organization of organizations)
    for (let number = 1; number <= processes; number++) start(organization, number);
  const made: Made[] = [];
  const mover = setInterval(() => {
    for (const organization of organizations) move(sandbox, organization, luck, made);
  }, MOVE_MS);
  const world = {
    ...{ stderr: '', waitMs: 0, slackMs: 3_000, life: { now: Date.now, speed: 1 } },
    ...{ service: { made, removed: [] }, program: { halts: [] } },
  };
  let [kills, silentMs] = [0, 0];
  const owners = new Set<string>();
  /** Checks which process writes. */
  const look = () =>
    withDatabase(
      to,
      async (database) => {
        const clock =
          database.kind === 'sqlite'
            ? "strftime('%Y-%m-%dT%H:%M:%f000Z', 'now')"
            : 'clock_timestamp()';
        const rows = await database.all(
          `select organization, owner, pid, heartbeat, ${clock} as now from writers`,
        );
        for (const { owner, heartbeat, now } of rows) {
          owners.add(String(owner));
          if (heartbeat !== null)
            silentMs = Math.max(silentMs, Date.parse(String(now)) - Date.parse(String(heartbeat)));
        }
        return rows;
      },
      'read',
    );
  try {
    const copy = await copyWhole(to, world, () => {}, organizations.length);
    silentMs = 0;
    for (const endAt = performance.now() + durationMs; performance.now() < endAt; ) {
      await pause(500 + luck.below(1_500));
      const rows = await look();
      if (luck.chance(0.6)) continue;
      // Returns the writing process, or any other; the rest of its organization continues.
      const { pid } = rows[luck.below(rows.length)] ?? {};
      const writers = [...children.values()].filter((child) => child.pid === Number(pid));
      const others = [...children.values()].filter((child) => child.exitCode === null);
      const child = luck.chance(0.6) ? writers[0] : others[luck.below(others.length)];
      kills++;
      if (luck.chance(0.8)) child?.kill('SIGKILL');
      else {
        child?.kill('SIGSTOP');
        setTimeout(() => child?.kill('SIGCONT'), HALT_MS);
      }
    }
    clearInterval(mover);
    const faults: string[] = [];
    for (const organization of organizations)
      faults.push(...(await settle(sandbox, organization, to)));
    const { found, ...counts } = await withDatabase(to, async (database) => {
      const count = async (table: string) =>
        Number((await database.all(`select count(*) as n from ${table}`))[0]?.['n']);
      return {
        found: await judge(database, copy, world),
        recorded: await count('changes'),
        gaps: await count('gaps'),
      };
    });
    const verdict = {
      made: made.length,
      ...counts,
      kills,
      takeovers: owners.size - organizations.length,
      silentMs,
    };
    return { faults: [...faults, ...found], ...verdict, stderr: text };
  } finally {
    isOver = true;
    clearInterval(mover);
    for (const child of children.values()) child.kill('SIGKILL');
    await sandbox.close();
  }
}
