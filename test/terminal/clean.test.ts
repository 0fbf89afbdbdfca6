// Tests that hostile text becomes visible, that harmless text stays the same string, and that JSON
// keeps its value.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clean, cleanMultiline, escapeJson } from '../../src/terminal/clean.js';
import { anyJson, anyText, findControls, HARMLESS, HOSTILE, NAUGHTY } from '../support/naughty.js';

const odd = () => fc.oneof(anyText(), fc.string({ unit: 'grapheme' }), fc.constantFrom(...NAUGHTY));

describe('clean', () => {
  it.each([
    ['\u001b[31mred', '␛[31mred'],
    ['a\nb\r\nc\td', 'a␊b␍␊c␉d'],
    ['\u0000\u0007\u007f', '␀␇␡'],
    ['\u009b31m', '<U+009B>31m'],
    ['\u202egnp', '<U+202E>gnp'],
    ['a\u200bb\ufeff', 'a<U+200B>b<U+FEFF>'],
    ['a\u2028b', 'a<U+2028>b'],
    ['x\u{E0041}', 'x<U+E0041>'],
    ['half \ud83d', 'half \uFFFD'],
    // XML and YAML cannot contain these characters.
    ['a\uFFFE\uFFFFb', 'a<U+FFFE><U+FFFF>b'],
    // A joiner between Latin letters is hidden text. A joiner inside an emoji of a family is not.
    ['a\u200db', 'a<U+200D>b'],
    ['👨\u200d👩', '👨\u200d👩'],
    ['👨\u200d\u200d👩', '👨<U+200D><U+200D>👩'],
    // One variation selector chooses the look of an emoji. Several selectors can carry hidden data.
    ['☁\ufe0f', '☁\ufe0f'],
    ['☁\ufe0f\ufe0f', '☁\ufe0f<U+FE0F>'],
    ['😀\u{e0101}', '😀<U+E0101>'],
  ])('converts the string %j to %j', (text, cleaned) => {
    expect(clean(text)).toBe(cleaned);
  });

  it.each(HOSTILE.map((text) => [text]))('converts %j to visible text on one line', (text) => {
    const cleaned = clean(text);
    expect(cleaned).not.toBe(text);
    expect(findControls(cleaned)).toEqual([]);
    expect(cleaned).not.toMatch(/[\u200b\u2060\ufeff\u00ad\u3164\u115f\uffa0\ufff9-\ufffb]/);
  });

  it.each(HARMLESS.map((text) => [text]))('does not change %j', (text) => {
    expect(clean(text)).toBe(text);
  });

  it('removes all control characters in a single pass (property-based)', () => {
    fc.assert(
      fc.property(fc.array(odd()), (texts) => {
        const cleaned = clean(texts.join(''));
        expect(findControls(cleaned)).toEqual([]);
        expect(clean(cleaned)).toBe(cleaned);
      }),
    );
  });

  it('keeps the line breaks of multi-line text', () => {
    expect(cleanMultiline('error: \u001b[0m\nhint: a\tb')).toBe('error: ␛[0m\nhint: a␉b');
  });
});

describe('escapeJson', () => {
  it.each([
    ['"a\u009bb"', '"a\\u009bb"'],
    ['"\u202e\u007f"', '"\\u202e\\u007f"'],
    ['"\u{E0041}"', '"\\udb40\\udc41"'],
    ['"👨\u200d👩 ü"', '"👨\u200d👩 ü"'],
    ['{\n\t"a": 1.50\r\n}', '{\n\t"a": 1.50\r\n}'],
  ])('converts the JSON text %j to %j', (json, escaped) => {
    expect(escapeJson(json)).toBe(escaped);
  });

  it('escapes all control characters and keeps the value (property-based)', () => {
    fc.assert(
      fc.property(anyJson(), fc.array(odd()), (value, names) => {
        const json = JSON.stringify({ value, names });
        const escaped = escapeJson(json);
        expect(findControls(escaped)).toEqual([]);
        expect(JSON.parse(escaped)).toEqual(JSON.parse(json));
      }),
    );
  });
});
