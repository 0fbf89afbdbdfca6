// Makes control characters and other hidden text of the service visible before it reaches the terminal.

import { lazyPattern } from './lazy-pattern.js';

/**
 * What a reader cannot see or a terminal obeys: C0, DEL and C1 controls, line and paragraph separators, lone surrogates, what
 * Unicode keeps free of characters (XML cannot write it), and all that it calls default ignorable (zero-width and bidi controls, soft
 * hyphen, fillers, tags, variation selectors).
 */
const HIDDEN_CLASS = String.raw`[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\uFFF9-\uFFFB]`;
const HIDDEN = lazyPattern(HIDDEN_CLASS);
const EVERY_HIDDEN = lazyPattern(HIDDEN_CLASS, 'gu');

/** Text of this kind needs no closer look, and nearly all text is of this kind. */
const PRINTABLE_ASCII = /^[\x20-\x7E]*$/;

const ZERO_WIDTH_NON_JOINER = 0x200c;
const ZERO_WIDTH_JOINER = 0x200d;

/** A letter of a script whose letters may change shape or join by ZWJ and ZWNJ: there both belong to the spelling. */
const SHAPED_LETTER = lazyPattern(
  String.raw`(?![\p{sc=Latn}\p{sc=Grek}\p{sc=Cyrl}\p{sc=Zyyy}\p{sc=Zinh}])[\p{L}\p{M}]$`,
);
const BEFORE_EMOJI_JOINER = lazyPattern(String.raw`(?:\p{Extended_Pictographic}|\p{Emoji_Modifier}|\uFE0F)$`);
const EMOJI_START = lazyPattern(String.raw`^\p{Extended_Pictographic}`);
const EMOJI_END = lazyPattern(String.raw`\p{Emoji}$`);
const HAN_END = lazyPattern(String.raw`\p{sc=Han}$`);
/** As much of the text as can hold the character before an offset: a surrogate pair, with a selector behind it. */
function endingAt(text: string, offset: number): string {
  return text.slice(Math.max(0, offset - 3), offset);
}

/**
 * Whether a hidden character is part of a spelling: a joiner inside an emoji sequence or behind a letter of a script that needs
 * it, one variation selector behind an emoji or an ideograph. Anywhere else it only hides.
 */
function isSpelling(code: number, text: string, offset: number): boolean {
  if (code === ZERO_WIDTH_JOINER || code === ZERO_WIDTH_NON_JOINER) {
    const before = endingAt(text, offset);
    if (SHAPED_LETTER().test(before)) return true;
    return (
      code === ZERO_WIDTH_JOINER &&
      BEFORE_EMOJI_JOINER().test(before) &&
      EMOJI_START().test(text.slice(offset + 1, offset + 3))
    );
  }
  if (code === 0xfe0e || code === 0xfe0f) return EMOJI_END().test(endingAt(text, offset));
  return code >= 0xe0100 && code <= 0xe01ef && HAN_END().test(endingAt(text, offset));
}

/** The symbol for one hidden character: a control picture, U+FFFD for half a pair, else `<U+202E>` as `less` writes it. */
function symbolOf(code: number): string {
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return '\u2421';
  if (code >= 0xd800 && code <= 0xdfff) return '\uFFFD';
  return `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>`;
}

/** A code point and its position. */
interface Hidden {
  code: number;
  index: number;
  end: number;
}

/** The hidden characters that are no part of a spelling, one after the other: of millions, matches would fill the memory. */
function* hiddenIn(text: string): Generator<Hidden, void, undefined> {
  const pattern = EVERY_HIDDEN();
  for (let end = 0; ; ) {
    pattern.lastIndex = end;
    if (!pattern.test(text)) return;
    end = pattern.lastIndex;
    const pair = text.codePointAt(end - 2) ?? 0;
    const code = pair > 0xffff ? pair : text.charCodeAt(end - 1);
    const index = end - (pair > 0xffff ? 2 : 1);
    if (!isSpelling(code, text, index)) yield { code, index, end };
  }
}

function replaceHidden(text: string, replacement: (code: number) => string): string {
  const parts: string[] = [];
  // One text for each code point, however often it occurs.
  const made = new Map<number, string>();
  let from = 0;
  for (const { code, index, end } of hiddenIn(text)) {
    const part = made.get(code) ?? replacement(code);
    made.set(code, part);
    if (index > from) parts.push(text.slice(from, index));
    parts.push(part);
    from = end;
  }
  return from === 0 ? text : parts.join('') + text.slice(from);
}

/**
 * The text as it may reach a terminal: on one line, without a control, bidi or invisible character. ESC becomes `␛`, a newline
 * `␊`, U+009B `<U+009B>`, U+202E `<U+202E>`. Emoji sequences and scripts that need joiners keep them. Text without any of
 * these is returned as it is.
 */
export function clean(text: string): string {
  if (PRINTABLE_ASCII.test(text) || !HIDDEN().test(text)) return text;
  return replaceHidden(text, symbolOf);
}

/** Whether the text may reach a terminal as it is. */
export function isClean(text: string): boolean {
  return PRINTABLE_ASCII.test(text) || hiddenIn(text).next().done === true;
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
  if (isAsciiWithoutDelete(text) || !HIDDEN().test(text)) return text;
  return replaceHidden(text, (code) => {
    const character = String.fromCodePoint(code);
    return code < 0x20 ? character : replacement(character);
  });
}

/** The escapes of a character in JSON: one for each UTF-16 unit, so that a tag character becomes a surrogate pair. */
function jsonEscapes(character: string): string {
  return Array.from({ length: character.length }, (_, index) => {
    return `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`;
  }).join('');
}

/**
 * Valid JSON text, equal in value, in which no control, bidi or invisible character stands raw: they become `\u` escapes. (C0
 * controls cannot stand raw in a JSON string; between tokens they are white space and stay.)
 */
export function escapeJson(json: string): string {
  return escapeHidden(json, jsonEscapes);
}
