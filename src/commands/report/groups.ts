// Splits a report by model or zone: the names of the parts, and a function that returns the parts
// of a bicycle.

import { wholeUuid } from '../../api/links.js';
import type { Context } from '../../context.js';
import { wholePolygonsOf } from '../../globe/rings.js';
import type { Database, Row } from '../../mirror/database.js';
import { textOf } from '../../terminal/values.js';
import { sentOutline } from '../../views/named.js';
import { isInPolygons, type Polygons } from '../check/selection.js';
import { readNamedRows } from '../gbfs/read.js';
import type { PartKind } from './parts.js';

/** Returns the names of the parts to which a bicycle belongs. */
export type GroupsOf = (bicycle: Row) => readonly string[];

const NO_MODEL = '(no model)';
const NO_ZONE = '(no zone)';
const NO_POSITION = '(no position)';

/**
 * Returns the function that assigns bicycles to parts. Zones are read from the service, because the
 * mirror does not store outlines. A report by time has no groups, so bicycles do not belong to any.
 */
export async function openGroups(
  context: Context,
  database: Database,
  by: PartKind | undefined,
): Promise<GroupsOf> {
  if (by === 'model') return groupByModel(await readModelNames(database));
  if (by === 'zone') return groupByZone(await readZones(context));
  return () => [];
}

async function readModelNames(database: Database): Promise<Map<string, string>> {
  const rows = await database.all("SELECT uuid, name FROM names WHERE kind = 'model'");
  return new Map(rows.map(({ uuid, name }) => [String(uuid), String(name)]));
}

function groupByModel(names: ReadonlyMap<string, string>): GroupsOf {
  return ({ model }) => {
    if (typeof model !== 'string') return [NO_MODEL];
    const uuid = wholeUuid(model);
    if (uuid === undefined) return [model];
    return [names.get(uuid) ?? uuid];
  };
}

interface Zone {
  readonly name: string;
  readonly polygons: Polygons;
}

/** Reads the zones. Omits zones whose outline cannot be read. */
async function readZones(context: Context): Promise<Zone[]> {
  const zones: Zone[] = [];
  for (const zone of await readNamedRows(context, 'zone')) {
    const polygons = wholePolygonsOf(sentOutline(zone));
    const name = textOf(zone['name']) ?? textOf(zone['uuid']);
    if (polygons !== undefined && name !== undefined) zones.push({ name, polygons });
  }
  return zones;
}

function groupByZone(zones: readonly Zone[]): GroupsOf {
  return ({ latitude, longitude }) => {
    if (latitude === null || longitude === null) return [NO_POSITION];
    const position = { latitude: Number(latitude), longitude: Number(longitude) };
    const names = zones
      .filter(({ polygons }) => isInPolygons(position, polygons))
      .map(({ name }) => name);
    return names.length === 0 ? [NO_ZONE] : [...new Set(names)];
  };
}
