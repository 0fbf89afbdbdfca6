// `fleet map -o html`: the fleet as one self-contained page.

import { readFile } from 'node:fs/promises';
import type { PageZone, Payload } from '../../page/payload.js';
import { distPath } from '../../system/program-files.js';
import { escapeMarkup } from '../../terminal/markup.js';
import { type PackedFleet, packAlerts } from '../../views/map/pack.js';
import type { TileArchive } from './archive.js';
import { tilesOf } from './flags.js';
import type { FleetFacts } from './read.js';

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
  { alerts, takenAtMs, incomplete, title, zone }: FleetFacts,
  fleet: PackedFleet,
  { tiles, attribution, zones, archive }: PageContent,
  write: (text: string) => Promise<void>,
): Promise<void> {
  const payload: Payload = {
    title,
    timeZone: zone.name ?? null,
    atMs: takenAtMs,
    note: incomplete?.message ?? null,
    rows: [],
    alerts: packAlerts(alerts),
    tiles: archive?.tiles ?? (tiles === undefined ? null : tilesOf(tiles, attribution)),
    ...STILL,
    zones,
  };
  const embeddedTiles = (await archive?.embed()) ?? '';
  for (const piece of drawPage(await readTemplate(), payload, { ...fleet, embeddedTiles }))
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

/** The large parts of a page. A served page requests them from fleet. */
interface PageData extends PackedFleet {
  /** The archive of the tiles in base64; empty without one. */
  embeddedTiles: string;
}

/** The large parts of a page that requests its data. */
export const NO_DATA: PageData = { rows: [], details: [], embeddedTiles: '' };

/** Yields the page in pieces with the data of this fleet. `rows` of the payload are ignored. */
export function* drawPage(
  template: string,
  payload: Payload,
  { rows, details, embeddedTiles }: PageData,
): Generator<string, void, undefined> {
  const texts: Readonly<Record<string, () => Iterable<string>>> = {
    title: () => [escapeMarkup(`${payload.title} – fleet`)],
    elsewhere: () => [elsewhereOf(payload)],
    data: () => dataWithRows(payload, rows),
    details: () => [inScript(details)],
    tiles: () => [embeddedTiles],
  };
  // Every second piece is the name of a placeholder; the others are text of the template.
  for (const [index, piece] of template.split(TOKEN).entries()) {
    if (index % 2 === 0) yield piece;
    else yield* texts[piece]?.() ?? [];
  }
}

/** Yields the JSON of the payload with its rows, which are lists of objects as JSON text. */
function* dataWithRows(payload: Payload, rows: readonly string[]) {
  const { rows: _rows, ...others } = payload;
  yield `${inScript(others).slice(0, -1)},"rows":[`;
  for (const [index, text] of rows.entries()) yield (index === 0 ? '' : ',') + inScriptText(text);
  yield ']}';
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
  return inScriptText(JSON.stringify(value));
}

/** Does the same for a JSON text. */
function inScriptText(json: string): string {
  return json
    .replaceAll('<', '\\u003c')
    .replaceAll('\u2028', '\\u2028')
    .replaceAll('\u2029', '\\u2029');
}
