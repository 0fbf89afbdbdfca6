// Whether there is colour, and the sixteen-colour words the screens are painted with, each readable on dark and on light (plain blue is not on dark); chalk is loaded only where there is colour.

export const COLORS = ['red', 'green', 'yellow', 'blueBright', 'magenta', 'cyan', 'gray'] as const;
export const STYLES = ['bold', 'dim', 'inverse', 'underline'] as const;

export type Color = (typeof COLORS)[number];
export type Style = (typeof STYLES)[number];

/** One function a colour or style: text in, text with escape sequences around it out. Empty text stays empty. */
export type Paint = Readonly<Record<Color | Style, (text: string) => string>>;

/** Paint that leaves every text as it is. */
export const NO_PAINT = Object.fromEntries(
  [...COLORS, ...STYLES].map((name) => [name, (text: string) => text]),
) as unknown as Paint;

/** The text in a colour, where there is one. */
export function paintIn(paint: Paint, color: Color | undefined, text: string): string {
  return color === undefined ? text : paint[color](text);
}

/** 0 no colour, 1 sixteen colours, 2 256 colours, 3 true colour. */
export type ColorLevel = 0 | 1 | 2 | 3;

/**
 * Decides colour once, for one output: `--no-color` and NO_COLOR (any value but the empty one) turn it off, FORCE_COLOR turns it
 * on (0 or false: off), else a terminal that is not `TERM=dumb` has it. Sources: no-color.org, force-color.org.
 */
export function colorLevel(
  isTerminal: boolean,
  env: NodeJS.ProcessEnv,
  noColorFlag: boolean,
): ColorLevel {
  if (noColorFlag || (env['NO_COLOR'] ?? '') !== '') return 0;
  const forced = env['FORCE_COLOR'];
  if (forced === 'false') return 0;
  if (forced !== undefined && forced !== '')
    return ([0, 2, 3] as const).find((level) => forced === `${level}`) ?? 1;
  if (!isTerminal || env['TERM'] === 'dumb') return 0;
  if (env['COLORTERM'] === 'truecolor' || env['COLORTERM'] === '24bit') return 3;
  return /-256(color)?$/.test(env['TERM'] ?? '') ? 2 : 1;
}

/** The paint for a colour level. */
export async function loadPaint(level: ColorLevel): Promise<Paint> {
  if (level === 0) return NO_PAINT;
  const { Chalk } = await import('chalk');
  return new Chalk({ level });
}
