// Decides how to read a workbook cell, based on its number format (ECMA-376 part 1, sections
// 18.8.30 and 18.8.31).

/** How to read a number in a cell. */
export type NumberReading =
  /**
   * The stored number is the value. The format only rounds it, groups its digits, or adds a unit.
   */
  | { readonly kind: 'number' }
  /**
   * The value is the text that Excel shows: an integer with leading zeros or with literal text, as
   * in `00000` or `"AB-"0000`.
   */
  | { readonly kind: 'padded'; readonly parts: readonly FormatPart[]; readonly addsSign: boolean }
  | { readonly kind: 'date'; readonly hasClock: boolean }
  /** The number is a time of day or a duration, without a date. */
  | { readonly kind: 'time' }
  | { readonly kind: 'refused'; readonly reason: string };

export type FormatPart = { readonly literal: string } | { readonly digit: true };

export interface NumberFormat {
  readingOf(value: number): NumberReading;
  /**
   * Why Excel displays different text for a text cell; undefined when it displays the stored text.
   */
  readonly textProblem: string | undefined;
}

type TokenKind =
  | 'literal'
  | 'currency'
  | 'padding'
  | 'digit'
  | 'point'
  | 'comma'
  | 'percent'
  | 'exponent'
  | 'slash'
  | 'date'
  | 'clock'
  | 'month-or-minute'
  | 'duration'
  | 'condition'
  | 'general'
  | 'text';

interface Token {
  readonly kind: TokenKind;
  readonly text: string;
}

/** Excel does not accept longer format codes. */
const LONGEST_CODE_CHARACTERS = 255;

const NUMBER: NumberReading = { kind: 'number' };
const HIDDEN = 'its number format hides the value';
const CHANGED = 'its number format shows another text than the stored number';

/** Excel's built-in formats, except those that depend on Excel's language. */
const BUILT_IN_CODES: ReadonlyMap<number, string> = new Map([
  [0, 'General'],
  [1, '0'],
  [2, '0.00'],
  [3, '#,##0'],
  [4, '#,##0.00'],
  [5, '#,##0'],
  [6, '#,##0'],
  [7, '#,##0.00'],
  [8, '#,##0.00'],
  [9, '0%'],
  [10, '0.00%'],
  [11, '0.00E+00'],
  [12, '# ?/?'],
  [13, '# ??/??'],
  [14, 'mm-dd-yy'],
  [15, 'd-mmm-yy'],
  [16, 'd-mmm'],
  [17, 'mmm-yy'],
  [18, 'h:mm AM/PM'],
  [19, 'h:mm:ss AM/PM'],
  [20, 'h:mm'],
  [21, 'h:mm:ss'],
  [22, 'm/d/yy h:mm'],
  [37, '#,##0'],
  [38, '#,##0'],
  [39, '#,##0.00'],
  [40, '#,##0.00'],
  [41, '#,##0'],
  [42, '#,##0'],
  [43, '#,##0.00'],
  [44, '#,##0.00'],
  [45, 'mm:ss'],
  [46, '[h]:mm:ss'],
  [47, 'mmss.0'],
  [48, '##0.0E+0'],
  [49, '@'],
]);

/** Identifiers below this number belong to built-in formats. A file may redefine these formats. */
const FIRST_CUSTOM_ID = 164;

/**
 * Returns the number format with this identifier. `code` is the format code from the workbook, or
 * undefined for a built-in format.
 */
export function numberFormatOf(id: number, code: string | undefined): NumberFormat {
  const known = code ?? BUILT_IN_CODES.get(id);
  if (known !== undefined) return parseNumberFormat(known);
  if (id >= FIRST_CUSTOM_ID) return parseNumberFormat('General');
  const reason = `its number format (${id}) depends on the language of Excel`;
  return { readingOf: () => ({ kind: 'refused', reason }), textProblem: undefined };
}

/** Parses a format code such as `#,##0.00;[Red]-#,##0.00`. */
export function parseNumberFormat(code: string): NumberFormat {
  if (code.length > LONGEST_CODE_CHARACTERS) {
    const reason = 'its number format is too long';
    return { readingOf: () => ({ kind: 'refused', reason }), textProblem: reason };
  }
  const sections = splitSections(code);
  const numberSections = sections.slice(0, 3);
  return {
    readingOf: (value) => withCode(readingOfValue(numberSections, value), code),
    textProblem: textProblemOf(sections),
  };
}

/** If the cell is refused because Excel changes the number, adds the format code to the reason. */
function withCode(reading: NumberReading, code: string): NumberReading {
  if (reading.kind !== 'refused' || reading.reason !== CHANGED) return reading;
  return { kind: 'refused', reason: `${CHANGED}: ${code}` };
}

function readingOfValue(sections: readonly (readonly Token[])[], value: number): NumberReading {
  const readings = sections.map((section) => readSection(section, value, false));
  if (sections.some((section) => section.some(({ kind }) => kind === 'condition')))
    return readingWithConditions(readings);
  const [positive = NUMBER, negative] = readings;
  // If the format has only one section for numbers, it also formats negative numbers.
  if (value < 0 && negative !== undefined) return negative;
  if (value < 0) return readSection(sections[0] ?? [], value, true);
  const zero = readings[2];
  return value === 0 && zero !== undefined ? zero : positive;
}

/**
 * Returns how to read a number when a format's sections have conditions, such as `[>=100]`. The
 * sections must be all plain numbers or all dates. Any other format is refused.
 */
function readingWithConditions(readings: readonly NumberReading[]): NumberReading {
  const [first = NUMBER] = readings;
  const areNumbers = readings.every(({ kind }) => kind === 'number');
  const areDates = readings.every(({ kind }) => kind === 'date');
  return areNumbers || areDates ? first : { kind: 'refused', reason: CHANGED };
}

function readSection(tokens: readonly Token[], value: number, addsSign: boolean): NumberReading {
  const has = (kind: TokenKind) => tokens.some((token) => token.kind === kind);
  if (has('duration')) return { kind: 'time' };
  if (has('date') || has('clock') || has('month-or-minute')) return readDateSection(tokens);
  if (has('general') || has('text')) return readAffixes(tokens);
  if (!has('digit')) return { kind: 'refused', reason: tokens.length === 0 ? HIDDEN : CHANGED };
  if (isScaled(tokens)) return { kind: 'refused', reason: CHANGED };
  const isInteger = !['point', 'comma', 'percent', 'exponent', 'slash'].some((kind) =>
    has(kind as TokenKind),
  );
  if (!isInteger) return readDecimalSection(tokens, value);
  const digits = tokens.filter(({ kind }) => kind === 'digit');
  if (shownPlaces(digits) < 2)
    return changesDigits(tokens) ? refusedAsChanged() : readAffixes(tokens);
  // `#` and `?` before the zeros have no effect. After or between the zeros, the text that Excel
  // shows is uncertain.
  const firstZero = digits.findIndex(({ text }) => text === '0');
  if (digits.slice(firstZero).some(({ text }) => text !== '0')) return refusedAsChanged();
  if (firstZero > 0 && innerLiterals(tokens).length > 0) return refusedAsChanged();
  return { kind: 'padded', parts: partsOf(tokens), addsSign };
}

/**
 * Reads a section with a decimal point, a comma, a percent sign, an exponent or a fraction. Refuses
 * it when Excel shows leading zeros (`000.00`), or text that is a part of the value (`"V"0.0`).
 */
function readDecimalSection(tokens: readonly Token[], value: number): NumberReading {
  const end = tokens.findIndex(({ kind }) => ['point', 'exponent', 'slash'].includes(kind));
  const integer = tokens
    .slice(0, end === -1 ? tokens.length : end)
    .filter(({ kind }) => kind === 'digit');
  const places = shownPlaces(integer);
  const has = (kind: TokenKind) => tokens.some((token) => token.kind === kind);
  // When a format has an exponent or a fraction, the number of integer digits does not follow from
  // the value. 0 is used instead.
  const shown = has('exponent') || has('slash') ? 0 : value * (has('percent') ? 100 : 1);
  if (places > 1 && integerDigits(shown) < places) return refusedAsChanged();
  // A literal text such as the `16` in the fraction `# ?/16` is part of the number.
  if (has('slash')) return hasIdentifierPrefix(tokens) ? refusedAsChanged() : NUMBER;
  return changesDigits(tokens) ? refusedAsChanged() : readAffixes(tokens);
}

/**
 * Returns the minimum number of digits that Excel shows. This is the number of digit places from
 * the first `0` of the format to the end of the format.
 */
function shownPlaces(digits: readonly Token[]): number {
  const firstZero = digits.findIndex(({ text }) => text === '0');
  return firstZero === -1 ? 0 : digits.length - firstZero;
}

/** Returns the number of digits before the decimal point. For numbers below 1, this is 1. */
function integerDigits(value: number): number {
  return BigInt(Math.trunc(Math.abs(value))).toString().length;
}

function refusedAsChanged(): NumberReading {
  return { kind: 'refused', reason: CHANGED };
}

function partsOf(tokens: readonly Token[]): FormatPart[] {
  return tokens.flatMap(({ kind, text }): FormatPart[] => {
    if (kind === 'digit') return text === '0' ? [{ digit: true }] : [];
    return kind === 'literal' || kind === 'currency' ? [{ literal: text }] : [];
  });
}

/**
 * Refuses a number whose format puts letters before the digits, as in `"AB-"0`. With such letters,
 * the cell shows an identifier and not a number. Accepts a unit after the number.
 */
function readAffixes(tokens: readonly Token[]): NumberReading {
  const last = tokens.findLastIndex(isNumberToken);
  const extendsDigits = tokens
    .slice(last + 1)
    .some(({ kind, text }) => kind === 'literal' && /^[-./_]?\p{N}/u.test(text));
  return extendsDigits || hasIdentifierPrefix(tokens) ? refusedAsChanged() : NUMBER;
}

function isNumberToken({ kind }: Token): boolean {
  return kind === 'digit' || kind === 'general' || kind === 'text';
}

function hasIdentifierPrefix(tokens: readonly Token[]): boolean {
  const prefix = tokens
    .slice(0, tokens.findIndex(isNumberToken))
    .filter(({ kind }) => kind === 'literal')
    .map(({ text }) => text)
    .join('');
  return /[\p{L}\p{N}]/u.test(prefix) && !isCurrency(prefix);
}

/**
 * The currency abbreviations that Excel writes before a number: the ISO codes and some other
 * abbreviations.
 */
const CURRENCY_WORDS: ReadonlySet<string> = new Set(
  ['Fr', 'SFr', 'kr', 'Kč', 'zł', 'Ft', 'lei', 'Rs', 'RM'].concat(
    Intl.supportedValuesOf('currency'),
  ),
);

/** Whether the text before a number is a currency: `CHF`, `-Fr. `, `US$`. */
function isCurrency(prefix: string): boolean {
  const text = prefix.replace(/^[\s(+-]+|\s+$/g, '');
  // Matches letters followed by a currency sign, such as `US$` or `R$`.
  if (/^\p{L}{1,3}\p{Sc}$/u.test(text)) return true;
  return CURRENCY_WORDS.has(text.replace(/\.$/, ''));
}

/**
 * Whether literal text between the digits changes the number that Excel shows. A thousands
 * separator, as in `# ##0` or `#'##0`, does not change the number.
 */
function changesDigits(tokens: readonly Token[]): boolean {
  return innerLiterals(tokens).some(({ text }) => !/^[\s'’]$/u.test(text));
}

function innerLiterals(tokens: readonly Token[]): readonly Token[] {
  const first = tokens.findIndex(({ kind }) => kind === 'digit');
  const last = tokens.findLastIndex(({ kind }) => kind === 'digit');
  return tokens.slice(first, last).filter(({ kind }) => kind === 'literal');
}

/**
 * Whether the format divides the number by a thousand. A comma after the last integer digit has
 * this effect.
 */
function isScaled(tokens: readonly Token[]): boolean {
  const numeric = tokens.filter(({ kind }) => ['digit', 'comma', 'point'].includes(kind));
  return numeric.some(
    ({ kind }, index) => kind === 'comma' && numeric[index + 1]?.kind !== 'digit',
  );
}

/**
 * Returns how a date or time format is read. After hours or before seconds, the letter `m` stands
 * for minutes. Elsewhere, it stands for months.
 */
function readDateSection(tokens: readonly Token[]): NumberReading {
  const units = tokens.filter(({ kind }) => ['date', 'clock', 'month-or-minute'].includes(kind));
  const isMinute = (index: number) => {
    const before = units[index - 1];
    const after = units[index + 1];
    return (
      units[index]?.kind === 'month-or-minute' &&
      (units[index]?.text.length ?? 0) <= 2 &&
      ((before?.kind === 'clock' && before.text.startsWith('h')) ||
        (after?.kind === 'clock' && after.text.startsWith('s')))
    );
  };
  const hasDate = units.some(
    ({ kind }, index) => kind === 'date' || (kind === 'month-or-minute' && !isMinute(index)),
  );
  const hasClock = units.some(({ kind }, index) => kind === 'clock' || isMinute(index));
  return hasDate ? { kind: 'date', hasClock } : { kind: 'time' };
}

/**
 * Returns why Excel changes the text of a text cell. Only the fourth section of the format, or a
 * section with `@`, applies to text.
 */
function textProblemOf(sections: readonly (readonly Token[])[]): string | undefined {
  const section =
    sections[3] ?? sections.find((tokens) => tokens.some(({ kind }) => kind === 'text'));
  if (section === undefined) return undefined;
  const texts = section.filter(({ kind }) => kind === 'text' || kind === 'general');
  if (texts.length === 0) return section.length === 0 ? HIDDEN : CHANGED;
  const addsText = section.some(
    ({ kind, text }) => (kind === 'literal' || kind === 'currency') && text.trim() !== '',
  );
  return texts.length > 1 || addsText ? 'its number format adds to its text' : undefined;
}

function splitSections(code: string): Token[][] {
  const sections: Token[][] = [[]];
  let at = 0;
  while (at < code.length) {
    if (code[at] === ';') {
      sections.push([]);
      at++;
      continue;
    }
    const { token, end } = readToken(code, at);
    if (token !== undefined) sections.at(-1)?.push(token);
    at = end;
  }
  return sections;
}

interface ReadToken {
  readonly token?: Token;
  readonly end: number;
}

const ONE_CHARACTER_TOKENS: Readonly<Record<string, TokenKind>> = {
  '0': 'digit',
  '#': 'digit',
  '?': 'digit',
  '.': 'point',
  ',': 'comma',
  '%': 'percent',
  '/': 'slash',
  '@': 'text',
};

const WORDS: readonly (readonly [text: string, kind: TokenKind])[] = [
  ['general', 'general'],
  ['am/pm', 'clock'],
  ['a/p', 'clock'],
];

const UNIT_KINDS: Readonly<Record<string, TokenKind>> = {
  y: 'date',
  d: 'date',
  e: 'date',
  g: 'date',
  b: 'date',
  m: 'month-or-minute',
  h: 'clock',
  s: 'clock',
};

function readToken(code: string, at: number): ReadToken {
  const character = code[at] ?? '';
  if (character === '"') return readQuoted(code, at);
  if (character === '\\') {
    return { token: { kind: 'literal', text: code[at + 1] ?? '' }, end: at + 2 };
  }
  // `_` is followed by a character and adds a space as wide as that character. `*` is also followed
  // by a character and fills the cell with that character.
  if (character === '_' || character === '*')
    return { token: { kind: 'padding', text: '' }, end: at + 2 };
  if (character === '[') return readBracket(code, at);
  const lower = code.toLowerCase();
  for (const [text, kind] of WORDS) {
    if (lower.startsWith(text, at)) return { token: { kind, text }, end: at + text.length };
  }
  if (lower[at] === 'e' && (code[at + 1] === '+' || code[at + 1] === '-'))
    return { token: { kind: 'exponent', text: 'E' }, end: at + 2 };
  const unit = UNIT_KINDS[lower[at] ?? ''];
  if (unit !== undefined) {
    let end = at + 1;
    while (lower[end] === lower[at]) end++;
    return { token: { kind: unit, text: lower.slice(at, end) }, end };
  }
  const kind = ONE_CHARACTER_TOKENS[character] ?? 'literal';
  return { token: { kind, text: character }, end: at + 1 };
}

function readQuoted(code: string, at: number): ReadToken {
  const quote = code.indexOf('"', at + 1);
  const end = quote === -1 ? code.length : quote;
  return { token: { kind: 'literal', text: code.slice(at + 1, end) }, end: end + 1 };
}

/**
 * Parses a part in brackets: a currency (`[$€-407]`), a duration (`[h]`), a condition (`[>=100]`)
 * or a colour (`[Red]`).
 */
function readBracket(code: string, at: number): ReadToken {
  const bracket = code.indexOf(']', at);
  const end = bracket === -1 ? code.length : bracket;
  const inner = code.slice(at + 1, end).toLowerCase();
  if (inner.startsWith('$')) {
    const [text = ''] = code.slice(at + 2, end).split('-');
    if (text === '') return { end: end + 1 };
    return { token: { kind: 'currency', text }, end: end + 1 };
  }
  if (['h', 'hh', 'm', 'mm', 's', 'ss'].includes(inner))
    return { token: { kind: 'duration', text: inner }, end: end + 1 };
  if (inner.startsWith('<') || inner.startsWith('>') || inner.startsWith('='))
    return { token: { kind: 'condition', text: inner }, end: end + 1 };
  return { end: end + 1 };
}
