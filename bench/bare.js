// Measures the database drivers alone. They write the same rows as the mirror for messages of
// moving bicycles: three rows of history for each message, and each bicycle of a batch once. `node
// bench/bare.js ADDRESS MESSAGES FLEET` prints the number of messages per second.

import { finished } from 'node:stream/promises';

const BATCH = 2_700;
const RAW = 'x'.repeat(650);
const TABLES = `
  create table bicycles (uuid text primary key, latitude text, longitude text, latest_gps_timestamp text, modified text, raw text);
  create table changes (at text, received text, bicycle text, version bigint, field text, old text, new text, source text);
  create index changes_at on changes (at);
  create index changes_bicycle on changes (bicycle, version)`;

const [address, messages, fleet] = process.argv.slice(2);
const timeOf = (index) => new Date(Date.UTC(2026, 10, 21, 10) + index).toISOString();

/** Returns the rows of a batch. */
function rowsFrom(first) {
  const changes = [];
  const bicycles = new Map();
  for (let index = first; index < Math.min(first + BATCH, Number(messages)); index++) {
    const uuid = `6f1c0b5e-2f0e-4c56-9d3a-${(index % Number(fleet)).toString(16).padStart(12, '0')}`;
    const at = timeOf(index);
    for (const field of ['latitude', 'longitude', 'latest_gps_timestamp'])
      changes.push([at, at, uuid, index, field, '52.51234', '52.51235', 'push']);
    bicycles.set(uuid, [uuid, '52.51235', '13.31235', at, at, RAW]);
  }
  return { changes, bicycles: [...bicycles.values()] };
}

const UPSERT =
  'on conflict (uuid) do update set latitude = excluded.latitude, longitude = excluded.longitude, latest_gps_timestamp = excluded.latest_gps_timestamp, modified = excluded.modified, raw = excluded.raw';

async function openSqlite(path) {
  const own = process.getBuiltinModule('node:sqlite');
  const database =
    own === undefined ? new (await import('libsql')).default(path) : new own.DatabaseSync(path);
  database.exec(
    `pragma journal_mode = wal; pragma synchronous = normal; pragma wal_autocheckpoint = 8000; ${TABLES}`,
  );
  const change = database.prepare('insert into changes values (?, ?, ?, ?, ?, ?, ?, ?)');
  const bicycle = database.prepare(`insert into bicycles values (?, ?, ?, ?, ?, ?) ${UPSERT}`);
  return {
    async write({ changes, bicycles }) {
      database.exec('begin immediate');
      for (const row of changes) change.run(...row);
      for (const row of bicycles) bicycle.run(...row);
      database.exec('commit');
    },
    close: async () => database.close(),
  };
}

async function openPostgres(url) {
  const { default: pg } = await import('pg');
  const { from } = await import('pg-copy-streams');
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(TABLES);
  await client.query('create temp table incoming (like bicycles) on commit delete rows');
  const copy = async (table, rows) => {
    const stream = client.query(from(`copy ${table} from stdin`));
    stream.end(rows.map((row) => `${row.join('\t')}\n`).join(''));
    await finished(stream);
  };
  return {
    async write({ changes, bicycles }) {
      await client.query('begin');
      await copy('changes', changes);
      await copy('incoming', bicycles);
      await client.query(`insert into bicycles select * from incoming ${UPSERT}`);
      await client.query('commit');
    },
    close: () => client.end(),
  };
}

const database = address.startsWith('sqlite:')
  ? await openSqlite(address.slice(7))
  : await openPostgres(address);
const startedAt = performance.now();
for (let first = 0; first < Number(messages); first += BATCH) await database.write(rowsFrom(first));
console.log(Math.round(Number(messages) / ((performance.now() - startedAt) / 1000)));
await database.close();
