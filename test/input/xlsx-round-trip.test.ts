// Tests that a workbook of -o xlsx is read back as the same values.

import fc from 'fast-check';
import { unzipSync } from 'fflate';
import { describe, expect, test } from 'vitest';
import { readWorkbook } from '../../src/input/workbook.js';
import { readExact } from '../../src/json/exact.js';
import { splitTimeHeader, xlsxCellText } from '../../src/terminal/formats/xlsx-cell.js';
import { openRenderer, type RendererOptions, type Shape } from '../../src/terminal/formats.js';
import { anyJson, anyText, HOSTILE } from '../support/naughty.js';

type Row = Readonly<Record<string, unknown>>;

const BERLIN = 'Europe/Berlin';

/** Writes the rows, given as JSON texts, and returns the file and the notices. */
async function write(jsons: readonly string[], options: Partial<RendererOptions> = {}) {
  const values = jsons.map((json) => JSON.parse(json) as Row);
  const shape: Shape<Row> = {
    noun: { one: 'bicycle', many: 'bicycles' },
    columns: [],
    fields: [...new Set(values.flatMap(Object.keys))],
  };
  const renderer = await openRenderer('xlsx', shape, {
    terminal: false,
    width: undefined,
    colorLevel: 0,
    now: 0,
    timezone: BERLIN,
    ...options,
  });
  const items = jsons.map((json, index) => ({ json, value: values[index] ?? {} }));
  renderer.rows(items.slice(0, 2));
  renderer.rows(items.slice(2));
  const bytes = (await renderer.finish?.()) ?? Buffer.alloc(0);
  return { bytes, notices: renderer.notices?.() ?? [], fields: shape.fields };
}

async function read(bytes: Uint8Array) {
  const { signal } = new AbortController();
  const { rows } = await readWorkbook(bytes, 'fleet.xlsx', { signal });
  return rows;
}

function sheetXml(bytes: Uint8Array): string {
  return Buffer.from(unzipSync(bytes)['xl/worksheets/sheet1.xml'] ?? []).toString();
}

/** Writes and reads the rows; returns for each row what each field became. */
async function roundTrip(jsons: readonly string[]) {
  const { bytes, fields } = await write(jsons);
  const [header, ...rows] = await read(bytes);
  expect(header?.cells.map((cell) => splitTimeHeader(cell ?? '').field)).toEqual(fields);
  const byNumber = new Map(rows.map(({ row, cells }) => [row, cells]));
  return jsons.map((_json, index) => {
    const cells = byNumber.get(index + 2) ?? [];
    return Object.fromEntries(fields.map((field, column) => [field, cells[column] ?? null]));
  });
}

function expected(jsons: readonly string[], fields: readonly string[]) {
  return jsons.map((json) => {
    const value = readExact(json) as Row;
    return Object.fromEntries(
      fields.map((field) => [field, xlsxCellText(value[field], field, BERLIN)]),
    );
  });
}

async function expectRoundTrip(jsons: readonly string[]): Promise<void> {
  const rows = await roundTrip(jsons);
  expect(rows).toEqual(expected(jsons, Object.keys(rows[0] ?? {})));
}

const NUMBERS = [
  '100.0',
  '67.20',
  '-1e-06',
  '-0',
  '0.30000000000000004',
  '13.404953999999998',
  '12345678901234567890',
  '1e21',
  '1E+2',
  '0.1234567890123456789012345',
  '1e400',
  '1e-400',
  '999999999999999',
  '1000000000000000',
  '5e-324',
];

const TEXTS = [
  ...HOSTILE,
  'null',
  '-1',
  '=1+1',
  '1e5',
  '00123',
  'TRUE',
  '#N/A',
  '_x0041_',
  '_x0041_x0042_',
  '_x005F_x0041_',
  '_X000D_',
  '_x0041\r',
  '_x0041\r\n_x0042_x000D_\r_',
  ' leading and trailing ',
  '\t',
  '\n',
  'a\r\nb\rc\n',
  '<a>&amp;"\']]>',
  '2026-03-01T08:30:00Z',
  '\uD83D\uDEB2 \uD83D',
  `${'x'.repeat(32_766)}\u{1F6B2}`,
  '',
];

describe('a workbook round trip', () => {
  test('unusual strings and numbers are unchanged after a workbook round trip', async () => {
    const texts = TEXTS.map((text) => JSON.stringify({ name: text, note: [text], other: 1 }));
    await expectRoundTrip(texts);
    await expectRoundTrip(NUMBERS.map((number) => `{"name":"x","charge":${number}}`));
  });

  test('random rows are unchanged after a workbook round trip', async () => {
    const value = fc.oneof(
      fc.constantFrom(...TEXTS.map((text) => JSON.stringify(text))),
      fc.constantFrom(...NUMBERS, 'null', 'true', 'false'),
      anyText({ maxLength: 30 }).map((text) => JSON.stringify(text)),
      fc
        .string({
          unit: fc.constantFrom('_', 'x', '0', 'D', '4', '1', '\r', '\n', ' '),
          maxLength: 20,
        })
        .map((text) => JSON.stringify(text)),
      fc.double({ noDefaultInfinity: true, noNaN: true }).map(String),
      fc.integer().map(String),
      anyJson({ maxDepth: 2 }).map((json) => JSON.stringify(json)),
    );
    const time = fc
      .date({ min: new Date('1900-03-02'), max: new Date('9999-12-30'), noInvalidDate: true })
      .map((date) => JSON.stringify(date.toISOString()));
    const row = fc
      .tuple(value, value, fc.oneof(time, value))
      .map(([name, charge, created]) => `{"name":${name},"charge":${charge},"created":${created}}`);
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 20 }), expectRoundTrip),
      { numRuns: 200 },
    );
  });
});

describe('xlsxCellText', () => {
  test.each([
    ['100.0', '100'],
    ['67.20', '67.2'],
    ['-1e-06', '-0.000001'],
    ['-0', '0'],
    ['0.30000000000000004', '0.30000000000000004'],
    ['12345678901234567890', '12345678901234567890'],
    ['1e21', '1e21'],
    ['true', 'true'],
    ['null', null],
    ['""', null],
    ['{"a":[1.50]}', '{"a":[1.50]}'],
    ['"a\\r\\nb\\tc\\u0000"', 'a\r\nb\tc␀'],
    ['"2026-07-01T06:30:00Z"', '2026-07-01T06:30:00Z'],
  ])('returns the right cell type for %s', (json, text) => {
    expect(xlsxCellText(readExact(json), 'name', BERLIN)).toBe(text);
  });

  test('quickly writes a very long number as text', () => {
    const number = `1.${'0'.repeat(1_000_000)}1`;
    expect(xlsxCellText(readExact(number), 'charge', BERLIN)).toBe(number.slice(0, 32_767));
  });

  test.each([
    ['2026-03-29T00:59:59Z', '2026-03-29T01:59:59'],
    ['2026-03-29T01:00:00Z', '2026-03-29T03:00:00'],
    ['2026-10-25T00:59:59Z', '2026-10-25T02:59:59'],
    ['2026-10-25T01:00:00Z', '2026-10-25T02:00:00'],
    ['2026-07-01T00:00:00+02:00', '2026-07-01T00:00:00'],
    ['2026-07-01T06:30:00.250Z', '2026-07-01T08:30:00.250'],
    ['1850-01-01T00:00:00Z', '1850-01-01T00:00:00Z'],
  ])('converts %s to local time with the UTC offset of that date', (time, text) => {
    expect(xlsxCellText(time, 'created', BERLIN)).toBe(text);
  });
});

describe('-o xlsx', () => {
  const rows = ['{"name":"Ada","created":"2026-07-01T06:30:00Z"}', '{"name":"B","created":null}'];

  test('writes numbers as number cells and strings as text cells', async () => {
    const { bytes } = await write([
      '{"charge":100.0,"name":"=1+1"}',
      '{"charge":67.20,"name":"0042"}',
      '{"charge":-1e-06,"name":"67.20"}',
    ]);
    const sheet = sheetXml(bytes);
    for (const cell of ['"A2"><v>100<', '"A3"><v>67.2<', '"A4"><v>-0.000001<'])
      expect(sheet).toContain(`<c r=${cell}`);
    for (const text of ['=1+1', '0042', '67.20'])
      expect(sheet).toContain(`t="inlineStr"><is><t>${text}<`);
    expect(sheet).not.toContain('<f>');
    expect(sheet).toContain('<ignoredError sqref="A1:B4" numberStoredAsText="1"/>');
  });

  test('fits the column widths to the content up to a limit', async () => {
    const { bytes } = await write([
      `{"a":1,"wide":"${'東'.repeat(10)}","lines":"one\\nline of thirty characters here","long":"${'x'.repeat(300)}"}`,
    ]);
    const widths = [...sheetXml(bytes).matchAll(/ width="(\d+)"/g)].map(([, width]) =>
      Number(width),
    );
    expect(widths).toEqual([8, 22, 32, 60]);
  });

  test('the header row is frozen and has a filter', async () => {
    const { bytes } = await write(rows);
    const sheet = sheetXml(bytes);
    expect(sheet).toContain('</sheetData><autoFilter ref="A1:B3"/>');
    expect(sheet).toContain('<pane ySplit="1"');
    const workbook = Buffer.from(unzipSync(bytes)['xl/workbook.xml'] ?? []).toString();
    expect(workbook).toContain("'bicycles'!$A$1:$B$3</definedName>");
  });

  test('the header of a time column includes the time zone', async () => {
    const { bytes } = await write(rows);
    const [header, first] = await read(bytes);
    expect(header?.cells).toEqual(['name', 'created (Europe/Berlin)']);
    expect(first?.cells).toEqual(['Ada', '2026-07-01T08:30:00']);
    const utc = await read((await write(rows, { timezone: 'UTC' })).bytes);
    expect(utc[1]?.cells).toEqual(['Ada', '2026-07-01T06:30:00']);
  });

  test('--no-headers omits the header', async () => {
    const { bytes } = await write(rows, { hasHeader: false });
    expect((await read(bytes)).map(({ cells }) => cells[0])).toEqual(['Ada', 'B']);
  });

  test('one notice reports how many numbers were written as text', async () => {
    const { notices } = await write([
      '{"serial":12345678901234567890,"charge":1e400}',
      '{"serial":1.50}',
      '{"charge":1e300}',
    ]);
    expect(notices).toEqual([
      '3 numbers have more digits than a spreadsheet keeps and were written as text: serial, charge',
    ]);
  });

  test('one notice lists the truncated strings', async () => {
    const long = JSON.stringify('x'.repeat(32_768));
    const { notices } = await write([`{"name":"a","note":${long}}`, `{"name":${long}}`]);
    expect(notices).toEqual([
      '2 texts were cut to 32,767 characters, which is all that a cell holds: note in row 2, name in row 3',
    ]);
  });

  test('prints no notice when every cell contains its whole value', async () => {
    expect((await write(rows)).notices).toEqual([]);
  });
});

test.each([
  ['created (Europe/Berlin)', 'created', 'Europe/Berlin'],
  ['created (UTC)', 'created', 'UTC'],
  ['created', 'created', undefined],
  ['charge (percent)', 'charge (percent)', undefined],
  ['(UTC)', '(UTC)', undefined],
  ['a ()', 'a ()', undefined],
])('splits the header %s into field and time zone', (header, field, timezone) => {
  expect(splitTimeHeader(header)).toEqual({ field, timezone });
});
