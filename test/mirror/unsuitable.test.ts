// Tests databases that cannot hold a mirror, mirrors on read-only file systems, and permanent
// errors.

import { randomUUID } from 'node:crypto';
import { chmodSync, copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { environmentOf } from '../support/environment.js';
import { newFolder } from '../support/folder.js';
import { makeMirror, organizationOf } from '../support/made-mirror.js';
import { useEngines, withDatabase } from '../support/mirror.js';
import { type RunResult, runFleet } from '../support/run.js';
import { useSandbox } from '../support/sandbox.js';

const sandbox = useSandbox({ bicycles: 30, rate: 0 });
const postgres = useEngines().filter(([kind]) => kind === 'postgres');

/** A user without rights on the files of the tests. */
const NOBODY = 65534;

async function environment(): Promise<NodeJS.ProcessEnv> {
  const env = await environmentOf(sandbox());
  return { ...env, FLEET_ORGANIZATION: organizationOf(sandbox()) };
}

/** Creates a database like the one of this address with other options, and returns its address. */
async function createBeside(to: string, options: string): Promise<string> {
  const name = `other_${randomUUID().slice(0, 8)}`;
  const client = new pg.Client({ connectionString: to });
  await client.connect();
  await client.query(`create database ${name} template template0 ${options}`);
  await client.end();
  return to.replace(/[^/]*$/, name);
}

describe.each(postgres)('%s', (_kind, newText) => {
  test('refuses a database with an unsupported encoding and exits with 3', async () => {
    const to = await createBeside(await newText(), "encoding 'LATIN1' lc_collate 'C' lc_ctype 'C'");
    for (const verb of ['once', 'run'])
      expect(
        await runFleet(['mirror', verb, '--to', to], { env: await environment() }),
      ).toMatchObject({
        code: 3,
        stderr: expect.stringMatching(/has the encoding LATIN1.*hint: .*UTF8/s),
      });
  });

  test('accepts a database with SQL_ASCII encoding', async () => {
    const to = await createBeside(
      await newText(),
      "encoding 'SQL_ASCII' lc_collate 'C' lc_ctype 'C'",
    );
    const run = await runFleet(['mirror', 'once', '--to', to], { env: await environment() });
    expect(run).toMatchObject({ code: 0 });
  });

  test.each([
    ['an empty search_path', "''", 3, /has no schema for the tables/],
    ['a missing schema', 'nothing', 3, /has no schema for the tables/],
  ])('explains %s', async (_what, path, code, message) => {
    const env = { ...(await environment()), PGOPTIONS: `-c search_path=${path}` };
    const to = await newText();
    expect(await runFleet(['mirror', 'once', '--to', to], { env })).toMatchObject({
      code,
      stderr: expect.stringMatching(message),
    });
    expect(await runFleet(['mirror', 'status', '--to', to], { env })).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/there is no mirror/),
    });
  });

  test('ends at once when the server is read-only or the role lacks write permission', async () => {
    const to = await newText();
    await makeMirror(to, { sandbox: sandbox() });
    const env = await environment();
    const readOnly = { ...env, PGOPTIONS: '-c default_transaction_read_only=on' };
    expect(await runFleet(['mirror', 'once', '--to', to], { env: readOnly })).toMatchObject({
      code: 10,
      stderr: expect.stringMatching(/^(?![\s\S]*trying again)[\s\S]*is read-only/),
    });
    const role = `weak_${randomUUID().slice(0, 8)}`;
    await withDatabase(to, async (database) => {
      await database.all(`create role ${role} login`);
      await database.all(`grant select on all tables in schema public to ${role}`);
    });
    onTestFinished(() =>
      withDatabase(to, async (database) => {
        await database.all(`drop owned by ${role}`);
        await database.all(`drop role ${role}`);
      }),
    );
    const asRole = to.replace('postgres@', `${role}@`);
    expect(await runFleet(['mirror', 'once', '--to', asRole], { env })).toMatchObject({
      code: 10,
      stderr: expect.stringMatching(
        /^(?![\s\S]*trying again)[\s\S]*cannot be written: permission denied/,
      ),
    });
    await withDatabase(to, (database) => database.all(`revoke all on meta from ${role}`));
    expect(await runFleet(['mirror', 'status', '--to', asRole], { env })).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/refuses this role: permission denied for table meta/),
    });
  });
});

/** Makes a closed mirror in a file that other users cannot write. */
async function makeSealed(folderMode: number): Promise<{ folder: string; to: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-sealed-'));
  const path = join(folder, 'fleet.db');
  const made = join(newFolder(), 'fleet.db');
  await makeMirror(`sqlite:${made}`, { sandbox: sandbox() });
  await withDatabase(`sqlite:${made}`, (database) =>
    database.all('pragma wal_checkpoint(truncate)'),
  );
  copyFileSync(made, path);
  chmodSync(path, 0o444);
  chmodSync(folder, folderMode);
  onTestFinished(() => {
    chmodSync(folder, 0o755);
    rmSync(folder, { recursive: true, force: true });
  });
  return { folder, to: `sqlite:${path}` };
}

/** Runs the command as a user who is not root, because root may write everywhere. */
async function runAsOther(args: string[], env: NodeJS.ProcessEnv): Promise<RunResult> {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(NOBODY);
  try {
    return await runFleet(args, { env });
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

describe.runIf(process.platform === 'linux')('a SQLite file that cannot be written', () => {
  test('reads a read-only SQLite file without creating other files', async () => {
    const { folder, to } = await makeSealed(0o555);
    expect(readdirSync(folder)).toEqual(['fleet.db']);
    const env = { ...(await environment()), FLEET_CONFIG_DIR: join(folder, 'config') };
    const list = ['bicycles', 'list', '--offline', '--all', '-o', 'uuid', '--to', to];
    const run = await runAsOther(list, env);
    expect(run, run.stderr).toMatchObject({ code: 0 });
    expect(run.stdout.split('\n').length).toBeGreaterThan(10);
    expect(readdirSync(folder)).toEqual(['fleet.db']);
  });

  test.each([
    ['a folder that can be written', 0o777],
    ['a sealed folder', 0o555],
  ])('`mirror once` does not retry for a read-only file in %s', async (_what, folderMode) => {
    const { folder, to } = await makeSealed(folderMode);
    const env = { ...(await environment()), FLEET_CONFIG_DIR: join(folder, 'config') };
    const run = await runAsOther(['mirror', 'once', '--to', to], env);
    expect(run).toMatchObject({ code: 10, stderr: expect.stringMatching(/cannot be/) });
    expect(run.stderr).not.toContain('trying again');
  });
});
