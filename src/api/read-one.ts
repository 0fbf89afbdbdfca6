// Reads one bicycle or alert from its own URL. Assumed: this URL exists, because alerts link to
// bicycles by URL (section 2.2).

import { FleetError } from '../errors.js';
import { ITEM_LIMIT_BYTES } from '../http/body.js';
import type { Client } from '../http/client.js';
import { readJson, unexpected } from '../http/json.js';
import type { Item } from '../http/types.js';
import { isObject } from '../json/parse.js';
import { squeeze } from '../json/text.js';
import type { Resource } from './resource.js';

/**
 * Reads one bicycle or alert. Throws the errors of the client. Throws a FleetError of kind
 * `service` for unexpected content, such as a login page, an error with status 200 or a different bicycle. Without this
 * check, fleet could mistake such a response for a deletion.
 */
export async function readOne<T extends { [field: string]: unknown }>(
  client: Client,
  { one, path }: Pick<Resource, 'one' | 'path'>,
  uuid: string,
): Promise<Item<T>> {
  const answer = await client.send({ path: path(uuid), subject: `${one} ${uuid}` });
  if (answer.bytes.length > ITEM_LIMIT_BYTES)
    throw unexpected(answer, `the ${one} is larger than 1 MB`);
  const value = readJson(answer);
  if (!isObject(value) || isOther(value['uuid'], uuid))
    throw unexpected(answer, `it is not the ${one} that was asked for`);
  // A proxy or gateway can report errors with the status 200.
  if (
    value['uuid'] === undefined &&
    (Object.hasOwn(value, 'error') || Object.hasOwn(value, 'errors'))
  )
    throw unexpected(
      answer,
      `it is an error instead of the ${one}`,
      'try again; if the error remains, report it to the operator of the service',
    );
  return { json: squeeze(answer.text.trim()), value: value as T };
}

function isOther(found: unknown, uuid: string): boolean {
  return typeof found === 'string' && found.toLowerCase() !== uuid.toLowerCase();
}

/**
 * The HTTP statuses that mean that the service does not show the bicycle or alert, or does not
 * support this URL (405).
 */
const NOT_SHOWN: readonly (number | undefined)[] = [404, 405, 410];

/** Reads one bicycle or alert, or returns undefined when the service does not show it at its URL. */
export async function readOneIfShown<T extends { [field: string]: unknown }>(
  client: Client,
  resource: Pick<Resource, 'one' | 'path'>,
  uuid: string,
): Promise<Item<T> | undefined> {
  try {
    return await readOne<T>(client, resource, uuid);
  } catch (error) {
    if (error instanceof FleetError && NOT_SHOWN.includes(error.status)) return undefined;
    throw error;
  }
}
