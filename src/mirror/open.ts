// A mirror opened for reading: whose it is, how old, how whole, and whether it can be taken for the service.

import { constants } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { configError } from '../errors.js';
import { readTime } from '../terminal/time.js';
import { type MirrorAddress, showMirrorAddress } from './address.js';
import { type Database, type OpenOptions, openDatabase, type Value } from './database.js';
import { databaseTime, heartbeatAgeMs, isAlive } from './lease.js';
import { checkBaseUrl, readMeta, readSchema } from './schema.js';

/** A mirror that is further behind is not current. */
export const MOST_BEHIND_MS = 10_000;

export type Mirror = Awaited<ReturnType<typeof openMirror>>;

export interface Gap {
  readonly started: string;
  /** Null while it is open. */
  readonly ended: string | null;
  readonly reason: string;
  /** Changes that were found afterwards. */
  readonly found: number;
}

export type MirrorStatus = Awaited<ReturnType<typeof readStatus>>;

/**
 * Opens a mirror for reading. With a base URL, that of another service is refused. Throws as `openDatabase` does, and a FleetError of
 * kind `config` for a database that is none of ours.
 */
export async function openMirror(
  address: MirrorAddress,
  { baseUrl, ...options }: Omit<OpenOptions, 'access'> & { baseUrl?: URL | undefined },
) {
  const isAlone = address.kind === 'sqlite' && (await lacksWal(address.path));
  const database = await openDatabase(address, { ...options, access: 'read' });
  try {
    if ((await readSchema(database)) === undefined) {
      const shown = showMirrorAddress(address);
      if (isAlone) throw configError(`${shown} is incomplete: its -wal file is missing`, COPY_HINT);
      throw configError(`there is no mirror in ${shown}`, 'start one: fleet mirror run');
    }
    const { base_url: found, organizations = [] } = await readMeta(database);
    if (baseUrl !== undefined) checkBaseUrl(found, baseUrl);
    return {
      database,
      /** The service that it is a copy of; undefined until a writer said so. */
      baseUrl: found,
      /** The organizations whose bicycles it holds. */
      organizations,
      status: () => readStatus(database, isAlone),
      close: () => database.close(),
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

const COPY_HINT = 'copy all of its files while nobody writes, or make the copy by: sqlite3 FILE ".backup COPY"';

/** Whether a file of SQLite stands alone that has a log beside it while it is in use (https://sqlite.org/fileformat2.html, 1.3). */
async function lacksWal(path: string): Promise<boolean> {
  if ((await stat(`${path}-wal`).catch(() => undefined)) !== undefined) return false;
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => undefined);
  try {
    const { buffer, bytesRead = 0 } = (await file?.read(Buffer.alloc(20), 0, 20, 0).catch(() => undefined)) ?? {};
    return bytesRead === 20 && buffer?.[19] === 2;
  } finally {
    await file?.close();
  }
}

/** Opens a mirror for writing; one of another service, a newer program or with other tables is refused, and left as it was to the byte. */
export async function openOwn(
  address: MirrorAddress,
  baseUrl: URL,
  options: Omit<OpenOptions, 'access'>,
): Promise<Database> {
  const isNew = address.kind === 'sqlite' && (await stat(address.path).catch(() => undefined)) === undefined;
  if (!isNew) {
    const found = await openDatabase(address, { ...options, access: 'look' });
    try {
      if ((await readSchema(found)) !== undefined) checkBaseUrl((await readMeta(found)).base_url, baseUrl);
    } finally {
      await found.close();
    }
  }
  return openDatabase(address, { ...options, access: 'write' });
}

async function readStatus(database: Database, isAlone: boolean) {
  const now = await databaseTime(database);
  const { lease, snapshot, position, profile, kept_since: keptSince } = await readMeta(database);
  const openGaps = await readGaps(database, 'WHERE ended IS NULL ORDER BY id LIMIT 100');
  const isWritten = isAlive(lease, now);
  const isWhole = snapshot?.isWhole === true;
  // A writer that let go has left nothing in that file.
  const isTorn = isAlone && typeof lease?.heartbeat === 'string';
  // What was missed before it began is a gap from its first batch on.
  const isStarting = isWritten && position?.owner !== lease?.owner;
  const asOf = isWritten && !isStarting ? (lease?.heartbeat ?? undefined) : position?.heard;
  const asOfMs = readTime(asOf);
  const behindMs = isWritten ? (position?.behind ?? 0) * 1000 : 0;
  return {
    profile,
    /** The writer of the last heartbeat; `heartbeatAgeMs` is undefined when it let go. */
    writer: lease && { ...lease, isAlive: isWritten, heartbeatAgeMs: heartbeatAgeMs(lease, now) },
    /** Whether the first reading of the whole list is in. */
    isWhole,
    /** Until when it is true, UTC; undefined when it never was. */
    asOf,
    ageMs: asOfMs === undefined ? undefined : Math.max(0, (readTime(now) ?? asOfMs) - asOfMs) + behindMs,
    /** How far what is written is behind the service, by the messages' own times. */
    behindMs,
    /** When the whole list was last read, UTC, and what the service counted. */
    proven: snapshot?.proven,
    openGaps,
    /** Since when changes are kept. */
    keptSince,
    /** The file beside that of SQLite is missing, with what was written last. */
    isTorn,
    /** The writer has written nothing yet. */
    isStarting,
    /** A live writer, the whole fleet, and no open gap: it can be taken for the service. */
    isCurrent: isWritten && !isStarting && isWhole && openGaps.length === 0 && !isTorn && behindMs <= MOST_BEHIND_MS,
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
