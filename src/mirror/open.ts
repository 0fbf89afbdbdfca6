// Opens a mirror for reading or writing, and checks that it belongs to the right service.

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
 * Opens a database and loads its driver. Throws a FleetError whose kind depends on the reason:
 *
 * - `network` (8): the database cannot be reached.
 * - `output` (10): it cannot be written.
 * - `config` (3): it is damaged, missing, not a database, or denies access.
 * - `usage` (2): it refused a query.
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
 * Opens a mirror for reading. Throws like `openDatabase`. Also throws a FleetError of kind `config`
 * for a database that is not a mirror, and for a mirror whose service is not `baseUrl`.
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
      /** The base URL of the service, or undefined when no writer has recorded it yet. */
      baseUrl: found,
      /** The organizations whose bicycles the mirror contains. */
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
    'to start a mirror, run: fleet mirror run',
  );
}

/**
 * Opens a mirror for writing, and creates it in an empty database. Throws if the mirror belongs to
 * another service or to a newer version of fleet. Also throws if the database contains other
 * tables. In all these cases, the database is not changed.
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
