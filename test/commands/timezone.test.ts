// Tests `--timezone` for shown and typed times; formats for programs stay in UTC.

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

const names = (condition: string, zone: string) =>
  run(['bicycles', 'list', '--where', condition, '--timezone', zone, '--jq', '.[].name', '-q']);

describe('the time zone of --where conditions', () => {
  test.each([
    ['created>=2026-11-28 10:49:45', 'Europe/Berlin', 'B\n'],
    ['created>=2026-11-28 09:49:45', 'UTC', 'B\n'],
    ['created>=2026-11-28 10:49:45', 'UTC', ''],
    ['created>yesterday', 'Europe/Berlin', 'A\nB\n'],
    ['created>yesterday', 'UTC', 'A\nB\n'],
    ['created>yesterday', 'America/New_York', 'A\nB\n'],
    ['created<friday', 'Europe/Berlin', 'C\n'],
    ['created>1w', 'UTC', 'A\nB\nC\n'],
    ['created<27.11.2026', 'Europe/Berlin', 'C\n'],
    ['created<27.11.2026', 'America/New_York', 'C\n'],
    ['created=2026-11-28 10:49:45', 'Europe/Berlin', 'B\n'],
    ['created=2026-11-28T09:49:45Z', 'Asia/Tokyo', 'B\n'],
  ])('selects bicycles with %s in %s', async (condition, zone, stdout) => {
    expect(await names(condition, zone)).toEqual({ code: 0, stdout, stderr: '' });
  });

  test('rejects a date that does not exist before it sends anything', async () => {
    const { code, stderr } = await names('created>31.02.2026', 'UTC');
    expect(code).toBe(2);
    expect(stderr).toContain('"created>31.02.2026" compares created, which is a time');
  });

  test('compares other texts as words', async () => {
    expect((await names('name<monday', 'UTC')).stdout).toBe('A\nB\nC\n');
  });
});

test.each([
  ['Europe/Berlin', '2026-11-28 10:49:44'],
  ['Asia/Kolkata', '2026-11-28 15:19:44'],
  ['UTC', '2026-11-28 09:49:44'],
])('`get` on a terminal shows times in %s', async (zone, time) => {
  const { stdout } = await run(['bicycles', 'get', UUID, '--timezone', zone], { columns: 80 });
  expect(stdout).toContain(`1 h ago (${time})`);
});

test('keeps times unchanged in formats for programs', async () => {
  for (const format of ['json', 'csv', 'table']) {
    const { stdout } = await run(
      ['bicycles', 'list', '--timezone', 'Asia/Tokyo', '-o', format, '-q'].concat(
        format === 'json' ? [] : ['--columns', 'created'],
      ),
    );
    expect(stdout).toContain('2026-11-28T09:49:45Z');
  }
});

test.each([
  ['Berlin', 'did you mean "Europe/Berlin"?'],
  ['Europe/Berlni', 'did you mean "Europe/Berlin"?'],
  ['new york', 'did you mean "America/New_York"?'],
  ['Mars/Olympus', 'for example Europe/Berlin or UTC'],
])('rejects the zone %s', async (zone, hint) => {
  const { code, stderr } = await run(['bicycles', 'list', '--timezone', zone]);
  expect(code).toBe(2);
  expect(stderr).toContain(`--timezone must be an IANA name, not "${zone}"`);
  expect(stderr).toContain(hint);
});

test.each([
  ['europe/berlin', 'Europe/Berlin'],
  ['UTC', '2026-11-28 10:49'],
])('the map shows its time in %s', async (zone) => {
  const { stdout } = await run(['map', '-o', 'svg', '--timezone', zone]);
  expect(stdout).toContain(zone === 'UTC' ? '2026-11-28 10:49' : '2026-11-28 11:49');
});

test('the page of `map -o html` shows times in the zone of --timezone', async () => {
  const { stdout } = await run(['map', '-o', 'html', '--timezone', 'Asia/Tokyo']);
  expect(stdout).toContain('"timeZone":"Asia/Tokyo"');
});

describe('times without --timezone', () => {
  afterEach(() => {
    process.env['TZ'] = 'UTC';
  });

  test('times without --timezone are in the zone of the machine', async () => {
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
