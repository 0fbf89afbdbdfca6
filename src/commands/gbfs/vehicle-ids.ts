// The IDs of vehicles in a feed: another one after every rental, which nobody can join to anything of the service.

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
    /** By what names the last rental in a mirror. */
    ofRental: (uuid: string, rental: readonly unknown[]) => idOf('mirror', uuid, ...rental),
    /**
     * By what the list says of the bicycle. Assumed: whatever happens to a bicycle changes one of these; where none is there, every feed has
     * other IDs.
     */
    ofListed: (uuid: string, { rental_session, modified, concurrency_version: version }: Bicycle) =>
      idOf('list', uuid, rental_session ?? null, modified ?? version ?? once, version ?? null),
  };
}
