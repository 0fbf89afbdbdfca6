// Hides tokens in data in which a service has escaped some or all of their characters, for example
// `\u002D` for a dash.

import type { SecretRange } from './token-parts.js';
import { decodeTextEscapes, type UnescapedText, undecoded } from './unescape.js';

/** Every escape begins with one of these characters. Most data contains none of them. */
const ESCAPE_SIGNS = ['\\', '%', '&', '='];

/** Neither tokens nor escapes contain these characters. */
const SEPARATOR = /[\s"'<>,]/;
/** This limits the memory for decoding a large text. A longer word is searched in parts. */
const LONGEST_WORD = 60_000;
/**
 * Neighbouring parts of a long word overlap by this length. A token that crosses the boundary
 * between two parts is therefore found.
 */
const OVERLAP = LONGEST_WORD / 2;

/**
 * The maximum number of levels of escaping that are decoded. For example, JSON inside a JSON string
 * has two levels.
 */
const MOST_ROUNDS = 4;

/**
 * Whether data may contain an escape sequence. The caller passes `contains`, which tests whether
 * the data contains a string.
 */
export function mayHoldEscapes(contains: (sign: string) => boolean): boolean {
  return ESCAPE_SIGNS.some(contains);
}

/**
 * Replaces tokens in words that contain escapes. Ignores case.
 *
 * @param tokens lower-cased with `toLowerCase`, longest first
 */
export function hideInEscapedWords(
  data: string,
  tokens: readonly string[],
  replace: (word: string, ranges: readonly SecretRange[]) => string,
): string {
  if (tokens.length === 0) return data;
  const findSign = openSignFinder(data);
  let hidden = '';
  let end = 0;
  for (let sign = findSign(0); sign !== -1; sign = findSign(end)) {
    const [from, to] = wordAround(data, sign, end);
    const isCut = to < data.length && !SEPARATOR.test(data[to] ?? '');
    const word = data.slice(from, to);
    const found = findInWord(word, tokens);
    const done = searchedTo(isCut ? word.length - OVERLAP : word.length, found);
    const ranges = found.filter(([start]) => start < done);
    const searched = word.slice(0, done);
    hidden += data.slice(end, from);
    hidden += ranges.length === 0 ? searched : replace(searched, ranges);
    end = from + done;
  }
  return hidden + data.slice(end);
}

/**
 * Returns the end of the group of overlapping ranges that contains the position. Returns the
 * position itself when no range contains it. The ranges must be sorted by their start.
 */
function searchedTo(position: number, ranges: readonly SecretRange[]): number {
  let last = position;
  for (const [start, end] of ranges) {
    if (start < last) last = Math.max(last, end);
  }
  return last;
}

/**
 * Returns a function that finds the next character at or after a position that can begin an escape.
 * This function returns -1 when no such character follows.
 */
function openSignFinder(data: string): (from: number) => number {
  const next = ESCAPE_SIGNS.map((sign) => ({ sign, at: data.indexOf(sign) }));
  return (from) => {
    let first = -1;
    for (const each of next) {
      if (each.at !== -1 && each.at < from) each.at = data.indexOf(each.sign, from);
      if (each.at !== -1 && (first === -1 || each.at < first)) first = each.at;
    }
    return first;
  };
}

/**
 * Returns the range of the word that contains a position. The range never starts before `earliest`.
 */
function wordAround(data: string, position: number, earliest: number): SecretRange {
  const least = Math.max(earliest, position - LONGEST_WORD);
  let from = position;
  while (from > least && !SEPARATOR.test(data[from - 1] ?? '')) from--;
  const rest = data.slice(position, position + LONGEST_WORD);
  const size = rest.search(SEPARATOR);
  return [from, position + (size === -1 ? rest.length : size)];
}

/**
 * Returns the ranges of the word in which a token appears after decoding the word once or several
 * times.
 */
function findInWord(word: string, tokens: readonly string[]): SecretRange[] {
  const ranges: SecretRange[] = [];
  let decoded: UnescapedText | undefined = undecoded(word);
  for (let round = 0; decoded !== undefined && round <= MOST_ROUNDS; round++) {
    ranges.push(...findTokens(decoded, tokens));
    decoded = decodeTextEscapes(decoded);
  }
  return ranges.sort(([one], [other]) => one - other);
}

/**
 * Returns the text in lower case. A letter whose lower case has two characters is left unchanged,
 * so that each character keeps its position.
 */
export function toLowerCase(text: string): string {
  const lower = text.toLowerCase();
  if (lower.length === text.length) return lower;
  return Array.from(text, (character) => {
    const one = character.toLowerCase();
    return one.length === character.length ? one : character;
  }).join('');
}

/**
 * In Markdown and regular expressions, a backslash may precede any character that is not a letter.
 */
const QUOTING_BACKSLASH = /(?<!\\)\\+(?=[^a-z0-9\\])/gi;

function findTokens({ text, starts }: UnescapedText, tokens: readonly string[]): SecretRange[] {
  let plain = '';
  /** Maps each character of `plain` to its position in the decoded text. */
  const places: number[] = [];
  let end = 0;
  const take = (to: number) => {
    for (let at = end; at < to; at++) places.push(at);
    plain += text.slice(end, to);
  };
  for (const match of text.matchAll(QUOTING_BACKSLASH)) {
    take(match.index);
    end = match.index + match[0].length;
  }
  take(text.length);
  const sought = toLowerCase(plain);
  const ranges: SecretRange[] = [];
  for (const token of tokens) {
    for (let at = sought.indexOf(token); at !== -1; at = sought.indexOf(token, at + 1)) {
      const from = starts[places[at] ?? 0] ?? 0;
      const to = starts[(places[at + token.length - 1] ?? 0) + 1] ?? 0;
      ranges.push([from, to]);
    }
  }
  return ranges;
}
