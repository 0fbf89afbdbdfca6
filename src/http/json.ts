// JSON from the service, kept as the text it came in: numbers that a double cannot hold stay exact.

import { FleetError } from '../errors.js';
import { titleOf } from './failure.js';
import type { HttpAnswer, Item } from './types.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Reads the answer's body as JSON. Throws a FleetError of kind `service` that says what came instead. */
export function readJson(answer: HttpAnswer): unknown {
  try {
    return JSON.parse(answer.text);
  } catch (error) {
    const cameInstead = describeBody(answer, error);
    throw new FleetError(
      'service',
      `the answer is not what the interface says: ${cameInstead} where JSON was expected`,
      {
        status: answer.status,
        trace: answer.trace,
        cause: error,
        hint: 'check that the base URL is that of the service, prefix such as /api included',
      },
    );
  }
}

function describeBody(answer: HttpAnswer, error: unknown): string {
  const text = answer.text.trim();
  if (text === '') return 'an empty body';
  if (/^</.test(text)) {
    const title = titleOf(text)?.trim();
    return title === undefined ? 'an HTML page' : `an HTML page ("${title.slice(0, 100)}")`;
  }
  if (!/^[[{"\d\-tfn]/.test(text)) return `text ("${text.slice(0, 60)}")`;
  const message = error instanceof Error ? error.message : '';
  return /end of JSON|Unterminated/i.test(message) ? 'JSON that breaks off' : 'broken JSON';
}

/** The index behind the string that opens at `at`; the text is known to be valid JSON. */
function skipString(text: string, at: number): number {
  let end = text.indexOf('"', at + 1);
  for (;;) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return end + 1;
    end = text.indexOf('"', end + 1);
  }
}

/** The first index from `at` on that is not JSON's white space. */
function skipSpace(text: string, at: number): number {
  let index = at;
  while (text.charCodeAt(index) <= 0x20) index++;
  return index;
}

/** The index behind the value that starts at `at`, which is not white space. */
function skipValue(text: string, at: number): number {
  let depth = 0;
  let index = at;
  for (;;) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) {
      index = skipString(text, index);
      if (depth === 0) return index;
      continue;
    }
    if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      if (depth === 0) return index;
      if (--depth === 0) return index + 1;
    } else if (depth === 0 && (code === COMMA || code <= 0x20 || Number.isNaN(code))) return index;
    index++;
  }
}

/** The texts of the elements of the array that opens at `at` in valid JSON text, each on one line. */
export function elementTexts(text: string, at: number): string[] {
  const texts: string[] = [];
  let index = skipSpace(text, at + 1);
  while (text.charCodeAt(index) !== CLOSE_BRACKET) {
    const end = skipValue(text, index);
    texts.push(squeeze(text.slice(index, end)));
    index = skipSpace(text, end);
    if (text.charCodeAt(index) === COMMA) index = skipSpace(text, index + 1);
  }
  return texts;
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

/** JSON text on one line: a raw line break is always outside a string, where white space means nothing. */
export function squeeze(json: string): string {
  return /[\r\n]/.test(json) ? json.replace(/[ \t]*[\r\n][ \t\r\n]*/g, '') : json;
}

/** The items of a list: their values and, beside each, the text it came in. `array` is what JSON.parse made of it. */
export function pairItems<T>(array: readonly unknown[], text: string, at: number): Item<T>[] {
  const texts = elementTexts(text, at);
  return array.map((value, index) => ({ json: texts[index] ?? JSON.stringify(value), value: value as T }));
}
