// Reads what a feed is made of: the bicycles from a current mirror or else the list, with IDs that change after every rental; models and zones.

import { createHmac, randomUUID } from 'node:crypto';
import { BICYCLE, type Bicycle } from '../../api/bicycle.js';
import { wholeUuid } from '../../api/links.js';
import { NAMED, type Named, type NamedKind } from '../../api/named.js';
import type { Context } from '../../context.js';
import { ifOffered } from '../../http/offered.js';
import { parseJson } from '../../json/parse.js';
import type { Mirror } from '../../mirror/open.js';
import { numberOf } from '../../terminal/values.js';
import { BICYCLES } from '../../views/bicycle.js';
import { withCurrentMirror } from '../current.js';
import { readList } from '../list/list.js';
import { readItems } from '../list/read.js';
import { incompleteError, startTally } from '../list/tally.js';
import { addBicycle, type Selection, type Vehicles } from './feed.js';

export interface ReadOptions extends Omit<Selection, 'idOf' | 'rangeOf' | 'nowMs'> {
  /** The secret of the IDs. */
  readonly key: string;
  /** Of models that tell none. */
  readonly rangeMetres: number | undefined;
}

export interface ReadVehicles extends Vehicles {
  readonly source: 'mirror' | 'list';
  /** Until when it is true. */
  readonly asOfMs: number;
}

/** The bicycles that are published now. Throws what a list throws, and a FleetError of kind `partial` for one that stayed short. */
export async function readVehicles(
  context: Context,
  options: ReadOptions,
  models: readonly Named[],
): Promise<ReadVehicles> {
  const ranges = rangesOf(models);
  const nowMs = context.clock.wallMs();
  const select = (idOf: Selection['idOf']): Selection => ({
    ...options,
    nowMs,
    idOf,
    rangeOf: ({ model }) => ranges.get(wholeUuid(String(model ?? '')) ?? '') ?? options.rangeMetres,
  });
  const idOf = (...trace: readonly unknown[]) =>
    createHmac('sha256', options.key).update(JSON.stringify(trace)).digest('hex').slice(0, ID_DIGITS);

  const remembered = await withCurrentMirror(context, async (mirror) => {
    if (!mirror.organizations.includes(options.organization)) return undefined;
    const vehicles: Vehicles = { all: [], leftOut: {} };
    const { ageMs = 0, keptSince } = await mirror.status();
    for await (const { bicycle, ...rental } of readMirror(mirror, options.organization)) {
      // Without a known rental, one that was forgotten must not bring back the ID from before it.
      const last = rental.last ?? keptSince?.slice(0, 'yyyy-mm-dd'.length) ?? null;
      addBicycle(
        vehicles,
        bicycle,
        select((_, uuid) => idOf('mirror', uuid, rental.seen, last, rental.gap)),
      );
    }
    return { ...vehicles, source: 'mirror' as const, asOfMs: nowMs - ageMs };
  });
  if (remembered !== undefined) return remembered;

  const vehicles: Vehicles = { all: [], leftOut: {} };
  const once = randomUUID();
  // Assumed: whatever happens to a bicycle changes one of these; where none is there, every feed has other IDs.
  const selection = select(({ rental_session: session, modified, concurrency_version: version }, uuid) =>
    idOf('list', uuid, session ?? null, modified ?? version ?? once, version ?? null),
  );
  const request = {
    path: BICYCLE.listPath,
    query: [['organization', options.organization]] as [string, string][],
    subject: 'the list of bicycles',
  };
  const incomplete = await readList<Bicycle>(context, { shape: BICYCLES, request }, {}, (items) => {
    for (const { value } of items) addBicycle(vehicles, value, selection);
  });
  if (incomplete !== undefined) throw incomplete;
  return { ...vehicles, source: 'list', asOfMs: nowMs };
}

/** 128 bits. */
const ID_DIGITS = 32;

/**
 * The bicycles of a mirror in one statement, which sees one moment: `last` is the change that began or ended the last rental. A bicycle that
 * left the list may have been rented meanwhile, and so may any during a gap.
 */
async function* readMirror({ database }: Mirror, organization: string) {
  const sql = `SELECT b.raw, b.first_seen AS seen, r.last, (SELECT max(id) FROM gaps) AS gap FROM bicycles b LEFT JOIN (
      SELECT bicycle, max(id) AS last FROM changes
      WHERE (field = 'state' AND (old = '"rented"' OR new = '"rented"')) OR field = 'gone' GROUP BY bicycle
    ) r ON r.bicycle = b.uuid WHERE b.gone IS NULL AND b.followed = ?`;
  for await (const rows of database.each(sql, [organization])) {
    for (const { raw, seen, last, gap } of rows)
      yield {
        bicycle: parseJson(String(raw)) as Bicycle,
        seen: String(seen),
        last: last === null ? null : String(last),
        gap: String(gap),
      };
  }
}

/** Assumed: a model that goes so far says so under this name. */
const RANGE_FIELD = 'max_range_meters';

function rangesOf(models: readonly Named[]): ReadonlyMap<string, number> {
  return new Map(
    models.flatMap((model) => {
      const uuid = wholeUuid(String(model.uuid ?? model.url ?? ''));
      const range = numberOf(model[RANGE_FIELD]) ?? 0;
      return uuid !== undefined && range > 0 ? [[uuid, Math.round(range)] as const] : [];
    }),
  );
}

/** All of a kind; none where the service has no such list. Throws what the client throws, and where some did not come. */
export async function readNamed(context: Context, kind: keyof typeof NAMED, organization?: string): Promise<Named[]> {
  const { path, many } = NAMED[kind] as NamedKind;
  const client = await context.client();
  const tally = startTally();
  const query = organization === undefined ? [] : [['organization', organization] as [string, string]];
  const read = async () => {
    const found: Named[] = [];
    const request = { path, query, subject: `the list of ${many}` };
    for await (const items of readItems<Named>(client, request, tally, { isWhole: true, onShort: async () => {} }))
      for (const { value } of items) found.push(value);
    return found;
  };
  const found = (await ifOffered(read())) ?? [];
  const incomplete = incompleteError(tally, { one: kind, many });
  if (incomplete !== undefined) throw incomplete;
  return found;
}
