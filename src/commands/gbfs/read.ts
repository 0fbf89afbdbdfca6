// Reads the input of a feed. Bicycles come from a current mirror or the service's list. Models and
// zones come from the service.

import { BICYCLE, type Bicycle } from '../../api/bicycle.js';
import { wholeUuid } from '../../api/links.js';
import { NAMED, type Named } from '../../api/named.js';
import type { Context } from '../../context.js';
import { ifOffered } from '../../http/optional.js';
import { withCurrentMirror } from '../../list/current-mirror.js';
import { readList } from '../../list/list.js';
import { readTime } from '../../terminal/time.js';
import { numberOf } from '../../terminal/values.js';
import { BICYCLES } from '../../views/bicycle.js';
import { NAMED_SHAPES } from '../../views/named.js';
import { addVehicle, type FeedSelection, type Vehicles } from './feed.js';
import { eachWithRental } from './rentals.js';
import { openVehicleIds } from './vehicle-ids.js';

/**
 * Returns the bicycles to publish. Their IDs are derived from the secret `key`. Throws the errors
 * of the list request, and a FleetError of kind `partial` for an incomplete list.
 */
export async function readVehicles(context: Context, selection: FeedSelection, key: string) {
  const { organization, nowMs } = selection;
  const ids = openVehicleIds(key);

  const remembered = await withCurrentMirror(context, async (mirror) => {
    if (!mirror.organizations.includes(organization)) return undefined;
    const vehicles: Vehicles = { all: new Map(), leftOut: {} };
    const { ageMs = 0, keptSince } = await mirror.status();
    for await (const { bicycle, rental, sinceMs, isAway } of eachWithRental(
      mirror,
      organization,
      keptSince,
    )) {
      const known = isAway ? { ...bicycle, state: null } : bicycle;
      addVehicle(vehicles, known, selection, {
        idOf: (uuid) => ids.ofRental(uuid, rental),
        sinceMs,
      });
    }
    return { ...vehicles, source: 'mirror' as const, updatedMs: nowMs - ageMs };
  });
  if (remembered !== undefined) return remembered;

  const vehicles: Vehicles = { all: new Map(), leftOut: {} };
  const query = [['organization', organization] as [string, string]];
  const request = { path: BICYCLE.listPath, query, subject: 'the list of bicycles' };
  const incomplete = await readList<Bicycle>(
    context,
    { shape: BICYCLES, requests: [request] },
    { count: true },
    (items) => {
      for (const { value } of items) {
        const sinceMs = (readTime(value.modified) ?? 0) - REPORT_MS;
        addVehicle(vehicles, value, selection, {
          idOf: (uuid) => ids.ofListed(uuid, value),
          sinceMs,
        });
      }
    },
  );
  if (incomplete !== undefined) throw incomplete;
  return { ...vehicles, source: 'list' as const, updatedMs: nowMs };
}

/** The maximum expected delay between a bicycle's report and the moment the service stores it. */
const REPORT_MS = 60_000;

/**
 * The field of a vehicle model that contains its range, in metres. Assumed: the service has this
 * field.
 */
const RANGE_FIELD = 'max_range_meters';

/** The maximum range: half the circumference of the earth. */
const FARTHEST_METRES = 20_000_000;

/** Returns the known ranges of models in metres, by UUID. */
export function rangesOf(models: readonly Named[]): ReadonlyMap<string, number> {
  return new Map(
    models.flatMap((model) => {
      const uuid = wholeUuid(String(model.uuid ?? model.url ?? ''));
      const range = Math.round(numberOf(model[RANGE_FIELD]) ?? 0);
      return uuid !== undefined && range > 0 && range <= FARTHEST_METRES
        ? [[uuid, range] as const]
        : [];
    }),
  );
}

/**
 * Reads all models or zones. Returns an empty array when the service does not have this list.
 * Throws the client's errors, and an error when the list is incomplete.
 */
export async function readNamedRows(context: Context, kind: 'model' | 'zone'): Promise<Named[]> {
  const { path, many } = NAMED[kind];
  const request = { path, subject: `the list of ${many}` };
  const plan = { shape: NAMED_SHAPES[kind], requests: [request] };
  const found: Named[] = [];
  const reading = readList<Named>(context, plan, { count: true }, (items) => {
    for (const { value } of items) found.push(value);
  });
  // If some items have been read and a later page is missing, this is an error: the list would be
  // incomplete.
  const incomplete = await ifOffered(reading, () => found.length === 0);
  if (incomplete !== undefined) throw incomplete;
  return found;
}
