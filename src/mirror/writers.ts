// One writer an organization (in SQLite one for the whole file): a lease with a heartbeat, so that a second one is refused and a dead one
// replaced; and how far each writer has come.

import { configError, FleetError } from '../errors.js';
import type { Resumed } from '../follower/events.js';
import { parseJson } from '../json/parse.js';
import type { Database } from './database.js';
import type { Leaving } from './ledger.js';

/** A process that writes; the owner is new for each run. */
export interface Writer {
  readonly owner: string;
  readonly host: string;
  readonly pid: number;
  /** In their order. */
  readonly organizations: readonly string[];
}

/** How far a writer has come; times in milliseconds since the epoch, by its machine's date. */
export interface State extends Omit<Resumed, 'gap' | 'modifiedMs'> {
  /** Who wrote it, for which organizations, and in which of its batches: a commit whose answer was lost is known by it. */
  readonly owner: string;
  readonly organizations: readonly string[];
  readonly batch: number;
  /** How far what is written was behind the service, by the messages' own times. */
  readonly behindMs: number;
  /** Absent in what an older fleet wrote. */
  readonly leaving?: readonly Leaving[];
}

/** A row of `writers`. */
export type Lease = Awaited<ReturnType<typeof readLeases>>[number];

/** A writer that gave no heartbeat for so long may be replaced: by a standby that looks every second, on a busy machine, within 20 s. */
export const LEASE_MS = 15_000;
/** A writer that has nothing to write says this often that it lives. */
export const HEARTBEAT_MS = 5_000;
/** Clocks of SQLite's writers are those of their machines: a heartbeat so far in the future is a mistake. */
const AHEAD_MS = 60_000;

/** Whether a writer lives, as far as its heartbeat shows. */
export function isAlive({ heartbeat }: Lease, now: string): boolean {
  const ageMs = heartbeat === null ? Number.NaN : Date.parse(now) - Date.parse(heartbeat);
  return ageMs < LEASE_MS && ageMs > -AHEAD_MS;
}

/** What time it is at the database, UTC. */
export async function databaseTime(database: Database): Promise<string> {
  const [row] = await database.all(`SELECT ${database.dialect.clock} AS now`);
  return String(row?.['now']);
}

/** Names as SQL has them in a list. */
export function quoted(names: readonly string[]): string {
  return names.map((name) => `'${name.replaceAll("'", "''")}'`).join(', ');
}

/** The writers of these organizations, or of all; locked: nobody else changes them before the transaction ends. */
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
    /** UTC by the database's own clock, null once the lease was let go. */
    heartbeat: heartbeat === null ? null : String(heartbeat),
    /** Undefined until something was written. */
    state: state === null ? undefined : readState(String(state)),
    /** Its alerts were read to the end once. */
    hasAlerts: alerts !== null,
  }));
}

function readState(text: string): State {
  try {
    return parseJson(text) as State;
  } catch (error) {
    throw configError(
      'the mirror is damaged: its table "writers"',
      'name another database with --to',
      error,
    );
  }
}

/** Becomes the writer of its organizations; resolves with one that may still live, where there is one. */
export async function takeLease(database: Database, writer: Writer): Promise<Lease | undefined> {
  const { organizations, owner, host, pid } = writer;
  return database.transaction(async () => {
    // Of two on a new database no row keeps the second waiting.
    if (database.kind === 'postgres') await database.all('SELECT pg_advisory_xact_lock(723512)');
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
    return other;
  });
}

/** Another writer has taken over from one that was silent for too long. */
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
 * Writes in one transaction, as the writer that it still is; `work` gets how far it has come. Throws a FleetError of kind `config` where another
 * one has taken over: a writer that slept must not write.
 */
export function writeAs<T>(
  database: Database,
  { organizations, owner }: Writer,
  work: (written: State | undefined) => Promise<T>,
): Promise<T> {
  return database.transaction(async () => {
    const leases = await readLeases(database, organizations, true);
    const other = leases.find((lease) => lease.owner !== owner);
    if (other !== undefined || leases.length < organizations.length) throw new Replaced(other);
    return work(leases[0]?.state);
  });
}

/** Lets go, so that the next writer need not wait; nothing where another one took over. */
export async function releaseLease(
  database: Database,
  { organizations, owner }: Writer,
): Promise<void> {
  const own = `organization IN (${quoted(organizations)}) AND owner = ?`;
  await database.all(`UPDATE writers SET heartbeat = NULL WHERE ${own}`, [owner]);
}

/** Writes how far the writer has come, and that it lives. */
export async function writeState(database: Database, { organizations }: Writer, state: State) {
  const sql = `UPDATE writers SET state = ?, heartbeat = ${database.dialect.clock} WHERE organization IN (${quoted(organizations)})`;
  await database.all(sql, [JSON.stringify(state)]);
}

export function writerName({ pid, host }: Lease): string {
  return `process ${pid} on ${host}`;
}

/** What a second writer is told. */
export function inUse(lease: Lease): FleetError {
  return configError(
    `another writer keeps ${lease.organization}: ${writerName(lease)}`,
    'stop it, wait for its end with --standby, or use another database with --to',
  );
}
