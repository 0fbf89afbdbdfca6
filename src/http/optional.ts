// Requests resources that a service need not offer, and treats their absence as none.

import { FleetError } from '../errors.js';

/** The kinds of failure that mean: the service does not offer this, or not to this token. */
const NOT_OFFERED = ['auth', 'not-found', 'rejected'];

/** What was asked for; undefined where the service does not offer it, which no answer says once `isUnknown` does not hold. */
export async function ifOffered<T>(
  asked: Promise<T>,
  isUnknown = (_: FleetError) => true,
): Promise<T | undefined> {
  return asked.catch((error: unknown) => {
    if (
      error instanceof FleetError &&
      // Without a status the service did not answer: the token could not be renewed, for instance.
      error.status !== undefined &&
      isUnknown(error) &&
      (NOT_OFFERED.includes(error.kind) || error.status === 501)
    )
      return undefined;
    throw error;
  });
}
