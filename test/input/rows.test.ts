// Compares the reading of CSV and JSON rows with other parsers.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findDelimiter } from '../../src/input/csv.js';
import { splitLines } from '../../src/input/lines.js';
import { type InputRow, UnreadableInput } from '../../src/input/row.js';
import { readRows } from '../../src/input/rows.js';
import { readExact } from '../../src/json/exact.js';
import { anyText } from '../support/naughty.js';
import { often } from '../support/often.js';

async function* piecesOf(text: string): AsyncGenerator<string> {
  yield text;
}

async function read(text: string, isHeader = () => true): Promise<InputRow[]> {
  const rows: InputRow[] = [];
  const lines = splitLines(piecesOf(text), 'stdin');
  for await (const row of readRows(lines, { isHeader, hasComments: false })) rows.push(row);
  return rows;
}

/** Returns `2: the error`, or the number of rows. */
async function outcomeOf(text: string): Promise<string> {
  try {
    return `${(await read(text)).length} rows`;
  } catch (error) {
    if (!(error instanceof UnreadableInput)) throw error;
    return `${error.place.number}: ${error.message}`;
  }
}

describe('CSV', () => {
  const cell = fc
    .array(fc.constantFrom('"', ',', ';', '\t', '\n', 'a', ' ', 'Ž', '🚲'), {
      minLength: 1,
      maxLength: 6,
    })
    .map((all) => all.join(''));
  const quote = (text: string, always: boolean) =>
    always || /["\n,;\t]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

  test('CSV rows that fleet wrote are read back with the same values', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(cell, cell), { maxLength: 6 }),
        fc.constantFrom(',', ';', '\t'),
        fc.constantFrom('\n', '\r\n', '\r'),
        fc.boolean(),
        async (records, delimiter, end, isQuoted) => {
          const lines = [
            ['a', 'b'].join(delimiter),
            ...records.map((cells) => cells.map((text) => quote(text, isQuoted)).join(delimiter)),
          ];
          const rows = await read(`${lines.join(end)}${end}`);
          // A record that contains only white space is ignored.
          const written = records.flatMap(([a, b], index) => {
            const before = lines
              .slice(0, index + 1)
              .join(end)
              .split(/\r\n|\r|\n/).length;
            return `${a}${b}`.trim() === ''
              ? []
              : [
                  {
                    place: { unit: 'line', number: before + 1 },
                    kind: 'cells',
                    fields: { a, b },
                    hasGuards: false,
                    delimiter,
                  },
                ];
          });
          expect(rows).toEqual(written);
        },
      ),
      { numRuns: often(500) },
    );
  });

  test('a CSV error always refers to an existing line', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          anyText(),
          cell.map((one) => `"${one}`),
        ),
        async (text) => {
          const line = Number(/^(\d+):/.exec(await outcomeOf(text))?.[1] ?? 1);
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
  ])('the delimiter of the CSV text %j is %j', (text, delimiter) =>
    expect(findDelimiter(text)).toBe(delimiter),
  );

  test.each([
    ['a,b\n1,"x', '2: a quote is opened here and never closed'],
    ['a,b\n1,x"y"', '2: a quote inside a cell that is not quoted'],
    ['a,b\r\n"1"2,x', '2: text after a closing quote'],
    ['a,b\n"1\n2",3\n1,2,3', '4: more cells than the header has columns (2)'],
    ['sep=;\na;b\n1,2;3', '1 rows'],
    ['sep=\t\na\tb;c\n1\t2', '1 rows'],
    ['sep=\t\r\na\tb,c,d\r\n1\t2,3', '1 rows'],
    ['sep=|\na|b\n1|2;3', '1 rows'],
    ['a,b\n1,2\x1A', '1 rows'],
    ['a,b\n1,2\n\x1A\n', '1 rows'],
    ['a,b\n1,2\n\x1A\r\n\r\n', '1 rows'],
    ['a,b\n1,2\x1A\x1A\n\x1A\x1A', '1 rows'],
    ['a,b\n\x1A\n1,2\n', '2 rows'],
    [`a,b\n1,2\n\x1A${'\n'.repeat(3000)}3,4`, '3 rows'],
    ['a,b\r1,2\r3,4\r', '2 rows'],
    ['a,b\r\r\n1,2\r3,4', '2 rows'],
    ['a,"b\n1,2"\n', '1: the header has line breaks in it, and no rows follow'],
    ['a,b\u20281,2', '1: the header has line breaks in it, and no rows follow'],
  ])('%j', async (text, outcome) => expect(await outcomeOf(text)).toContain(outcome));

  test('keeps a DOS end-of-file character that is not at the end', async () => {
    const rows = await read('a,b\n1\x1A,2\x1A\n\n3,4\x1A\n');
    expect(rows.map((row) => row.kind === 'cells' && row.fields)).toEqual([
      { a: '1\x1A', b: '2\x1A' },
      { a: '3', b: '4' },
    ]);
  });

  test('keeps the line endings inside a quoted cell', async () => {
    const rows = await read('a,b\r"1\r2","3\r\n4"\r"5\n6",7\r');
    expect(rows.map((row) => row.kind === 'cells' && row.fields)).toEqual([
      { a: '1\r2', b: '3\r\n4' },
      { a: '5\n6', b: '7' },
    ]);
  });
});

describe('JSON', () => {
  const object = fc.dictionary(
    fc.string(),
    fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<unknown>,
    { maxKeys: 4 },
  );

  test('reads JSON arrays, JSON lines and consecutive objects in the same way', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(object, { maxLength: 5 }),
        fc.constantFrom(0, 2),
        async (objects, indent) => {
          const texts = objects.map((one) => JSON.stringify(one, null, indent));
          const expected = objects.map((one) => readExact(JSON.stringify(one)));
          let line = 1;
          const placed = texts.map((text, index) => {
            const place = { unit: 'line', number: line };
            const row = { place, kind: 'object', fields: expected[index] };
            line += text.split('\n').length;
            return row;
          });
          expect(await read(texts.join('\n'))).toEqual(placed);
          const array = await read(`[\n${texts.join(',\n')}\n]`);
          expect(array).toEqual(
            placed.map((row) => ({
              ...row,
              place: { unit: 'line', number: row.place.number + 1 },
            })),
          );
        },
      ),
      { numRuns: often(300) },
    );
  });

  test('rejects a truncated JSON file', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(object, { minLength: 1, maxLength: 3 }),
        fc.nat(),
        async (objects, at) => {
          const text = JSON.stringify(objects);
          expect(await outcomeOf(text.slice(0, 1 + (at % (text.length - 1))))).toMatch(/^1: /);
        },
      ),
      { numRuns: often(500) },
    );
  });

  test.each([
    ['[{"a":1},]', '1: broken JSON'],
    ['[{"a":1}', '1: incomplete JSON'],
    ['{"a":1}\n{"a" 2}', '2: broken JSON'],
    ['{"a":1}\n{"a":', '2: incomplete JSON'],
    ['{"a":1}\n7', '2 rows'],
    ['{"a":1}\r{\r"a":2\r}\r7\r', '3 rows'],
    ['[\r{},\r7]', '3: an object is expected'],
    ['[\n{},\n7]', '3: an object is expected'],
    ['[{}] x', '1: broken JSON'],
    ['{"a":1}\n{"a":1,"a":2}', '2: the key "a" appears twice'],
    ['[{"a":1},\n{"b":1,"b":1}]', '2: the key "b" appears twice'],
    ['{"a":{"b":1,\n"b":2}}', '1: the key "b" appears twice'],
    ['{"a":1,\n"\\u0061":2}', '1: the key "a" appears twice'],
    ['{"__proto__":1,"__proto__":2}', '1: the key "__proto__" appears twice'],
    ['[{"a":[{"b":1},{"b":1}]},{"a":{"a":"a"}}]', '2 rows'],
    [`[{"a":${'['.repeat(500)}${']'.repeat(500)}}]`, '1: JSON nested deeper than 500 levels'],
  ])('reading %j results in "%s"', async (text, outcome) => {
    expect(await outcomeOf(text)).toBe(outcome);
  });
});

describe('hostile files', () => {
  const timed = async (work: () => Promise<unknown> | unknown) => {
    const started = process.cpuUsage();
    await work();
    return process.cpuUsage(started).user / 1000;
  };

  test.each([
    ['an object of 20,000 lines', `{\n${'"a": {"b": 1},\n'.repeat(20_000)}"z": 1\n}`],
    ['an object that is never closed', `{\n${'"a": 1,\n'.repeat(200_000)}`],
    ['an array of 100,000', `[${'{"a":1},\n'.repeat(100_000)}{}]`],
  ])('%s', async (_what, text) => expect(await timed(() => outcomeOf(text))).toBeLessThan(4_000));

  test.each(['x', '"', ',', ';'])(
    'finds the delimiter of a CSV line of 8 million %j in linear time',
    async (character) => {
      const text = character.repeat(8_000_000);
      expect(await timed(() => findDelimiter(text))).toBeLessThan(2_000);
    },
  );
});
