// The flags of `fleet map`, and their parsers.

import type { OptionValues, Command as TypedCommand } from '@commander-js/extra-typings';
import type { FlagsOf, NoFlags } from '../../cli/command.js';
import { portNumber } from '../../cli/options.js';
import { usageError } from '../../errors.js';
import { addRoleFlag } from '../../follow/flags.js';
import type { Tiles } from '../../page/payload.js';
import { addFleetFilters } from '../bicycles/list-flags.js';

/** A size in terminal columns and rows, or in picture pixels. */
export interface Size {
  width: number;
  height: number;
}

/** The largest accepted width or height. */
const LARGEST = 10_000;

/** Parses a size for commander: `120,40` or `120x40`. */
export function readSize(text: string): Size {
  const [, width = 0, height = 0] = /^(\d{1,5})[,x](\d{1,5})$/.exec(text)?.map(Number) ?? [];
  if (width >= 1 && height >= 1 && Math.max(width, height) <= LARGEST) return { width, height };
  throw usageError(`--size must be a width and a height such as 120,40, not "${text}"`);
}

/**
 * Matches a host that can safely be written into a page's security policy. Such a host has no
 * wildcard, and no character that could end a directive or an attribute.
 */
const HOST = /^(?:[a-z0-9_-]+\.)*[a-z0-9_-]+\.?$|^\[[0-9a-f:.]+\]$/;

/** Whether `--tiles` names a PMTiles archive on this machine. */
export function isArchivePath(text: string): boolean {
  return /\.pmtiles$/i.test(text) && !/^https?:/i.test(text);
}

/** Parses the URL template of a tile server, or the path of a PMTiles archive, for commander. */
export function readTiles(text: string): string {
  if (isArchivePath(text)) return text;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && url.username + url.password !== '')
    throw usageError('--tiles must not contain a user name or password: the page would show them');
  const path = `${url?.pathname}${url?.search}`.replaceAll(/%7B/gi, '{').replaceAll(/%7D/gi, '}');
  const isOfPictures =
    ['{z}', '{x}', '{y}'].every((name) => path.includes(name)) && !/\.(pbf|mvt)(\?|$)/i.test(path);
  if (
    url !== undefined &&
    isOfPictures &&
    /^https?:$/.test(url.protocol) &&
    HOST.test(url.hostname)
  )
    return url.origin + path;
  const example =
    'for example https://tile.openstreetmap.org/{z}/{x}/{y}.png, or a file berlin.pmtiles';
  throw usageError(`--tiles needs a raster tile URL with {z}, {x} and {y}, not "${text}"`, example);
}

/** Returns the settings with which the page loads its tiles from this URL template. */
export function tilesOf(url: string, attribution: string | undefined): Tiles {
  const { hostname } = new URL(url);
  const isOpenStreetMap =
    hostname === 'openstreetmap.org' || hostname.endsWith('.openstreetmap.org');
  return {
    url,
    kind: 'raster',
    attribution:
      attribution ?? (isOpenStreetMap ? '© OpenStreetMap contributors' : `Map: ${hostname}`),
  };
}

/** The default port of --serve. */
export const DEFAULT_PORT = 4030;

/** Adds the flags of `fleet map`. */
export function addMapFlags<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
) {
  return addRoleFlag(addFleetFilters(command))
    .option('--size <width,height>', 'columns and rows, or pixels of an SVG: 120,40', readSize)
    .option('--live', 'fill the terminal and follow updates')
    .option(
      '--serve [port]',
      `serve the page on this machine and follow updates (default: ${DEFAULT_PORT})`,
      portNumber('--serve'),
    )
    .option('--title <text>', "title of the map (default: the organization's name)")
    .option(
      '--tiles <url or file>',
      'street map of the page: https://…/{z}/{x}/{y}.png, or a file berlin.pmtiles',
      readTiles,
    )
    .option('--attribution <text>', 'credit for the tiles, shown on the page');
}

/** The parsed flags. `serve` is the port; 0 means any free port. */
export type MapOptions = Omit<FlagsOf<typeof addMapFlags<[], NoFlags>>, 'serve'> & {
  serve?: number;
};
