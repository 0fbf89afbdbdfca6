// A mirror opened for reading: whose it is, how old, how whole, and whether it can be taken for the service.

import { configError } from '../errors.js';
import { readTime } from '../terminal/time.js';
import { type MirrorAddress, showMirrorAddress } from './address.js';
import { type Database, type OpenOptions, openDatabase, type Value } from './database.js';
import { databaseTime, heartbeatAgeMs, isAlive } from './lease.js';
import { checkBaseUrl, type Lease, readMeta, readSchema } from './schema.js';

export interface Mirror {
  readonly database: Database;
  /** The service that it is a copy of; undefined until a writer said so. */
  readonly baseUrl: string | undefined;
  /** The organizations whose bicycles it holds. */
  readonly organizations: readonly string[];
  status(): Promise<MirrorStatus>;
  close(): Promise<void>;
}

export interface Gap {
  readonly started: string;
  /** Null while it is open. */
  readonly ended: string | null;
  readonly reason: string;
  /** Changes that were found afterwards. */
  readonly found: number;
}

export interface MirrorStatus {
  readonly profile: string | undefined;
  /** The writer of the last heartbeat; `heartbeatAgeMs` is undefined when it let go. */
  readonly writer: (Lease & { readonly isAlive: boolean; readonly heartbeatAgeMs: number | undefined }) | undefined;
  /** Whether the first reading of the whole list is in. */
  readonly isWhole: boolean;
  /** Until when it is true, UTC; undefined when it never was. */
  readonly asOf: string | undefined;
  readonly ageMs: number | undefined;
  readonly openGaps: readonly Gap[];
  /** Since when changes are kept. */
  readonly keptSince: string | undefined;
  /** A live writer, the whole fleet, and no open gap: it can be taken for the service. */
  readonly isCurrent: boolean;
}

/**
 * Opens a mirror for reading. With a base URL, that of another service is refused. Throws as `openDatabase` does, and a FleetError of
 * kind `config` for a database that is none of ours.
 */
export async function openMirror(
  address: MirrorAddress,
  { baseUrl, ...options }: Omit<OpenOptions, 'access'> & { baseUrl?: URL | undefined },
): Promise<Mirror> {
  const database = await openDatabase(address, { ...options, access: 'read' });
  try {
    if ((await readSchema(database)) === undefined)
      throw configError(`there is no mirror in ${showMirrorAddress(address)}`, 'start one: fleet mirror run');
    const { base_url: found, organizations = [] } = await readMeta(database);
    if (baseUrl !== undefined) checkBaseUrl(found, baseUrl);
    return {
      database,
      baseUrl: found,
      organizations,
      status: () => readStatus(database),
      close: () => database.close(),
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function readStatus(database: Database): Promise<MirrorStatus> {
  const now = await databaseTime(database);
  const { lease, snapshot, position, profile, kept_since: keptSince } = await readMeta(database);
  const openGaps = await readGaps(database, 'WHERE ended IS NULL ORDER BY id LIMIT 100');
  const isWritten = isAlive(lease, now);
  const isWhole = snapshot?.isWhole === true;
  const asOf = isWritten ? (lease?.heartbeat ?? undefined) : position?.heard;
  const asOfMs = readTime(asOf);
  return {
    profile,
    writer: lease && { ...lease, isAlive: isWritten, heartbeatAgeMs: heartbeatAgeMs(lease, now) },
    isWhole,
    asOf,
    ageMs: asOfMs === undefined ? undefined : Math.max(0, (readTime(now) ?? asOfMs) - asOfMs),
    openGaps,
    keptSince,
    isCurrent: isWritten && isWhole && openGaps.length === 0,
  };
}

/** Gaps; `tail` is what stands behind the table: which, in which order, how many. */
export async function readGaps(database: Database, tail: string, ...values: readonly Value[]): Promise<Gap[]> {
  const rows = await database.all(`SELECT started, ended, reason, found FROM gaps ${tail}`, values);
  return rows.map(({ started, ended, reason, found }) => ({
    started: String(started),
    ended: ended === null ? null : String(ended),
    reason: String(reason),
    found: Number(found),
  }));
}
