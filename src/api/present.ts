// Reads the current values of many bicycles or alerts: with one request per target, or from the
// whole list when there are many targets.

import type { Client } from '../http/client.js';
import { textOrNull } from '../json/parse.js';
import { readOneIfShown } from './read-one.js';
import type { Resource } from './resource.js';

/** The values of a bicycle or alert that previews and plans need. */
export interface Present {
  readonly name: string | null;
  readonly state: string | null;
  /**
   * The version number, which the service increases with every save. Null when the service does not
   * have versions.
   */
  readonly version: string | number | null;
}

/**
 * The maximum number of targets that are read one by one. With more targets, the whole list is
 * read.
 */
const MOST_SINGLE_READS = 100;

/**
 * Reads the current data of the targets. The result does not contain a target that the service
 * shows neither at its URL nor in the list. Assumed: each bicycle has a URL from which it can be
 * read. A service without such URLs provides only the list. Throws when the service cannot be
 * reached.
 */
export async function readPresent(
  client: Client,
  resource: Resource,
  uuids: readonly string[],
  concurrency: number,
): Promise<Map<string, Present>> {
  const found = new Map<string, Present>();
  if (uuids.length > MOST_SINGLE_READS) await readFromList(client, resource, new Set(uuids), found);
  const left = uuids.filter((uuid) => !found.has(uuid)).values();
  const work = async () => {
    for (const uuid of left) {
      const present = await readOnePresent(client, resource, uuid);
      if (present !== undefined) found.set(uuid, present);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  const missing = uuids.filter((uuid) => !found.has(uuid));
  if (missing.length > 0 && uuids.length <= MOST_SINGLE_READS)
    await readFromList(client, resource, new Set(missing), found);
  return found;
}

/** Reads one target. Returns undefined when the service does not show it. */
export async function readOnePresent(
  client: Client,
  resource: Resource,
  uuid: string,
): Promise<Present | undefined> {
  const item = await readOneIfShown(client, resource, uuid);
  return item === undefined ? undefined : presentOf(item.value);
}

/**
 * The list can be older than the response for a single bicycle or alert. When a target is missing
 * from the list, fleet therefore reads the target's own URL.
 */
async function readFromList(
  client: Client,
  { listPath, many }: Resource,
  wanted: ReadonlySet<string>,
  found: Map<string, Present>,
): Promise<void> {
  const request = { path: listPath, subject: `the list of ${many}` };
  let left = wanted.size;
  for await (const { items } of client.pages(request)) {
    for (const { value } of items) {
      const uuid = String(value['uuid'] ?? '').toLowerCase();
      if (!wanted.has(uuid) || found.has(uuid)) continue;
      found.set(uuid, presentOf(value));
      left--;
    }
    if (left === 0) return;
  }
}

/** Returns the values of a bicycle or alert that the service sent. */
export function presentOf(fields: { readonly [field: string]: unknown }): Present {
  const version = fields['concurrency_version'];
  return {
    name: textOrNull(fields['name'] ?? fields['message'])?.trim() || null,
    state: textOrNull(fields['state']),
    version: typeof version === 'number' || typeof version === 'string' ? version : null,
  };
}

/** Counts states: `{ available: 110, lost: 10 }`, with the most frequent state first. */
export function countPresentStates(all: Iterable<Pick<Present, 'state'>>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { state } of all) {
    const name = state ?? 'without a state';
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return new Map([...counts].sort(([, one], [, other]) => other - one));
}

/** Formats counts of states: `110 available, 10 lost`. */
export function showStateCounts(counts: ReadonlyMap<string, number>): string {
  return [...counts].map(([state, number]) => `${number} ${state}`).join(', ');
}
