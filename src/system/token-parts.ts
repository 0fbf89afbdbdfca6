// Finds parts of tokens in a text, whatever is between their letters and digits: line breaks, NUL
// bytes, markup or separators. Upper and lower case count as equal.

import type { UnescapedText } from './unescape.js';

/** How many letters and digits of a token must follow each other to count as a part of it. */
export const PART_LENGTH = 16;

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

/** Returns the ranges of the original text that contain a part of a token, in ascending order. */
export function findParts(decoded: UnescapedText, parts: ReadonlySet<string>): SecretRange[] {
  if (parts.size === 0) return [];
  const ranges = findInLetters(decoded, parts, false);
  // Markup can separate the letters of a token, and a token can be in an attribute of a tag.
  return decoded.text.includes('<')
    ? [...ranges, ...findInLetters(decoded, parts, true)].sort(([one], [other]) => one - other)
    : ranges;
}

const TAG = /<[^<>]{0,200}>/y;

function findInLetters(
  { text, starts }: UnescapedText,
  parts: ReadonlySet<string>,
  skipsTags: boolean,
): SecretRange[] {
  let letters = '';
  /** The position of each letter in the decoded text. */
  const places: number[] = [];
  let at = 0;
  while (at < text.length) {
    TAG.lastIndex = at;
    if (skipsTags && text[at] === '<' && TAG.test(text)) {
      at = TAG.lastIndex;
      continue;
    }
    const letter = plainLetter(text[at] ?? '');
    if (letter !== '') {
      letters += letter;
      places.push(at);
    }
    at++;
  }
  const ranges: SecretRange[] = [];
  for (let from = 0; from + PART_LENGTH <= letters.length; from++) {
    if (!parts.has(letters.slice(from, from + PART_LENGTH))) continue;
    const last = places[from + PART_LENGTH - 1] ?? 0;
    ranges.push([starts[places[from] ?? 0] ?? 0, starts[last + 1] ?? 0]);
  }
  return ranges;
}

/** Returns a letter or digit in lower case and in its usual width, or '' for other characters. */
function plainLetter(character: string): string {
  if (/[a-z0-9]/.test(character)) return character;
  const plain = character.normalize('NFKC').toLowerCase();
  return plain.length === 1 && /[\p{L}\p{N}]/u.test(plain) ? plain : '';
}
