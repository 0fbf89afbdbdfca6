// Sets how many random cases and how much data a run tests. `npm run test:long` tests all of them.
// `npm test` and `npm run test:all` test a part.

/** Whether this is the long run, which sets the variable in `test/whole.long.test.ts`. */
export const isLong = process.env['FLEET_TEST_LONG'] === '1';

/** Picks the rows of a table of similar cases: every row, or the rows that `isMain` picks. */
export function mostly<Row>(
  rows: readonly Row[],
  isMain: (row: Row, index: number) => boolean,
): Row[] {
  return rows.filter((row, index) => isLong || isMain(row, index));
}

/** Returns how many random cases are tested: all of them, or a quarter. */
export function often(count: number): number {
  return isLong ? count : Math.ceil(count / 4);
}
