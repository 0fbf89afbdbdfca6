// Makes control characters and other hidden text of the service visible before it reaches the terminal.

import { lazyPattern } from './lazy-pattern.js';

/**
 * What a reader cannot see or a terminal obeys: C0, DEL and C1 controls, line and paragraph separators, lone surrogates, what
 * Unicode keeps free of characters (XML cannot write it), and all that it calls default ignorable (zero-width and bidi controls, soft
 * hyphen, fillers, tags, variation selectors).
 */
const HIDDEN_CLASS = String.raw`[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\uFFF9-\uFFFB]`;

/** What of these belongs to the spelling: joiners in scripts whose letters change shape by them, joiners and the selector of emoji. */
const SPELLING = [
  String.raw`[[\p{L}\p{M}]--[\p{sc=Latn}\p{sc=Grek}\p{sc=Cyrl}\p{sc=Zyyy}\p{sc=Zinh}]][\u200C\u200D]`,
  String.raw`[\p{Extended_Pictographic}\p{Emoji_Modifier}\uFE0F]\u200D(?=\p{Extended_Pictographic})`,
  String.raw`\p{sc=Han}[\u{E0100}-\u{E01EF}]`,
  String.raw`\p{Emoji}[\uFE0E\uFE0F]`,
].join('|');

const HIDDEN = lazyPattern(`${HIDDEN_CLASS}(?<!${SPELLING})`, 'gv');

/** Text of this kind needs no closer look, and nearly all text is of this kind. */
const PRINTABLE_ASCII = /^[\x20-\x7E]*$/;

/** The symbol for one hidden character: a control picture, U+FFFD for half a pair, else `<U+202E>` as `less` writes it. */
function symbolOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return '\u2421';
  if (code >= 0xd800 && code <= 0xdfff) return '\uFFFD';
  return `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>`;
}

/**
 * The text as it may reach a terminal: on one line, without a control, bidi or invisible character. ESC becomes `␛`, a newline
 * `␊`, U+009B `<U+009B>`, U+202E `<U+202E>`. Emoji sequences and scripts that need joiners keep them. Text without any of
 * these is returned as it is.
 */
export function clean(text: string): string {
  return PRINTABLE_ASCII.test(text) ? text : text.replace(HIDDEN(), symbolOf);
}

/** Text of this kind needs no closer look in a cell. */
const PRINTABLE_LINES = /^[\x20-\x7E\t\n\r]*$/;

/**
 * Cleans a text for a cell of a file: as `clean` does, but tabs and line breaks stay. The format of the file must quote or escape
 * them.
 */
export function cleanCell(text: string): string {
  if (PRINTABLE_LINES.test(text)) return text;
  return text.replace(HIDDEN(), (character) =>
    character === '\t' || character === '\n' || character === '\r'
      ? character
      : symbolOf(character),
  );
}

/** Whether the text may reach a terminal as it is. */
export function isClean(text: string): boolean {
  return PRINTABLE_ASCII.test(text) || text.search(HIDDEN()) === -1;
}

/** Text of ours that has lines of its own, such as an error with its hint: each line cleaned, the newlines kept. */
export function cleanMultiline(text: string): string {
  return text.split('\n').map(clean).join('\n');
}

/** As many bytes as characters are ASCII; it is looked at many bytes at once, which a regular expression does not. */
function isAsciiWithoutDelete(text: string): boolean {
  return Buffer.byteLength(text) === text.length && !text.includes('\x7F');
}

/**
 * The text with each hidden character, white space of C0 aside, replaced by what `replacement` makes of it; those that are part of a
 * spelling stay. For notations that have escapes of their own.
 */
export function escapeHidden(text: string, replacement: (character: string) => string): string {
  if (isAsciiWithoutDelete(text)) return text;
  return text.replace(HIDDEN(), (character) =>
    character < ' ' ? character : replacement(character),
  );
}

/** The escapes of a character in JSON: one for each UTF-16 unit, so that a tag character becomes a surrogate pair. */
function jsonEscapes(character: string): string {
  return character.replace(
    /[\s\S]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/**
 * Valid JSON text, equal in value, in which no control, bidi or invisible character stands raw: they become `\u` escapes. (C0
 * controls cannot stand raw in a JSON string; between tokens they are white space and stay.)
 */
export function escapeJson(json: string): string {
  return escapeHidden(json, jsonEscapes);
}
