// The one lexer of JSON text: takes valid text apart and lays it out anew; every number and escape stays byte for byte what it was.

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

/** Beyond this depth the lines of `indent` start no further to the right: else a deep text would become a thousand times as long. */
const INDENTED_LEVELS = 60;

/** The index behind the string that opens at `at`; the text's length where no quote closes it. */
function skipString(text: string, at: number): number {
  for (let quote = text.indexOf('"', at + 1); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return quote + 1;
  }
  return text.length;
}

/** The first index from `at` on that is not JSON's white space. */
function skipSpace(text: string, at: number): number {
  let index = at;
  while (text.charCodeAt(index) <= SPACE) index++;
  return index;
}

/** The index behind the number or word that starts at `at`. */
function skipScalar(text: string, at: number): number {
  for (let index = at; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code <= SPACE || PUNCTUATION.has(code) || code === QUOTE) return index;
  }
  return text.length;
}

/** The index behind the token that starts at `at`, which is not white space. */
function skipToken(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code === QUOTE) return skipString(text, at);
  return PUNCTUATION.has(code) ? at + 1 : skipScalar(text, at);
}

/** The index behind the value that starts at `at`, which is not white space. */
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

/** How often a character occurs in the text, counted up to a bit more than `most`. */
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
 * What a text, which need not be valid, has too much of: levels of brackets, or values, each key counted as one. Takes linear time and
 * stops at the first.
 */
export function findExcess(
  text: string,
  levels: number,
  values: number,
): 'depth' | 'values' | undefined {
  // Nearly every text has fewer brackets than levels, and fewer characters than values: it need not be walked through.
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

/** The tokens of valid JSON text: braces, brackets, commas and colons, strings with their quotes, numbers and words. */
export function* readTokens(text: string): Generator<string, void, undefined> {
  for (let index = skipSpace(text, 0); index < text.length; ) {
    const end = skipToken(text, index);
    yield text.slice(index, end);
    index = skipSpace(text, end);
  }
}

/** Whether a text that is no JSON ends before its brackets are closed, whatever else is wrong with it; also one that says nothing. */
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
 * The texts of the elements of the array that opens at `at`, each as it stands there, and the index behind the array; undefined where
 * something other than one comma stands between two of them, or the text ends before. The elements themselves need not be JSON. Behind
 * more than `most` elements nothing is read.
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

/** The text of the value that starts at `at` in valid JSON text, on one line. */
export function valueText(text: string, at: number): string {
  const start = skipSpace(text, at);
  return squeeze(text.slice(start, skipValue(text, start)));
}

/** Where the value of a property of the object that opens at `at` starts, in valid JSON text; the last one counts. */
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

/** Valid JSON text on one line, without the white space between its tokens; text on one line is returned as it is. */
export function squeeze(text: string): string {
  return text.includes('\n') || text.includes('\r') ? [...readTokens(text)].join('') : text;
}

/**
 * Valid JSON text laid out with two spaces a level, as `JSON.stringify(value, null, 2)` does. `margin` goes before every line but
 * the first.
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
