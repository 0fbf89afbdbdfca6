// `fleet map -o html`: writes the fleet as a single HTML file that needs no other files.

import { readFile } from 'node:fs/promises';
import type { PageZone, Payload } from '../../page/payload.js';
import { distPath } from '../../system/program-files.js';
import { escapeMarkup } from '../../terminal/markup.js';
import { type PackedFleet, packAlerts } from '../../views/map/pack.js';
import type { TileArchive } from './archive.js';
import { tilesOf } from './flags.js';
import type { FleetFacts } from './read.js';

export interface HtmlOptions {
  /** The URL template of a tile server. Undefined: the page loads nothing from other servers. */
  tiles: string | undefined;
  /** The attribution of the tiles. The default depends on the archive or the server. */
  attribution?: string | undefined;
}

export interface PageContent extends HtmlOptions {
  zones: readonly PageZone[];
  /** The archive to embed in the page, if there is one. */
  archive: TileArchive | undefined;
}

/** Writes the page in chunks with `write`. */
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

/**
 * Data that a page without updates does not need, such as a page in a file. In such a page, these
 * parts stay empty.
 */
export const STILL = {
  sequence: 0,
  gone: [],
  events: [],
  link: null,
  pastFromMs: null,
  zones: [],
} as const;

/**
 * Reads the template of the page. The build creates the template from `src/page/`. It contains
 * placeholders `{{fleet:…}}` for the data.
 */
export function readTemplate(): Promise<string> {
  return readFile(distPath('page.html'), 'utf8');
}

const TOKEN = /{{fleet:(\w+)}}/;

/**
 * The large parts of a page that is written to a file. A served page does not contain them, but
 * requests them from fleet.
 */
interface PageData extends PackedFleet {
  /** The tile archive in base64. Empty when there is no archive. */
  embeddedTiles: string;
}

/** These parts are empty in a served page, which requests its data from fleet. */
export const NO_DATA: PageData = { rows: [], details: [], embeddedTiles: '' };

/**
 * Yields the page with its data, in chunks. Takes the rows from `rows` and ignores `payload.rows`.
 */
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
  // `split` with a capture group returns text and placeholders alternately: elements with an odd
  // index are placeholder names.
  for (const [index, piece] of template.split(TOKEN).entries()) {
    if (index % 2 === 0) yield piece;
    else yield* texts[piece]?.() ?? [];
  }
}

/**
 * Yields the payload as JSON, with the given rows instead of the payload's own rows. The rows are
 * already JSON strings.
 */
function* dataWithRows(payload: Payload, rows: readonly string[]) {
  const { rows: _rows, ...others } = payload;
  yield `${inScript(others).slice(0, -1)},"rows":[`;
  for (const [index, text] of rows.entries()) yield (index === 0 ? '' : ',') + inScriptText(text);
  yield ']}';
}

/**
 * Returns the servers that the page may contact: the tile server, and fleet itself for a served
 * page.
 */
function elsewhereOf({ tiles, link }: Payload): string {
  return [
    ...(link === null ? [] : ["'self'"]),
    ...(tiles !== null && URL.canParse(tiles.url) ? [new URL(tiles.url).origin] : []),
  ]
    .map((origin) => ` ${origin}`)
    .join('');
}

/**
 * Returns a value as JSON that is safe inside a script element. The JSON cannot close the element,
 * open an HTML comment or contain a line break of JavaScript.
 */
export function inScript(value: unknown): string {
  return inScriptText(JSON.stringify(value));
}

/** Makes JSON safe to embed in a script element. */
function inScriptText(json: string): string {
  return json
    .replaceAll('<', '\\u003c')
    .replaceAll('\u2028', '\\u2028')
    .replaceAll('\u2029', '\\u2029');
}
