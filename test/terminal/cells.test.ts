// Compares widths with an independent library. Shortened text never exceeds the width or splits a
// grapheme.

import fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { cut, pad, widthOf, wrap } from '../../src/terminal/cells.js';
import { clean } from '../../src/terminal/clean.js';
import { anyText, NAUGHTY } from '../support/naughty.js';
import { isLong } from '../support/often.js';

const cleanText = () =>
  fc
    .array(fc.oneof(fc.string({ unit: 'grapheme' }), anyText(), fc.constantFrom(...NAUGHTY)), {
      maxLength: 4,
    })
    .map((texts) => clean(texts.join('')));

const segmenter = new Intl.Segmenter();
const graphemes = (text: string) => Array.from(segmenter.segment(text), ({ segment }) => segment);

/**
 * The ideographs and the syllables of Hangul are tens of thousands of characters that behave alike,
 * so the short run tests only a part of them.
 */
const isOfMany = (code: number) =>
  (code >= 0x3400 && code < 0xa000) || (code >= 0xac00 && code < 0xd790);

describe('widthOf', () => {
  it.each([
    ['', 0],
    ['abc', 3],
    ['für 57 % …', 10],
    ['自転車', 6],
    ['👨\u200d👩\u200d👧\u200d👦', 2],
    ['🇩🇪', 2],
    ['1\ufe0f\u20e3', 2],
    ['e\u0301', 1],
    ['각', 2],
    ['ﾊﾞ', 2],
    ['\u1100\u1161\u11a8', 2],

    ['אופניים', 7],
    ['␛[31m', 5],
  ])('the string %j is %d columns wide', (text, width) => {
    expect(widthOf(text)).toBe(width);
  });

  it('measures every character like the string-width package', () => {
    for (let code = 0x20; code < 0x1_0000; code += isLong || !isOfMany(code) ? 1 : 16) {
      const text = clean(String.fromCodePoint(code));
      if (widthOf(text) !== stringWidth(text)) throw new Error(`U+${code.toString(16)}`);
    }
  });

  it('measures strings like the string-width package', () => {
    // Two letters that are not a country are drawn as two letters, but string-width counts the pair
    // as one column. Letters of Hangul that form no syllable are so rare that wrong widths are
    // accepted.
    const isUsual = (text: string) =>
      !/[\u{1F1E6}-\u{1F1FF}\u1100-\u11FF\uA960-\uA97C\uD7B0-\uD7FB]/u.test(text);
    fc.assert(
      fc.property(cleanText().filter(isUsual), (text) => {
        expect(widthOf(text)).toBe(stringWidth(text));
      }),
    );
  });
});

describe('cut', () => {
  it.each([
    ['Berlin', 6, 'Berlin'],
    ['Berlin', 5, 'Berl…'],
    ['Berlin', 1, '…'],
    ['Berlin', 0, ''],
    ['自転車', 5, '自転…'],
    ['自転車', 4, '自…'],
    ['👨\u200d👩\u200d👧 family', 4, '👨\u200d👩\u200d👧 …'],
    ['👨\u200d👩\u200d👧 family', 2, '…'],
    ['e\u0301e\u0301e\u0301', 2, 'e\u0301…'],
  ])('shortens %j to %d columns: %j', (text, width, expected) => {
    expect(cut(text, width)).toBe(expected);
  });

  it('shortens a string only when it does not fit, and never splits a grapheme', () => {
    fc.assert(
      fc.property(cleanText(), fc.nat({ max: 40 }), (text, width) => {
        const shown = cut(text, width);
        expect(widthOf(shown)).toBeLessThanOrEqual(width);
        if (width === 0 || widthOf(text) <= width) {
          expect(shown).toBe(width === 0 ? '' : text);
        } else {
          expect(shown.endsWith('…')).toBe(true);
          const kept = graphemes(shown.slice(0, -1));
          expect(graphemes(text).slice(0, kept.length)).toEqual(kept);
        }
      }),
      { numRuns: 500 },
    );
  });
});

it.each([
  ['ab', 4, 'left', 'ab  '],
  ['ab', 4, 'right', '  ab'],
  ['自', 4, 'left', '自  '],
  ['abcde', 4, 'left', 'abcde'],
] as const)('pads %j to %d columns, %s', (text, width, align, expected) => {
  expect(pad(text, width, align)).toBe(expected);
});

it.each([
  ['look at it before you try again', ['look at it before', '  you try again']],
  [
    'one of: 9e3779b1-0000-4000-8000-000000000001 (a)',
    ['one of:', '  9e3779b1-0000-4000-8000-000000000001', '  (a)'],
  ],
  ['short', ['short']],
])('wraps %j at 18 columns', (text, lines) => {
  expect(wrap(text, 18, '  ')).toEqual(lines);
});

it('removes most combining marks when one cell has thousands of them', () => {
  const heaped = `e${'\u0301'.repeat(3_000)}`;
  const shown = cut(`a${heaped}b`, 20);
  expect(shown.startsWith(`ae${'\u0301'.repeat(10)}`)).toBe(true);
  expect(shown.endsWith('…')).toBe(true);
  expect(shown.length).toBeLessThan(60);
});
