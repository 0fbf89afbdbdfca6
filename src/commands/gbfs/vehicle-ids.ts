// The vehicle IDs of a feed: a new one after every rental, which cannot be linked to the service's
// IDs.

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
     * Returns an ID for the bicycle that stays the same until its next rental. `rental`
     * identifies the bicycle's last rental in a mirror.
     */
    ofRental: (uuid: string, rental: readonly unknown[]) => idOf('mirror', uuid, ...rental),
    /**
     * Returns an ID based only on the list. Assumed: every rental changes one of these fields.
     * Without these fields, every feed has new IDs.
     */
    ofListed: (uuid: string, { rental_session, modified, concurrency_version: version }: Bicycle) =>
      idOf('list', uuid, rental_session ?? null, modified ?? version ?? once, version ?? null),
  };
}
