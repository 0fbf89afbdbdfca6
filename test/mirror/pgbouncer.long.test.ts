// Tests the commands of a mirror through a real PgBouncer in transaction mode.

import { spawn } from 'node:child_process';
import { chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { environmentOf } from '../support/environment.js';
import { freePort } from '../support/listen.js';
import { organizationOf } from '../support/made-mirror.js';
import { announcePostgres } from '../support/postgres.js';
import { runFleet } from '../support/run.js';
import { startFleet } from '../support/running.js';
import { useSandbox } from '../support/sandbox.js';
import { hasCommand, reportSkip } from '../support/tools.js';

const stopPostgres =
  process.env['FLEET_TEST_POSTGRES'] === undefined ? announcePostgres() : () => {};
const { useEngines } = await import('../support/mirror.js');

const sandbox = useSandbox({ bicycles: 60, rate: 20 });
const postgres = useEngines().find(([kind]) => kind === 'postgres');
const canRun = postgres !== undefined && hasCommand('pgbouncer');
if (!canRun) reportSkip('SKIPPED without pgbouncer: a mirror through PgBouncer');

/** The user that runs PgBouncer when the tests run as root, because it refuses root. */
const NOBODY = 65534;
/** A mirror is current after a second look, 30 s after its start. */
const PATIENCE_MS = 90_000;

/** Starts PgBouncer with few connections to the server, until the end of the test. */
async function startBouncer(url: string): Promise<string> {
  // Other folders of the tests are private to their user.
  const folder = mkdtempSync(join(tmpdir(), 'fleet-pgbouncer-'));
  const { port: serverPort, pathname } = new URL(url);
  const port = await freePort();
  const config = join(folder, 'pgbouncer.ini');
  const log = join(folder, 'log');
  writeFileSync(log, '');
  writeFileSync(
    config,
    `[databases]
* = host=127.0.0.1 port=${serverPort} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
auth_type = any
pool_mode = transaction
default_pool_size = 2
unix_socket_dir =
logfile = ${log}
`,
  );
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) for (const each of [folder, config, log]) chownSync(each, NOBODY, NOBODY);
  const bouncer = spawn('pgbouncer', [config], {
    ...(isRoot && { uid: NOBODY, gid: NOBODY }),
    stdio: 'ignore',
  });
  onTestFinished(() => {
    bouncer.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  await expect
    .poll(() => readFileSync(log, 'utf8'), { timeout: PATIENCE_MS })
    .toContain('process up');
  return `postgres://postgres@127.0.0.1:${port}${pathname}`;
}

test.runIf(canRun)(
  'every mirror command works through PgBouncer',
  async () => {
    const to = await startBouncer((await postgres?.[1]()) ?? '');
    const env = {
      ...(await environmentOf(sandbox())),
      FLEET_ORGANIZATION: organizationOf(sandbox()),
    };
    const other = new pg.Client({ connectionString: to });
    await other.connect();
    onTestFinished(() => other.end());
    await other.query('create schema other');
    await other.query('create table other.notes (n integer)');
    const fleet = async (...words: string[]) => {
      const run = await runFleet([...words, '--to', to], { env });
      await other.query('insert into other.notes values (1)');
      const { rows } = await other.query('show intervalstyle');
      expect(rows, words.join(' ')).toEqual([{ IntervalStyle: 'postgres' }]);
      return run;
    };
    expect(await fleet('mirror', 'once')).toMatchObject({ code: 0 });
    const writers = [startFleet(['mirror', 'run', '--to', to], { env })];
    onTestFinished(async () => {
      for (const writer of writers) await writer.stop('SIGTERM').catch(() => undefined);
    });
    const status = async () => (await fleet('mirror', 'status')).code;
    await expect.poll(status, { timeout: PATIENCE_MS }).toBe(0);
    const commands = [
      ['mirror', 'query', '--allow-superuser', 'select count(*) from changes'],
      ['mirror', 'replay', '--speed', 'max', '--max-events', '5'],
      ['mirror', 'upgrade'],
      ['bicycles', 'list', '--offline', '--all'],
      ['bicycles', 'stats', '--offline'],
      ['alerts', 'list', '--offline'],
    ];
    for (let round = 0; round < 5; round++) {
      const runs = await Promise.all(commands.map((words) => fleet(...words)));
      for (const run of runs) expect(run, run.stderr).toMatchObject({ code: 0 });
    }
    await expect.poll(status, { timeout: PATIENCE_MS }).toBe(0);
    expect(writers[0]?.stderr()).not.toMatch(/database/);
  },
  4 * PATIENCE_MS,
);

afterAll(stopPostgres);
