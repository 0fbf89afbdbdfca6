// Reads the service's zones for the page.

import { wholeUuid } from '../../api/links.js';
import type { Context } from '../../context.js';
import { polygonsOf } from '../../globe/rings.js';
import { mirrorOf } from '../../list/current-mirror.js';
import type { PageZone } from '../../page/payload.js';
import { textOf } from '../../terminal/values.js';
import { sentOutline } from '../../views/named.js';
import { readNamedRows } from '../gbfs/read.js';

/** The number of decimals of positions. Six decimals correspond to a precision of 11 cm. */
const DECIMALS = 6;
const LONGEST_NAME_CHARACTERS = 80;

/**
 * Returns the zones of an organization, or of all organizations when `organization` is undefined.
 *
 * Returns an empty array when the service has no zones or they cannot be read. A mirror contains no
 * zones.
 */
export async function readZones(
  context: Context,
  organization: string | undefined,
): Promise<PageZone[]> {
  if (mirrorOf(await context.client()) !== undefined) return [];
  // The request is not retried, because a map is useful even without zones.
  const once: Context = { ...context, client: () => context.client({ retries: 0 }) };
  const rows = await readNamedRows(once, 'zone').catch(() => []);
  context.signal.throwIfAborted();
  return rows.flatMap((zone) => {
    const owner = wholeUuid(String(zone['organization'] ?? ''));
    if (owner !== undefined && organization !== undefined && owner !== organization) return [];
    const polygons = polygonsOf(sentOutline(zone));
    const name = textOf(zone.name)?.slice(0, LONGEST_NAME_CHARACTERS) ?? null;
    return polygons.length === 0 ? [] : [{ name, polygons: polygons.map(roundPolygon) }];
  });
}

function roundPolygon(rings: number[][][]): number[][][] {
  return rings.map((ring) =>
    ring.map((position) => position.map((degrees) => Number(degrees.toFixed(DECIMALS)))),
  );
}
