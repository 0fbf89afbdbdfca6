// Returns the visible part of MapLibre's map as a view of `src/globe`.

import type { Map as MapLibre } from 'maplibre-gl';
import { type Extent, mercatorY, type View, worldX } from '../globe/projection.js';

/** The width of the world at zoom 0. */
export const TILE_PIXELS = 512;

export function viewOf(map: MapLibre): View {
  const { lng, lat } = map.getCenter();
  return { x: worldX(lng), y: mercatorY(lat), worldDots: TILE_PIXELS * 2 ** map.getZoom() };
}

export function extentOf(map: MapLibre): Extent {
  const { clientWidth, clientHeight } = map.getCanvas();
  return { width: clientWidth, height: clientHeight };
}
