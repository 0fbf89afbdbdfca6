// Asks the service what the catch-up wants to know: a page of the list, or a bicycle at its own address.

import { BICYCLE, type Bicycle } from '../../api/bicycle.js';
import { asFleetError, FleetError } from '../../errors.js';
import type { Client } from '../../http/client.js';
import { firstPage, LARGE_PAGE } from '../../http/first-page.js';
import type { Query } from '../../http/types.js';
import { isObject, parseJson } from '../../json/parse.js';
import type { CatchUpEffect, CatchUpEvent } from '../../mirror/catch-up.js';

/** Asks the service what the catch-up wants to know, with `isLarge` in the largest pages; never rejects. */
export async function read(
  client: Client,
  effect: CatchUpEffect & { type: 'read-page' | 'read-bicycle' },
  isLarge = false,
): Promise<CatchUpEvent & { type: 'page' | 'bicycle' | 'failed' }> {
  const { id } = effect;
  try {
    if (effect.type === 'read-bicycle') return { type: 'bicycle', id, bicycle: await readBicycle(client, effect.uuid) };
    const query: Query = effect.next ?? [
      ['ordering', '-modified'],
      ['organization', effect.organization],
      ...(effect.isWhole || isLarge ? [LARGE_PAGE] : []),
    ];
    const request = { path: BICYCLE.listPath, query, subject: 'the list of bicycles' };
    return { type: 'page', id, page: await firstPage<Bicycle>(client, request) };
  } catch (thrown) {
    return { type: 'failed', id, error: asFleetError(thrown) };
  }
}

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
