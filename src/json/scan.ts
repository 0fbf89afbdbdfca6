// Finds the items of a list in the bytes of its JSON, and checks all of the grammar (RFC 8259) on the way; makes no string of what it passes.
// What is unusual, wrong included, is left to those who read text: they say what is wrong.

/** A range of bytes, the end exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface ScannedItem<Bytes extends Uint8Array = Uint8Array> extends Span {
  readonly bytes: Bytes;
  /** Where the text of the string `uuid` starts, behind its quote; -1 for an item without one of 36 bytes. */
  readonly uuidAt: number;
}

export interface ScannedList<Bytes extends Uint8Array = Uint8Array> {
  /** Objects without line breaks between their tokens. */
  readonly items: readonly ScannedItem<Bytes>[];
  /** Values of an envelope (interface.md section 2.6); undefined where it has none, and for a bare array. */
  readonly count?: Span;
  readonly next?: Span;
}

const TAB = 0x09;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const LETTER_U = 0x75;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const DELETE = 0x7f;

const UUID_BYTES = 36;

/** More than this is read as text, which counts its values. */
const LIMIT_BYTES = 4_000_000;

const bytesOf = (text: string): Uint8Array => Uint8Array.from(text, (letter) => letter.charCodeAt(0));
const isAnyOf = (letters: string): Uint8Array => {
  const table = new Uint8Array(256);
  for (const letter of bytesOf(letters)) table[letter] = 1;
  return table;
};

/** Bytes of a string that stand for themselves; all beyond ASCII do, and DELETE is left to those who escape it. */
const PLAIN = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number(byte >= SPACE && byte !== QUOTE && byte !== BACKSLASH && byte !== DELETE),
);
const HEX = isAnyOf('0123456789abcdefABCDEF');
const ESCAPED = isAnyOf('"\\/bfnrt');
const WORDS = ['true', 'false', 'null'].map(bytesOf);
const [RESULTS, COUNT, NEXT, UUID] = ['results', 'count', 'next', 'uuid'].map(bytesOf) as [
  Uint8Array,
  Uint8Array,
  Uint8Array,
  Uint8Array,
];

/** A place that no text has: what stands there is not the grammar's, or unusual. */
const NOWHERE = -1;

/**
 * Scans a page: an envelope or a bare array of objects. Undefined for all else, for what nests deeper than `levels`, for line breaks
 * or DELETE within an item, and for escapes in the keys that are looked for. Takes linear time.
 */
export function scanList<Bytes extends Uint8Array>(bytes: Bytes, levels: number): ScannedList<Bytes> | undefined {
  if (bytes.length > LIMIT_BYTES) return undefined;
  const start = skipBreaks(bytes, 0);
  const items: ScannedItem<Bytes>[] = [];
  if (bytes[start] === OPEN_BRACKET)
    return endsAt(bytes, scanItems(bytes, start, levels, items)) ? { items } : undefined;
  if (bytes[start] !== OPEN_BRACE) return undefined;
  let results = 0;
  const spans: { count?: Span; next?: Span } = {};
  const end = scanMembers(bytes, start, skipBreaks, (key, keyEnd, at) => {
    const isResults = isText(bytes, key, keyEnd, RESULTS);
    if (isResults && (bytes[at] !== OPEN_BRACKET || ++results > 1)) return NOWHERE;
    const after = isResults ? scanItems(bytes, at, levels, items) : skipValue(bytes, at, levels - 1);
    if (isText(bytes, key, keyEnd, COUNT)) spans.count = { start: at, end: after };
    if (isText(bytes, key, keyEnd, NEXT)) spans.next = { start: at, end: after };
    return after;
  });
  return results === 1 && endsAt(bytes, end) ? { items, ...spans } : undefined;
}

/** Whether only white space follows. */
function endsAt(bytes: Uint8Array, at: number): boolean {
  return at !== NOWHERE && skipBreaks(bytes, at) === bytes.length;
}

/** The place behind the array that opens at `at`. */
function scanItems<Bytes extends Uint8Array>(
  bytes: Bytes,
  at: number,
  levels: number,
  items: ScannedItem<Bytes>[],
): number {
  let uuidAt = NOWHERE;
  const scanField = (key: number, keyEnd: number, valueAt: number): number => {
    const after = skipValue(bytes, valueAt, levels - 3);
    // The last one counts, as for JSON.parse.
    if (isText(bytes, key, keyEnd, UUID))
      uuidAt = bytes[valueAt] === QUOTE && after - valueAt === UUID_BYTES + 2 ? valueAt + 1 : NOWHERE;
    return after;
  };
  let index = skipBreaks(bytes, at + 1);
  if (bytes[index] === CLOSE_BRACKET) return index + 1;
  for (;;) {
    if (bytes[index] !== OPEN_BRACE) return NOWHERE;
    const start = index;
    uuidAt = NOWHERE;
    const end = scanMembers(bytes, start, skipSpace, scanField);
    if (end === NOWHERE) return NOWHERE;
    items.push({ bytes, start, end, uuidAt });
    index = skipBreaks(bytes, end);
    if (bytes[index] === CLOSE_BRACKET) return index + 1;
    if (bytes[index] !== COMMA) return NOWHERE;
    index = skipBreaks(bytes, index + 1);
  }
}

/**
 * The place behind the object that opens at `at`. `scanValue` is handed each key, which has no escapes, as where its text starts and ends,
 * and where the value starts; it gives back where that ends.
 */
function scanMembers(
  bytes: Uint8Array,
  at: number,
  skip: (bytes: Uint8Array, at: number) => number,
  scanValue: (key: number, keyEnd: number, at: number) => number,
): number {
  let index = skip(bytes, at + 1);
  if (bytes[index] === CLOSE_BRACE) return index + 1;
  for (;;) {
    if (bytes[index] !== QUOTE) return NOWHERE;
    const key = index + 1;
    index = key;
    while (PLAIN[bytes[index] as number] === 1) index++;
    if (bytes[index] !== QUOTE) return NOWHERE;
    const keyEnd = index;
    index = skip(bytes, keyEnd + 1);
    if (bytes[index] !== COLON) return NOWHERE;
    index = scanValue(key, keyEnd, skip(bytes, index + 1));
    if (index === NOWHERE) return NOWHERE;
    index = skip(bytes, index);
    if (bytes[index] === CLOSE_BRACE) return index + 1;
    if (bytes[index] !== COMMA) return NOWHERE;
    index = skip(bytes, index + 1);
  }
}

function isText(bytes: Uint8Array, start: number, end: number, text: Uint8Array): boolean {
  if (end - start !== text.length) return false;
  for (let index = 0; index < text.length; index++) if (bytes[start + index] !== text[index]) return false;
  return true;
}

/** The place behind a value, which may have so many levels of brackets. */
function skipValue(bytes: Uint8Array, at: number, levels: number): number {
  const first = bytes[at];
  if (first === QUOTE) return skipString(bytes, at + 1);
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return levels > 0 ? skipContainer(bytes, at, levels) : NOWHERE;
  if (first === MINUS || isDigit(first)) return skipNumber(bytes, at);
  for (const word of WORDS) if (isText(bytes, at, at + word.length, word)) return at + word.length;
  return NOWHERE;
}

function skipContainer(bytes: Uint8Array, at: number, levels: number): number {
  const isObject = bytes[at] === OPEN_BRACE;
  const close = isObject ? CLOSE_BRACE : CLOSE_BRACKET;
  let index = skipSpace(bytes, at + 1);
  if (bytes[index] === close) return index + 1;
  for (;;) {
    if (isObject) {
      if (bytes[index] !== QUOTE) return NOWHERE;
      index = skipString(bytes, index + 1);
      if (index === NOWHERE) return NOWHERE;
      index = skipSpace(bytes, index);
      if (bytes[index] !== COLON) return NOWHERE;
      index = skipSpace(bytes, index + 1);
    }
    index = skipValue(bytes, index, levels - 1);
    if (index === NOWHERE) return NOWHERE;
    index = skipSpace(bytes, index);
    if (bytes[index] === close) return index + 1;
    if (bytes[index] !== COMMA) return NOWHERE;
    index = skipSpace(bytes, index + 1);
  }
}

/** The place behind the string whose text starts at `at`. */
function skipString(bytes: Uint8Array, at: number): number {
  let index = at;
  for (;;) {
    while (PLAIN[bytes[index] as number] === 1) index++;
    if (bytes[index] === QUOTE) return index + 1;
    if (bytes[index] !== BACKSLASH) return NOWHERE;
    const escaped = bytes[index + 1] as number;
    if (ESCAPED[escaped] === 1) index += 2;
    else if (escaped === LETTER_U && isHex(bytes, index + 2)) index += 6;
    else return NOWHERE;
  }
}

function isHex(bytes: Uint8Array, at: number): boolean {
  for (let index = at; index < at + 4; index++) if (HEX[bytes[index] as number] !== 1) return false;
  return true;
}

function skipNumber(bytes: Uint8Array, at: number): number {
  let index = bytes[at] === MINUS ? at + 1 : at;
  if (bytes[index] === ZERO) index++;
  else index = skipDigits(bytes, index);
  if (index !== NOWHERE && bytes[index] === POINT) index = skipDigits(bytes, index + 1);
  if (index === NOWHERE || ((bytes[index] as number) | SPACE) !== 0x65) return index;
  const sign = bytes[index + 1];
  return skipDigits(bytes, index + (sign === PLUS || sign === MINUS ? 2 : 1));
}

/** The place behind one digit or more. */
function skipDigits(bytes: Uint8Array, at: number): number {
  let index = at;
  while (isDigit(bytes[index])) index++;
  return index === at ? NOWHERE : index;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE;
}

function skipSpace(bytes: Uint8Array, at: number): number {
  let index = at;
  while (bytes[index] === SPACE || bytes[index] === TAB) index++;
  return index;
}

/** The same between items, where line breaks change nothing. */
function skipBreaks(bytes: Uint8Array, at: number): number {
  let index = at;
  while (bytes[index] === SPACE || bytes[index] === TAB || bytes[index] === NEWLINE || bytes[index] === RETURN) index++;
  return index;
}
