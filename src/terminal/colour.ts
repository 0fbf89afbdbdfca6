// The sixteen-colour words the screens are painted with, each readable on dark and on light (plain blue is not on dark); chalk is loaded only where there is colour.

export const COLORS = ['red', 'green', 'yellow', 'blueBright', 'magenta', 'cyan', 'gray'] as const;
export const STYLES = ['bold', 'dim', 'inverse', 'underline'] as const;

export type Color = (typeof COLORS)[number];
export type Style = (typeof STYLES)[number];

/** One function a colour or style: text in, text with escape sequences around it out. Empty text stays empty. */
export type Paint = Readonly<Record<Color | Style, (text: string) => string>>;

function same(text: string): string {
  return text;
}

/** Paint that leaves every text as it is. */
export const NO_PAINT: Paint = {
  red: same,
  green: same,
  yellow: same,
  blueBright: same,
  magenta: same,
  cyan: same,
  gray: same,
  bold: same,
  dim: same,
  inverse: same,
  underline: same,
};

/** The text in a colour, where there is one. */
export function paintIn(paint: Paint, color: Color | undefined, text: string): string {
  return color === undefined ? text : paint[color](text);
}

/** The paint for a colour level (0 none, 1 sixteen colours, 2 256, 3 true colour), decided once in `io.ts`. */
export async function loadPaint(level: 0 | 1 | 2 | 3): Promise<Paint> {
  if (level === 0) return NO_PAINT;
  const { Chalk } = await import('chalk');
  return new Chalk({ level });
}
