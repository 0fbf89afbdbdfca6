// Stores the names of organizations, zones and models in a mirror. With `--offline`, fleet uses
// them to find these resources by name.

import { NAMED, type NamedKind } from '../api/named.js';
import type { Item } from '../http/types.js';
import { parseJson } from '../json/parse.js';
import type { Database } from './database.js';
import { lateItem } from './rows.js';

/** The kinds of resources whose names are stored. */
export const MIRRORED_NAMES: readonly NamedKind[] = [NAMED.organization, NAMED.zone, NAMED.model];

/** Stores names by UUID. Keeps all other names, because another writer may have stored them. */
export async function storeNames(
  database: Database,
  kind: NamedKind,
  names: ReadonlyMap<string, string>,
): Promise<void> {
  const rows = [...names].map(([uuid, name]) => [kind.one, uuid, name]);
  // All writers lock the rows in the same order, which prevents deadlocks.
  rows.sort(([, one = ''], [, other = '']) => (one < other ? -1 : 1));
  await database.write('names', ['kind', 'uuid', 'name'], rows, ['kind', 'uuid']);
}

/** Returns the stored names of a kind as list items. */
export async function readStoredNames<T>(database: Database, kind: NamedKind): Promise<Item<T>[]> {
  const rows = await database.all('SELECT uuid, name FROM names WHERE kind = ? ORDER BY uuid', [
    kind.one,
  ]);
  return rows.map(({ uuid, name }) => lateItem<T>(JSON.stringify({ uuid, name }), parseJson));
}
