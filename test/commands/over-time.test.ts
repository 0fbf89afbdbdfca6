// Tests `fleet bicycles stats --by hour|day|week`: its counts, the times that the mirror did not
// see, its formats, and the age of the mirror that every answer reports.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { unzipSync } from 'fflate';
import readXlsx from 'read-excel-file/node';
import { beforeAll, describe, expect, test } from 'vitest';
import { utcOfMs } from '../../src/mirror/rows.js';
import type { OverTimeRow } from '../../src/views/over-time.js';
import { useBrowser } from '../support/browser.js';
import { newFolder } from '../support/folder.js';
import { makeMirror, type RecordedChange } from '../support/made-mirror.js';
import { useEngines, withDatabase } from '../support/mirror.js';
import { runFleet } from '../support/run.js';
import { useSandbox } from '../support/sandbox.js';

const sandbox = useSandbox({ bicycles: 20 });
const browser = useBrowser();
const ENGINES = useEngines();
const [[, newSqlite]] = ENGINES;
/** In Berlin, clocks are set back on 25 October 2026. */
const ZONE = ['--timezone', 'Europe/Berlin'];
const PERIOD = ['--since', '2026-10-24', '--until', '2026-10-28'];

/** Two rentals on the 24th, a rental across midnight of the 25th, and maintenance on the 27th. */
function changes(bicycle: string): RecordedChange[] {
  const states = ['available', 'rented', 'available', 'rented', 'available', 'rented'];
  const times = [
    ...['2026-10-24T08:00:00Z', '2026-10-24T08:30:00Z', '2026-10-24T20:00:00Z'],
    ...['2026-10-24T20:10:00Z', '2026-10-25T22:30:00Z', '2026-10-25T23:30:00Z'],
  ];
  const rides = times.map((at, index) => ({
    at: utcOfMs(Date.parse(at)),
    bicycle,
    field: 'state',
    old: states[index],
    new: states[index + 1] ?? 'available',
  }));
  const repaired = { at: utcOfMs(Date.parse('2026-10-27T10:00:00Z')), bicycle, field: 'state' };
  return [...rides, { ...repaired, old: 'available', new: 'in_maintenance' }];
}

async function newMirror(address: string, isAlive = true): Promise<void> {
  const [bicycle] = sandbox().bicycles();
  const at = (text: string) => utcOfMs(Date.parse(text));
  await makeMirror(address, {
    sandbox: sandbox(),
    isAlive,
    changes: changes(bicycle?.uuid ?? ''),
    gaps: [
      {
        started: at('2026-10-26T06:00:00Z'),
        ended: at('2026-10-26T11:00:00Z'),
        reason: 'outage',
        found: 0,
      },
    ],
  });
  await withDatabase(address, async (database) => {
    await database.all('UPDATE bicycles SET first_seen = ?', [at('2026-10-01T00:00:00Z')]);
    await database.all('UPDATE alerts SET created_utc = ?', [at('2026-10-27T23:30:00Z')]);
  });
}

const stats = (address: string, args: readonly string[], isTerminal = false, columns = 100) =>
  runFleet(['bicycles', 'stats', '--to', address, ...ZONE, ...args], {
    ...(isTerminal ? { terminal: { columns } } : {}),
  });

describe.each(ENGINES)('%s', (_kind, newText) => {
  let address = '';
  beforeAll(async () => {
    address = await newText();
    await newMirror(address);
  });

  test('`stats --by day` counts the changes of each local day', async () => {
    const run = await stats(address, ['--by', 'day', ...PERIOD, '--json']);
    expect(run.code).toBe(0);
    const rows = JSON.parse(run.stdout) as OverTimeRow[];
    expect(
      rows.map(({ part, rentals, returns, changes: count, coverage, certain }) => [
        ...[part, rentals, returns, count, coverage, certain],
      ]),
    ).toEqual([
      ['2026-10-24', 2, 2, 4, 100, true],
      // 22:30 UTC is 23:30 in Berlin, and 23:30 UTC is on the next day.
      ['2026-10-25', 1, 0, 1, 100, true],
      ['2026-10-26', 0, 1, 1, 79.16, false],
      ['2026-10-27', 0, 0, 1, 100, true],
    ]);
    // A day of 25 hours.
    expect(rows[1]).toMatchObject({
      from: '2026-10-24T22:00:00.000Z',
      until: '2026-10-25T23:00:00.000Z',
    });
  });

  test('periods begin at the start of the local hour or week', async () => {
    const since = ['--since', '2026-10-24 10:20', '--until', '2026-10-24 12:00'];
    const hours = await stats(address, ['--by', 'hour', ...since, '-o', 'csv']);
    expect(hours.stdout.split('\n').map((line) => line.split(',')[0])).toEqual([
      'part',
      '2026-10-24 10:00',
      '2026-10-24 11:00',
      '',
    ]);
    const weeks = await stats(address, ['--by', 'week', ...PERIOD, '--json']);
    expect((JSON.parse(weeks.stdout) as OverTimeRow[]).map(({ part }) => part)).toEqual([
      '2026-10-19',
      '2026-10-26',
    ]);
  });

  test('repeated hours show their UTC offsets when the clock is set back', async () => {
    const since = ['--since', '2026-10-25 01:00', '--until', '2026-10-25 04:00'];
    const hours = await stats(address, ['--by', 'hour', ...since, '-o', 'csv']);
    expect(hours.stdout.split('\n').map((line) => line.split(',')[0])).toEqual([
      'part',
      '2026-10-25 01:00',
      '2026-10-25 02:00+02:00',
      '2026-10-25 02:00+01:00',
      '2026-10-25 03:00',
      '',
    ]);
  });

  test('the output lists the periods for which the mirror has no data', async () => {
    const { stderr } = await stats(address, ['--by', 'day', ...PERIOD]);
    expect(stderr).toContain(
      '! the mirror has no data for 5 h of this time (hatched): 2026-10-26 07:00:00 to 2026-10-26 12:00:00',
    );
  });
});

describe('formats', () => {
  let address = '';
  let folder = '';
  beforeAll(async () => {
    folder = newFolder();
    address = await newSqlite();
    await newMirror(address);
  });

  test.each([60, 80, 140])(
    'draws bars on a terminal of %i columns, with hatching for uncertain numbers',
    async (width) => {
      const { stdout } = await stats(address, ['--by', 'day', ...PERIOD], true, width);
      const lines = stripVTControlCharacters(stdout).split('\n');
      expect(lines.every((line) => Array.from(line).length <= width)).toBe(true);
      expect(lines.find((line) => line.startsWith('2026-10-24'))).toMatch(/█{20}/);
      expect(lines.find((line) => line.startsWith('2026-10-26'))).toMatch(/~1?\d? .*╱{5}/);
    },
  );

  test('the HTML page shows gaps as hatched areas in the charts', async (context) => {
    const file = join(folder, 'week.html');
    await stats(address, ['--by', 'day', ...PERIOD, '--file', file]);
    const page = await browser(context).newPage({ viewport: { width: 900, height: 800 } });
    await page.goto(pathToFileURL(file).href);
    expect(await page.locator('svg').count()).toBe(4);
    expect(await page.locator('rect.unseen').count()).toBe(4);
    expect(await page.locator('script').count()).toBe(0);
    // The day with the gap is uncertain in every chart except that of the alerts.
    expect(await page.locator('rect.unsure').count()).toBe(3);
    const box = await page.locator('rect.unseen').first().boundingBox();
    // Five hours of 97 hours, on a chart of 704 units.
    const chart = await page.locator('svg').first().boundingBox();
    expect((box?.width ?? 0) / (chart?.width ?? 1)).toBeCloseTo((5 / 97) * (704 / 720), 2);
    await page.close();
  });

  test('writes a workbook that contains a chart', async () => {
    const file = join(folder, 'week.xlsx');
    await stats(address, ['--by', 'day', ...PERIOD, '--file', file]);
    const sheets = await readXlsx(file);
    expect(sheets.map(({ sheet }) => sheet)).toEqual(['by day', 'not seen']);
    expect(sheets[0]?.data[1]?.slice(3, 6)).toEqual([2, 2, 4]);
    expect(sheets[1]?.data[1]?.[2]).toBe(18_000);
    const parts = unzipSync(readFileSync(file));
    const chart = Buffer.from(parts['xl/charts/chart1.xml'] ?? []).toString();
    expect(chart).toContain("<c:f>'by day'!$D$2:$D$5</c:f>");
    expect(chart).toContain('<a:pattFill prst="wdUpDiag">');
    expect(Buffer.from(parts['[Content_Types].xml'] ?? []).toString()).toContain(
      '/xl/drawings/drawing1.xml',
    );
  });

  test('counts are unknown for the time before the mirror began', async () => {
    const before = ['--since', '2026-09-01', '--until', '2026-09-03'];
    const run = await stats(address, ['--by', 'day', ...before, '--json']);
    const rows = JSON.parse(run.stdout) as OverTimeRow[];
    expect(rows.map(({ rentals, coverage }) => [rentals, coverage])).toEqual([
      [null, 0],
      [null, 0],
    ]);
  });
});

describe("the mirror's age", () => {
  const old = async () => {
    const address = await newSqlite();
    await newMirror(address, false);
    await withDatabase(address, async (database) => {
      const [row] = await database.all('SELECT state FROM writers');
      const state = JSON.parse(String(row?.['state'])) as { heardMs: number };
      const changed = { ...state, heardMs: Date.now() - 3 * 3_600_000 };
      await database.all('UPDATE writers SET state = ?', [JSON.stringify(changed)]);
    });
    return address;
  };

  test.each([
    ['stats', ['bicycles', 'stats', '--by', 'day']],
    ['mirror query', ['mirror', 'query', 'select count(*) as n from bicycles']],
    ['report', ['report']],
    ['mirror replay', ['mirror', 'replay', '--speed', '10000000']],
  ])("`%s` reports that the mirror's data is more than a minute old", async (_name, args) => {
    const run = await runFleet([...args, '--to', await old()]);
    expect(run.stderr).toMatch(/! from the mirror, 3 h( \d+ s)? old: no writer is running/);
  });

  test('`mirror query` prints no notice when the mirror is current', async () => {
    const address = await newSqlite();
    await newMirror(address);
    const run = await runFleet(['mirror', 'query', 'select 1 as one', '--to', address]);
    expect(run).toMatchObject({ code: 0, stderr: '' });
  });

  test("the bars are hatched for the time since the mirror's last message", async () => {
    const run = await runFleet(['bicycles', 'stats', '--by', 'hour', '--to', await old()]);
    expect(run.stderr).toContain('! the mirror has no data for 3 h');
  });
});
