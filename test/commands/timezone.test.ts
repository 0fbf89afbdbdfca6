// Tests times in the zone of the machine. The transcript test/transcripts/config/timezone.md shows
// `--timezone`.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { readWorkbook } from '../../src/input/workbook.js';
import { newFolder } from '../support/folder.js';
import { runFleet } from '../support/run.js';
import { openServer, sendJson } from '../support/server.js';

const { signal } = new AbortController();
const NOW = Date.parse('2026-11-28T10:49:45Z');
const UUID = '00000001-0000-4000-8000-000000000000';
const BICYCLES = [
  { uuid: UUID, name: 'A', state: 'lost', created: '2026-11-28T09:49:44Z' },
  { uuid: UUID.replace('1', '2'), name: 'B', state: 'lost', created: '2026-11-28T09:49:45Z' },
  { uuid: UUID.replace('1', '3'), name: 'C', state: 'lost', created: '2026-11-26T22:59:59Z' },
];

async function run(args: readonly string[], terminal?: { columns: number }) {
  const { env } = await openServer((response, { path }) => {
    if (path.startsWith('/alerts/')) return sendJson(response, 200, []);
    if (path === `/bicycles/${UUID}/`) return sendJson(response, 200, BICYCLES[0]);
    return sendJson(response, 200, { count: BICYCLES.length, next: null, results: BICYCLES });
  });
  return runFleet(args, {
    env,
    now: () => NOW,
    ...(terminal === undefined ? {} : { terminal }),
  });
}

describe('times without --timezone', () => {
  afterEach(() => {
    process.env['TZ'] = 'UTC';
  });

  test('times are shown in the zone of the machine when --timezone is missing', async () => {
    process.env['TZ'] = 'Asia/Tokyo';
    const card = await run(['bicycles', 'get', UUID], { columns: 80 });
    expect(card.stdout).toContain('1 h ago (2026-11-28 18:49:44)');
    const { stdout } = await run([
      ...['bicycles', 'list', '--where', 'created>=2026-11-28 18:49:45'],
      ...['--jq', '.[].name', '-q'],
    ]);
    expect(stdout).toBe('B\n');
  });

  test.each(['', 'UTC-3', 'Foo/Bar'])(
    'reads back a workbook that was written with TZ="%s"',
    async (zone) => {
      process.env['TZ'] = zone;
      const file = join(newFolder(), 'fleet.xlsx');
      expect((await run(['bicycles', 'list', '--file', file])).code).toBe(0);
      const row = await run(['bicycles', 'act', 'retire', '--from', file, '--dry-run']);
      expect([row.code, row.stderr]).toEqual([0, expect.stringContaining('3 requests')]);
      const { rows } = await readWorkbook(await readFile(file), file, { signal });
      const [header] = rows;
      expect(header?.cells.filter((cell) => cell?.startsWith('created'))).toEqual([
        'created (UTC)',
      ]);
    },
  );
});
