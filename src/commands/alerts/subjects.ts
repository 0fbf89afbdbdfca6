// Looks up the bicycles of alerts. `alerts watch` needs them when it covers only a part of the
// fleet.

import type { Alert } from '../../api/alert.js';
import { BICYCLE, type Bicycle, bicycleUuid } from '../../api/bicycle.js';
import { wholeUuid } from '../../api/links.js';
import { readOneIfShown } from '../../api/read-one.js';
import type { Client } from '../../http/client.js';
import { LARGE_PAGE } from '../../http/first-page.js';
import { readPath, textOf } from '../../terminal/values.js';
import type { BicycleSelection } from '../watch/crossing.js';

/** The maximum number of bicycles in memory. The oldest entries are removed first. */
const KEPT_BICYCLES = 10_000;

/** The number of bicycles that are requested in parallel. */
const READ_TOGETHER = 4;

export type AlertSubjects = ReturnType<typeof openSubjects>;

/** Keeps the bicycles of alerts in memory, and decides which alerts are about selected bicycles. */
export function openSubjects(selection: BicycleSelection) {
  /** The bicycles by UUID. The value is undefined for a bicycle that the service does not show. */
  const bicycles = new Map<string, Bicycle | undefined>();
  return {
    /**
     * Returns whether the alert is about a selected bicycle, or `unread` when the bicycle has not
     * been read. If the alert contains a position, that position is used instead of the bicycle's
     * current position.
     */
    isSelected(alert: Alert): boolean | 'unread' {
      const uuid = uuidOf(alert);
      if (uuid === undefined) return false;
      if (!bicycles.has(uuid)) return 'unread';
      return selection.has({ ...bicycles.get(uuid), ...seenIn(alert) });
    },
    /** Reads the bicycles of these alerts. Throws the client's errors. */
    async read(client: Client, alerts: readonly Alert[]): Promise<void> {
      const wanted = new Set(alerts.flatMap((alert) => uuidOf(alert) ?? []));
      const found = await readBicycles(client, wanted);
      for (const uuid of wanted) {
        bicycles.delete(uuid);
        bicycles.set(uuid, found.get(uuid));
      }
      for (const oldest of bicycles.keys()) {
        if (bicycles.size <= KEPT_BICYCLES) break;
        bicycles.delete(oldest);
      }
    },
  };
}

function uuidOf({ bicycle, extra }: Alert): string | undefined {
  return wholeUuid(String(bicycle ?? readPath(extra, 'bicycle_uuid') ?? ''));
}

/** Returns the position and the name of the bicycle from the alert itself. */
function seenIn({ extra }: Alert): Partial<Bicycle> {
  const place = ['location.coordinates', 'bicycle_coordinates']
    .map((path) => [0, 1].map((index) => readPath(extra, `${path}.${index}`)))
    .find((degrees) => degrees.every((value) => typeof value === 'number'));
  const name = textOf(readPath(extra, 'bicycle_name'));
  return {
    ...(place === undefined ? {} : { longitude: place[0], latitude: place[1] }),
    ...(name === undefined ? {} : { name }),
  } as Partial<Bicycle>;
}

/**
 * Reads each bicycle at its own URL. If the service does not return a bicycle at this URL, it is
 * read from the list.
 */
async function readBicycles(
  client: Client,
  wanted: ReadonlySet<string>,
): Promise<Map<string, Bicycle>> {
  const found = new Map<string, Bicycle>();
  const left = wanted.values();
  const work = async () => {
    for (const uuid of left) {
      const item = await readOneIfShown<Bicycle>(client, BICYCLE, uuid);
      if (item !== undefined) found.set(uuid, item.value);
    }
  };
  await Promise.all(Array.from({ length: READ_TOGETHER }, work));
  if (found.size === wanted.size) return found;
  const request = { path: BICYCLE.listPath, query: [LARGE_PAGE], subject: 'the list of bicycles' };
  for await (const { items } of client.pages<Bicycle>(request)) {
    for (const { value } of items) {
      const uuid = bicycleUuid(value);
      if (uuid !== undefined && wanted.has(uuid)) found.set(uuid, value);
    }
    if (found.size === wanted.size) break;
  }
  return found;
}
