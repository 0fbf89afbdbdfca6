// Tests workbooks, and rows that arrive slowly or never end. The transcripts in test/transcripts/files
// show `--file`, `--excel` and rows with names.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { beforeEach, describe, expect, test } from 'vitest';
import writeXlsxFile from 'write-excel-file/node';
import { readWorkbook } from '../../src/input/workbook.js';
import { xlsxCellText } from '../../src/terminal/formats/xlsx-cell.js';
import { environmentOf } from '../support/environment.js';
import { newFolder } from '../support/folder.js';
import { runFleet } from '../support/run.js';
import { useSandbox } from '../support/sandbox.js';
import { openServer, sendPage } from '../support/server.js';

const sandbox = useSandbox({ bicycles: 30 });
let folder: string;
beforeEach(() => {
  folder = newFolder();
});

const fleet = async (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  runFleet(args, { env: { ...(await environmentOf(sandbox())), ...env } });
const rowsOf = async (path: string) => {
  const { signal } = new AbortController();
  const { rows } = await readWorkbook(await readFile(path), path, { signal });
  return rows.map(({ cells }) => cells);
};

describe('`-o xlsx`', () => {
  test('the workbook has every field of the list, with times in the local zone', async () => {
    const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const path = join(folder, 'fleet.xlsx');
    const [first] = sandbox().bicycles();
    sandbox().changeBicycle(first?.uuid ?? '', {
      name: '=1+1',
      serial_number: '0042',
      bleid: 'SW_x0041_x0042_',
    });
    const run = await fleet(['bicycles', 'list', '--all', '-o', 'xlsx', '--file', path]);
    expect(run).toMatchObject({ code: 0, stdout: '' });
    const [header = [], ...rows] = await rowsOf(path);
    expect(header.slice(0, 2)).toEqual(['uuid', `created (${timezone})`]);
    expect(rows).toHaveLength(30);
    const row = rows.find(([uuid]) => uuid === first?.uuid) ?? [];
    const cell = (name: string) => row[header.indexOf(name)];
    expect(cell('name')).toBe('=1+1');
    expect(cell('serial_number')).toBe('0042');
    expect(cell('bleid')).toBe('SW_x0041_x0042_');
    expect(cell('latitude')).toBe(String(Number(first?.latitude)));
    expect(row[1]).toBe(xlsxCellText(first?.created, 'created', timezone));
  });

  test.each([
    ['stats', ['bicycles', 'stats']],
    ['alerts', ['alerts', 'list', '--limit', '5']],
    ['zones', ['zones', 'list']],
    ['a page that api is answered', ['api', '/bicycles/']],
  ])('writes a workbook for %s', async (_what, args) => {
    const path = join(folder, 'out.xlsx');
    expect(await fleet([...args, '-o', 'xlsx', '--file', path])).toMatchObject({ code: 0 });
    expect((await rowsOf(path)).length).toBeGreaterThan(2);
  });
});

describe('workbooks as input', () => {
  const workbook = async (rows: (string | number | null)[][]) => {
    const path = join(folder, 'in.xlsx');
    const cells = rows.map((row) => row.map((value) => (value === null ? null : { value })));
    await (await writeXlsxFile(cells as never)).toFile(path);
    return path;
  };

  test('`create --from` reads the rows of a workbook', async () => {
    const path = await workbook([
      ['name', 'serial_number', 'description'],
      ['Ada "1"', 'S-1', 'with, comma'],
      ['Ada 2', 42, null],
    ]);
    const organization = sandbox().organizations[0]?.uuid ?? '';
    const run = await fleet([
      'bicycles',
      'create',
      '--from',
      path,
      '--organization',
      organization,
      '--dry-run',
    ]);
    expect([run.code, run.stderr]).toEqual([0, expect.any(String)]);
    for (const part of [
      'Ada \\"1\\"',
      '"serial_number":"S-1"',
      'with, comma',
      '"serial_number":"42"',
    ])
      expect(run.stdout).toContain(part);
  });

  test('`act -` reads a workbook and rejects other binary files', async () => {
    const [one, two] = sandbox().bicycles();
    const path = await workbook([
      ['uuid', 'note'],
      [one?.uuid ?? '', 'x'],
      [two?.uuid ?? '', 'y'],
    ]);
    const env = await environmentOf(sandbox());
    const act = (stdin: Buffer) =>
      runFleet(['bicycles', 'act', '-', 'take_over', '--dry-run'], {
        env,
        stdin: Readable.from([stdin]),
      });
    const run = await act(await readFile(path));
    expect(run.code).toBe(0);
    for (const uuid of [one?.uuid, two?.uuid])
      expect(run.stdout).toContain(`/bicycles/${uuid}/actions/`);
    const bad = await act(Buffer.from('PK\u0003\u0004 and nothing more'));
    expect([bad.code, bad.stderr]).toEqual([
      2,
      expect.stringContaining('stdin is not a readable .xlsx file'),
    ]);
  });
});

describe('input rows that identify bicycles by name', () => {
  test('fleet reads all bicycle names from a slow pipe before sending anything', async () => {
    const [one] = sandbox().bicycles();
    const env = await environmentOf(sandbox());
    for (const lines of [
      [`uuid,name\n${one?.uuid},`, ',Nobody'],
      [`{"uuid":"${one?.uuid}"}`, '{"name":"Nobody"}'],
    ]) {
      const stdin = Readable.from(
        (async function* () {
          for (const line of lines) {
            yield `${line}\n`;
            await new Promise((resolve) => setTimeout(resolve, 1500));
          }
        })(),
      );
      const before = sandbox().requests.length;
      const run = await runFleet(['bicycles', 'act', '-', 'put_in_maintenance', '--yes'], {
        env,
        stdin,
      });
      expect([run.code, run.stderr]).toEqual([
        2,
        expect.stringContaining('"Nobody" is not a bicycle'),
      ]);
      const sent = sandbox().requests.slice(before);
      expect(sent.filter(({ method }) => method === 'POST')).toEqual([]);
    }
  });

  test("fleet rejects bicycle names when the service's list never ends", async () => {
    let pages = 0;
    const { env } = await openServer((response) => {
      pages += 1;
      const uuid = (index: number) =>
        `00000000-0000-4000-8000-${String(pages * 100 + index).padStart(12, '0')}`;
      const results = Array.from({ length: 100 }, (_, index) => ({
        uuid: uuid(index),
        name: `Ada ${pages}`,
      }));
      sendPage(response, results, { next: `http://x/bicycles/?page=${pages + 1}` });
    });
    const words = ['put_in_maintenance', '--yes'];
    for (const run of [
      await runFleet(['bicycles', 'act', '-', ...words], { env, stdin: 'name\nBob\n' }),
      await runFleet(['bicycles', 'act', 'Bob', ...words], { env }),
    ])
      expect([run.code, run.stderr]).toEqual([
        7,
        expect.stringMatching(/the list does not end: \d+ items arrived, but its count is 100/),
      ]);
    expect(pages).toBeLessThan(100);
  });
});
