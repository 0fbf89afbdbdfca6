// Measures, cuts and pads text in terminal columns.

import { eastAsianWidth } from 'get-east-asian-width';
import { lazyPattern } from './lazy-pattern.js';

/**
 * One column for each UTF-16 unit: ASCII, Latin, Greek and Cyrillic letters, punctuation such as the ellipsis, control pictures, lines,
 * blocks and Braille. No combining marks, no zero-width characters. Nearly every cell is of this kind and needs no segmenter.
 */
const NARROW =
  /^[\x20-\x7E\xA1-\xAC\xAE-\u02FF\u0370-\u0373\u0376\u0377\u037B-\u037F\u0391-\u03A1\u03A3-\u03FF\u0400-\u0482\u048A-\u052F\u2013\u2014\u2018-\u201E\u2026\u2400-\u2426\u2500-\u259F\u2800-\u28FF]*$/;

const NO_COLUMN = String.raw`\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Mn}\p{Me}\p{Cs}`;
const VISIBLE = lazyPattern(`[^${NO_COLUMN}]`);
const SPACING_MARK = lazyPattern(String.raw`[\p{Mc}\uFF00-\uFFEF]`);
/** What makes a cluster an emoji two columns wide although its first character alone is narrow. */
const EMOJI_MAKER = lazyPattern(
  String.raw`\p{Extended_Pictographic}.*[\uFE0F\u{1F3FB}-\u{1F3FF}]|\p{Extended_Pictographic}.*\u200D.*\p{Extended_Pictographic}|[\d#*]\uFE0F?\u20E3|[\u{1F1E6}-\u{1F1FF}]{2}`,
  'su',
);
/** Clusters longer than this are no emoji but marks heaped on a letter. */
const LONGEST_EMOJI_UNITS = 50;

/** Made on first use: it costs 7 ms, and most screens do without. */
let segmenter: Intl.Segmenter | undefined;

/**
 * The segmenter sees no more at once: it takes the square of the time on flags in a row. A multiple of 4 units, so that a row of flags
 * is never cut in the middle of one.
 */
const WINDOW_UNITS = 1024;

/** The grapheme clusters of a text, each with where it starts, in linear time. A cluster longer than a window comes in parts. */
function* clustersOf(text: string): Generator<{ cluster: string; index: number }, void, undefined> {
  segmenter ??= new Intl.Segmenter();
  for (let start = 0; start < text.length; ) {
    const end = start + cutUnits(text.slice(start, start + WINDOW_UNITS), WINDOW_UNITS).length;
    let next = start;
    for (const { segment, index } of segmenter.segment(text.slice(start, end))) {
      // The last one may go on in the next window, which starts with it.
      if (index > 0 && end < text.length && start + index + segment.length === end) break;
      yield { cluster: segment, index: start + index };
      next = start + index + segment.length;
    }
    start = next;
  }
}

/** Whether each UTF-16 unit of the text is a character of one column. */
export function isNarrow(text: string): boolean {
  return NARROW.test(text);
}

/** The grapheme clusters of a text that has been cleaned. */
export function graphemesOf(text: string): Iterable<string> {
  return NARROW.test(text) ? text : Array.from(clustersOf(text), ({ cluster }) => cluster);
}

/** The beginning of the text, so many UTF-16 units at most; half a surrogate pair is left out. */
function cutUnits(text: string, units: number): string {
  const last = text.charCodeAt(units - 1);
  return text.slice(0, text.length >= units && last >= 0xd800 && last <= 0xdbff ? units - 1 : units);
}

function clusterWidth(cluster: string): number {
  const start = cluster.search(VISIBLE());
  if (start === -1) return 0;
  if (cluster.length > 1 && cluster.length <= LONGEST_EMOJI_UNITS && EMOJI_MAKER().test(cluster)) return 2;
  let width = 0;
  for (const character of cluster.slice(start)) {
    // The first visible character has its own width; of what follows in the cluster only spacing marks take room.
    const code = character.codePointAt(0) ?? 0;
    if (width === 0 || SPACING_MARK().test(character)) width += eastAsianWidth(code);
  }
  return width;
}

/** So much of a text is measured, more than any terminal shows. */
const MEASURED_UNITS = 16 * 1024;

/**
 * The columns a text takes on a terminal. The text has been cleaned: controls count for nothing here. Of a text longer than 16,384
 * UTF-16 units each further one counts as a column.
 */
export function widthOf(text: string): number {
  if (NARROW.test(text)) return text.length;
  const measured = cutUnits(text, MEASURED_UNITS);
  let width = text.length - measured.length;
  for (const { cluster } of clustersOf(measured)) width += clusterWidth(cluster);
  return width;
}

/** The longest beginning of the text that takes at most `width` columns; a grapheme is in it whole or not at all. */
function beginning(text: string, width: number): string {
  if (NARROW.test(text)) return text.slice(0, width);
  let used = 0;
  for (const { cluster, index } of clustersOf(text)) {
    used += clusterWidth(cluster);
    if (used > width) return text.slice(0, index);
  }
  return text;
}

/** No text needs more UTF-16 units for a column; what does heaps marks on letters, and is cut. */
const UNITS_A_COLUMN = 64;

/** The text in at most `width` columns: as it is where it fits, else cut between two graphemes and ended with `…`. */
export function cut(text: string, width: number): string {
  if (width <= 0) return '';
  const head = beginning(cutUnits(text, width * UNITS_A_COLUMN), width);
  return head.length === text.length ? text : `${beginning(head, width - 1)}…`;
}

/** The text in lines of at most `width` columns; `indent` stands before every line but the first. A wider word stays whole, to be pasted. */
export function wrap(text: string, width: number | undefined, indent = ''): string[] {
  if (width === undefined || widthOf(text) <= width) return [text];
  const lines: string[] = [];
  let [line = '', ...words] = text.split(' ');
  for (const word of words) {
    if (widthOf(`${line} ${word}`) <= width) line += ` ${word}`;
    else {
      lines.push(line);
      line = indent + word;
    }
  }
  return [...lines, line];
}

/** The text filled with spaces to `width` columns; wider text is returned as it is. */
export function pad(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const spaces = ' '.repeat(Math.max(0, width - widthOf(text)));
  return align === 'left' ? text + spaces : spaces + text;
}
