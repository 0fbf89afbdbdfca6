// Creates the databases for mirror tests: a new SQLite file, or a new database of the run's
// PostgreSQL.

import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type MirrorAddress, parseMirrorAddress } from '../../src/mirror/address.js';
import type { Database, OpenOptions } from '../../src/mirror/database.js';
import { openDatabase } from '../../src/mirror/open.js';
import { migrate, SCHEMA_BEFORE, tablesOf, writeMeta } from '../../src/mirror/schema.js';
import { newFolder } from './folder.js';
import { usePostgres } from './postgres.js';
import { hasTool } from './tools.js';

export type Engine = [kind: Database['kind'], newText: () => Promise<string>];

/** Each database engine of this machine with a function that returns the URL of a new database. */
export function useEngines(): [Engine, ...Engine[]] {
  const folder = newFolder();
  const engines: [Engine, ...Engine[]] = [
    ['sqlite', async () => `sqlite:${join(folder, randomUUID(), 'fleet.db')}`],
  ];
  if (hasTool('postgres')) engines.push(['postgres', usePostgres()]);
  return engines;
}

export function addressOf(text: string): MirrorAddress {
  const parsed = parseMirrorAddress(text);
  if ('reason' in parsed) throw new Error(parsed.reason);
  return parsed.value;
}

const connect = (text: string, options: Partial<OpenOptions>): Promise<Database> =>
  openDatabase(addressOf(text), {
    access: 'write',
    signal: new AbortController().signal,
    env: {},
    ...options,
  });

/** Opens a database for writing, or reading, and closes it afterwards. */
export async function withDatabase<Result>(
  text: string,
  use: (database: Database) => Promise<Result>,
  access: 'read' | 'write' = 'write',
): Promise<Result> {
  const database = await connect(text, { access });
  try {
    return await use(database);
  } finally {
    await database.close();
  }
}

/** Opens the database until the end of the test. */
export async function openedDatabase(
  text: string,
  options: Partial<OpenOptions> = {},
): Promise<Database> {
  const database = await connect(text, options);
  onTestFinished(database.close);
  return database;
}

/** Opens a mirror until the end of the test. */
export async function openedMirror(text: string): Promise<Database> {
  const database = await openedDatabase(text);
  await migrate(database);
  return database;
}

/** Makes a mirror of an older schema, with a view that has fewer columns. */
export async function makeOld(database: Database, schema = SCHEMA_BEFORE): Promise<void> {
  for (const sql of tablesOf(database.dialect)) await database.all(sql);
  await database.all('create index bicycles_modified on bicycles (modified_utc)');
  for (const name of ['latest', 'silent'])
    await database.all(`create view ${name} as select uuid, name from bicycles`);
  for (const name of ['state_durations', 'rentals'])
    await database.all(`create view ${name} as select uuid as bicycle, name from bicycles`);
  await writeMeta(database, { schema: String(schema) });
}
