// Finds parts of tokens in text. Ignores all characters between the letters and digits of a token,
// such as line breaks, NUL bytes, markup or separators. Ignores case.

import type { UnescapedText } from './unescape.js';

/**
 * Text is treated as a part of a token when it contains this many consecutive letters and digits of
 * the token. Some services quote the last twelve characters, two of which may be separators.
 */
export const PART_LENGTH = 10;

/**
 * Text is also treated as a part of a token when it contains this many consecutive characters of
 * the token. Most of these characters may be neither letters nor digits.
 */
const LITERAL_LENGTH = 12;
/**
 * A part of a token with fewer distinct characters is ignored. For example, a row of dashes also
 * occurs in ordinary text.
 */
const LEAST_VARIETY = 6;

/** A range of the original text: its start, and the position after its end. */
export type SecretRange = readonly [from: number, to: number];

/** Returns the letters and digits of a text in lower case. */
export function lettersOf(text: string): string {
  return text.replace(/[^\p{L}\p{N}]+/gu, '').toLowerCase();
}

/** Returns the parts of each spelling that have PART_LENGTH letters and digits. */
export function partsOf(spellings: Iterable<string>): Set<string> {
  const parts = new Set<string>();
  for (const spelling of spellings) {
    const letters = lettersOf(spelling);
    for (let at = 0; at + PART_LENGTH <= letters.length; at++) {
      parts.add(letters.slice(at, at + PART_LENGTH));
    }
  }
  return parts;
}

/** Returns the parts of a secret that have too few letters and digits for `findParts`. */
export function literalPartsOf(secret: string): string[] {
  const parts: string[] = [];
  for (let at = 0; at + LITERAL_LENGTH <= secret.length; at++) {
    const part = secret.slice(at, at + LITERAL_LENGTH);
    const isFoundByLetters = lettersOf(part).length >= PART_LENGTH;
    if (!isFoundByLetters && new Set(part).size >= LEAST_VARIETY) parts.push(part);
  }
  return parts;
}

/**
 * Returns the ranges of the original text that contain a part of a token. They are in ascending
 * order.
 */
export function findParts(decoded: UnescapedText, parts: ReadonlySet<string>): SecretRange[] {
  if (parts.size === 0) return [];
  const ranges = findInLetters(decoded, parts, false);
  // The text is searched twice. The first search includes the markup, because a token can be inside
  // a tag. The second search omits the markup, because it can separate the letters of a token.
  return MARKUP_START.test(decoded.text)
    ? [...ranges, ...findInLetters(decoded, parts, true)].sort(([one], [other]) => one - other)
    : ranges;
}

const MARKUP_START = /[<\u001b\u009b]/;

/**
 * Matches markup: comments, tags with quoted attributes, other tags, and escape sequences of
 * terminals (ECMA-48 CSI and OSC). Lengths are limited, so that a search takes linear time.
 */
const MARKUP = new RegExp(
  [
    '<!--[^]{0,500}?-->',
    `<[a-zA-Z/](?:[^<>"']|"[^"]{0,500}"|'[^']{0,500}'){0,500}>`,
    '<[^<>]{0,200}>',
    String.raw`(?:\u001b\[|\u009b)[0-?]{0,50}[ -/]{0,5}[@-~]`,
    String.raw`\u001b\][^\u0007\u001b]{0,500}(?:\u0007|\u001b\\)`,
  ].join('|'),
  'y',
);

function findInLetters(
  { text, starts }: UnescapedText,
  parts: ReadonlySet<string>,
  skipsMarkup: boolean,
): SecretRange[] {
  let letters = '';
  /** The position of each letter in the decoded text, and the position after it. */
  const places: number[] = [];
  const ends: number[] = [];
  let at = 0;
  while (at < text.length) {
    if (skipsMarkup && MARKUP_START.test(text[at] ?? '')) {
      MARKUP.lastIndex = at;
      if (MARKUP.test(text)) {
        at = MARKUP.lastIndex;
        continue;
      }
    }
    const size = (text.codePointAt(at) ?? 0) > LAST_SINGLE_UNIT ? 2 : 1;
    const letter = plainLetter(text.slice(at, at + size));
    if (letter !== '') {
      letters += letter;
      places.push(at);
      ends.push(at + size);
    }
    at += size;
  }
  const ranges: SecretRange[] = [];
  for (let from = 0; from + PART_LENGTH <= letters.length; from++) {
    if (!parts.has(letters.slice(from, from + PART_LENGTH))) continue;
    const end = ends[from + PART_LENGTH - 1] ?? 0;
    ranges.push([starts[places[from] ?? 0] ?? 0, starts[end] ?? 0]);
  }
  return ranges;
}

/** Characters above this code point consist of two UTF-16 units. */
const LAST_SINGLE_UNIT = 0xffff;

/**
 * Returns a letter or digit in lower case and in the Unicode form NFKC, which converts wide letters
 * to ordinary letters. Returns '' for any other character.
 */
function plainLetter(character: string): string {
  if (/[a-z0-9]/.test(character)) return character;
  const plain = character.normalize('NFKC').toLowerCase();
  if (plain.length !== 1 || /\p{Default_Ignorable_Code_Point}/u.test(plain)) return '';
  return /[\p{L}\p{N}]/u.test(plain) ? plain : '';
}
