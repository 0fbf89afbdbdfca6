// Formatting JSON text changes only white space.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { needsExactReading, readExact, writeJson } from '../../src/json/exact.js';
import { DEPTH_LIMIT, JsonError, parseJson } from '../../src/json/parse.js';
import { indent, readTokens, splitArray, squeeze } from '../../src/json/text.js';
import { anyJson, EXACT_NUMBERS } from '../support/naughty.js';
import { often } from '../support/often.js';

describe('indent', () => {
  it('indenting does not change numbers or escape sequences', () => {
    const json = '{"n":12345678901234567890,"s":"\\u00e9\\/\\"","e":{},"l":[],"x":[1.50,{"y":-0}]}';
    expect(indent(json)).toBe(`{
  "n": 12345678901234567890,
  "s": "\\u00e9\\/\\"",
  "e": {},
  "l": [],
  "x": [
    1.50,
    {
      "y": -0
    }
  ]
}`);
  });

  it('indents like JSON.stringify (property-based)', () => {
    fc.assert(
      fc.property(fc.json(), (json) => {
        expect(indent(json)).toBe(JSON.stringify(JSON.parse(json), null, 2));
      }),
    );
  });

  it('colors only keys', () => {
    expect(indent('{"a":"b","c":["d"]}', '', (key) => `<${key}>`)).toBe(
      '{\n  <"a">: "b",\n  <"c">: [\n    "d"\n  ]\n}',
    );
  });
});

describe('squeeze', () => {
  it('removes only the whitespace between tokens', () => {
    expect(squeeze('{\n  "a b": [ 1.50 ,\r\n "x\\n y" ]\n}')).toBe('{"a b":[1.50,"x\\n y"]}');
    expect(squeeze('{"a": 1}')).toBe('{"a": 1}');
  });

  it('removes the indentation that `indent` added', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const json = JSON.stringify(value);
        expect(squeeze(JSON.stringify(value, null, 2))).toBe(json);
        expect([...readTokens(json)].join('')).toBe(json);
      }),
    );
  });
});

describe('readExact', () => {
  it.each(EXACT_NUMBERS.map((text) => [text]))('preserves the spelling of %s', (number) => {
    const json = `{"a":[${number},{"b":${number}}],"c":${number}}`;
    expect(needsExactReading(json)).toBe(true);
    expect(needsExactReading(number)).toBe(true);
    expect(writeJson(readExact(json))).toBe(json);
    expect(writeJson(readExact(number))).toBe(number);
  });

  it.each([
    '{"a":1,"b":-2.5,"c":[0.1,1000000]}',
    '{"t":"2024-05-01T11:57:30.120Z"}',
    '{"a":13.404953999999998}',
    '"1.50"',
    '{"bleid":"AXA:99ED657D037B5A1EEC76"}',
  ])('readExact is not needed for %s', (json) => {
    expect(needsExactReading(json)).toBe(false);
  });

  it('readExact is needed when JSON.parse would change a number (property-based)', () => {
    const digits = fc.stringMatching(/^(?:0|[1-9]\d{0,24})$/);
    const number = fc
      .tuple(
        fc.constantFrom('', '-'),
        digits,
        fc.stringMatching(/^(?:\.\d{1,25})?$/),
        fc.stringMatching(/^(?:[eE][+-]?\d{1,3})?$/),
      )
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(fc.array(number), fc.constantFrom('', ' ', '\n'), (numbers, space) => {
        const json = `[${space}${numbers.join(`${space},${space}`)}${space}]`;
        expect(writeJson(needsExactReading(json) ? readExact(json) : JSON.parse(json))).toBe(
          `[${numbers.join(',')}]`,
        );
      }),
      { numRuns: often(2000) },
    );
  });

  it('returns the same values as JSON.parse', () => {
    fc.assert(
      fc.property(anyJson(), (value) => {
        for (const json of [JSON.stringify(value), JSON.stringify(value, null, 1)]) {
          // Minus zero and 1e+21 keep their spelling, which only their text shows.
          if (needsExactReading(json))
            expect(JSON.parse(writeJson(readExact(json)))).toEqual(JSON.parse(json));
          else expect(readExact(json)).toEqual(JSON.parse(json));
        }
      }),
    );
  });

  it('accepts `__proto__` as a key and keeps the last of duplicate keys', () => {
    const read = readExact('{"__proto__":{"polluted":1.0},"a":1,"a":2}');
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
    expect(Object.keys(read as object)).toEqual(['__proto__', 'a']);
    expect(writeJson(read)).toBe('{"__proto__":{"polluted":1.0},"a":2}');
  });

  it('reads values at any nesting depth', () => {
    expect(Array.isArray(readExact(`${'['.repeat(100_000)}1.0${']'.repeat(100_000)}`))).toBe(true);
  });
});

describe('parseJson', () => {
  const thrownBy = (text: string): unknown => {
    try {
      return parseJson(text);
    } catch (error) {
      return error;
    }
  };

  it('returns the same values as JSON.parse up to the depth limit', () => {
    const deep = `${'['.repeat(DEPTH_LIMIT)}${']'.repeat(DEPTH_LIMIT)}`;
    for (const text of [
      'null',
      ' [1, {"a":"]]"}] ',
      deep,
      `[${'[[]],'.repeat(1000)}0]`,
      `"${'['.repeat(1000)}"`,
    ])
      expect(parseJson(text)).toEqual(JSON.parse(text));
  });

  it.each([
    ['one level too many', '['.repeat(DEPTH_LIMIT + 1) + ']'.repeat(DEPTH_LIMIT + 1)],
    ['a million brackets', '['.repeat(1_000_000)],
    ['a million objects', '{"a":'.repeat(1_000_000)],
    ['depth behind a text with brackets and quotes', `["[\\"[",${'[{"a":'.repeat(300)}`],
  ])('rejects JSON with %s before parsing', (_case, text) => {
    expect(thrownBy(text)).toMatchObject({
      kind: 'depth',
      message: 'JSON nested deeper than 500 levels',
    });
  });

  it('rejects JSON with more values than the memory limit allows', () => {
    expect(thrownBy(`[${'{},'.repeat(4_000_000)}1]`)).toMatchObject({ kind: 'values' });
    expect(thrownBy(`["${'{},'.repeat(4_000_000)}",1]`)).toHaveLength(2);
  });

  it.each([
    ['', true],
    ['{"a":', true],
    ['["secret', true],
    ['{"token":secret}', false],
    ['[1]]', false],
    ['[1 2]', false],
    ['{,}', false],
    ['["\\x"]', false],
    ['[01]', false],
    ['[01', true],
    ['tru ', false],
    [' ', true],
  ])('reports %j as invalid JSON without quoting it', (text, isCutOff) => {
    const error = thrownBy(text);
    expect(error).toBeInstanceOf(JsonError);
    expect(error).toMatchObject({ kind: 'syntax', isCutOff });
    expect(`${error} ${(error as Error).stack} ${(error as Error).cause}`).not.toContain('secret');
  });

  it('recognizes every prefix of a JSON document as truncated', () => {
    const text =
      '{"a" : [1, -2.50e+3, true, false,null,{} ], "b\\u00e9\\"\\\\": {"c":"d"}, "e": [[]]}';
    for (let end = 0; end < text.length; end++)
      expect(thrownBy(text.slice(0, end)), text.slice(0, end)).toMatchObject({ isCutOff: true });
  });
});

describe('splitArray', () => {
  it('splits an array into the unchanged JSON text of its elements', () => {
    const text = ' [ 1.50 ,{"a":\n[1, 2]} , "]\\"," ,[]]';
    expect(splitArray(text, 1)).toEqual({
      texts: ['1.50', '{"a":\n[1, 2]}', '"]\\","', '[]'],
      end: text.length,
    });
  });

  it('returns undefined for text that is not an array', () => {
    for (const text of ['[:', '[}', '[,,', '["', '[{', '['])
      expect(splitArray(text, 0)).toBeUndefined();
  });
});
