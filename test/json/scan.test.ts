// The scanner of pages beside the reader of their text: what it finds is what that finds, to the byte, and all else it leaves to it.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readPage } from '../../src/http/pages.js';
import type { HttpAnswer, Page } from '../../src/http/types.js';
import { scanList } from '../../src/json/scan.js';
import { openJsonLines } from '../../src/terminal/formats/json.js';
import { BYTES, INVALID, VALID } from '../support/json-cases.js';
import { anyUrl } from '../support/naughty.js';
import { often } from '../support/often.js';

const UUID = '6f1c0b5e-2f0e-4c56-9d3a-0d6f3a1f7c11';

/** An answer as the client makes one; unless it is to be read as text, its bytes come first. */
function answerOf(bytes: Buffer, isText: boolean): HttpAnswer {
  const text = bytes.toString('utf8').replace(/^\ufeff/, '');
  // A scanner finds nothing in no bytes.
  return {
    status: 200,
    headers: {},
    text,
    bytes: isText ? Buffer.alloc(0) : Buffer.from(bytes),
    trace: {},
    milliseconds: 0,
  };
}

/** All that comes of a page: its items as jsonl prints them, their texts and values, or the error. */
function outcomeOf(bytes: Buffer, isText: boolean): unknown {
  let page: Page;
  try {
    page = readPage(answerOf(bytes, isText));
  } catch (error) {
    return String(error);
  }
  const { count, next, items } = page;
  const texts = items.map(({ json }) => json);
  const values = items.map(({ value }) => value);
  return { count, next, texts, values, printed: String(openJsonLines().rows(items)) };
}

function expectSame(bytes: Buffer): void {
  expect(outcomeOf(bytes, false)).toEqual(outcomeOf(bytes, true));
}

/** A text in each place where a page may hold it. */
const PLACES: readonly ((text: Buffer) => Buffer)[] = [
  (text) => text,
  ...[
    ['[', ']'],
    [`[{"uuid":"${UUID}","a":`, '}]'],
    [`[{"uuid":"${UUID}"},{"uuid":`, `},{"uuid":"${UUID}"}]`],
    ['{"count":2,"results":[{"a":1},', ']}'],
    ['{"count":', ',"next":null,"results":[{"uuid":"x"}]}'],
    ['{"next":', ',"results":[]}'],
    ['{"results":', '}'],
    [' { "results" : [ {"a": ', ' } ] } '],
    ['{"results":[{"a":1,', '}]}'],
    ['{"results":[]', '}'],
  ].map(
    ([before = '', after = '']) =>
      (text: Buffer) =>
        Buffer.concat([Buffer.from(before), text, Buffer.from(after)]),
  ),
];

describe('the cases of JSONTestSuite, in every place of a page', () => {
  test.each([
    ['valid', VALID.map((text) => Buffer.from(text))],
    ['invalid', INVALID.map((text) => Buffer.from(text))],
    ['left to the parser', BYTES],
  ])('%s', (_, cases) => {
    for (const bytes of cases) for (const place of PLACES) expectSame(place(bytes));
  });

  test('none that is no JSON is scanned', () => {
    for (const text of INVALID) {
      expect(() => JSON.parse(text), text).toThrow();
      for (const value of [`[{"a":${text}}]`, `{"results":[{"a":${text}}]}`])
        if (!isJson(value)) expect([value, scanList(Buffer.from(value), 500)]).toEqual([value, undefined]);
    }
  });

  test('those without line breaks and DELETE are', () => {
    const usual = VALID.filter((text) => !/[\r\n\x7f]/.test(text));
    expect(usual.length).toBeGreaterThan(80);
    for (const text of usual)
      expect([text, scanList(Buffer.from(`[{"a":${text}}]`), 500)?.items.length]).toEqual([text, 1]);
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe('any page', () => {
  const uuid = fc.oneof(
    fc.uuid(),
    fc.uuid().map((text) => text.toUpperCase()),
    fc.string({ maxLength: 4 }),
  );
  const item = fc.record(
    { uuid: fc.oneof(uuid, fc.jsonValue({ maxDepth: 1 })), a: fc.jsonValue({ maxDepth: 3 }), ü: fc.string() },
    { requiredKeys: [] },
  );
  const page = fc.oneof(
    fc.array(item),
    fc.record(
      {
        count: fc.jsonValue({ maxDepth: 1 }),
        next: fc.oneof(fc.constant(null), anyUrl(), fc.jsonValue()),
        results: fc.array(item),
      },
      { requiredKeys: ['results'] },
    ),
  );
  const layout = fc.constantFrom('', ' ', '\t', 2);

  test('however it is laid out', () => {
    fc.assert(
      fc.property(page, layout, (value, space) => expectSame(Buffer.from(JSON.stringify(value, null, space)))),
      { numRuns: often(200) },
    );
  });

  test('with a byte changed, taken out or cut off', () => {
    const change = fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 }), fc.constantFrom('set', 'drop', 'cut'));
    fc.assert(
      fc.property(page, fc.array(change, { minLength: 1, maxLength: 3 }), (value, changes) => {
        let bytes = Buffer.from(JSON.stringify(value));
        for (const [place, byte, how] of changes) {
          const at = place % Math.max(1, bytes.length);
          if (how === 'set') bytes[at] = byte;
          else
            bytes = Buffer.concat([bytes.subarray(0, at), how === 'drop' ? bytes.subarray(at + 1) : Buffer.alloc(0)]);
        }
        expectSame(bytes);
      }),
      { numRuns: often(400) },
    );
  });
});

test('keys that are written with escapes, or come twice', () => {
  for (const text of [
    '[{"\\u0075uid":"a"}]',
    `[{"uuid":"${UUID}","uuid":"b"}]`,
    `[{"uuid":"b","uuid":"${UUID}"}]`,
    '{"results":[{"a":1}],"results":[]}',
    '{"res\\u0075lts":[{"a":1}]}',
    '{"results":[],"count":1,"count":"7"}',
    '{"count":01,"results":[]}',
    '{"results":{}}',
    '{"results":null}',
    '{"next":"https:\\/\\/x\\/?page=2","results":[{"__proto__":{"a":1}}]}',
    '[{"a":1},2]',
    '[{"a":1} , {"b":2}]',
    '[{"a":1},{"a":1}]',
    '[{"a":\n1}]',
    '[{"a":1},\n{"b":2}\n]',
  ])
    expectSame(Buffer.from(text));
});
