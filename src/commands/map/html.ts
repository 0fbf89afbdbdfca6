// `fleet map -o html`: the fleet as one self-contained page.

import { readFile } from 'node:fs/promises';
import type { Details, PageZone, Payload } from '../../page/payload.js';
import { distPath } from '../../system/program-files.js';
import { escapeMarkup } from '../../terminal/markup.js';
import { packAlerts, packDetails, rowOf } from '../../views/map/pack.js';
import type { TileArchive } from './archive.js';
import { tilesOf } from './flags.js';
import type { FleetPicture } from './read.js';

export interface HtmlOptions {
  /** The URL template of a tile server. Without it, the page loads nothing from other servers. */
  tiles: string | undefined;
  /** Attribution of the tiles, when the server is not a known one. */
  attribution?: string | undefined;
}

export interface PageContent extends HtmlOptions {
  zones: readonly PageZone[];
  /** The archive that the page contains; undefined without one. */
  archive: TileArchive | undefined;
}

/** Writes the page in pieces with `write`. */
export async function writePage(
  picture: FleetPicture,
  { tiles, attribution, zones, archive }: PageContent,
  write: (text: string) => Promise<void>,
): Promise<void> {
  const { bicycles, alerts, takenAtMs, incomplete, title, zone } = picture;
  const payload: Payload = {
    title,
    timeZone: zone.name ?? null,
    atMs: takenAtMs,
    note: incomplete?.message ?? null,
    rows: bicycles.map(({ value }) => rowOf(value)),
    alerts: packAlerts(alerts),
    tiles: archive?.tiles ?? (tiles === undefined ? null : tilesOf(tiles, attribution)),
    ...STILL,
    zones,
  };
  const embedded = (await archive?.embed()) ?? '';
  const details = packDetails(bicycles);
  for (const piece of drawPage(await readTemplate(), payload, details, embedded))
    await write(piece);
}

/** The values for a page without updates. */
export const STILL = {
  sequence: 0,
  gone: [],
  events: [],
  link: null,
  pastFromMs: null,
  zones: [],
} as const;

/**
 * Reads the page that was built from `src/page/`. It has placeholders `{{fleet:…}}` for the data.
 */
export function readTemplate(): Promise<string> {
  return readFile(distPath('page.html'), 'utf8');
}

const TOKEN = /{{fleet:(\w+)}}/;

/** Returns the page in pieces with the data of this fleet. A served page requests `details`. */
export function drawPage(
  template: string,
  payload: Payload,
  details: Details,
  embeddedTiles = '',
): string[] {
  const texts: Readonly<Record<string, () => string>> = {
    title: () => escapeMarkup(`${payload.title} – fleet`),
    elsewhere: () => elsewhereOf(payload),
    data: () => inScript(payload),
    details: () => inScript(details),
    tiles: () => embeddedTiles,
  };
  // Every second piece is the name of a placeholder; the others are text of the template.
  return template
    .split(TOKEN)
    .map((piece, index) => (index % 2 === 0 ? piece : (texts[piece]?.() ?? '')));
}

/** Returns the servers that the page may contact: the tile server, and fleet for a served page. */
function elsewhereOf({ tiles, link }: Payload): string {
  return [
    ...(link === null ? [] : ["'self'"]),
    ...(tiles !== null && URL.canParse(tiles.url) ? [new URL(tiles.url).origin] : []),
  ]
    .map((origin) => ` ${origin}`)
    .join('');
}

/**
 * Returns JSON for a script element. It cannot end the element, begin a comment or end a line of
 * script.
 */
export function inScript(value: unknown): string {
  return JSON.stringify(value)
    .replaceAll('<', '\\u003c')
    .replaceAll('\u2028', '\\u2028')
    .replaceAll('\u2029', '\\u2029');
}
