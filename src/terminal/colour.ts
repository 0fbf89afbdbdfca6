// Decides whether an output has colours, and loads chalk only if it has. The sixteen colours are
// readable on dark and light backgrounds. Plain blue is not used, because it is not readable on a
// dark background.

export const COLORS = ['red', 'green', 'yellow', 'blueBright', 'magenta', 'cyan', 'gray'] as const;
export const STYLES = ['bold', 'dim', 'inverse', 'underline'] as const;

export type Color = (typeof COLORS)[number];
export type Style = (typeof STYLES)[number];

/** Functions that add the escape sequences of a colour or style. An empty string stays empty. */
export type Paint = Readonly<Record<Color | Style, (text: string) => string>>;

/** Functions that return each string unchanged, for output without colours. */
export const NO_PAINT = Object.fromEntries(
  [...COLORS, ...STYLES].map((name) => [name, (text: string) => text]),
) as unknown as Paint;

/** Paints a string if there is a colour. */
export function paintIn(paint: Paint, color: Color | undefined, text: string): string {
  return color === undefined ? text : paint[color](text);
}

/** The number of colours: 0 for none, 1 for sixteen, 2 for 256, 3 for true colour. */
export type ColorLevel = 0 | 1 | 2 | 3;

/**
 * Decides whether an output has colours. `--no-color` and a non-empty NO_COLOR turn colours off.
 * FORCE_COLOR turns them on, except for the values 0 and false, which turn them off. Otherwise a
 * terminal has colours unless `TERM=dumb` is set. Sources: no-color.org, force-color.org.
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

/** Returns the functions that colour text at this colour level. */
export async function loadPaint(level: ColorLevel): Promise<Paint> {
  if (level === 0) return NO_PAINT;
  const { Chalk } = await import('chalk');
  return new Chalk({ level });
}
