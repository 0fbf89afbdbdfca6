// The only lexer of JSON text. It splits and reformats valid text, and keeps every number and
// escape byte for byte.

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const SPACE = 0x20;
const PUNCTUATION = new Set([COMMA, COLON, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE]);

/**
 * The deepest indentation of `indent`. Without a limit, deep nesting could make the text a thousand
 * times longer.
 */
const INDENTED_LEVELS = 60;

/**
 * Returns the index after the string that opens at `at`, or the text's length when there is no
 * closing quote.
 */
function skipString(text: string, at: number): number {
  for (let quote = text.indexOf('"', at + 1); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return quote + 1;
  }
  return text.length;
}

/** Returns the first index from `at` that is not white space in JSON. */
function skipSpace(text: string, at: number): number {
  let index = at;
  while (text.charCodeAt(index) <= SPACE) index++;
  return index;
}

/** Returns the index after the number or word that starts at `at`. */
function skipScalar(text: string, at: number): number {
  for (let index = at; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code <= SPACE || PUNCTUATION.has(code) || code === QUOTE) return index;
  }
  return text.length;
}

/**
 * Returns the index after the token that starts at `at`. There must not be any white space at `at`.
 */
function skipToken(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code === QUOTE) return skipString(text, at);
  return PUNCTUATION.has(code) ? at + 1 : skipScalar(text, at);
}

/**
 * Returns the index after the value that starts at `at`. There must not be any white space at `at`.
 */
function skipValue(text: string, at: number): number {
  let depth = 0;
  for (let index = at; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) index = skipString(text, index) - 1;
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--;
    else if (depth === 0) index = skipScalar(text, index) - 1;
    if (depth <= 0) return index + 1;
  }
  return text.length;
}

/** Counts how often a character occurs in the text. Stops when the count exceeds `most`. */
function countUpTo(text: string, character: string, most: number): number {
  let count = 0;
  for (
    let at = text.indexOf(character);
    at !== -1 && count <= most;
    at = text.indexOf(character, at + 1)
  )
    count++;
  return count;
}

/**
 * Returns the limit that the text exceeds: the maximum bracket depth, or the maximum number of
 * values including keys. Returns undefined when the text is within both limits. The text can be
 * invalid JSON. Runs in linear time.
 */
export function findExcess(
  text: string,
  levels: number,
  values: number,
): 'depth' | 'values' | undefined {
  // Fast path for most inputs. The text has too few brackets to exceed the maximum depth, and too
  // few characters to exceed the maximum number of values.
  if (
    text.length <= values &&
    countUpTo(text, '{', levels) + countUpTo(text, '[', levels) <= levels
  )
    return undefined;
  let depth = 0;
  let count = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) index = skipString(text, index) - 1;
    else if (code === COMMA || code === COLON) count++;
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      count++;
      if (++depth > levels) return 'depth';
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--;
    if (count > values) return 'values';
  }
  return undefined;
}

/** Yields the tokens of valid JSON text. Strings include their quotes. */
export function* readTokens(text: string): Generator<string, void, undefined> {
  for (let index = skipSpace(text, 0); index < text.length; ) {
    const end = skipToken(text, index);
    yield text.slice(index, end);
    index = skipSpace(text, end);
  }
}

/**
 * Whether invalid text is incomplete: it ends before all its brackets are closed. Also true for
 * empty text.
 */
export function breaksOff(text: string): boolean {
  let depth = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) index = skipString(text, index) - 1;
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--;
  }
  return depth > 0 || text.trim() === '';
}

/**
 * Splits the array that opens at `at`. Returns the unchanged text of each element and the index
 * after the array. Returns undefined when two elements are not separated by exactly one comma, or
 * when the text ends before the array does. The elements need not be valid JSON. Stops after more
 * than `most` elements.
 */
export function splitArray(
  text: string,
  at: number,
  most = Number.POSITIVE_INFINITY,
): { texts: string[]; end: number } | undefined {
  const texts: string[] = [];
  let index = skipSpace(text, at + 1);
  if (text.charCodeAt(index) === CLOSE_BRACKET) return { texts, end: index + 1 };
  while (index < text.length) {
    const end = Math.max(skipValue(text, index), index + 1);
    texts.push(text.slice(index, end));
    index = skipSpace(text, end);
    if (text.charCodeAt(index) === CLOSE_BRACKET || texts.length > most)
      return { texts, end: index + 1 };
    if (text.charCodeAt(index) !== COMMA) return undefined;
    index = skipSpace(text, index + 1);
  }
  return undefined;
}

/** An array in JSON text: the unchanged text of each element, and the array's position. */
export interface SplitArray {
  start: number;
  /** The index after the array. */
  end: number;
  texts: string[];
}

/**
 * Splits the array of a property in the object that opens at `at`, in one pass over the text. Tries
 * the names in order, and uses the first one whose property is an array. When the object repeats
 * that property, uses its last occurrence. Returns undefined when no property with these names is
 * an array, or when the object is broken. Throws a SyntaxError for a key that is not valid JSON.
 * Stops after more than `most` elements.
 */
export function splitProperty(
  text: string,
  at: number,
  names: readonly string[],
  most = Number.POSITIVE_INFINITY,
): SplitArray | undefined {
  const found = new Map<string, SplitArray | undefined>();
  let index = skipSpace(text, at + 1);
  while (text.charCodeAt(index) === QUOTE) {
    const keyEnd = skipString(text, index);
    const key: string = JSON.parse(text.slice(index, keyEnd));
    index = skipSpace(text, keyEnd);
    if (text.charCodeAt(index) === COLON) index = skipSpace(text, index + 1);
    const isArray = text.charCodeAt(index) === OPEN_BRACKET && names.includes(key);
    const array = isArray ? splitArray(text, index, most) : undefined;
    if (isArray && array === undefined) return undefined;
    const split = array === undefined ? undefined : { start: index, ...array };
    if (split !== undefined && split.texts.length > most) return split;
    if (names.includes(key)) found.set(key, split);
    index = skipSpace(text, split?.end ?? skipValue(text, index));
    if (text.charCodeAt(index) === COMMA) index = skipSpace(text, index + 1);
  }
  return names.map((name) => found.get(name)).find((split) => split !== undefined);
}

/** The start and end of a value in its text. */
export interface TextRange {
  start: number;
  end: number;
}

/**
 * Yields the positions of the elements of the array that opens at `at`, as `splitArray` does, but
 * without copying them. Returns the index after the array, or undefined for a broken array.
 */
export function* arrayRanges(
  text: string,
  at: number,
): Generator<TextRange, number | undefined, undefined> {
  let start = skipSpace(text, at + 1);
  if (text.charCodeAt(start) === CLOSE_BRACKET) return start + 1;
  while (start < text.length) {
    const end = Math.max(skipValue(text, start), start + 1);
    yield { start, end };
    const next = skipSpace(text, end);
    if (text.charCodeAt(next) === CLOSE_BRACKET) return next + 1;
    if (text.charCodeAt(next) !== COMMA) return undefined;
    start = skipSpace(text, next + 1);
  }
  return undefined;
}

/** Returns the value that starts at `at` in valid JSON text, on one line. */
export function valueText(text: string, at: number): string {
  const start = skipSpace(text, at);
  return squeeze(text.slice(start, skipValue(text, start)));
}

/**
 * Returns the start of a property's value in the object that opens at `at`, in valid JSON text.
 * When the property is repeated, returns the start of the last value.
 */
export function propertyStart(text: string, at: number, name: string): number | undefined {
  let found: number | undefined;
  let index = skipSpace(text, at + 1);
  while (text.charCodeAt(index) === QUOTE) {
    const keyEnd = skipString(text, index);
    const key: unknown = JSON.parse(text.slice(index, keyEnd));
    index = skipSpace(text, keyEnd);
    if (text.charCodeAt(index) === COLON) index = skipSpace(text, index + 1);
    if (key === name) found = index;
    index = skipSpace(text, skipValue(text, index));
    if (text.charCodeAt(index) === COMMA) index = skipSpace(text, index + 1);
  }
  return found;
}

/**
 * Joins valid JSON text into one line without white space. Text that is already on one line is
 * returned unchanged.
 */
export function squeeze(text: string): string {
  return text.includes('\n') || text.includes('\r') ? [...readTokens(text)].join('') : text;
}

/**
 * Indents valid JSON text by two spaces per level, as `JSON.stringify(value, null, 2)` does. Every
 * line after the first starts with `margin`.
 */
export function indent(text: string, margin = '', paintKey?: (name: string) => string): string {
  const parts: string[] = [];
  const containers: string[] = [];
  let previous = '';
  for (const token of readTokens(text)) {
    const isClosing = token === '}' || token === ']';
    if (isClosing) containers.pop();
    const isEmpty = isClosing && (previous === '{' || previous === '[');
    const isFirst = !isClosing && (previous === '{' || previous === '[');
    if ((isClosing && !isEmpty) || isFirst || previous === ',')
      parts.push('\n', margin, '  '.repeat(Math.min(containers.length, INDENTED_LEVELS)));
    const isKey =
      token[0] === '"' && containers.at(-1) === '{' && (previous === '{' || previous === ',');
    parts.push(token === ':' ? ': ' : isKey && paintKey !== undefined ? paintKey(token) : token);
    if (token === '{' || token === '[') containers.push(token);
    previous = token;
  }
  return parts.join('');
}
