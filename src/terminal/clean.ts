// Makes control characters and other hidden text from the service visible before the text reaches
// the terminal.

import { lazyPattern } from './lazy-pattern.js';

/**
 * Matches characters that are invisible or that control a terminal: C0, DEL and C1 controls, line
 * and paragraph separators, lone surrogates, noncharacters (XML cannot contain these), and default
 * ignorable characters (zero-width and bidi controls, soft hyphen, fillers, tags, variation
 * selectors).
 */
const HIDDEN_CLASS = String.raw`[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\uFFF9-\uFFFB]`;

/**
 * Hidden characters that belong to correct spelling: joiners in scripts with connected letters, and
 * joiners and selectors in emoji.
 */
const SPELLING = [
  String.raw`[[\p{L}\p{M}]--[\p{sc=Latn}\p{sc=Grek}\p{sc=Cyrl}\p{sc=Zyyy}\p{sc=Zinh}]][\u200C\u200D]`,
  String.raw`[\p{Extended_Pictographic}\p{Emoji_Modifier}\uFE0F]\u200D(?=\p{Extended_Pictographic})`,
  String.raw`\p{sc=Han}[\u{E0100}-\u{E01EF}]`,
  String.raw`\p{Emoji}[\uFE0E\uFE0F]`,
].join('|');

const HIDDEN = lazyPattern(`${HIDDEN_CLASS}(?<!${SPELLING})`, 'gv');

/**
 * Matches strings of printable ASCII, which cannot contain hidden characters. Nearly all strings
 * match.
 */
const PRINTABLE_ASCII = /^[\x20-\x7E]*$/;

/**
 * Returns the symbol that is shown instead of a hidden character. A C0 control character or DEL
 * becomes a control picture, and a lone surrogate becomes U+FFFD. Any other character becomes a
 * code such as `<U+202E>`, as in `less`.
 */
function symbolOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return '\u2421';
  if (code >= 0xd800 && code <= 0xdfff) return '\uFFFD';
  return `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>`;
}

/**
 * Returns text that is safe for a terminal: one line without control, bidi or invisible characters.
 * For example, ESC becomes `␛`, a newline becomes `␊`, U+009B becomes `<U+009B>`, and U+202E
 * becomes `<U+202E>`. Joiners stay in emoji and in scripts that need them. Clean text is unchanged.
 */
export function clean(text: string): string {
  return PRINTABLE_ASCII.test(text) ? text : text.replace(HIDDEN(), symbolOf);
}

/** Matches strings that can be written unchanged into a cell of a file. */
const PRINTABLE_LINES = /^[\x20-\x7E\t\n\r]*$/;

/**
 * Cleans text for a cell of a file. Works like `clean`, but keeps tabs and line breaks, so the file
 * format must quote or escape them.
 */
export function cleanCell(text: string): string {
  if (PRINTABLE_LINES.test(text)) return text;
  return text.replace(HIDDEN(), (character) =>
    character === '\t' || character === '\n' || character === '\r'
      ? character
      : symbolOf(character),
  );
}

/** Whether the text can be printed on a terminal without escapes. */
export function isClean(text: string): boolean {
  return PRINTABLE_ASCII.test(text) || text.search(HIDDEN()) === -1;
}

/** Cleans multi-line text, such as an error with its hint, and keeps the newlines. */
export function cleanMultiline(text: string): string {
  return text.split('\n').map(clean).join('\n');
}

/**
 * Whether a text consists of ASCII characters other than DEL. This is checked by comparing lengths,
 * which is faster than a regular expression.
 */
function isAsciiWithoutDelete(text: string): boolean {
  return Buffer.byteLength(text) === text.length && !text.includes('\x7F');
}

/**
 * Replaces each hidden character. Used for formats that have escapes. Keeps C0 white space, and the
 * hidden characters that are part of correct spelling.
 */
export function escapeHidden(text: string, replacement: (character: string) => string): string {
  if (isAsciiWithoutDelete(text)) return text;
  return text.replace(HIDDEN(), (character) =>
    character < ' ' ? character : replacement(character),
  );
}

/** Returns the JSON escapes of a character, one for each UTF-16 unit. */
function jsonEscapes(character: string): string {
  return character.replace(
    /[\s\S]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/**
 * Escapes control, bidi and invisible characters in valid JSON text as `\u`. The value stays the
 * same. C0 controls are kept, because valid JSON can contain them only as white space between
 * tokens.
 */
export function escapeJson(json: string): string {
  return escapeHidden(json, jsonEscapes);
}
