// The IDs of vehicles in a feed: a new one after every rental, which cannot be linked to the service's own IDs.

import { createHmac, randomUUID } from 'node:crypto';
import type { Bicycle } from '../../api/bicycle.js';

/** 128 bits. */
const ID_DIGITS = 32;

/** Makes them with the secret of the feed. */
export function openVehicleIds(key: string) {
  const once = randomUUID();
  const idOf = (...trace: readonly unknown[]) =>
    createHmac('sha256', key).update(JSON.stringify(trace)).digest('hex').slice(0, ID_DIGITS);
  return {
    /** The ID until the next rental; `rental` identifies the last one in a mirror. */
    ofRental: (uuid: string, rental: readonly unknown[]) => idOf('mirror', uuid, ...rental),
    /**
     * The ID from the list alone. Assumed: whatever happens to a bicycle changes one of these fields; without any of them every feed has new
     * IDs.
     */
    ofListed: (uuid: string, { rental_session, modified, concurrency_version: version }: Bicycle) =>
      idOf('list', uuid, rental_session ?? null, modified ?? version ?? once, version ?? null),
  };
}
