// Compares the expected output of a step with the real output.

import { fits, keepPlaceholders, type Values } from './forms.js';

/** `… 12 more lines` stands for exactly this number of lines, which are not compared. */
const ELISION = /^(?:! )?… (\d+) more lines?$/;

const elided = (line: string): number | undefined => {
  const count = ELISION.exec(line)?.[1];
  return count === undefined ? undefined : Number(count);
};

/** Returns how many lines of stdout and of stderr the expected output contains. */
export function countLines(expected: readonly string[]): { stdout: number; stderr: number } {
  const counts = { stdout: 0, stderr: 0 };
  for (const line of expected) {
    if (/^exit \d+$/.test(line)) continue;
    const stream = line === '!' || line.startsWith('! ') ? 'stderr' : 'stdout';
    counts[stream] += elided(line) ?? 1;
  }
  return counts;
}

/**
 * Returns the text that an update would write: the expected lines where they match, and the real
 * lines elsewhere. It equals the expected lines exactly if the output is as expected.
 */
export function reconcile(
  expected: readonly string[],
  actual: readonly string[],
  values: Values,
): string[] {
  const at = expected.findIndex((line) => elided(line) !== undefined);
  if (at === -1) return align(expected, actual, values);
  const after = expected.length - at - 1;
  const count = actual.length - at - after;
  if (count < 1) return align(expected, actual, values);
  const mark = (expected[at] ?? '').replace(
    /\d+ more lines?/,
    `${count} more ${count === 1 ? 'line' : 'lines'}`,
  );
  return [
    ...align(expected.slice(0, at), actual.slice(0, at), values),
    mark,
    ...align(expected.slice(at + 1), actual.slice(actual.length - after), values),
  ];
}

/** Aligns the lines by their longest common subsequence. */
function align(expected: readonly string[], actual: readonly string[], values: Values): string[] {
  const isEqual = expected.map((line) => actual.map((real) => fits(line, real, new Map(values))));
  const common = commonLengths(isEqual, expected.length, actual.length);
  const result: string[] = [];
  let from = 0;
  let row = 0;
  for (let column = 0; column < actual.length; column += 1) {
    const real = actual[column] ?? '';
    while (row < expected.length && !isNext(row, column)) row += 1;
    if (row < expected.length && fits(expected[row] ?? '', real, values)) {
      result.push(expected[row] ?? '');
      row += 1;
      from = row;
    } else {
      row = from;
      result.push(keepPlaceholders(replacedBy(column), real, values));
    }
  }
  return result;

  /** Whether the longest common subsequence from here begins with this pair. */
  function isNext(line: number, column: number): boolean {
    const best = common[from]?.[column] ?? 0;
    const rest = common[line + 1]?.[column + 1] ?? 0;
    return isEqual[line]?.[column] === true && rest + 1 === best;
  }

  /** The expected line at the same distance from the last pair, if it is not used. */
  function replacedBy(column: number): string | undefined {
    return expected[Math.max(from, Math.min(column, expected.length - 1))];
  }
}

function commonLengths(isEqual: readonly boolean[][], rows: number, columns: number): number[][] {
  const lengths = Array.from({ length: rows + 1 }, () => new Array<number>(columns + 1).fill(0));
  for (let row = rows - 1; row >= 0; row -= 1) {
    const current = lengths[row] ?? [];
    const below = lengths[row + 1] ?? [];
    for (let column = columns - 1; column >= 0; column -= 1) {
      current[column] = isEqual[row]?.[column]
        ? (below[column + 1] ?? 0) + 1
        : Math.max(below[column] ?? 0, current[column + 1] ?? 0);
    }
  }
  return lengths;
}
