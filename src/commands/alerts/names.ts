// The names of the bicycles that alerts are about: from the alert itself, else asked of the service once and remembered.

import type { Alert } from '../../api/alert.js';
import { uuidOfLink } from '../../api/links.js';
import type { Clock } from '../../clock.js';
import type { Client } from '../../http/client.js';
import { readPath, textOf } from '../../terminal/values.js';
import { readBicycle } from '../watch/read.js';

const KNOWN_LIMIT = 10_000;
/** A line does not wait longer for a name. */
export const NAME_LIMITS = { timeoutMs: 2_000, deadlineMs: 2_000, retries: 0 };
/** After a name that could not be had, the next ones are not asked for so long. */
const FAILURE_PAUSE_MS = 60_000;

/** `client` asks once and not for long: the names are those that it can have in time. */
export function openNames(client: Client | undefined, clock: Clock, over: AbortSignal) {
  const known = new Map<string, string>();
  let dueMs = Number.NEGATIVE_INFINITY;
  return {
    /** The name where the alert does not say it and the service does; never rejects, and takes at most a moment. */
    async of({ extra, bicycle: link }: Alert): Promise<string | undefined> {
      const own = textOf(readPath(extra, 'bicycle_name'));
      const uuid = typeof link === 'string' ? uuidOfLink(link)?.toLowerCase() : undefined;
      if ((own !== undefined && own !== '') || uuid === undefined || client === undefined) return undefined;
      if (known.has(uuid) || over.aborted || clock.monotonicMs() < dueMs) return known.get(uuid);
      const bicycle = await readBicycle(client, uuid).catch(() => undefined);
      if (bicycle === undefined) dueMs = clock.monotonicMs() + FAILURE_PAUSE_MS;
      const name = textOf(bicycle?.name);
      if (name === undefined || name === '') return undefined;
      known.set(uuid, name);
      const [oldest = ''] = known.keys();
      if (known.size > KNOWN_LIMIT) known.delete(oldest);
      return name;
    },
  };
}
