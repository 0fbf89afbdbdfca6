// Tests the summary of a bulk run: groups, complete reasons at every width, names and UUIDs.

import { expect, test } from 'vitest';
import { widthOf } from '../../src/terminal/cells.js';
import { NO_PAINT } from '../../src/terminal/colour.js';
import type { Ended } from '../../src/views/action.js';
import { showEndings, showSuccess } from '../../src/views/endings.js';

function ended(index: number, changes: Partial<Ended>): Ended {
  return {
    uuid: `${String(index).padStart(8, '0')}-4ed5-4cec-a476-fe5f869ff26e`,
    name: `Emmy ${index}`,
    outcome: 'refused',
    status: 400,
    state: null,
    request_id: 'r',
    milliseconds: 1,
    message: `the service refused "rent": Action 'rent' not allowed from current state 'rented'`,
    ...changes,
  };
}

const LONG =
  'bicycle is paired with a lock that reports a firmware which does not take this command over the air';
const ENDINGS = [
  ended(1, {}),
  ended(2, { name: '東京 0042' }),
  ended(3, {
    outcome: 'failed',
    status: 503,
    message: `the service could not answer "rent": ${LONG}`,
  }),
  ended(4, { name: null, outcome: 'not-sent', status: null, message: null }),
  ended(5, { name: 'Ada\u001b[2J' }),
];

test('groups the outcomes by reason at 80 columns', () => {
  expect(showEndings(ENDINGS, { width: 80, paint: NO_PAINT })).toBe(`3 not allowed from state rented
  Emmy 1     00000001
  東京 0042  00000002
  Ada␛[2J    00000005
1 failed: bicycle is paired with a lock that reports a firmware which does not
    take this command over the air
  Emmy 3  00000003
1 not sent
  00000004
`);
});

test.each([60, 80, 140])('wraps long reasons instead of shortening them at %i columns', (width) => {
  const text = showEndings(ENDINGS, { width, paint: NO_PAINT });
  for (const line of text.split('\n')) expect(widthOf(line)).toBeLessThanOrEqual(width);
  expect(text.replace(/\n {4}/g, ' ')).toContain(LONG);
});

test('shortens a long UUID list only on a terminal', () => {
  const many = Array.from({ length: 60 }, (_, index) => ended(index, {}));
  expect(showEndings(many, { width: undefined, paint: NO_PAINT }).split('\n')).toHaveLength(62);
  expect(showEndings(many, { width: undefined, paint: NO_PAINT })).toContain(
    '-4ed5-4cec-a476-fe5f869ff26e',
  );
  expect(showEndings(many, { width: 80, paint: NO_PAINT })).toContain(
    '… and 10 more; -o csv lists all',
  );
});

test('groups failed create requests by reason', () => {
  const refused = (row: number, name: string) =>
    ended(row, {
      row,
      name,
      uuid: null,
      message: `the service refused the new bicycle "${name}": name: duplicate`,
    });
  expect(showEndings([refused(2, 'Ada'), refused(13, 'Bea')], { width: 80, paint: NO_PAINT })).toBe(
    '2 refused: name: duplicate\n  row 2   Ada\n  row 13  Bea\n',
  );
});

test.each([
  [{ state: 'rented' }, '✓ Emmy 1: rented\n'],
  [{ name: null, state: 'rented' }, '✓ 00000001: rented\n'],
  [{ name: ' ', state: 'rented' }, '✓ 00000001: rented\n'],
  [{ state: null }, '✓ Emmy 1: rent done\n'],
  [{ state: null, outcome: 'skipped' }, '✓ Emmy 1: rent was done before\n'],
] as const)('prints a single success for %j', (changes, line) => {
  expect(showSuccess(ended(1, { outcome: 'done', ...changes }), 'rent', '✓')).toBe(line);
});
