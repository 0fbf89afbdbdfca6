// Reads one bicycle at its own address.

import { BICYCLE, type Bicycle } from '../../../api/bicycle.js';
import { FleetError } from '../../../errors.js';
import type { Client } from '../../../http/client.js';
import { readJson, unexpected } from '../../../http/json.js';
import { isObject } from '../../../json/parse.js';

/**
 * Assumed: alerts link to a bicycle by URL (section 2.2), so it can be read there; undefined where the service knows no such address. What is
 * no bicycle, such as a login page, is a failure: nothing is gone because of it.
 */
export async function readBicycle(client: Client, uuid: string): Promise<Bicycle | undefined> {
  try {
    const answer = await client.send({ path: `${BICYCLE.listPath}${uuid}/`, subject: `the bicycle ${uuid}` });
    const value = readJson(answer);
    if (!isObject(value)) throw unexpected(answer, 'something that is no bicycle');
    return value as Bicycle;
  } catch (thrown) {
    const status = thrown instanceof FleetError ? thrown.status : undefined;
    if (status === 404 || status === 405 || status === 410) return undefined;
    throw thrown;
  }
}
