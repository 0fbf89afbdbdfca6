// `fleet map -o html`: the fleet as one self-contained page.

import { readFile } from 'node:fs/promises';
import type { Details, Payload } from '../../page/payload.js';
import { distPath } from '../../system/program-files.js';
import { packAlerts, packDetails, rowOf } from '../../views/map/pack.js';
import { tilesOf } from './flags.js';
import type { FleetPicture } from './read.js';

export interface HtmlOptions {
  /** The template of a tile server's addresses; nothing is loaded from elsewhere without it. */
  tiles: string | undefined;
  /** Attribution of the tiles, where the server is not a known one. */
  attribution?: string | undefined;
}

/** Writes the page through `write`, a piece at a time. */
export async function writePage(
  picture: FleetPicture,
  { tiles, attribution }: HtmlOptions,
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
    tiles: tiles === undefined ? null : tilesOf(tiles, attribution),
    ...STILL,
  };
  for (const piece of drawPage(await readTemplate(), payload, packDetails(bicycles)))
    await write(piece);
}

/** Of a page on which nothing moves. */
export const STILL = { sequence: 0, gone: [], events: [], link: null, pastFromMs: null } as const;

/** The page as it was built from `src/page/`; what is of a fleet stands in it as `{{fleet:…}}`. */
export function readTemplate(): Promise<string> {
  return readFile(distPath('page.html'), 'utf8');
}

const TOKEN = /{{fleet:(\w+)}}/;

/** The page in pieces, what is of this fleet put in; a page that is served asks for `details`. */
export function drawPage(template: string, payload: Payload, details: Details): string[] {
  const texts: Readonly<Record<string, () => string>> = {
    title: () => escapeHtml(`${payload.title} – fleet`),
    elsewhere: () => elsewhereOf(payload),
    data: () => inScript(payload),
    details: () => inScript(details),
  };
  // The pieces between are ours; every second one is the name of what is put in.
  return template
    .split(TOKEN)
    .map((piece, index) => (index % 2 === 0 ? piece : (texts[piece]?.() ?? '')));
}

/** Which servers the page may contact: the tile server, and fleet where it serves the page. */
function elsewhereOf({ tiles, link }: Payload): string {
  return [
    ...(link === null ? [] : ["'self'"]),
    ...(tiles === null ? [] : [new URL(tiles.url).origin]),
  ]
    .map((origin) => ` ${origin}`)
    .join('');
}

/** JSON for a script element: nothing in it can end the element, begin a comment or end a line of script. */
export function inScript(value: unknown): string {
  return JSON.stringify(value)
    .replaceAll('<', '\\u003c')
    .replaceAll('\u2028', '\\u2028')
    .replaceAll('\u2029', '\\u2029');
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
