// Requests resources that a service does not have to offer.

import { FleetError } from '../errors.js';

/**
 * Kinds of failures which mean that the service does not offer a resource, or not with this token.
 */
const NOT_OFFERED = ['auth', 'not-found', 'rejected'];

/**
 * Returns the result, or undefined when the service does not offer the resource. `isUnknown`
 * returns false for refusals that must be thrown instead.
 */
export async function ifOffered<T>(
  asked: Promise<T>,
  isUnknown = (_: FleetError) => true,
): Promise<T | undefined> {
  return asked.catch((error: unknown) => {
    if (
      error instanceof FleetError &&
      // Without a status the service did not answer; for example, the token could not be renewed.
      error.status !== undefined &&
      isUnknown(error) &&
      (NOT_OFFERED.includes(error.kind) || error.status === 501)
    )
      return undefined;
    throw error;
  });
}
