// Opens a mirror for reading or writing, and checks which service it belongs to.

import { existsSync } from 'node:fs';
import { configError, type FleetError } from '../errors.js';
import { type MirrorAddress, showMirrorAddress } from './address.js';
import type { Database, OpenOptions } from './database.js';
import { checkBaseUrl, readMeta, readSchema, SCHEMA_NUMBER } from './schema.js';
import { readStatus } from './status.js';
import { readLeases } from './writers.js';

type Opening = Omit<OpenOptions, 'access'>;

export type Mirror = Awaited<ReturnType<typeof openMirror>>;

/**
 * Opens the database and loads its driver. Throws a FleetError of kind `network` (8) when the
 * database cannot be reached, `output` (10) when it cannot be written, `config` (3) when it is
 * damaged, missing, not a database, or denies access, and `usage` (2) for a refused query.
 */
export async function openDatabase(
  address: MirrorAddress,
  options: OpenOptions,
): Promise<Database> {
  options.signal.throwIfAborted();
  return address.kind === 'sqlite'
    ? (await import('./sqlite.js')).openSqlite(address.path, options)
    : (await import('./postgres.js')).openPostgres(address.url, options);
}

/**
 * Opens a mirror for reading. With a base URL, the mirror of another service is refused. Throws
 * like `openDatabase`, and a FleetError of kind `config` for a database that is not a mirror.
 */
export async function openMirror(
  address: MirrorAddress,
  { baseUrl, ...options }: Opening & { baseUrl?: URL | undefined },
) {
  const database = await openDatabase(address, { ...options, access: 'read' });
  try {
    const schema = await readSchema(database);
    if (schema !== undefined && schema < SCHEMA_NUMBER)
      throw configError(
        'the mirror was written by an older version of fleet',
        'upgrade it: fleet mirror upgrade',
      );
    if (schema === undefined) throw missing(address);
    const { base_url: found } = await readMeta(database);
    if (baseUrl !== undefined) checkBaseUrl(found, baseUrl);
    return {
      ...{ address, database },
      /** The service that the mirror copies; undefined until a writer recorded it. */
      baseUrl: found,
      /** The organizations with bicycles in the mirror. */
      organizations: (await readLeases(database)).map(({ organization }) => organization),
      status: () => readStatus(database),
      close: () => database.close(),
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

function missing(address: MirrorAddress): FleetError {
  return configError(
    `there is no mirror in ${showMirrorAddress(address)}`,
    'start one: fleet mirror run',
  );
}

/**
 * Opens a mirror for writing, and creates it if the database is empty. Refuses a mirror of another
 * service, a mirror of a newer program, and a database with other tables. A refused database stays
 * unchanged.
 */
export async function openOwn(
  address: MirrorAddress,
  baseUrl: URL,
  options: Opening,
  isNewFine = true,
) {
  if (address.kind !== 'sqlite' || !isNewFine || existsSync(address.path)) {
    const found = await openDatabase(address, { ...options, access: 'look' });
    try {
      if ((await readSchema(found)) !== undefined)
        checkBaseUrl((await readMeta(found))['base_url'], baseUrl);
      else if (!isNewFine) throw missing(address);
    } finally {
      await found.close();
    }
  }
  return openDatabase(address, { ...options, access: 'write' });
}
