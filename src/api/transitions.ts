// The service's own history of a bicycle or an alert: who did what, when. Assumed: a list at `transitions/`, as it was observed.

import { FleetError } from '../errors.js';
import type { Client } from '../http/client.js';
import { ifOffered } from '../http/offered.js';
import { textOrNull } from '../json/parse.js';
import type { Resource } from './resource.js';

/** One step. */
export interface Transitioned {
  timestamp: string | null;
  transition: string | null;
  /** The state before, where the entry has it, and the state that followed. */
  from: string | null;
  to: string | null;
  /** As the service names the author: a link, a text, a number, an object, or null for the service itself. */
  by: unknown;
}

/** Reads the newest `mostPages` pages; undefined where the service has no such list, or does not show it. */
export async function readTransitions(
  client: Client,
  resource: Resource,
  uuid: string,
  mostPages: number,
): Promise<Transitioned[] | undefined> {
  if (!resource.hasHistory) return undefined;
  const path = `${resource.path(uuid)}transitions/`;
  const pages = client.pages({ path, subject: 'the history of transitions' }, { ahead: 0 });
  const steps: Transitioned[] = [];
  for (let count = 0; count < mostPages; count++) {
    const page = await ifOffered(pages.next()).catch((error: unknown) => {
      // An answer that is no list is no history.
      if (error instanceof FleetError && error.kind === 'service' && (error.status ?? 0) < 300) return undefined;
      throw error;
    });
    if (page === undefined) return undefined;
    if (page.done === true) break;
    for (const { value } of page.value.items)
      steps.push({
        timestamp: textOrNull(value['timestamp']),
        transition: textOrNull(value['transition']),
        from: textOrNull(value['from_state'] ?? value['source']),
        to: textOrNull(value['state'] ?? value['to_state'] ?? value['target']),
        by: value['by'] ?? null,
      });
  }
  return steps;
}
