// The vehicle IDs of a feed. A bicycle gets a new ID after every rental. Only the secret makes it
// possible to find the service's ID of a bicycle from its vehicle ID.

import { createHmac, randomUUID } from 'node:crypto';
import type { Bicycle } from '../../api/bicycle.js';

/** The length of an ID: 128 bits in hexadecimal digits. */
const ID_DIGITS = 32;

/** Returns functions that derive vehicle IDs from the feed's secret. */
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
     * Returns an ID that is derived only from the bicycle's fields in the list. Assumed: every
     * rental changes at least one of these fields. If a bicycle has neither `modified` nor
     * `concurrency_version`, its ID changes with every feed.
     */
    ofListed: (uuid: string, { rental_session, modified, concurrency_version: version }: Bicycle) =>
      idOf('list', uuid, rental_session ?? null, modified ?? version ?? once, version ?? null),
  };
}
