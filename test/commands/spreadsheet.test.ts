// Tests workbooks, csv for Excel, and results in files, which are written completely or not at all.

import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
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
import { openServer, sendJson, sendPage } from '../support/server.js';

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
  test('writes every field of a list, with times in the local zone', async () => {
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

  test('writes the results of --jq and `api`', async () => {
    const path = join(folder, 'out');
    for (const line of [
      'bicycles list --jq .[0].uuid',
      'api /bicycles/',
      'api /bicycles/ --paginate',
    ]) {
      expect(await fleet([...line.split(' '), '--file', path])).toMatchObject({
        code: 0,
        stdout: '',
      });
      expect((await readFile(path)).length).toBeGreaterThan(30);
      expect(await readdir(folder)).toEqual(['out']);
      await rm(path);
    }
  });

  test('requires a file', async () => {
    const run = await fleet(['bicycles', 'list', '-o', 'xlsx']);
    expect([run.code, run.stdout, run.stderr]).toEqual([
      2,
      '',
      expect.stringContaining('add --file PATH'),
    ]);
  });
});

describe('`--file`', () => {
  test('writes any format and keeps the old file when the list fails', async () => {
    const path = join(folder, 'fleet.csv');
    const piped = await fleet(['bicycles', 'list', '--all', '-o', 'csv']);
    expect((await fleet(['bicycles', 'list', '--all', '--file', path])).stdout).toBe('');
    expect(await readFile(path, 'utf8')).toBe(piped.stdout);
    await writeFile(path, 'old');
    const { url } = await openServer((response, { path: asked }) =>
      asked.includes('page=2')
        ? sendJson(response, 500, {})
        : sendJson(response, 200, {
            count: 2,
            next: '/bicycles/?page=2',
            results: [{ uuid: 'a' }],
          }),
    );
    const run = await fleet(['bicycles', 'list', '--all', '-o', 'csv', '--file', path], {
      FLEET_BASE_URL: url,
    });
    expect(run.code).toBe(7);
    expect(await readFile(path, 'utf8')).toBe('old');
    expect(await readdir(folder)).toEqual(['fleet.csv']);
  });

  test.each([
    ['bicycles list --count', /^30\n$/],
    ['bicycles get NAME', /^state {2,}/],
    ['bicycles stats', /^GROUP/],
    ['auth status', /^profile {2,}/],
    ['doctor', /^ok {2,}fleet/m],
    ['api /me/ -o table', /^/],
  ])('writes the output of %s on a terminal as to a pipe', async (line, begins) => {
    const path = join(folder, 'out');
    const env = await environmentOf(sandbox());
    const words = line
      .split(' ')
      .map((word) => (word === 'NAME' ? (sandbox().bicycles()[2]?.name ?? '') : word));
    const run = await runFleet([...words, '--file', path], { env, terminal: { columns: 60 } });
    expect(run.stdout).toBe('');
    const text = await readFile(path, 'utf8');
    expect(text).toMatch(begins);
    expect(text).not.toContain('\u001b');
    await rm(path);
  });

  test.each(['watch', 'alerts watch', 'mirror replay', 'api /me/ -i'])(
    'is rejected by %s',
    async (line) => {
      const run = await fleet([...line.split(' '), '--file', join(folder, 'never')]);
      expect([run.code, run.stderr]).toEqual([2, expect.stringContaining('hint: use > FILE')]);
      expect(await readdir(folder)).not.toContain('never');
    },
  );

  test('`--file` causes exit 10 when the file cannot be written', async () => {
    expect(
      (await fleet(['bicycles', 'list', '--file', join(folder, 'no', 'where.csv')])).code,
    ).toBe(10);
  });
});

describe('`--excel`', () => {
  test.each([
    ['de_DE.UTF-8', ';', '52,5'],
    ['en_US.UTF-8', ',', '52.5'],
    ['fr_FR.UTF-8', ';', '52,5'],
    ['de_CH.UTF-8', ';', '52.5'],
    ['fr_CH.UTF-8', ';', '52.5'],
    ['it_CH.UTF-8@euro', ';', '52.5'],
    ['de_LI', ';', '52.5'],
    ['C', ',', '52.5'],
    ['POSIX', ',', '52.5'],
  ])('uses the separator and the decimal sign of %s', async (LC_ALL, separator, latitude) => {
    const [first] = sandbox().bicycles();
    sandbox().changeBicycle(first?.uuid ?? '', {
      name: '=HYPERLINK("x")',
      latitude: 52.5,
      longitude: -3,
    });
    const args = [
      'bicycles',
      'list',
      '-o',
      'csv',
      '--excel',
      '--columns',
      'name,latitude,longitude',
    ];
    const run = await fleet([...args, '--where', `uuid=${first?.uuid}`, '--all'], { LC_ALL });
    const cells = [`"'=HYPERLINK(""x"")"`, latitude, '-3'];
    expect(run.stdout).toBe(
      `\uFEFFname${separator}latitude${separator}longitude\n${cells.join(separator)}\n`,
    );
  });

  test('requires csv', async () => {
    expect((await fleet(['bicycles', 'list', '--excel'])).stderr).toContain(
      '--excel works only with csv',
    );
  });
});

describe('workbooks as input', () => {
  const workbook = async (rows: (string | number | null)[][]) => {
    const path = join(folder, 'in.xlsx');
    const cells = rows.map((row) => row.map((value) => (value === null ? null : { value })));
    await (await writeXlsxFile(cells as never)).toFile(path);
    return path;
  };

  test('`create --from` reads a workbook', async () => {
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

  test('`act -` reads a workbook and rejects another file before it sends anything', async () => {
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

describe('input rows with names of bicycles', () => {
  const usual = () =>
    sandbox()
      .bicycles()
      .filter(
        ({ name, serial_number, bleid }) => /^\w+ \d{4}$/.test(name) && serial_number && bleid,
      );
  const act = async (stdin: string) => {
    const env = await environmentOf(sandbox());
    return runFleet(['bicycles', 'act', '-', 'put_in_maintenance', '--dry-run'], { env, stdin });
  };

  test('input rows with names of bicycles find bicycles by name, serial number or bleid with one reading of the list', async () => {
    const [one, two, three] = usual();
    const { requests } = sandbox();
    const before = requests.length;
    for (const [stdin, wanted] of [
      [`name,note\n${one?.name},x\n${two?.name},y\n`, [one, two]],
      [`serial_number\n${three?.serial_number}\n`, [three]],
      [`{"bleid":"${one?.bleid}"}\n{"uuid":"${two?.uuid}"}\n`, [one, two]],
    ] as const) {
      const run = await act(stdin);
      expect([run.code, run.stderr.includes('error')]).toEqual([0, false]);
      for (const bicycle of wanted)
        expect(run.stdout).toContain(`/bicycles/${bicycle?.uuid}/actions/`);
    }
    expect(requests.slice(before).map(({ method }) => method)).toEqual(['GET', 'GET', 'GET']);
  });

  test('input rows with names of bicycles are rejected with all unknown and ambiguous names, and nothing is sent', async () => {
    const [one, two, three] = usual();
    sandbox().changeBicycle(two?.uuid ?? '', { name: 'Twin' });
    sandbox().changeBicycle(three?.uuid ?? '', { name: 'Twin' });
    const run = await act(`name\n${one?.name}\nTwin\nNobody\n`);
    expect([run.code, run.stdout]).toEqual([2, '']);
    expect(run.stderr).toContain(
      '2 of 3 rows without a UUID were not found or match several bicycles; none of them was sent',
    );
    expect(run.stderr).toMatch(
      /line 3: "Twin" is [0-9a-f-]{36} and [0-9a-f-]{36}; line 4: "Nobody" is no bicycle/,
    );
  });

  test('finds the bicycle of an input row whose name looks empty or like a comment', async () => {
    const [one, two] = usual();
    sandbox().changeBicycle(one?.uuid ?? '', { serial_number: null, description: '' });
    for (const word of ['null', 'undefined']) {
      const run = await act(`serial_number\n${word}\n`);
      expect([run.code, run.stdout, run.stderr]).toEqual([
        2,
        '',
        expect.stringContaining(`"${word}" is no bicycle`),
      ]);
    }
    sandbox().changeBicycle(two?.uuid ?? '', { name: '#7' });
    expect((await act('name\n#7\n')).stdout).toContain(`/bicycles/${two?.uuid}/actions/`);
    expect((await act(`uuid,name\n# a comment\n${two?.uuid},x\n`)).code).toBe(0);
  });

  test('input rows with names of bicycles are rejected when two columns have the same name', async () => {
    const [one, two] = usual();
    const run = await act(`uuid,name,uuid\n${one?.uuid},x,${two?.uuid}\n`);
    expect([run.code, run.stdout, run.stderr]).toEqual([
      2,
      '',
      expect.stringContaining('two columns are named "uuid"'),
    ]);
  });

  test('input rows with names of bicycles must identify the same bicycle in every column', async () => {
    const [one, two] = usual();
    const header = 'serial_number,name\n';
    const run = await act(
      `${header}${one?.serial_number},${two?.name}\n${two?.serial_number},${two?.name}\n`,
    );
    expect([run.code, run.stdout]).toEqual([2, '']);
    expect(run.stderr).toContain(
      `line 2: "${one?.serial_number}" is ${one?.uuid}, but "${two?.name}" is ${two?.uuid}`,
    );
    const stale = await act(`${header}${one?.serial_number},Nobody\n`);
    expect([stale.code, stale.stderr]).toEqual([
      2,
      expect.stringContaining('but "Nobody" is no bicycle'),
    ]);
  });

  test('input rows with names of bicycles can distinguish bicycles of the same name by another column', async () => {
    const [one, two] = usual();
    for (const twin of [one, two]) sandbox().changeBicycle(twin?.uuid ?? '', { name: 'Twin' });
    const run = await act(`name,serial_number\nTwin,${two?.serial_number}\n`);
    expect([run.code, run.stdout]).toEqual([
      0,
      expect.stringContaining(`/bicycles/${two?.uuid}/actions/`),
    ]);
  });

  test('input rows with names of bicycles are read completely from a slow pipe before anything is sent', async () => {
    const [one] = usual();
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
        expect.stringContaining('"Nobody" is no bicycle'),
      ]);
      const sent = sandbox().requests.slice(before);
      expect(sent.filter(({ method }) => method === 'POST')).toEqual([]);
    }
  });

  test('input rows with names of bicycles are rejected when the list of bicycles never ends', async () => {
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
