// JSON text laid out anew: nothing but white space changes.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { needsExactReading, readExact, writeJson } from '../../src/terminal/exact.js';
import { indentJson, readTokens, squeezeJson } from '../../src/terminal/json.js';
import { EXACT_NUMBERS } from '../support/naughty.js';

describe('indentJson', () => {
  it('keeps numbers and escapes byte for byte', () => {
    const json = '{"n":12345678901234567890,"s":"\\u00e9\\/\\"","e":{},"l":[],"x":[1.50,{"y":-0}]}';
    expect(indentJson(json)).toBe(`{
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

  it('lays out as JSON.stringify does', () => {
    fc.assert(
      fc.property(fc.json(), (json) => {
        expect(indentJson(json)).toBe(JSON.stringify(JSON.parse(json), null, 2));
      }),
    );
  });

  it('colours keys and nothing else', () => {
    expect(indentJson('{"a":"b","c":["d"]}', '', (key) => `<${key}>`)).toBe(
      '{\n  <"a">: "b",\n  <"c">: [\n    "d"\n  ]\n}',
    );
  });
});

describe('squeezeJson', () => {
  it('takes out what stands between the tokens, and nothing of the tokens', () => {
    expect(squeezeJson('{\n  "a b": [ 1.50 ,\r\n "x\\n y" ]\n}')).toBe('{"a b":[1.50,"x\\n y"]}');
    expect(squeezeJson('{"a": 1}')).toBe('{"a": 1}');
  });

  it('undoes indentation', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const json = JSON.stringify(value);
        expect(squeezeJson(JSON.stringify(value, null, 2))).toBe(json);
        expect([...readTokens(json)].join('')).toBe(json);
      }),
    );
  });
});

describe('readExact', () => {
  it.each(EXACT_NUMBERS.map((text) => [text]))('gives %s back as it was written', (number) => {
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
  ])('is not needed for %s', (json) => {
    expect(needsExactReading(json)).toBe(false);
  });

  it('is asked for whenever JSON.parse would change how a number is written', () => {
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
        expect(writeJson(needsExactReading(json) ? readExact(json) : JSON.parse(json))).toBe(`[${numbers.join(',')}]`);
      }),
      { numRuns: 2000 },
    );
  });

  it('takes `__proto__` for a name like any other', () => {
    const json = '{"__proto__":{"a":1.50},"b":1}';
    expect(Object.keys(readExact(json) as object)).toEqual(['__proto__', 'b']);
    expect(writeJson(readExact(json))).toBe(json);
  });

  it('reads what JSON.parse reads', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
        for (const json of [JSON.stringify(value), JSON.stringify(value, null, 1)]) {
          // Minus zero and 1e+21 are read as they are written, which only their text can show.
          if (needsExactReading(json)) expect(JSON.parse(writeJson(readExact(json)))).toEqual(JSON.parse(json));
          else expect(readExact(json)).toEqual(JSON.parse(json));
        }
      }),
    );
  });

  it('takes __proto__ for a name like any other, and the last of two equal names', () => {
    const read = readExact('{"__proto__":{"polluted":1.0},"a":1,"a":2}');
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
    expect(writeJson(read)).toBe('{"__proto__":{"polluted":1.0},"a":2}');
  });

  it('reads nesting as deep as it comes', () => {
    expect(Array.isArray(readExact(`${'['.repeat(100_000)}1.0${']'.repeat(100_000)}`))).toBe(true);
  });
});
