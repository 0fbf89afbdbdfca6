// Tests copies of errors with other properties.

import { expect, test } from 'vitest';
import { FleetError } from '../src/errors.js';

const REFUSAL = new FleetError('rejected', 'the service refused it', {
  status: 400,
  detail: { name: ['too long'] },
  trace: { requestId: 'r-1' },
  hint: 'look at it',
  more: ['a second line'],
  isLasting: true,
});

test('a copy of an error keeps all properties that are not replaced', () => {
  const { status, detail, trace, more, isLasting } = REFUSAL;
  const copy = REFUSAL.with({ message: 'Ada was refused' });
  expect(copy.message).toBe('Ada was refused');
  expect(copy).toMatchObject({ kind: 'rejected', hint: 'look at it' });
  expect(copy).toMatchObject({ status, detail, trace, more, isLasting });
  expect(copy.cause).toBe(REFUSAL);
});

test('a copy of an error can replace its kind and remove a property', () => {
  const copy = REFUSAL.with({ kind: 'not-found', detail: undefined });
  expect([copy.exitCode, copy.detail, copy.message]).toEqual([5, undefined, REFUSAL.message]);
});
