// One writer a database: a lease in `meta` with a heartbeat, so that a second one is refused and a dead one replaced.

import { configError, type FleetError } from '../errors.js';
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

/** Becomes the writer; resolves with the one that may still live, where there is one. */
export async function takeLease(database: Database, writer: Writer): Promise<Lease | undefined> {
  return database.transaction(async () => {
    const { lease } = await readMeta(database, true);
    const now = await databaseTime(database);
    if (lease !== undefined && lease.owner !== writer.owner && isAlive(lease, now)) return lease;
    await writeMeta(database, { lease: { ...writer, heartbeat: now } });
    return undefined;
  });
}

/**
 * Checks, inside the transaction of a batch, that this is still the writer, and with `beats` says that it lives. Throws a FleetError of
 * kind `config` where another one has taken over: a writer that slept must not write.
 */
export async function keepLease(database: Database, writer: Writer, beats: boolean): Promise<void> {
  const { lease } = await readMeta(database, true);
  if (lease?.owner !== writer.owner) throw replaced(lease);
  if (beats) await writeMeta(database, { lease: { ...writer, heartbeat: await databaseTime(database) } });
}

/** Lets go, so that the next writer need not wait; nothing where another one took over. */
export async function releaseLease(database: Database, writer: Writer): Promise<void> {
  await database.transaction(async () => {
    const { lease } = await readMeta(database, true);
    if (lease?.owner === writer.owner) await writeMeta(database, { lease: { ...writer, heartbeat: null } });
  });
}

/** What a second writer is told. */
export function inUse({ pid, host }: Lease): FleetError {
  return configError(
    `another writer keeps this mirror: process ${pid} on ${host}`,
    'stop it, or use another database with --to',
  );
}

function replaced(lease: Lease | undefined): FleetError {
  const who = lease === undefined ? 'nobody' : `process ${lease.pid} on ${lease.host}`;
  return configError(
    `this writer was silent for too long, and ${who} keeps the mirror now`,
    'this one has written nothing since; run only one writer per mirror',
  );
}
