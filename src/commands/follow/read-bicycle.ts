// Reads one bicycle at its own address.

import { BICYCLE, type Bicycle } from '../../api/bicycle.js';
import { FleetError } from '../../errors.js';
import type { Client } from '../../http/client.js';
import { isObject, parseJson } from '../../json/parse.js';

/** Assumed: alerts link to a bicycle by URL (section 2.2), so it can be read there; undefined where the service knows no such address. */
export async function readBicycle(client: Client, uuid: string): Promise<Bicycle | undefined> {
  try {
    const answer = await client.send({ path: `${BICYCLE.listPath}${uuid}/`, subject: `the bicycle ${uuid}` });
    const value = parseJson(answer.text);
    return isObject(value) ? (value as Bicycle) : undefined;
  } catch (thrown) {
    const status = thrown instanceof FleetError ? thrown.status : undefined;
    if (!(thrown instanceof FleetError) || status === 404 || status === 405 || status === 410) return undefined;
    throw thrown;
  }
}
