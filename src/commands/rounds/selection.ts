// Reads the bicycles for the tours. These are the bicycles that match the filters, or the bicycles
// that stdin lists.

import { type Bicycle, bicycleUuid } from '../../api/bicycle.js';
import type { Context } from '../../context.js';
import { type FleetError, usageError } from '../../errors.js';
import { readTargets } from '../../input/targets.js';
import { readList } from '../../list/list.js';
import type { ListBicyclesOptions } from '../bicycles/flags.js';
import { planBicycles } from '../bicycles/list.js';

/** The filters of `bicycles list` that `fleet rounds` supports. */
export type RoundFilters = Pick<
  ListBicyclesOptions,
  'organization' | 'state' | 'name' | 'model' | 'bbox' | 'zone' | 'near' | 'radius' | 'where'
>;

export interface RoundSelection {
  /** The selected bicycles, sorted by UUID, so that the list order does not influence the tours. */
  readonly bicycles: readonly Bicycle[];
  /** The error of kind `partial` to throw at the end when bicycles are missing from the list. */
  readonly incomplete: FleetError | undefined;
}

/**
 * The maximum number of bicycles. With more, the distance tables would need gigabytes of memory.
 */
export const MOST_BICYCLES = 5000;
/** The maximum number of unknown UUIDs that an error lists. */
const MOST_LISTED = 20;

function tooMany(): FleetError {
  return usageError(
    `more than ${MOST_BICYCLES.toLocaleString('en')} bicycles are selected, which exceeds the limit of "fleet rounds"`,
    'narrow the selection, for example with --state, --zone, --near LAT,LON --radius METRES or --where',
  );
}

/**
 * Reads all selected bicycles. Throws the errors of reading a list, and a usage error when there
 * are more than the maximum.
 */
export async function readSelection(
  context: Context,
  filters: RoundFilters,
  isStdin: boolean,
): Promise<RoundSelection> {
  const wanted = isStdin ? await readNamedUuids(context) : undefined;
  if (wanted?.size === 0) return { bicycles: [], incomplete: undefined };
  const found = new Map<string, Bicycle>();
  const plan = await planBicycles(context, filters);
  const incomplete = await readList(context, plan, filters, (items) => {
    for (const { value } of items) {
      const uuid = bicycleUuid(value);
      if (uuid === undefined || (wanted !== undefined && !wanted.has(uuid))) continue;
      found.set(uuid, value);
    }
    // Reading stops at the limit, because further requests would be useless.
    if (found.size > MOST_BICYCLES) throw tooMany();
  });
  const missing = [...(wanted ?? [])].filter((uuid) => !found.has(uuid));
  if (missing.length > 0) throw unknownBicycles(missing);
  const sorted = [...found].sort(([a], [b]) => (a < b ? -1 : 1));
  return { bicycles: sorted.map(([, bicycle]) => bicycle), incomplete };
}

async function readNamedUuids(context: Context): Promise<Set<string>> {
  const uuids = new Set<string>();
  for await (const { uuid } of readTargets(context, { path: '-' }, 'all')) {
    uuids.add(uuid.toLowerCase());
    if (uuids.size > MOST_BICYCLES) throw tooMany();
  }
  return uuids;
}

function unknownBicycles(missing: readonly string[]): FleetError {
  const shown = missing.slice(0, MOST_LISTED).join(', ');
  const more = missing.length > MOST_LISTED ? ` and ${missing.length - MOST_LISTED} more` : '';
  return usageError(
    `${missing.length === 1 ? 'a bicycle' : `${missing.length} bicycles`} from stdin not found in the list: ${shown}${more}`,
    "check the organization and the token's permissions",
  );
}
