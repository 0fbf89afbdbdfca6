// Decimal numbers compared to the last digit, from the text they were written in.

import { writtenNumber } from '../../json/exact.js';

const DECIMAL = /^([-+]?)(?=\.?\d)(\d*)(?:\.(\d*))?(?:[eE]([-+]?\d+))?$/;

/** Whether the text is a decimal number: `20`, `-0.5`, `.5`, `007`, `1e3`. */
export function isDecimal(text: string): boolean {
  return DECIMAL.test(text);
}

/** The digits of a number, or of a number written as a string; undefined for anything else. */
export function writtenDecimal(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  const text = typeof value === 'string' ? value.trim() : writtenNumber(value);
  return text !== undefined && isDecimal(text) ? text : undefined;
}

/** Below zero when a is less than b, zero when they are equal, above when more. Both are decimal numbers. */
export function compareDecimals(a: string, b: string): number {
  const [left, right] = [Number(a), Number(b)];
  // Rounding keeps the order: where the doubles differ, they differ in the right way.
  if (left !== right) return left < right ? -1 : 1;
  return compareDigits(readDigits(a), readDigits(b));
}

interface Digits {
  sign: -1 | 0 | 1;
  /** Without zeros at either end; the value is 0.DIGITS times ten to the power of `magnitude`. */
  digits: string;
  magnitude: number;
}

function readDigits(text: string): Digits {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = DECIMAL.exec(text) ?? [];
  const all = whole + fraction;
  let start = 0;
  while (all[start] === '0') start += 1;
  let end = all.length;
  while (end > start && all[end - 1] === '0') end -= 1;
  if (start === end) return { sign: 0, digits: '', magnitude: 0 };
  return {
    sign: sign === '-' ? -1 : 1,
    digits: all.slice(start, end),
    magnitude: whole.length - start + Number(exponent),
  };
}

function compareDigits(a: Digits, b: Digits): number {
  if (a.sign !== b.sign) return a.sign - b.sign;
  if (a.magnitude !== b.magnitude) return a.magnitude < b.magnitude ? -a.sign : a.sign;
  if (a.digits === b.digits) return 0;
  return a.digits < b.digits ? -a.sign : a.sign;
}
