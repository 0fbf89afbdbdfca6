// CSV and JSON files read with the place of everything in them, checked against other readers.

import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  findDelimiter,
  type PlacedRow,
  readCsv,
  readCsvRows,
  readJsonRows,
  Unreadable,
} from '../../src/commands/bulk/placed.js';
import { anyText } from '../support/naughty.js';
import { often } from '../support/often.js';

/** What stands at a line and column of a text, as an editor counts them. */
function textAt(text: string, { line, column }: { line: number; column: number }): string {
  return (text.split(/\r\n|\r|\n/)[line - 1] ?? '').slice(column - 1);
}

function whereItFails(read: () => unknown): string {
  try {
    read();
    return 'nowhere';
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return `${error.spot.line}:${error.spot.column} ${error.message}`;
  }
}

describe('CSV', () => {
  const cell = fc.oneof(
    fc.string(),
    fc
      .array(fc.constantFrom('"', ',', ';', '\t', '\n', '\r', '\r\n', 'a', ' ', 'Ž', '🚲'), { maxLength: 6 })
      .map((all) => all.join('')),
  );
  const quote = (text: string, delimiter: string, always: boolean) =>
    always || text === '' || new RegExp(`["\\r\\n${delimiter}]`).test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  const file = fc.record({
    records: fc.array(fc.array(cell, { minLength: 1, maxLength: 4 }), { maxLength: 6 }),
    end: fc.constantFrom('\n', '\r\n', '\r'),
    delimiter: fc.constantFrom(',', ';', '\t'),
    isQuoted: fc.boolean(),
    endsWithLine: fc.boolean(),
  });
  const write = ({
    records,
    end,
    delimiter,
    isQuoted,
    endsWithLine,
  }: typeof file extends fc.Arbitrary<infer F> ? F : never) =>
    records.map((cells) => cells.map((text) => quote(text, delimiter, isQuoted)).join(delimiter)).join(end) +
    (endsWithLine && records.length > 0 ? end : '');

  test('what was written is read, and every cell stands where it says', () => {
    fc.assert(
      fc.property(file, (one) => {
        const text = write(one);
        const read = readCsv(text, one.delimiter);
        expect(read.map((record) => record.map((field) => field.text))).toEqual(one.records);
        for (const field of read.flat()) {
          const there = textAt(text, field.spot);
          const [firstLine = ''] = field.text.split(/[\r\n"]/);
          expect(there.startsWith('"') ? there.slice(1) : there).toMatch(
            new RegExp(`^${firstLine.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')}`),
          );
        }
      }),
      { numRuns: often(1000) },
    );
  });

  test('as another reader reads it', () => {
    fc.assert(
      fc.property(file, (one) => {
        const text = write({ ...one, isQuoted: true });
        const other = parse(text, {
          delimiter: one.delimiter,
          record_delimiter: one.end,
          relax_column_count: true,
          skip_empty_lines: false,
        });
        expect(readCsv(text, one.delimiter).map((record) => record.map((field) => field.text))).toEqual(other);
      }),
      { numRuns: often(500) },
    );
  });

  test('any text is read or refused with a place in it, and nothing else happens', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          anyText(),
          cell,
          cell.map((one) => `"${one}`),
        ),
        (text) => {
          const failure = whereItFails(() => readCsvRows(text));
          const line = Number(/^\d+/.exec(failure)?.[0] ?? 1);
          expect(line).toBeLessThanOrEqual(text.split(/\r\n|\r|\n/).length);
        },
      ),
      { numRuns: often(1000) },
    );
  });

  test.each([
    ['a,b', ','],
    ['a;b', ';'],
    ['a\tb', '\t'],
    ['"a;b",c', ','],
    ['a', ','],
    ['', ','],
    ['"a""b;";c,d;e', ';'],
  ])('the delimiter of %j is %j', (text, delimiter) => expect(findDelimiter(text)).toBe(delimiter));

  test.each([
    ['a,b\n1,"x', '2:3 a quote is opened here and never closed'],
    ['a,b\n1,x"y', '2:4 a quote inside a cell that is not quoted'],
    ['a,b\r\n"1"2,x', '2:4 text after a closing quote'],
    ['a,b\n"1\n2",3\n1,2,3', '4:5 more cells than the header has columns (2)'],
  ])('%j', (text, failure) => expect(whereItFails(() => readCsvRows(text))).toBe(failure));
});

describe('JSON', () => {
  const values = (rows: readonly PlacedRow[]) =>
    rows.map(({ fields }) => Object.fromEntries(fields.map(({ name, value }) => [name, value])));
  const object = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<unknown>, { maxKeys: 4 });
  const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

  test('an array, lines and pretty objects one after the other are the same; names stand where they say', () => {
    fc.assert(
      fc.property(fc.array(object, { maxLength: 5 }), fc.constantFrom(0, 2), (objects, indent) => {
        // `__proto__` as a name is a property of its own for both.
        const expected = objects.map(plain);
        const lines = objects.map((one) => JSON.stringify(one, null, indent)).join('\n');
        const array = JSON.stringify(objects, null, indent);
        for (const text of [array, lines]) {
          const rows = readJsonRows(text);
          expect(values(rows)).toEqual(expected);
          for (const { name, nameSpot } of rows.flatMap(({ fields }) => fields)) {
            expect(textAt(text, nameSpot).startsWith(JSON.stringify(name))).toBe(true);
          }
        }
      }),
      { numRuns: often(300) },
    );
  });

  test('a beginning of a file is refused where it ends', () => {
    fc.assert(
      fc.property(fc.array(object, { minLength: 1, maxLength: 3 }), fc.nat(), (objects, at) => {
        const text = JSON.stringify(objects);
        const cut = text.slice(0, 1 + (at % (text.length - 1)));
        expect(whereItFails(() => readJsonRows(cut))).not.toBe('nowhere');
      }),
      { numRuns: often(500) },
    );
  });

  test.each([
    ['[{"a":1},]', '1:10 an object is expected'],
    ['[{"a":1}', '1:9 a comma or ] is expected, but the file ends here'],
    ['{"a":1}\n{"a" 2}', '2:6 a colon is expected'],
    ['[\n  {"a": tru}\n]', '2:9 a value is expected'],
    ['[{"a":01}]', '1:8 a comma or } is expected'],
    ['[7]', '1:2 an object is expected'],
    ['[{}] x', '1:6 text after the array'],
    ['[{"a":"x\ny"}]', '1:7 a text that is not closed, or with a character that JSON escapes'],
  ])('%j', (text, failure) => expect(whereItFails(() => readJsonRows(text))).toBe(failure));
});

describe('files that are made to hurt', () => {
  test('brackets more than 500 levels deep are refused where they stand', () => {
    const deep = (levels: number) => `[{"name":${'['.repeat(levels)}${']'.repeat(levels)}}]`;
    expect(whereItFails(() => readJsonRows(deep(498)))).toBe('nowhere');
    expect(whereItFails(() => readJsonRows(deep(499)))).toBe('1:508 brackets more than 500 levels deep');
    expect(whereItFails(() => readJsonRows('{"a":'.repeat(20_000)))).toMatch(/^1:2501 brackets/);
  });

  test.each([
    ['a text of 8 MB', `{"name":"${'x'.repeat(8_000_000)}"}`],
    ['a text that is not closed', `{"name":"${'x'.repeat(8_000_000)}`],
    ['backslashes', `{"name":"${'\\\\'.repeat(4_000_000)}"}`],
  ])('%s', (_what, text) => {
    const started = process.cpuUsage();
    expect(whereItFails(() => readJsonRows(text))).toMatch(/^nowhere|^1:9 a text that is not closed/);
    expect(process.cpuUsage(started).user / 1000).toBeLessThan(2_000);
  });

  test.each(['x', '"', ',', ';'])('CSV of 8 million %j in one line', (character) => {
    const started = process.cpuUsage();
    expect(findDelimiter(character.repeat(8_000_000))).toBe(character === ';' ? ';' : ',');
    expect(process.cpuUsage(started).user / 1000).toBeLessThan(2_000);
  });
});
