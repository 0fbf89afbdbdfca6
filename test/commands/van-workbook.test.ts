// Tests the workbook for the van: readable headings, map links and the name of the sheet.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { unzipSync } from 'fflate';
import readXlsxFile from 'read-excel-file/node';
import { beforeEach, describe, expect, test } from 'vitest';
import { environmentOf } from '../support/environment.js';
import { newFolder } from '../support/folder.js';
import { runFleet } from '../support/run.js';
import { useSandbox } from '../support/sandbox.js';

const sandbox = useSandbox({ bicycles: 12 });
let path: string;
beforeEach(() => {
  path = join(newFolder(), 'van.xlsx');
});

const fleet = async (...args: readonly string[]) =>
  runFleet(args, { env: await environmentOf(sandbox()) });
const partOf = async (name: string) =>
  Buffer.from(unzipSync(await readFile(path))[name] ?? []).toString();
const sheetName = async () =>
  /<sheet name="([^"]*)"/.exec(await partOf('xl/workbook.xml'))?.[1] ?? '';
const readRows = async () => {
  const [sheet] = await readXlsxFile(path);
  return (sheet?.data ?? []) as unknown as unknown[][];
};

describe('--headings', () => {
  test('writes readable English headings, and names the zone of times', async () => {
    const columns = 'uuid,name,serial_number,state_of_charge,latest_gps_timestamp,short_id';
    const line = ['bicycles', 'list', '--all', '--headings', '--timezone', 'Europe/Berlin'];
    const run = await fleet(...line, '--columns', columns, '--file', path);
    expect(run).toMatchObject({ code: 0, stderr: expect.not.stringContaining('error') });
    const [header] = await readRows();
    expect(header).toEqual([
      'UUID',
      'Name',
      'Serial number',
      'Charge (%)',
      'Last seen (Europe/Berlin)',
      'Short ID',
    ]);
  });

  test('an edit of the workbook reads the headings as fields', async () => {
    const all = await fleet('bicycles', 'list', '--all', '--headings', '--file', path);
    expect(all).toMatchObject({ code: 0 });
    const unchanged = await fleet('bicycles', 'edit', '--from', path, '--dry-run');
    expect(unchanged.stderr).toContain('12 unchanged');
    expect(unchanged.stderr).not.toContain('unknown column');
  });

  test.each(['csv', 'tsv'])(
    'a changed cell of %s with headings becomes an edit',
    async (format) => {
      const [first] = sandbox().bicycles();
      const file = path.replace('.xlsx', `.${format}`);
      const columns = 'uuid,serial_number,note';
      await fleet('bicycles', 'list', '--all', '--headings', '--columns', columns, '--file', file);
      const text = await readFile(file, 'utf8');
      expect(text.split('\n')[0]).toMatch(/^UUID[,\t]Serial number[,\t]Note$/);
      await writeFile(file, text.replace(String(first?.serial_number), 'CHANGED-1'));
      const run = await fleet('bicycles', 'edit', '--from', file, '--dry-run');
      expect(run.stdout + run.stderr).toContain('CHANGED-1');
    },
  );

  test.each([
    ['table', ['-o', 'table']],
    ['json', ['--json']],
  ])('refuses --headings with %s', async (format, flags) => {
    const run = await fleet('bicycles', 'list', '--headings', ...flags);
    expect(run).toMatchObject({ code: 2 });
    expect(run.stderr).toContain(`--headings works only with csv, tsv, xlsx, not with ${format}`);
  });
});

describe('the column map', () => {
  test('the map column is the last column of a workbook, and contains links', async () => {
    await fleet('bicycles', 'list', '--all', '--file', path);
    const rows = await readRows();
    expect(rows[0]?.at(-1)).toBe('map');
    const sheet = await partOf('xl/worksheets/sheet1.xml');
    const [bicycle] = sandbox().bicycles();
    const place = `mlat=${Number(bicycle?.latitude)}&amp;mlon=${Number(bicycle?.longitude)}`;
    expect(sheet).toContain(`<f>HYPERLINK(&quot;https://www.openstreetmap.org/?${place}#map`);
    expect((sheet.match(/<f>/g) ?? []).length).toBe(
      sandbox()
        .bicycles()
        .filter(({ latitude }) => latitude !== null).length,
    );
  });

  test('is the address of the map in csv, and empty without a position', async () => {
    const [first] = sandbox().bicycles();
    sandbox().changeBicycle(first?.uuid ?? '', { latitude: null, longitude: null });
    const run = await fleet('bicycles', 'list', '--all', '-o', 'csv', '--columns', 'uuid,map');
    expect(run).toMatchObject({ code: 0 });
    const lines = run.stdout.trimEnd().split('\n');
    expect(lines[0]).toBe('uuid,map');
    expect(lines.find((line) => line.startsWith(first?.uuid ?? '-'))).toBe(`${first?.uuid},`);
    const placed = sandbox()
      .bicycles()
      .filter(({ latitude }) => latitude !== null);
    expect(lines.filter((line) => /,https:\/\/www\.openstreetmap\.org\//.test(line))).toHaveLength(
      placed.length,
    );
  });

  test('the map column appears in a table only when --columns names it', async () => {
    const { stdout } = await fleet('bicycles', 'list', '-o', 'wide');
    expect(stdout).not.toContain('openstreetmap');
  });

  test('the map column is ignored when the workbook is imported', async () => {
    await fleet('bicycles', 'list', '--all', '--columns', 'uuid,name,map', '--file', path);
    const run = await fleet('bicycles', 'edit', '--from', path, '--dry-run');
    expect(run.stderr).toContain('ignored read-only columns: map');
    expect(run.stderr).toContain('12 unchanged');
  });
});

describe('the column address', () => {
  test('the address column shows the addresses of bicycles', async () => {
    for (const { uuid } of sandbox().bicycles())
      sandbox().changeBicycle(uuid, { address: 'Karl-Marx-Allee 1' });
    const columns = ['--columns', 'name,address,map', '--headings'];
    await fleet('bicycles', 'list', '--all', ...columns, '--file', path);
    const [header, first] = await readRows();
    expect(header).toEqual(['Name', 'Address', 'Map']);
    expect(first?.[1]).toBe('Karl-Marx-Allee 1');
  });
});

describe('the name of the sheet', () => {
  test.each([
    [[], 'bicycles'],
    [['--state', 'lost,unrecoverable'], 'lost, unrecoverable'],
    [['--state', 'available', '--where', 'charge<20'], 'available, charge&lt;20'],
    [['--near', '52.52,13.4', '--radius', '2km'], 'near 52.52,13.4'],
    [['--name', 'a very long name that no sheet can hold'], 'name a very long name that no s'],
  ])('comes from the query: %j', async (flags, name) => {
    const run = await fleet('bicycles', 'list', '--all', ...flags, '--file', path);
    expect(run).toMatchObject({ code: 0 });
    expect(await sheetName()).toBe(name);
  });

  test('the name of the sheet comes from the filters of alerts', async () => {
    await fleet('alerts', 'list', '--all', '--type', 'lock.bat.low', '--file', path);
    expect(await sheetName()).toBe('alerts lock.bat.low');
  });
});
