// Measures, cuts and pads text in terminal columns.

import { eastAsianWidth } from 'get-east-asian-width';
import { wrapWords } from '../cli/wrap.js';
import { lazyPattern } from './lazy-pattern.js';

/**
 * Matches text whose characters all take one column per UTF-16 unit: ASCII, Latin, Greek and
 * Cyrillic letters, punctuation, control pictures, lines, blocks and Braille. Combining marks and
 * zero-width characters do not match. Nearly every cell matches, so the slow segmenter is rarely
 * needed.
 */
const NARROW =
  /^[\x20-\x7E\xA1-\xAC\xAE-\u02FF\u0370-\u0373\u0376\u0377\u037B-\u037F\u0391-\u03A1\u03A3-\u03FF\u0400-\u0482\u048A-\u052F\u2013\u2014\u2018-\u201E\u2026\u2400-\u2426\u2500-\u259F\u2800-\u28FF]*$/;

const NO_COLUMN = String.raw`\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Mn}\p{Me}\p{Cs}`;
const VISIBLE = lazyPattern(`[^${NO_COLUMN}]`);
const SPACING_MARK = lazyPattern(String.raw`[\p{Mc}\uFF00-\uFFEF]`);
/**
 * Matches an emoji that is two columns wide although its first character is only one column wide.
 */
const EMOJI_MAKER = lazyPattern(
  String.raw`\p{Extended_Pictographic}.*[\uFE0F\u{1F3FB}-\u{1F3FF}]|\p{Extended_Pictographic}.*\u200D.*\p{Extended_Pictographic}|[\d#*]\uFE0F?\u20E3|[\u{1F1E6}-\u{1F1FF}]{2}`,
  'su',
);
/** A cluster that is longer than this is not an emoji. It is a letter with many combining marks. */
const LONGEST_EMOJI_UNITS = 50;

/**
 * The segmenter is created on first use. Creating it takes 7 ms, and most screens do not need it.
 */
let segmenter: Intl.Segmenter | undefined;

/**
 * The segmenter examines only this many characters, which is more than any terminal shows. The
 * limit is needed because the segmenter takes quadratic time for a long row of flag emoji.
 */
const SEEN_UNITS = 4096;

/** Returns the grapheme clusters at the beginning of a string. */
function clustersOf(text: string): Iterable<Intl.SegmentData> {
  segmenter ??= new Intl.Segmenter();
  return segmenter.segment(text.slice(0, SEEN_UNITS).replace(/[\uD800-\uDBFF]$/, ''));
}

/** Returns the grapheme clusters of sanitized text. */
export function graphemesOf(text: string): Iterable<string> {
  return NARROW.test(text) ? text : Array.from(clustersOf(text), ({ segment }) => segment);
}

function clusterWidth(cluster: string): number {
  const start = cluster.search(VISIBLE());
  if (start === -1) return 0;
  if (cluster.length > 1 && cluster.length <= LONGEST_EMOJI_UNITS && EMOJI_MAKER().test(cluster))
    return 2;
  let width = 0;
  for (const character of cluster.slice(start)) {
    // A cluster is as wide as its first visible character. Of the characters after it, only spacing
    // marks add columns.
    const code = character.codePointAt(0) ?? 0;
    if (width === 0 || SPACING_MARK().test(character)) width += eastAsianWidth(code);
  }
  return width;
}

/**
 * Returns the number of terminal columns that sanitized text takes. Control characters have no
 * width. After the first 4,096 UTF-16 units, each unit is treated as one column.
 */
export function widthOf(text: string): number {
  if (NARROW.test(text)) return text.length;
  let width = Math.max(0, text.length - SEEN_UNITS);
  for (const { segment } of clustersOf(text)) width += clusterWidth(segment);
  return width;
}

/**
 * Returns the longest prefix of the text that fits into `width` columns. Graphemes are not split.
 * The only exception is a grapheme with more combining marks than any language uses.
 */
function beginning(text: string, width: number): string {
  if (NARROW.test(text)) return text.slice(0, width);
  let used = 0;
  let units = 0;
  for (const { segment } of clustersOf(text)) {
    used += clusterWidth(segment);
    if (used > width) break;
    if (segment.length > LONGEST_EMOJI_UNITS) {
      units += LONGEST_EMOJI_UNITS;
      break;
    }
    units += segment.length;
  }
  return text.slice(0, units).replace(/[\uD800-\uDBFF]$/, '');
}

/**
 * Truncates text to `width` columns at a grapheme boundary, and appends `…`. Text that fits is
 * unchanged.
 */
export function cut(text: string, width: number): string {
  if (width <= 0) return '';
  return beginning(text, width).length === text.length ? text : `${beginning(text, width - 1)}…`;
}

/**
 * Wraps a text into lines of at most `width` columns. Every line after the first begins with
 * `indent`. A word that is wider than the line is not split, so that the user can copy the whole
 * word.
 */
export function wrap(text: string, width: number | undefined, indent = ''): string[] {
  return width === undefined || widthOf(text) <= width
    ? [text]
    : wrapWords(text, width, indent, widthOf);
}

/** Pads text with spaces to `width` columns. Wider text is unchanged. */
export function pad(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const spaces = ' '.repeat(Math.max(0, width - widthOf(text)));
  return align === 'left' ? text + spaces : spaces + text;
}
