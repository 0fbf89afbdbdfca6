// Decodes the escapes of URLs, JSON, JavaScript, e-mail and HTML in text, and records the position
// of each character in the original text.

/** A decoded text, with the position of each character in the original text. */
export interface UnescapedText {
  text: string;
  /**
   * The position of each character of `text` in the original text. The array has one additional
   * entry for the end of the text.
   */
  starts: readonly number[];
}

/** Wraps text that has not been decoded yet. */
export function undecoded(text: string): UnescapedText {
  return { text, starts: Array.from({ length: text.length + 1 }, (_, index) => index) };
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  num: '#',
  dollar: '$',
  percnt: '%',
  excl: '!',
  quest: '?',
  semi: ';',
  lpar: '(',
  rpar: ')',
  lsqb: '[',
  rsqb: ']',
  lcub: '{',
  rcub: '}',
  ast: '*',
  bsol: '\\',
  verbar: '|',
  grave: '`',
  hat: '^',
  commat: '@',
  tilde: '~',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  plus: '+',
  equals: '=',
  period: '.',
  sol: '/',
  colon: ':',
  comma: ',',
  lowbar: '_',
  hyphen: '-',
  dash: '-',
  newline: '\n',
  tab: '\t',
  shy: '\u00AD',
  zerowidthspace: '\u200B',
  zwj: '\u200D',
  zwnj: '\u200C',
};

/** Matches an entity name in upper or lower case. */
const anyCase = (name: string) =>
  name.replace(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);

const HEX = '[0-9a-fA-F]';

/**
 * Matches escapes: consecutive percent-encoded characters, escapes of JSON, JavaScript, Python and
 * C, quoted-printable, and HTML entities. HTML entities match without a semicolon too, because
 * browsers accept them.
 */
const ESCAPE = new RegExp(
  [
    `(?:%${HEX}{2})+`,
    `%u${HEX}{4}`,
    String.raw`\\u\{0{0,6}${HEX}{1,6}\}`,
    String.raw`\\U${HEX}{8}`,
    String.raw`\\[uU]${HEX}{4}`,
    String.raw`\\[xX]${HEX}{2}`,
    String.raw`\\[0-3]?[0-7]{2}`,
    String.raw`\\["\\/'abfnrtv0]`,
    `=${HEX}{2}`,
    String.raw`=[ \t]{0,20}(?:\r\n?|\n)`,
    `&#[xX]0{0,20}${HEX}{1,6};?`,
    String.raw`&#0{0,20}\d{1,7};?`,
    `&(?:${Object.keys(ENTITIES).map(anyCase).join('|')});?`,
  ].join('|'),
  'g',
);

/**
 * Decodes each escape in the text once. Returns undefined when the text does not contain escapes.
 */
export function decodeTextEscapes({ text, starts }: UnescapedText): UnescapedText | undefined {
  let decoded = '';
  const places: number[] = [];
  let end = 0;
  const takePlain = (to: number) => {
    for (let index = end; index < to; index++) places.push(starts[index] ?? 0);
    decoded += text.slice(end, to);
  };
  for (const match of text.matchAll(ESCAPE)) {
    takePlain(match.index);
    for (const { character, offset } of decodeEscape(match[0])) {
      for (let unit = 0; unit < character.length; unit++)
        places.push(starts[match.index + offset] ?? 0);
      decoded += character;
    }
    end = match.index + match[0].length;
  }
  if (end === 0) return undefined;
  takePlain(text.length);
  places.push(starts[text.length] ?? 0);
  return { text: decoded, starts: places };
}

interface PlacedCharacter {
  character: string;
  /** The offset in a longer escape at which the encoded character begins. */
  offset: number;
}

function decodeEscape(escaped: string): PlacedCharacter[] {
  if (/^%u/.test(escaped)) return [{ character: characterOf(escaped.slice(2), 16), offset: 0 }];
  if (escaped.startsWith('%')) return decodePercent(escaped);
  if (escaped.startsWith('\\')) return [{ character: decodeBackslash(escaped), offset: 0 }];
  if (escaped.startsWith('=')) return [{ character: decodeQuotedPrintable(escaped), offset: 0 }];
  return [{ character: decodeEntity(escaped), offset: 0 }];
}

function decodeBackslash(escaped: string): string {
  const digits = escaped.slice(1);
  if (/^u/i.test(digits)) return characterOf(digits.replace(/[^0-9a-f]/gi, ''), 16);
  if (/^x/i.test(digits)) return characterOf(digits.slice(1), 16);
  if (/^[0-7]/.test(digits)) return characterOf(digits, 8);
  return CONTROLS[digits] ?? digits;
}

/** Letters after a backslash that stand for control characters. */
const CONTROLS: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

/** Decodes `=41`. A line break after `=` is not part of the text (RFC 2045, 6.7). */
function decodeQuotedPrintable(escaped: string): string {
  const digits = escaped.slice(1).trim();
  return digits === '' ? '' : characterOf(digits, 16);
}

function decodeEntity(escaped: string): string {
  const name = escaped.slice(1).replace(/;$/, '');
  if (/^#x/i.test(name)) return characterOf(name.slice(2), 16);
  if (name.startsWith('#')) return characterOf(name.slice(1), 10);
  return ENTITIES[name.toLowerCase()] ?? escaped;
}

const LAST_CODE_POINT = 0x10ffff;

function characterOf(digits: string, base: number): string {
  const code = Number.parseInt(digits, base);
  return code <= LAST_CODE_POINT ? String.fromCodePoint(code) : '\uFFFD';
}

/** Characters of one percent-encoded byte. */
const PERCENT_CHARACTERS = 3;

/**
 * Decodes consecutive percent-encoded bytes as UTF-8, or as Latin-1 when they are not valid UTF-8.
 */
function decodePercent(run: string): PlacedCharacter[] {
  let text: string;
  let sizeOf = (character: string) => Buffer.byteLength(character);
  try {
    text = decodeURIComponent(run);
  } catch {
    text = Buffer.from(run.replaceAll('%', ''), 'hex').toString('latin1');
    sizeOf = () => 1;
  }
  let offset = 0;
  return [...text].map((character) => {
    const place = offset;
    offset += sizeOf(character) * PERCENT_CHARACTERS;
    return { character, offset: place };
  });
}
