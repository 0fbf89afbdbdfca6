// A report about a week of 10,000 bicycles with 5,000,000 changes needs at most 10 s of processor
// time and 200 MB of memory.

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { migrate } from '../../src/mirror/schema.js';
import { newFolder } from '../support/folder.js';
import { withDatabase } from '../support/mirror.js';
import { isExecutable, PROGRAM_ARGS, PROGRAM_FILE } from '../support/program.js';
import { writeLease } from '../support/simulated-fleet.js';

const BICYCLES = 10_000;
const CHANGES = 5_000_000;
const WEEK_SECONDS = 7 * 86_400;
const LIMIT_KB = 200 * 1024;
const LIMIT_SECONDS = 10;

/** Prints the memory and the processor time of the program at its end. */
const HOOK = `data:text/javascript,${encodeURIComponent(
  `process.on('exit', () => {
    const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
    process._rawDebug('used ' + maxRSS + ' ' + (userCPUTime + systemCPUTime) / 1e6);
  })`,
)}`;

const UUID = `printf('%08x-0000-4000-8000-%012d', (n % ${BICYCLES}) * 7919 % 4294967296, n % ${BICYCLES})`;
const timeOf = (seconds: string) =>
  `strftime('%Y-%m-%dT%H:%M:%f000Z', 1793577600 + ${seconds}, 'unixepoch')`;

/** Every sixth round of changes is a change of the state. */
const FILL = [
  `INSERT INTO bicycles (uuid, name, state, created_utc, first_seen, last_seen, raw)
    WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${BICYCLES - 1})
    SELECT ${UUID}, 'Bike ' || n, 'available', '2025-01-01T00:00:00.000000Z', ${timeOf(`-8 * 86400`)}, ${timeOf('0')}, '{}' FROM numbers`,
  `INSERT INTO changes (at, received, bicycle, version, field, old, new, source)
    WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${CHANGES - 1}),
    rounds AS (SELECT n, n / ${BICYCLES} AS round, ${timeOf(`n * ${WEEK_SECONDS}.0 / ${CHANGES}`)} AS at FROM numbers)
    SELECT at, at, ${UUID}, n,
      CASE WHEN round % 6 = 0 THEN 'state' ELSE 'latitude' END,
      CASE WHEN round % 6 > 0 THEN '52.1' WHEN round % 12 = 0 THEN '"available"' ELSE '"rented"' END,
      CASE WHEN round % 6 > 0 THEN '52.2' WHEN round % 12 = 0 THEN '"rented"' ELSE '"available"' END, 'push' FROM rounds`,
];

test.skipIf(isExecutable)(
  'a weekly report on 5,000,000 changes stays within its limits',
  async () => {
    const address = `sqlite:${join(newFolder(), 'fleet.db')}`;
    await withDatabase(address, async (database) => {
      await migrate(database);
      for (const sql of FILL) await database.all(sql);
      const now = Date.now();
      await writeLease(database, {
        heardMs: now,
        heartbeat: new Date(now + 600_000).toISOString().replace('Z', '000Z'),
      });
    });
    const args = ['--since', '2026-11-02T00:00:00Z', '--until', '2026-11-09T00:00:00Z', '--json'];
    const child = spawn(
      PROGRAM_FILE,
      ['--import', HOOK, ...PROGRAM_ARGS, 'report', '--to', address, ...args],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...process.env, FLEET_CONFIG_DIR: '/nonexistent' },
      },
    );
    const texts = { stdout: '', stderr: '' };
    child.stdout.on('data', (chunk) => {
      texts.stdout += chunk;
    });
    child.stderr.on('data', (chunk) => {
      texts.stderr += chunk;
    });
    const code = await new Promise((resolve) => child.on('close', resolve));
    expect([code, texts.stderr]).toEqual([0, expect.stringContaining('used')]);
    const [, memory, seconds] = /used (\d+) ([\d.]+)/.exec(texts.stderr) ?? [];
    const { figures } = JSON.parse(texts.stdout);
    const rentals = figures.find(({ name }: { name: string }) => name === 'rentals');
    expect(rentals).toMatchObject({ value: 42 * BICYCLES, certain: true });
    expect(Number(memory)).toBeLessThan(LIMIT_KB);
    expect(Number(seconds)).toBeLessThan(LIMIT_SECONDS);
  },
  600_000,
);
