// Decides which bicycles a rule selects.

import pointInPolygon from '@turf/boolean-point-in-polygon';
import type { Bicycle } from '../../api/bicycle.js';
import { wholeUuid } from '../../api/links.js';
import { NAMED } from '../../api/named.js';
import type { Context } from '../../context.js';
import { configError } from '../../errors.js';
import { wholePolygonsOf } from '../../globe/rings.js';
import { uuidOfNamed } from '../../list/find-named.js';
import { matches } from '../../list/where.js';
import { clean } from '../../terminal/clean.js';
import type { Now } from '../../terminal/typed-time.js';
import { pointOf } from '../../terminal/values.js';
import { distanceMetres } from '../../views/distance.js';
import { sentOutline } from '../../views/named.js';
import { isInBox } from '../bicycles/area.js';
import { readNamedRows } from '../gbfs/read.js';
import type { RuleSelection } from './rules.js';

/**
 * Whether a selection contains a bicycle. `unlocated` means that the bicycle has no position, but
 * meets all conditions except the area.
 */
export type Membership = 'in' | 'out' | 'unlocated';

export interface CompiledSelection {
  /** Whether the selection depends on the position of a bicycle. */
  readonly hasArea: boolean;
  /**
   * The UUID of the selection's organization. When undefined, the command's organization is used.
   */
  readonly organization: string | undefined;
  membershipOf(bicycle: Bicycle, now: Now): Membership;
}

export type Polygons = readonly number[][][][];

/** The outlines of the service's zones by UUID. They are read once, when a rule needs them. */
export type ZonesByUuid = ReadonlyMap<string, Polygons>;

/** Reads the outlines of all zones. Omits zones whose outline cannot be read. */
export async function readZoneOutlines(context: Context): Promise<ZonesByUuid> {
  const zones = new Map<string, Polygons>();
  for (const zone of await readNamedRows(context, 'zone')) {
    const uuid = wholeUuid(String(zone.uuid ?? zone.url ?? ''));
    const polygons = wholePolygonsOf(sentOutline(zone));
    if (uuid !== undefined && polygons !== undefined) zones.set(uuid, polygons);
  }
  return zones;
}

/**
 * Prepares a selection: looks up names and the outlines of zones. Throws a FleetError for an
 * unknown name, and a FleetError of kind `config` for a zone whose outline cannot be read.
 */
export async function compileSelection(
  context: Context,
  selection: RuleSelection,
  readZones: () => Promise<ZonesByUuid>,
): Promise<CompiledSelection> {
  const { state, where, zone, bbox, near, radius, model } = selection;
  const uuidOf = (kind: keyof typeof NAMED) => (text: string) =>
    uuidOfNamed(context, NAMED[kind], text);
  const organization =
    selection.organization === undefined
      ? undefined
      : await uuidOf('organization')(selection.organization);
  const models = model && (await Promise.all(model.map(uuidOf('model'))));
  const areas = zone && (await outlinesOf(context, zone, await readZones()));
  const matchesFields = (bicycle: Bicycle, now: Now) =>
    (state?.includes(String(bicycle.state)) ?? true) &&
    where.every((condition) => matches(condition, bicycle, now)) &&
    (models?.includes(wholeUuid(String(bicycle.model ?? '')) ?? '') ?? true);
  const isInside = (bicycle: Bicycle) =>
    (areas?.some((polygons) => isInPolygons(bicycle, polygons)) ?? true) &&
    (bbox === undefined || isInBox(bicycle, bbox)) &&
    (near === undefined ||
      (distanceMetres(near, bicycle) ?? Number.POSITIVE_INFINITY) <= (radius ?? 0));
  const hasArea = areas !== undefined || bbox !== undefined || near !== undefined;
  return {
    hasArea,
    organization,
    membershipOf(bicycle, now) {
      if (!matchesFields(bicycle, now)) return 'out';
      if (!hasArea) return 'in';
      if (pointOf(bicycle.longitude, bicycle.latitude) === undefined) return 'unlocated';
      return isInside(bicycle) ? 'in' : 'out';
    },
  };
}

async function outlinesOf(
  context: Context,
  names: readonly string[],
  zones: ZonesByUuid,
): Promise<Polygons[]> {
  const outlines: Polygons[] = [];
  for (const name of names) {
    const uuid = await uuidOfNamed(context, NAMED.zone, name);
    const polygons = zones.get(uuid);
    if (polygons === undefined)
      throw configError(
        `the zone "${clean(name)}" has no outline that can be read`,
        'use "bbox", or "near" and "radius", in the rule',
      );
    outlines.push(polygons);
  }
  return outlines;
}

const WHOLE_TURN_DEGREES = 360;

/**
 * Whether a bicycle is inside one of the polygons or on an edge. The holes of a polygon are
 * outside.
 */
export function isInPolygons(
  { longitude, latitude }: Pick<Bicycle, 'longitude' | 'latitude'>,
  polygons: Polygons,
): boolean {
  const point = pointOf(longitude, latitude);
  if (point === undefined) return false;
  const [east, north] = point;
  // A position on the date line can be written with the longitude 180 or -180, so both are checked.
  const turns = Math.abs(east) === WHOLE_TURN_DEGREES / 2 ? [east, -east] : [east];
  const shape = { type: 'MultiPolygon' as const, coordinates: polygons as number[][][][] };
  return turns.some((longitudeDegrees) => pointInPolygon([longitudeDegrees, north], shape));
}
