// The names of the bicycles that alerts are about: from the alert itself, else asked of the service once and remembered.

import type { Alert } from '../../api/alert.js';
import { uuidOfLink } from '../../api/links.js';
import { type Clock, sleep } from '../../clock.js';
import type { Client } from '../../http/client.js';
import { readPath, textOf } from '../../terminal/values.js';
import { readBicycle } from '../watch/read.js';

const KNOWN_LIMIT = 10_000;
/** A line does not wait longer for a name. */
const NAME_LIMIT_MS = 2_000;
/** After a name that could not be had, the next ones are not asked for so long. */
const FAILURE_PAUSE_MS = 60_000;

export function openNames(client: Client | undefined, clock: Clock, over: AbortSignal) {
  const known = new Map<string, string | undefined>();
  let dueMs = Number.NEGATIVE_INFINITY;

  async function ask(uuid: string, asked: Client): Promise<string | undefined> {
    const giveUp = new AbortController();
    try {
      const limit = sleep(clock, NAME_LIMIT_MS, AbortSignal.any([over, giveUp.signal]));
      const bicycle = await Promise.race([readBicycle(asked, uuid, { retries: 0 }), limit]);
      if (bicycle === undefined) dueMs = clock.monotonicMs() + FAILURE_PAUSE_MS;
      return textOf(bicycle?.name);
    } catch {
      dueMs = clock.monotonicMs() + FAILURE_PAUSE_MS;
      return undefined;
    } finally {
      giveUp.abort();
    }
  }

  return {
    /** The name where the alert does not say it and the service does; never rejects, and takes at most a moment. */
    async of({ extra, bicycle }: Alert): Promise<string | undefined> {
      const own = textOf(readPath(extra, 'bicycle_name'));
      const uuid = typeof bicycle === 'string' ? uuidOfLink(bicycle)?.toLowerCase() : undefined;
      if ((own !== undefined && own !== '') || uuid === undefined || client === undefined) return undefined;
      if (known.has(uuid)) return known.get(uuid);
      if (over.aborted || clock.monotonicMs() < dueMs) return undefined;
      const name = await ask(uuid, client);
      if (name !== undefined && name !== '') known.set(uuid, name);
      for (const oldest of known.keys()) {
        if (known.size <= KNOWN_LIMIT) break;
        known.delete(oldest);
      }
      return name === '' ? undefined : name;
    },
  };
}
