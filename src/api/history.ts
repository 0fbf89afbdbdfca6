// The service's own history of a bicycle: who did what, when. Assumed: a list at `transitions/`, as it was observed.

import { FleetError } from '../errors.js';
import type { Client } from '../http/client.js';
import { ifOffered } from '../http/optional.js';
import { textOrNull } from '../json/parse.js';
import { BICYCLE } from './bicycle.js';

/** One step. */
export type Transitioned = ReturnType<typeof readStep>;

/** Reads the newest `mostPages` pages; undefined where the service has no such list, or does not show it. */
export async function readTransitions(
  client: Client,
  uuid: string,
  mostPages: number,
): Promise<Transitioned[] | undefined> {
  const request = {
    path: `${BICYCLE.path(uuid)}transitions/`,
    subject: 'the history of transitions',
  };
  const readAll = async () => {
    const steps: Transitioned[] = [];
    for await (const { items } of client.pages(request, { ahead: 0, mostPages }))
      steps.push(...items.map(({ value }) => readStep(value)));
    return steps;
  };
  return ifOffered(readAll()).catch((error: unknown) => {
    // An answer that is no list is no history.
    if (error instanceof FleetError && error.kind === 'service' && (error.status ?? 0) < 300)
      return undefined;
    throw error;
  });
}

function readStep(step: { [field: string]: unknown }) {
  return {
    timestamp: textOrNull(step['timestamp']),
    transition: textOrNull(step['transition']),
    /** The state before, where the entry has it, and the state that followed. */
    from: textOrNull(step['from_state'] ?? step['source']),
    to: textOrNull(step['state'] ?? step['to_state'] ?? step['target']),
    /** As the service names the author: a link, a text, a number, an object, or null for the service itself. */
    by: step['by'] ?? null,
  };
}
