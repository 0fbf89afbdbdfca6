// How much of what is random or large a run tries: `npm run test:long` all of it, `npm test` a part.

/** Whether this is the long run, which sets the variable in `test/whole.long.test.ts`. */
export const isLong = process.env['FLEET_TEST_LONG'] === '1';

/** How many random cases are tried: all of them, or a quarter. */
export function often(count: number): number {
  return isLong ? count : Math.ceil(count / 4);
}
