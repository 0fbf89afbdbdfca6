// The street map from a PMTiles archive, with its layers in light and dark colours. A page opened
// from disk cannot load other files, so it also contains the archive.

import { layers, namedFlavor } from '@protomaps/basemaps';
import { addProtocol, type LayerSpecification, type SourceSpecification } from 'maplibre-gl';
import { PMTiles } from 'pmtiles';
import { byId } from './dom.js';
import type { Tiles } from './payload.js';

const SOURCE = 'tiles';
const PROTOCOL = 'archive';
/**
 * Layers that consist of icons. They are omitted, because the page would have to load the icons
 * from another server.
 */
const ICON_LAYERS = /^(?:pois|roads_shields|roads_oneway)/;

/** Returns the source of the tiles. */
export function tileSource(tiles: Tiles): SourceSpecification {
  const { kind, url, minZoom = 0, maxZoom = 22 } = tiles;
  const zooms = { minzoom: minZoom, maxzoom: maxZoom };
  const address = /^https?:/.test(url) ? url : ownAddress(url);
  return kind === 'vector'
    ? { type: 'vector', tiles: [address], ...zooms }
    : { type: 'raster', tileSize: 256, tiles: [address], ...zooms };
}

/** Returns the tile layers in the theme's colours. */
export function tileLayers({ kind }: Tiles): LayerSpecification[] {
  if (kind === 'raster')
    return [{ id: 'tiles', type: 'raster', source: SOURCE, paint: { 'raster-fade-duration': 0 } }];
  const isDark = matchMedia('(prefers-color-scheme: dark)').matches;
  const all = layers(SOURCE, namedFlavor(isDark ? 'dark' : 'light'), { lang: 'en' });
  return all
    .filter(({ id, type }) => type !== 'background' && !ICON_LAYERS.test(id))
    .map(withoutIcon);
}

/** Returns a layer of the street map. Its id is different from all other layer ids. */
function withoutIcon(layer: LayerSpecification): LayerSpecification {
  const id = `streets-${layer.id}`;
  if (layer.type !== 'symbol') return { ...layer, id };
  const { 'icon-image': _icon, ...layout } = layer.layout ?? {};
  return { ...layer, id, layout };
}

/**
 * Returns the URL from which a served page loads its tiles. On a page opened from disk, returns a
 * URL that reads the tiles from the archive inside the page.
 */
function ownAddress(url: string): string {
  const text = byId('tiles').textContent ?? '';
  if (text === '') return new URL('.', location.href).href + url;
  const archive = openEmbedded(text);
  addProtocol(PROTOCOL, async ({ url: asked }) => {
    const [z = 0, x = 0, y = 0] = asked.split('/').slice(-3).map(Number);
    const tile = await archive.getZxy(z, x, y);
    return { data: tile?.data ?? new ArrayBuffer(0) };
  });
  return `${PROTOCOL}://${url}`;
}

function openEmbedded(text: string): PMTiles {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return new PMTiles({
    getKey: () => PROTOCOL,
    getBytes: async (offset, length) => ({ data: bytes.buffer.slice(offset, offset + length) }),
  });
}
