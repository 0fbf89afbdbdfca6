// Reads and writes JSON numbers exactly as the service wrote them.

import { readTokens } from './text.js';

const WRITTEN = Symbol('number as written');

/** A number whose text a double would not give back: 20 digits, 25 decimals, `1.50`, `1e400`. */
export interface ExactNumber {
  readonly [WRITTEN]: string;
}

/**
 * Where a number may stand that a double does not give back: 16 characters and more, a zero at the end of a decimal, an exponent,
 * less than a millionth, minus zero; whole, as the interface's `AXA:99ED657D…` is none. A match inside a string costs a closer look and
 * nothing else.
 */
const SUSPICIOUS =
  /(?:^|[:,[\s])(?=-?(?:[\d.]{16}|\d+\.\d*0(?:[\s,\]}]|$)|\d[\d.]*[eE]|0\.000000|(?<=-)0(?![\d.])))(-?\d[\d.eE+-]*)(?=[\s,\]}]|$)/g;

function isHeldByDouble(written: string): boolean {
  return String(Number(written)) === written;
}

/** Whether reading the text with JSON.parse could change how one of its numbers is written. */
export function needsExactReading(json: string): boolean {
  SUSPICIOUS.lastIndex = 0;
  for (let match = SUSPICIOUS.exec(json); match !== null; match = SUSPICIOUS.exec(json)) {
    if (!isHeldByDouble(match[1] ?? '')) return true;
  }
  return false;
}

/** The digits of an exact number, undefined for any other value. */
export function writtenNumber(value: unknown): string | undefined {
  return typeof value === 'object' && value !== null && WRITTEN in value
    ? (value as ExactNumber)[WRITTEN]
    : undefined;
}

/** A number that is written as given; plain where a double gives the same text back. */
export function toNumber(written: string): number | ExactNumber {
  return isHeldByDouble(written) ? Number(written) : { [WRITTEN]: written };
}

type Container = unknown[] | { [key: string]: unknown };

function put(container: Container, key: string | undefined, value: unknown): void {
  if (Array.isArray(container)) container.push(value);
  else if (key !== '__proto__') container[key ?? ''] = value;
  // As JSON.parse does: it is a name like any other.
  else
    Object.defineProperty(container, key, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    });
}

/** Reads valid JSON text; numbers that a double does not hold become ExactNumber. Depth is limited by memory alone. */
export function readExact(json: string): unknown {
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
      key = JSON.parse(token);
    } else if (first !== ':') {
      put(
        container,
        key,
        first === '-' || (first >= '0' && first <= '9') ? toNumber(token) : JSON.parse(token),
      );
    }
  }
  return root[0];
}

/** The value of a row: what is at hand, unless its text holds numbers that only exact reading gives back. */
export function exactValue<T>(row: { readonly json: string; readonly value: T }): T {
  // The fields of an interface may hold anything; those who show them look before they read.
  return needsExactReading(row.json) ? (readExact(row.json) as T) : row.value;
}

/** Compact JSON text of a value, exact numbers as they were written. */
export function writeJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const written = writtenNumber(value);
  if (written !== undefined) return written;
  if (Array.isArray(value)) return `[${value.map(writeJson).join(',')}]`;
  // Without anything inside, most are: an exact number is an object.
  if (Object.values(value).every((inner) => inner === null || typeof inner !== 'object'))
    return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, inner]) => `${JSON.stringify(key)}:${writeJson(inner)}`)
    .join(',')}}`;
}
