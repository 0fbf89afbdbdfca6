// Requests resources that a service does not have to offer.

import { FleetError } from '../errors.js';

/**
 * Kinds of failures which mean that the service does not offer a resource, or does not offer it to
 * this token.
 */
const NOT_OFFERED = ['auth', 'not-found', 'rejected'];

/**
 * Returns the result, or undefined when the service does not offer the resource. `isUnknown`
 * returns false for a refusal that must be thrown.
 */
export async function ifOffered<T>(
  asked: Promise<T>,
  isUnknown = (_: FleetError) => true,
): Promise<T | undefined> {
  return asked.catch((error: unknown) => {
    if (
      error instanceof FleetError &&
      // An error without a status did not come from the service. For example, the token could not
      // be renewed.
      error.status !== undefined &&
      isUnknown(error) &&
      (NOT_OFFERED.includes(error.kind) || error.status === 501)
    )
      return undefined;
    throw error;
  });
}
