// The marks at the beginning of lines: `✓` for success, `!` for a warning. They are omitted where
// they are not useful.

import type { Color, Paint } from './colour.js';
import type { Output } from './io.js';

export type StateMark = 'done' | 'warning' | 'failure';

const SIGNS: { readonly [mark in StateMark]: { sign: string; ascii: string; color: Color } } = {
  done: { sign: '✓', ascii: 'ok', color: 'green' },
  warning: { sign: '!', ascii: '!', color: 'yellow' },
  failure: { sign: '✗', ascii: 'x', color: 'red' },
};

/** Returns a mark in its colour, for a terminal. */
export function drawMark(
  mark: StateMark,
  { hasUnicode }: Pick<Output, 'hasUnicode'>,
  paint: Paint,
): string {
  const { sign, ascii, color } = SIGNS[mark];
  return paint[color](hasUnicode ? sign : ascii);
}

const DONE = '✓ ';
const WARNINGS = ['! ', 'warning: '] as const;

/**
 * Splits a line into its mark and its text. Examples of lines with a mark are `✓ done`, `! look
 * here` and `warning: look here`.
 */
export function splitMark(line: string): { mark: StateMark | undefined; text: string } {
  if (line.startsWith(DONE)) return { mark: 'done', text: line.slice(DONE.length) };
  const warning = WARNINGS.find((start) => line.startsWith(start));
  return warning === undefined
    ? { mark: undefined, text: line }
    : { mark: 'warning', text: line.slice(warning.length) };
}

/**
 * The symbols on fleet's screens, and the ASCII characters of the same width that can replace them.
 */
const UNICODE = '█▇▆▅▉▊▋▌▁▂▃▄▍▎▏░…✓✗·→␊╱';
const ASCII = '########-------.~+x.> /';
const UNICODE_SIGN = new RegExp(`[${UNICODE}]`, 'g');

/** Replaces these symbols with ASCII characters when the output cannot show Unicode. */
export function forScreen(text: string, { hasUnicode }: Pick<Output, 'hasUnicode'>): string {
  return hasUnicode
    ? text
    : text.replace(UNICODE_SIGN, (sign) => ASCII[UNICODE.indexOf(sign)] ?? sign);
}
