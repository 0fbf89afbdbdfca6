// Requests resources that a service need not offer, and treats their absence as none.

import { FleetError } from '../errors.js';

/** The kinds of failure that mean: the service does not offer this, or not to this token. */
const NOT_OFFERED = ['auth', 'not-found', 'rejected'];

/** What was asked for; undefined where the service does not offer it. */
export async function ifOffered<T>(asked: Promise<T>): Promise<T | undefined> {
  return asked.catch((error: unknown) => {
    if (error instanceof FleetError && (NOT_OFFERED.includes(error.kind) || error.status === 501)) return undefined;
    throw error;
  });
}
