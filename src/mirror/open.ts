// Opens a mirror: for reading, whose it is; for writing, where it is ours.

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
 * Opens the database; what it needs is loaded then. Throws a FleetError: 8 (`network`) out of reach, 10 (`output`) it cannot be written, 3
 * (`config`) it is damaged, no database, not there, or the access is refused; 2 (`usage`) a query that the database refuses.
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
 * Opens a mirror for reading. With a base URL, that of another service is refused. Throws as `openDatabase` does, and a FleetError of
 * kind `config` for a database that is none of ours.
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
      /** The service that it is a copy of; undefined until a writer said so. */
      baseUrl: found,
      /** The organizations whose bicycles it holds. */
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

/** Opens a mirror for writing, or what becomes one where that is fine; one of another service, a newer program or with other tables is refused, and left as it was to the byte. */
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
