// Manages the writers of a mirror. Each organization (in SQLite, the whole file) has a lease with a
// heartbeat, and each writer stores its position. While a writer is alive, its lease keeps other
// writers out. When it is dead, another writer can take over.

import { configError, FleetError } from '../errors.js';
import type { Resumed } from '../follower/events.js';
import { parseJson } from '../json/parse.js';
import type { Database } from './database.js';
import type { Leaving } from './ledger.js';

/** A process that writes the mirror. `owner` is a new value for each run. */
export interface Writer {
  readonly owner: string;
  readonly host: string;
  readonly pid: number;
  /** The sorted UUIDs of its organizations. */
  readonly organizations: readonly string[];
}

/** The position of a writer. Times are in milliseconds since the epoch by the system clock. */
export interface State extends Omit<Resumed, 'gap' | 'modifiedMs'> {
  /** The writer, its organizations, and the number of its last batch. */
  readonly owner: string;
  readonly organizations: readonly string[];
  readonly batch: number;
  /**
   * Identifies the batch that wrote this position. The id is random. With counted ids, a restored
   * database could use the id of a lost batch again. Missing in data from older versions.
   */
  readonly batchId?: string;
  /** How far the written data was behind the service, judging by the times in the messages. */
  readonly behindMs: number;
  /**
   * False when lists hide some bicycles from the writer's token. Missing in data from older
   * versions.
   */
  readonly seesAll?: boolean;
  /**
   * Bicycles that left a state and whose new state has not been reported yet. Undefined in data
   * from older versions.
   */
  readonly leaving?: readonly Leaving[];
}

/** A row of the table `writers`. */
export type Lease = Awaited<ReturnType<typeof readLeases>>[number];

/**
 * A writer without a heartbeat for this long can be replaced. A standby checks this every second.
 */
export const LEASE_MS = 15_000;
/** The interval between the heartbeats of an idle writer. */
export const HEARTBEAT_MS = 5_000;
/**
 * A heartbeat that is more than this far in the future is treated as wrong. This can happen with
 * SQLite, because each writer uses the clock of its own machine.
 */
const AHEAD_MS = 60_000;

/** Whether a writer is alive, judging by its last heartbeat. */
export function isAlive({ heartbeat }: Lease, now: string): boolean {
  const ageMs = heartbeat === null ? Number.NaN : Date.parse(now) - Date.parse(heartbeat);
  return ageMs < LEASE_MS && ageMs > -AHEAD_MS;
}

/** Returns the current time of the database in UTC. */
export async function databaseTime(database: Database): Promise<string> {
  const [row] = await database.all(`SELECT ${database.dialect.clock} AS now`);
  return String(row?.['now']);
}

/** Returns names as a quoted SQL list. */
export function quoted(names: readonly string[]): string {
  return names.map((name) => `'${name.replaceAll("'", "''")}'`).join(', ');
}

/**
 * Reads the leases of the given organizations, or of all organizations. With `isLocked`, locks the
 * rows until the end of the transaction.
 */
export async function readLeases(
  database: Database,
  organizations?: readonly string[],
  isLocked = false,
) {
  const where =
    organizations === undefined ? '' : `WHERE organization IN (${quoted(organizations)})`;
  const rows = await database.all(
    `SELECT * FROM writers ${where} ORDER BY organization ${isLocked ? database.dialect.locked : ''}`,
  );
  return rows.map(({ organization, owner, host, pid, heartbeat, state, alerts }) => ({
    ...{
      organization: String(organization),
      owner: String(owner),
      host: String(host),
      pid: Number(pid),
    },
    /** The last heartbeat in UTC by the database's clock; null after the lease was released. */
    heartbeat: heartbeat === null ? null : String(heartbeat),
    /** The writer's position; undefined before the first batch. */
    state: state === null ? undefined : readState(String(state)),
    /** Whether all alerts were read at least once. */
    hasAlerts: alerts !== null,
  }));
}

function readState(text: string): State {
  try {
    return parseJson(text) as State;
  } catch (error) {
    throw configError(
      'the mirror is damaged: its table "writers"',
      'choose another database with --to',
      error,
    );
  }
}

/**
 * Acquires the lease for the organizations. Returns undefined on success. Otherwise returns the
 * lease of the other writer, which may still be alive.
 */
export async function takeLease(database: Database, writer: Writer): Promise<Lease | undefined> {
  const { organizations, owner, host, pid } = writer;
  return database.transaction(async () => {
    // Missing rows are created first, so that a second writer waits for their locks.
    const made = await database.all(
      `INSERT INTO writers (organization, owner, host, pid) VALUES ${organizations.map(() => '(?, ?, ?, ?)').join(', ')} ON CONFLICT (organization) DO NOTHING RETURNING organization`,
      organizations.flatMap((each) => [each, owner, host, pid]),
    );
    const leases = await readLeases(
      database,
      database.kind === 'sqlite' ? undefined : organizations,
      true,
    );
    const now = await databaseTime(database);
    const other = leases.find((lease) => lease.owner !== owner && isAlive(lease, now));
    const rows = organizations.map((each) => [each, owner, host, pid, now]);
    if (other === undefined)
      await database.write('writers', ['organization', 'owner', 'host', 'pid', 'heartbeat'], rows, [
        'organization',
      ]);
    else if (made.length > 0) {
      const names = made.map(({ organization }) => String(organization));
      await database.all(`DELETE FROM writers WHERE organization IN (${quoted(names)})`);
    }
    return other;
  });
}

/** Thrown when this writer sent no heartbeat for too long and another writer replaced it. */
export class Replaced extends FleetError {
  constructor(other: Lease | undefined) {
    const name = other === undefined ? 'nobody' : writerName(other);
    const hint = 'this one has written nothing since; run only one writer per organization';
    super('config', `this writer was silent for too long, and ${name} keeps the mirror now`, {
      hint,
    });
  }
}

/**
 * Thrown when batches of this writer are missing from the database. This happens when an older
 * backup was restored, or when a standby that lacked the last transactions became the primary
 * server. The writer must then continue from the remaining data.
 */
export class SetBack extends FleetError {
  constructor() {
    super('config', SET_BACK, { hint: 'fleet reads the whole list again' });
  }
}

/** The reason that is recorded for a gap when the database was restored to an earlier state. */
export const SET_BACK = 'the database was set back to an earlier state';

/**
 * Runs `work` in a transaction, if this process still has the lease. `work` receives the stored
 * positions of this writer's organizations. Throws Replaced when another writer took over, for
 * example while this process was suspended. Throws SetBack when the lease disappeared and no other
 * writer is alive.
 */
export function writeAs<T>(
  database: Database,
  { organizations, owner }: Writer,
  work: (states: readonly (State | undefined)[]) => Promise<T>,
): Promise<T> {
  return database.transaction(async () => {
    const leases = await readLeases(database, organizations, true);
    const other = leases.find((lease) => lease.owner !== owner);
    if (other !== undefined) {
      const isWritten = other.heartbeat === null || isAlive(other, await databaseTime(database));
      throw isWritten ? new Replaced(other) : new SetBack();
    }
    if (leases.length < organizations.length) throw new SetBack();
    return work(leases.map(({ state }) => state));
  });
}

/**
 * Releases the lease, so that the next writer can start immediately. Does nothing when another
 * writer took over.
 */
export async function releaseLease(
  database: Database,
  { organizations, owner }: Writer,
): Promise<void> {
  const own = `organization IN (${quoted(organizations)}) AND owner = ?`;
  await database.all(`UPDATE writers SET heartbeat = NULL WHERE ${own}`, [owner]);
}

/** Writes the writer's position and a heartbeat. */
export async function writeState(database: Database, { organizations }: Writer, state: State) {
  const sql = `UPDATE writers SET state = ?, heartbeat = ${database.dialect.clock} WHERE organization IN (${quoted(organizations)})`;
  await database.all(sql, [JSON.stringify(state)]);
}

export function writerName({ pid, host }: Lease): string {
  return `process ${pid} on ${host}`;
}

/** Returns the error for a second writer of an organization. */
export function inUse(lease: Lease): FleetError {
  return configError(
    `another process is writing the data of ${lease.organization}: ${writerName(lease)}`,
    'stop that process, pass --standby to wait until it ends, or use another database with --to',
  );
}
