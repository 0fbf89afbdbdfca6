// One writer a database: a lease in `meta` with a heartbeat, so that a second one is refused and a dead one replaced.

import { configError, type FleetError } from '../errors.js';
import { hasCode } from '../folder.js';
import type { Database } from './database.js';
import { DIALECTS } from './dialect.js';
import { type Lease, readMeta, writeMeta } from './schema.js';

/** A process that writes; the owner is new for each run. */
export type Writer = Omit<Lease, 'heartbeat'>;

/** How often a writer says that it lives. */
export const HEARTBEAT_MS = 5_000;
/** A writer that gave no heartbeat for so long may be replaced. */
export const LEASE_MS = 15_000;
/** Clocks of SQLite's writers are those of their machines: a heartbeat so far in the future is a mistake. */
const AHEAD_MS = 60_000;

/** The age of a heartbeat in milliseconds; undefined for none. */
export function heartbeatAgeMs(lease: Lease | undefined, now: string): number | undefined {
  const heartbeat = lease?.heartbeat;
  return typeof heartbeat === 'string' ? Date.parse(now) - Date.parse(heartbeat) : undefined;
}

/** Whether a writer lives, as far as its heartbeat shows. */
export function isAlive(lease: Lease | undefined, now: string): boolean {
  const ageMs = heartbeatAgeMs(lease, now);
  return ageMs !== undefined && ageMs < LEASE_MS && ageMs > -AHEAD_MS;
}

/** What time it is at the database, UTC. */
export async function databaseTime(database: Database): Promise<string> {
  const [row] = await database.all(`SELECT ${DIALECTS[database.kind].clock} AS now`);
  return String(row?.['now']);
}

/** Whether a process of this machine has ended; also where its number is that of this process, which came after it, as in a container. */
function isGone(pid: number): boolean {
  if (pid === process.pid) return true;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return hasCode(error, 'ESRCH');
  }
}

/** Becomes the writer. Throws a FleetError of kind `config` that names the one that lives. */
export async function takeLease(database: Database, writer: Writer): Promise<void> {
  await database.transaction(async () => {
    const { lease } = await readMeta(database, true);
    const now = await databaseTime(database);
    const isOther =
      lease !== undefined && lease.owner !== writer.owner && !(lease.host === writer.host && isGone(lease.pid));
    if (isOther && isAlive(lease, now)) throw inUse(lease, now);
    await writeMeta(database, { lease: leaseOf(writer, now) });
  });
}

/**
 * Checks, inside the transaction of a batch, that this is still the writer, and with `beats` says that it lives. Throws a FleetError of
 * kind `config` where another one has taken over: a writer that slept must not write.
 */
export async function keepLease(database: Database, writer: Writer, beats: boolean): Promise<void> {
  const { lease } = await readMeta(database, true);
  if (lease?.owner !== writer.owner) throw replaced(lease);
  if (beats) await writeMeta(database, { lease: leaseOf(writer, await databaseTime(database)) });
}

/** Lets go, so that the next writer need not wait; nothing where another one took over. */
export async function releaseLease(database: Database, writer: Writer): Promise<void> {
  await database.transaction(async () => {
    const { lease } = await readMeta(database, true);
    if (lease?.owner === writer.owner) await writeMeta(database, { lease: leaseOf(writer, null) });
  });
}

function leaseOf(writer: Writer, heartbeat: string | null): Lease {
  return { ...writer, heartbeat };
}

function inUse(lease: Lease, now: string): FleetError {
  const seconds = Math.max(0, Math.round((heartbeatAgeMs(lease, now) ?? 0) / 1000));
  return configError(
    `another writer keeps this mirror: process ${lease.pid} on ${lease.host}, heard ${seconds} s ago`,
    `stop it, or wait until it has been silent for ${LEASE_MS / 1000} s`,
  );
}

function replaced(lease: Lease | undefined): FleetError {
  const who = lease === undefined ? 'nobody' : `process ${lease.pid} on ${lease.host}`;
  return configError(
    `this writer was silent for too long, and ${who} keeps the mirror now`,
    'this one has written nothing since; run only one writer per mirror',
  );
}
