// The marks before a line: `✓` done, `!` look here; left out where a terminal or a pipe has no use for them.

import type { Color, Paint } from './colour.js';
import type { Output } from './io.js';

export type StateMark = 'done' | 'warning' | 'failure';

const SIGNS: { readonly [mark in StateMark]: { sign: string; ascii: string; color: Color } } = {
  done: { sign: '✓', ascii: 'ok', color: 'green' },
  warning: { sign: '!', ascii: '!', color: 'yellow' },
  failure: { sign: '✗', ascii: 'x', color: 'red' },
};

/** The mark in its colour, for a terminal. */
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

/** The mark that a line begins with, and the rest of it; a line may be written `✓ done`, `! look here` or `warning: look here`. */
export function splitMark(line: string): { mark: StateMark | undefined; text: string } {
  if (line.startsWith(DONE)) return { mark: 'done', text: line.slice(DONE.length) };
  const warning = WARNINGS.find((start) => line.startsWith(start));
  return warning === undefined
    ? { mark: undefined, text: line }
    : { mark: 'warning', text: line.slice(warning.length) };
}

/** Signs of our own screens, and their ASCII replacements of the same width. */
const UNICODE = '█▇▆▅▉▊▋▌▁▂▃▄▍▎▏░…✓✗·→␊';
const ASCII = '########-------.~+x.> ';
const UNICODE_SIGN = new RegExp(`[${UNICODE}]`, 'g');

/** A screen as the output can show it: without the signs of ours that are no ASCII, where it has no Unicode. */
export function forScreen(text: string, { hasUnicode }: Pick<Output, 'hasUnicode'>): string {
  return hasUnicode
    ? text
    : text.replace(UNICODE_SIGN, (sign) => ASCII[UNICODE.indexOf(sign)] ?? sign);
}
