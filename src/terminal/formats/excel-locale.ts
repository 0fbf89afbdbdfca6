// Determines how Excel reads CSV files in the user's locale: which separator stands between values,
// and which decimal sign numbers have.

export interface ExcelLocale {
  separator: string;
  decimal: '.' | ',';
}

/** Regions that use semicolons between values and decimal points in numbers. */
const SEMICOLON_AND_POINT_REGIONS = ['CH', 'LI'];

const POINT: ExcelLocale = { separator: ',', decimal: '.' };
const COMMA: ExcelLocale = { separator: ';', decimal: ',' };
const SWISS: ExcelLocale = { separator: ';', decimal: '.' };

/**
 * Returns the conventions of the locale in the environment. Without a locale, or for an unknown
 * one, returns the conventions of English.
 */
export function excelLocale(env: NodeJS.ProcessEnv): ExcelLocale {
  const [name = ''] = (env['LC_ALL'] || env['LC_NUMERIC'] || env['LANG'] || '').split(/[.@]/, 1);
  if (name === '' || name === 'C' || name === 'POSIX') return POINT;
  try {
    const locale = new Intl.Locale(name.replaceAll('_', '-'));
    if (SEMICOLON_AND_POINT_REGIONS.includes(locale.region ?? '')) return SWISS;
    return (1.5).toLocaleString(locale).includes(',') ? COMMA : POINT;
  } catch {
    return POINT;
  }
}
