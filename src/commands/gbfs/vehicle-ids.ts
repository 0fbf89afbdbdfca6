// The vehicle IDs of a feed. A bicycle gets a new ID after every rental, and nobody can connect the
// ID with the service's ID.

import { createHmac, randomUUID } from 'node:crypto';
import type { Bicycle } from '../../api/bicycle.js';

/** 128 bits. */
const ID_DIGITS = 32;

/** Generates IDs with the secret of the feed. */
export function openVehicleIds(key: string) {
  const once = randomUUID();
  const idOf = (...trace: readonly unknown[]) =>
    createHmac('sha256', key).update(JSON.stringify(trace)).digest('hex').slice(0, ID_DIGITS);
  return {
    /**
     * Returns an ID for the bicycle that stays the same until its next rental. `rental` identifies
     * the bicycle's last rental in a mirror.
     */
    ofRental: (uuid: string, rental: readonly unknown[]) => idOf('mirror', uuid, ...rental),
    /**
     * Returns an ID that depends only on the list. Assumed: every rental changes one of these
     * fields. Without these fields, the IDs change with every feed.
     */
    ofListed: (uuid: string, { rental_session, modified, concurrency_version: version }: Bicycle) =>
      idOf('list', uuid, rental_session ?? null, modified ?? version ?? once, version ?? null),
  };
}
