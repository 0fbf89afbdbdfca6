// Reads workbooks that are small on disk and huge in memory, each in a separate process.

import { unzipSync, zipSync } from 'fflate';
import { beforeAll, describe, expect, test } from 'vitest';
import { makeWorkbook, workbookParts, zipParts } from '../support/workbook.js';
import { buildReader, readInProcess } from '../support/workbook-process.js';

const MB = 1024 * 1024;
/** Promise 6 of the project. */
const MEMORY_LIMIT_MB = 400;

let reader: string;
beforeAll(async () => {
  reader = await buildReader();
});

/** Repeats the text up to this size. */
function fill(text: string, bytes: number): string {
  return text.repeat(Math.floor(bytes / text.length));
}

const cell = '<row><c t="s"><v>0</v></c></row>';

/** The same workbook without compression. */
function store(workbook: Buffer): Buffer {
  return Buffer.from(zipSync(unzipSync(workbook), { level: 0 }));
}

/** Claims in both headers that the sheet unpacks to 100 bytes. */
function understateSize(workbook: Buffer): Buffer {
  for (const [signature, offset] of [
    ['PK\u0001\u0002', 24],
    ['PK\u0003\u0004', 22],
  ] as const)
    workbook.writeUInt32LE(100, workbook.lastIndexOf(signature) + offset);
  return workbook;
}

test('reads a workbook with a cell in the last row and column', async () => {
  const workbook = makeWorkbook(
    `<row r='1'><c r='A1'><v>1</v></c></row><row r='1048576'><c r='&#88;FD1048576'><v>1</v></c></row>`,
  );
  const { outcome, peakMb } = await readInProcess(reader, workbook);
  expect(outcome).toBe('2 rows');
  expect(peakMb).toBeLessThan(MEMORY_LIMIT_MB / 2);
});

describe('memory use of hostile workbooks', () => {
  test.each<[string, string, () => Buffer]>([
    [
      'cells in the last column of many rows',
      'more than 128 MB of memory',
      () => {
        const row = (_: unknown, index: number) => `<row><c r='XFD${index + 1}'><v>1</v></c></row>`;
        return makeWorkbook(Array.from({ length: 2_000 }, row).join(''));
      },
    ],
    [
      'a zip bomb',
      'more than 64 MB of unpacked data',
      () => makeWorkbook(fill(`<row/><!--${' '.repeat(100_000)}-->`, 80 * MB)),
    ],
    [
      'a zip bomb that understates its size',
      'its size or checksum is wrong',
      () => understateSize(makeWorkbook(fill(`<row/><!--${' '.repeat(100_000)}-->`, 50 * MB))),
    ],
    [
      'a million columns',
      'more than 16384 columns',
      () => makeWorkbook(`<row>${'<c><v>1</v></c>'.repeat(1_000_000)}</row>`),
    ],
    ['empty rows', 'more than 1048576 rows', () => makeWorkbook(fill('<row/>', 10 * MB))],
    [
      'a giant text',
      'longer than a million characters',
      () => makeWorkbook(cell, { texts: `<si><t>${'a'.repeat(60 * MB)}</t></si>` }),
    ],
    [
      'a giant attribute',
      'longer than a million characters',
      () => makeWorkbook(`<row r="${'1'.repeat(60 * MB)}"/>`),
    ],
    [
      'many small texts',
      'need more than 128 MB of memory',
      () => store(makeWorkbook(cell, { texts: fill('<si><t>abcdefghijkl€</t></si>', 60 * MB) })),
    ],
    [
      'many small rows',
      'need more than 128 MB of memory',
      () => makeWorkbook('<row><c t="str"><v>abcdefghijklmn</v></c></row>'.repeat(900_000)),
    ],
    ['deep nesting', 'more than 100 levels deep', () => makeWorkbook('<a>'.repeat(2 * MB))],
    [
      'many attributes',
      'more than 200 attributes',
      () => makeWorkbook(`<row ${Array.from({ length: 1e6 }, (_, i) => `a${i}=""`).join(' ')}/>`),
    ],
    [
      'many entries',
      'more than 20000 entries',
      () => {
        const names = Array.from({ length: 30_000 }, (_, index) => [`x${index}`, '']);
        const parts = workbookParts({ sheets: [{}] });
        return zipParts({ ...parts, ...Object.fromEntries(names) });
      },
    ],
  ])('stays below the memory limit for %s', async (_what, message, make) => {
    const { outcome, peakMb } = await readInProcess(reader, make());
    expect(outcome).toContain(message);
    expect(peakMb).toBeLessThan(MEMORY_LIMIT_MB);
  });
});

test.each<[string, () => Buffer]>([
  ['many cells', () => makeWorkbook(`<row>${'<c><v>1.5</v></c>'.repeat(30)}</row>`.repeat(90_000))],
  ['character references', () => makeWorkbook(cell, { texts: fill('<si>&#x20AC;</si>', 60 * MB) })],
])('an abort signal stops reading a workbook with %s', async (_what, make) => {
  const { outcome } = await readInProcess(reader, make(), 300);
  expect(outcome).toBe('interrupted');
});
