// Saves the tables of a mirror and restores them while a writer runs, as a restored backup or a
// promoted standby does.

import type { Database } from '../../src/mirror/database.js';

export interface Backup {
  /** Copies the tables. A later copy replaces an earlier one. */
  save(database: Database): Promise<void>;
  /** Puts the saved rows back in one transaction, as `.restore` of SQLite does. */
  restore(database: Database): Promise<void>;
}

const TABLES_OF = {
  sqlite: "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'",
  postgres:
    "select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition",
};

/**
 * Lets no writer commit until the end of the transaction. Otherwise PostgreSQL would copy each table
 * at another moment, unlike a backup or a standby, which has all tables at one moment.
 */
async function waitForWriters(database: Database): Promise<void> {
  if (database.kind === 'postgres')
    await database.all('lock table writers in access exclusive mode');
}

/** @param file the path of the copy of an SQLite database, which does not exist yet */
export function openBackup(file: string): Backup {
  let copies = 0;
  const tablesOf = async (database: Database) =>
    (await database.all(TABLES_OF[database.kind])).map(({ name }) => String(name));
  const fileOf = (number: number) => `${file}.${number}`;
  return {
    async save(database) {
      if (database.kind === 'sqlite') {
        await database.all(`vacuum into '${fileOf(copies + 1)}'`);
        copies++;
        return;
      }
      const tables = await tablesOf(database);
      await database.transaction(async () => {
        await waitForWriters(database);
        await database.all('drop schema if exists backup cascade');
        await database.all('create schema backup');
        for (const table of tables)
          await database.all(`create table backup.${table} as select * from ${table}`);
      });
    },
    async restore(database) {
      if (database.kind === 'sqlite') await database.all(`attach '${fileOf(copies)}' as backup`);
      const tables = await tablesOf(database);
      await database.transaction(async () => {
        await waitForWriters(database);
        for (const table of tables) {
          await database.all(`delete from ${table}`);
          await database.all(`insert into ${table} select * from backup.${table}`);
        }
      });
    },
  };
}
