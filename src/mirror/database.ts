// Opens the database of a mirror, whichever it is; each is loaded when it is asked for.

import type { MirrorAddress } from './address.js';
import type { Database, OpenOptions } from './engine.js';

export type { Answer, Column, Database, OpenOptions, Row, Value } from './engine.js';

/**
 * Opens the database. Throws a FleetError: 8 (`network`) out of reach, 10 (`output`) it cannot be written, 3 (`config`) it is
 * damaged, no database, not there, or the access is refused; 2 (`usage`) a query that the database refuses.
 */
export async function openDatabase(address: MirrorAddress, options: OpenOptions): Promise<Database> {
  if (address.kind === 'sqlite') return (await import('./sqlite.js')).openSqlite(address.path, options);
  return (await import('./postgres.js')).openPostgres(address.url, options);
}
