// Parses --size and --tiles.

import { usageError } from '../../errors.js';
import type { Tiles } from '../../page/payload.js';

/** Columns and rows of a terminal, or pixels of a picture. */
export interface Size {
  width: number;
  height: number;
}

/** Larger drawings are a slip. */
const LARGEST = 10_000;

/** A parser for commander: `120,40` or `120x40`. */
export function readSize(text: string): Size {
  const [, width = 0, height = 0] = /^(\d{1,5})[,x](\d{1,5})$/.exec(text)?.map(Number) ?? [];
  if (width >= 1 && height >= 1 && Math.max(width, height) <= LARGEST) return { width, height };
  throw usageError(`--size takes a width and a height such as 120,40, not "${text}"`);
}

/** A host as it may stand in the policy of a page: no wildcard, nothing that ends a directive or an attribute. */
const HOST = /^(?:[a-z0-9_-]+\.)*[a-z0-9_-]+\.?$|^\[[0-9a-f:.]+\]$/;

/** A parser for commander: the template of a tile server's addresses. */
export function readTiles(text: string): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw usageError(`--tiles takes the address of a tile server, not "${text}"`, EXAMPLE);
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw usageError(`--tiles takes http or https, not "${text}"`);
  if (url.username !== '' || url.password !== '')
    throw usageError('--tiles takes no password: it would stand in the page');
  const path = (url.pathname + url.search).replaceAll(/%7B/gi, '{').replaceAll(/%7D/gi, '}');
  if (/\.(pbf|mvt)$/i.test(url.pathname)) throw usageError('--tiles takes pictures, not vector tiles', EXAMPLE);
  const missing = ['{z}', '{x}', '{y}'].filter((name) => !path.includes(name));
  if (missing.length === 0 && !HOST.test(url.hostname))
    throw usageError(`--tiles takes the name of a server, not "${url.hostname}"`, EXAMPLE);
  if (missing.length === 0) return url.origin + path;
  throw usageError(`--tiles needs ${missing.join(' and ')} in the address`, EXAMPLE);
}

const EXAMPLE = 'for example https://tile.openstreetmap.org/{z}/{x}/{y}.png';

/** What the page has to know of them. */
export function tilesOf(url: string, attribution: string | undefined): Tiles {
  const { hostname } = new URL(url);
  const isOpenStreetMap = hostname === 'openstreetmap.org' || hostname.endsWith('.openstreetmap.org');
  return {
    url,
    attribution: attribution ?? (isOpenStreetMap ? '© OpenStreetMap contributors' : `Map: ${hostname}`),
  };
}
