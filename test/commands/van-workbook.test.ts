// Tests the workbook for the van: readable headings, map links and the name of the sheet. The transcript
// test/transcripts/files/headings.md shows how it is read back.

import { readFile } from 'node:fs/promises';
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
  test('--headings writes readable English headings with the time zone', async () => {
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
});

describe('the column map', () => {
  test('the last column of a workbook contains map links', async () => {
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
});

describe('the address column', () => {
  test('the address column shows the street addresses of bicycles', async () => {
    for (const { uuid } of sandbox().bicycles())
      sandbox().changeBicycle(uuid, { address: 'Karl-Marx-Allee 1' });
    const columns = ['--columns', 'name,address,map', '--headings'];
    await fleet('bicycles', 'list', '--all', ...columns, '--file', path);
    const [header, first] = await readRows();
    expect(header).toEqual(['Name', 'Address', 'Map']);
    expect(first?.[1]).toBe('Karl-Marx-Allee 1');
  });
});

describe('the sheet name', () => {
  test.each([
    [[], 'bicycles'],
    [['--state', 'lost,unrecoverable'], 'lost, unrecoverable'],
    [['--state', 'available', '--where', 'charge<20'], 'available, charge&lt;20'],
    [['--near', '52.52,13.4', '--radius', '2km'], 'near 52.52,13.4'],
    [['--name', 'a very long name that no sheet can hold'], 'name a very long name that no s'],
  ])('comes from the filters: %j', async (flags, name) => {
    const run = await fleet('bicycles', 'list', '--all', ...flags, '--file', path);
    expect(run).toMatchObject({ code: 0 });
    expect(await sheetName()).toBe(name);
  });

  test('the name of an alerts sheet comes from the filters', async () => {
    await fleet('alerts', 'list', '--all', '--type', 'lock.bat.low', '--file', path);
    expect(await sheetName()).toBe('alerts lock.bat.low');
  });
});
