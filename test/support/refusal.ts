// Helpers for expected errors.

import { expect } from 'vitest';
import { FleetError } from '../../src/errors.js';

/** Returns the error of a rejected promise. */
export async function failureOf(promise: Promise<unknown>): Promise<FleetError> {
  const error = await promise.then(
    () => new Error('it did not fail'),
    (thrown) => thrown,
  );
  if (!(error instanceof FleetError)) throw error;
  return error;
}

/** The properties of an error for `rejects.toMatchObject`. */
export const refusal = (kind: FleetError['kind'], message: RegExp) => ({
  kind,
  message: expect.stringMatching(message),
});
