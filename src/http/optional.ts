// Requests for resources that some services do not have.

import { FleetError } from '../errors.js';

/**
 * The error kinds that mean that the service does not have a resource, or does not offer it to this
 * token.
 */
const NOT_OFFERED = ['auth', 'not-found', 'rejected'];

/**
 * Returns the result, or undefined when the service does not offer the resource. Other errors are
 * thrown, and so is an error for which `isUnknown` returns false.
 */
export async function ifOffered<T>(
  asked: Promise<T>,
  isUnknown = (_: FleetError) => true,
): Promise<T | undefined> {
  return asked.catch((error: unknown) => {
    if (
      error instanceof FleetError &&
      // An error without a status does not come from the service, for example a failed token
      // renewal.
      error.status !== undefined &&
      isUnknown(error) &&
      (NOT_OFFERED.includes(error.kind) || error.status === 501)
    )
      return undefined;
    throw error;
  });
}
