// Reads and writes JSON numbers exactly as the service wrote them.

import { readTokens } from './text.js';

const WRITTEN = Symbol('number as written');
const SOURCE = Symbol('spelling that JSON does not have');

/**
 * A number that a double cannot reproduce exactly as it was written. Examples: a number with 20
 * digits, a number with 25 decimals, `1.50` and `1e400`.
 */
export interface ExactNumber {
  readonly [WRITTEN]: string;
  /** The spelling of the number in YAML, such as `007` or `0x1F`. JSON does not allow it. */
  readonly [SOURCE]?: string;
}

/**
 * Matches numbers that a double may not reproduce: with 16 or more characters, with a decimal part
 * that ends in zero, with an exponent, less than a millionth, or minus zero. It matches whole
 * tokens, so `AXA:99ED657D…` does not match. A match inside a string is harmless: it only causes
 * the text to be read by the exact parser.
 */
const SUSPICIOUS =
  /(?:^|[:,[\s])(?=-?(?:[\d.]{16}|\d+\.\d*0(?:[\s,\]}]|$)|\d[\d.]*[eE]|0\.000000|(?<=-)0(?![\d.])))(-?\d[\d.eE+-]*)(?=[\s,\]}]|$)/g;

function isHeldByDouble(written: string): boolean {
  return String(Number(written)) === written;
}

/** Whether JSON.parse would change the spelling of a number in the text. */
export function needsExactReading(json: string): boolean {
  SUSPICIOUS.lastIndex = 0;
  for (let match = SUSPICIOUS.exec(json); match !== null; match = SUSPICIOUS.exec(json)) {
    if (!isHeldByDouble(match[1] ?? '')) return true;
  }
  return false;
}

/** Returns the original digits of an exact number. Returns undefined for any other value. */
export function writtenNumber(value: unknown): string | undefined {
  return typeof value === 'object' && value !== null && WRITTEN in value
    ? (value as ExactNumber)[WRITTEN]
    : undefined;
}

/**
 * Returns a number with a spelling that JSON does not allow, such as `007`. `written` is the same
 * number in JSON.
 */
export function toSpelledNumber(written: string, source: string): ExactNumber {
  return { [WRITTEN]: written, [SOURCE]: source };
}

/** Returns the spelling of a number that JSON does not allow, or undefined for any other value. */
export function spellingOf(value: unknown): string | undefined {
  return typeof value === 'object' && value !== null && SOURCE in value
    ? (value as ExactNumber)[SOURCE]
    : undefined;
}

/** Returns a plain number when a double reproduces the text, otherwise an ExactNumber. */
export function toNumber(written: string): number | ExactNumber {
  return isHeldByDouble(written) ? Number(written) : { [WRITTEN]: written };
}

type Container = unknown[] | { [key: string]: unknown };

function put(container: Container, key: string | undefined, value: unknown): void {
  if (Array.isArray(container)) container.push(value);
  else if (key !== '__proto__') container[key ?? ''] = value;
  // `__proto__` is an ordinary key, as in JSON.parse.
  else
    Object.defineProperty(container, key, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    });
}

/** Reads a valid JSON string. If the string has no escapes, the parser is not needed. */
function readString(token: string): string {
  return token.includes('\\') ? (JSON.parse(token) as string) : token.slice(1, -1);
}

function readScalar(token: string, first: string): unknown {
  if (first === '"') return readString(token);
  const isNumber = first === '-' || (first >= '0' && first <= '9');
  return isNumber ? toNumber(token) : JSON.parse(token);
}

/** The error for an object that has the same key twice. */
export class RepeatedKeyError extends Error {
  constructor(readonly key: string) {
    super('an object has the same key twice');
    this.name = 'RepeatedKeyError';
  }
}

/**
 * Reads valid JSON text. Numbers that a double cannot reproduce become ExactNumber. The depth is
 * not limited here; `parseJson` limits it. When a key is repeated, its last value is used. With
 * `refusesRepeatedKeys`, a repeated key throws a RepeatedKeyError instead.
 */
export function readExact(json: string, refusesRepeatedKeys = false): unknown {
  const root: unknown[] = [];
  const open: Container[] = [root];
  let key: string | undefined;
  for (const token of readTokens(json)) {
    const container = open.at(-1) ?? root;
    const first = token[0] ?? '';
    if (first === '{' || first === '[') {
      const inner: Container = first === '{' ? {} : [];
      put(container, key, inner);
      open.push(inner);
      key = undefined;
    } else if (first === '}' || first === ']') {
      open.pop();
    } else if (first === ',') {
      key = undefined;
    } else if (first === '"' && key === undefined && !Array.isArray(container)) {
      key = readString(token);
      if (refusesRepeatedKeys && Object.hasOwn(container, key)) throw new RepeatedKeyError(key);
    } else if (first !== ':') {
      put(container, key, readScalar(token, first));
    }
  }
  return root[0];
}

/**
 * Returns the value of a row. Numbers that a double cannot reproduce become ExactNumber values.
 */
export function exactValue<T>(row: { readonly json: string; readonly value: T }): T {
  // The result may contain exact numbers in places where the type says `number`. This is safe,
  // because callers check the type of each field.
  return needsExactReading(row.json) ? (readExact(row.json) as T) : row.value;
}

/** Returns compact JSON text. Exact numbers keep their spelling. */
export function writeJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const written = writtenNumber(value);
  if (written !== undefined) return written;
  if (Array.isArray(value)) return `[${value.map(writeJson).join(',')}]`;
  // This is a fast path. Exact numbers are objects. If none of the values is an object, none of
  // them is an exact number, and JSON.stringify is sufficient.
  if (Object.values(value).every((inner) => inner === null || typeof inner !== 'object'))
    return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, inner]) => `${JSON.stringify(key)}:${writeJson(inner)}`)
    .join(',')}}`;
}
