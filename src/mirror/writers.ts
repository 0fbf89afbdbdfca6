// The writers of a mirror. Each organization (in SQLite, the whole file) has a lease with a
// heartbeat, and each writer has a position. The lease refuses a second writer and allows another
// writer to replace a dead one.

import { configError, FleetError } from '../errors.js';
import type { Resumed } from '../follower/events.js';
import { parseJson } from '../json/parse.js';
import type { Database } from './database.js';
import type { Leaving } from './ledger.js';

/** A process that writes. The owner is a new value for each run. */
export interface Writer {
  readonly owner: string;
  readonly host: string;
  readonly pid: number;
  /** Sorted. */
  readonly organizations: readonly string[];
}

/** The position of a writer. Times are milliseconds since the epoch by the machine's clock. */
export interface State extends Omit<Resumed, 'gap' | 'modifiedMs'> {
  /**
   * The writer, its organizations and its batch number. They identify a commit whose answer was
   * lost.
   */
  readonly owner: string;
  readonly organizations: readonly string[];
  readonly batch: number;
  /**
   * Identifies the batch that wrote this state. It is random, so that a restored database cannot
   * contain the id of a later batch. States that an older version wrote lack it.
   */
  readonly batchId?: string;
  /** How far the written data was behind the service, by the times of the messages. */
  readonly behindMs: number;
  /**
   * False when the lists hide bicycles from the writer's token. States that an older version wrote
   * lack it.
   */
  readonly seesAll?: boolean;
  /** States that an older version wrote lack it. */
  readonly leaving?: readonly Leaving[];
}

/** A row of `writers`. */
export type Lease = Awaited<ReturnType<typeof readLeases>>[number];

/**
 * A writer that sent no heartbeat for this long may be replaced. A standby checks this every
 * second.
 */
export const LEASE_MS = 15_000;
/** How often an idle writer sends a heartbeat. */
export const HEARTBEAT_MS = 5_000;
/**
 * Writers of SQLite use the clocks of their machines. A heartbeat that is further in the future
 * than this is wrong.
 */
const AHEAD_MS = 60_000;

/** Whether a writer is alive by its heartbeat. */
export function isAlive({ heartbeat }: Lease, now: string): boolean {
  const ageMs = heartbeat === null ? Number.NaN : Date.parse(now) - Date.parse(heartbeat);
  return ageMs < LEASE_MS && ageMs > -AHEAD_MS;
}

/** Returns the database's time in UTC. */
export async function databaseTime(database: Database): Promise<string> {
  const [row] = await database.all(`SELECT ${database.dialect.clock} AS now`);
  return String(row?.['now']);
}

/** Quotes names for an SQL list. */
export function quoted(names: readonly string[]): string {
  return names.map((name) => `'${name.replaceAll("'", "''")}'`).join(', ');
}

/**
 * Reads the writers of these organizations, or of all. Locks the rows until the end of the
 * transaction.
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
    /** Undefined until something was written. */
    state: state === null ? undefined : readState(String(state)),
    /** Whether its alerts were read to the end at least once. */
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
 * Takes the lease of the organizations. If another writer may still be alive, returns the lease of
 * that writer.
 */
export async function takeLease(database: Database, writer: Writer): Promise<Lease | undefined> {
  const { organizations, owner, host, pid } = writer;
  return database.transaction(async () => {
    // Creates missing rows first. A second writer then waits for the lock of an existing row.
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

/**
 * The error for a writer that sent no heartbeat for too long and was replaced by another writer.
 */
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
 * The error when the database lacks batches of this writer: an older backup was restored, or a
 * standby without the last transactions was promoted. The writer must start again from the
 * surviving state.
 */
export class SetBack extends FleetError {
  constructor() {
    super('config', SET_BACK, { hint: 'the whole list is read again' });
  }
}

/** The reason of the gap that a restored database causes. */
export const SET_BACK = 'the database was set back to an earlier state';

/**
 * Writes in one transaction as the current writer. `work` receives the states of its organizations.
 * Throws Replaced when another writer took over, because a suspended writer must not write, and
 * SetBack when the lease of this writer is missing without another live writer.
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
 * Releases the lease, so that the next writer need not wait. Does nothing when another writer took
 * over.
 */
export async function releaseLease(
  database: Database,
  { organizations, owner }: Writer,
): Promise<void> {
  const own = `organization IN (${quoted(organizations)}) AND owner = ?`;
  await database.all(`UPDATE writers SET heartbeat = NULL WHERE ${own}`, [owner]);
}

/** Writes the position and a heartbeat. */
export async function writeState(database: Database, { organizations }: Writer, state: State) {
  const sql = `UPDATE writers SET state = ?, heartbeat = ${database.dialect.clock} WHERE organization IN (${quoted(organizations)})`;
  await database.all(sql, [JSON.stringify(state)]);
}

export function writerName({ pid, host }: Lease): string {
  return `process ${pid} on ${host}`;
}

/** Returns the error for a second writer. */
export function inUse(lease: Lease): FleetError {
  return configError(
    `another process is writing ${lease.organization}: ${writerName(lease)}`,
    'stop it, wait for its end with --standby, or use another database with --to',
  );
}
