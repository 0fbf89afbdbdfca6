// Reads the service's history of a bicycle: time, author and transition. Assumed from observation:
// the history is a list at `transitions/`.

import { FleetError } from '../errors.js';
import type { Client } from '../http/client.js';
import { ifOffered } from '../http/optional.js';
import { textOrNull } from '../json/parse.js';
import { BICYCLE } from './bicycle.js';

/** One entry of the history. */
export type Transitioned = ReturnType<typeof readStep>;

/**
 * Reads the newest `mostPages` pages. Returns undefined when the service does not offer the list or
 * refuses to show it. In these cases, `onRefusal` receives the service's response.
 */
export async function readTransitions(
  client: Client,
  uuid: string,
  mostPages: number,
  onRefusal: (failure: FleetError) => void = () => {},
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
  const mayBeMissing = (failure: FleetError) => {
    onRefusal(failure);
    return true;
  };
  return ifOffered(readAll(), mayBeMissing).catch((error: unknown) => {
    // A response that is not a list is not treated as a history.
    if (error instanceof FleetError && error.kind === 'service' && (error.status ?? 0) < 300)
      return undefined;
    throw error;
  });
}

function readStep(step: { [field: string]: unknown }) {
  return {
    timestamp: textOrNull(step['timestamp']),
    transition: textOrNull(step['transition']),
    /**
     * `from` is the state before the transition, if the entry contains it. `to` is the state after
     * it.
     */
    from: textOrNull(step['from_state'] ?? step['source']),
    to: textOrNull(step['state'] ?? step['to_state'] ?? step['target']),
    /**
     * The author of the transition: a link, a text, a number or an object; null when the service
     * itself acted.
     */
    by: step['by'] ?? null,
  };
}
