// Parses --size.

import { usageError } from '../../errors.js';

/** Columns and rows of a terminal, or pixels of a picture. */
export interface Size {
  width: number;
  height: number;
}

/** Larger drawings are a slip. */
const LARGEST = 10_000;

/** A parser for commander: `120,40` or `120x40`. */
export function readSize(text: string): Size {
  const [, width = 0, height = 0] = /^(\d{1,5})[,x](\d{1,5})$/.exec(text)?.map(Number) ?? [];
  if (width >= 1 && height >= 1 && Math.max(width, height) <= LARGEST) return { width, height };
  throw usageError(`--size takes a width and a height such as 120,40, not "${text}"`);
}
