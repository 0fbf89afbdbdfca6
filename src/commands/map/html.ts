// `fleet map -o html`: the fleet as one self-contained page.

import { readFile } from 'node:fs/promises';
import type { Details, Payload } from '../../page/payload.js';
import { distPath } from '../../place.js';
import { packAlerts, packDetails, packFleet } from '../../views/map/pack.js';
import type { FleetPicture } from './read.js';
import { tilesOf } from './tiles.js';

export interface PageOptions {
  /** The template of a tile server's addresses; nothing is loaded from elsewhere without it. */
  tiles: string | undefined;
  /** Whom the tiles are owed to, where that is not known by itself. */
  attribution?: string | undefined;
}

/** Writes the page through `write`, a piece at a time. */
export async function writePage(
  picture: FleetPicture,
  { tiles, attribution }: PageOptions,
  write: (text: string) => Promise<void>,
): Promise<void> {
  const { bicycles, alerts, takenAtMs, missing, title } = picture;
  const payload: Payload = {
    title,
    atMs: takenAtMs,
    note: missing === 0 ? null : `${missing} bicycles that the service counts are missing: this is incomplete.`,
    ...packFleet(valuesOf(bicycles), takenAtMs),
    alerts: packAlerts(alerts),
    tiles: tiles === undefined ? null : tilesOf(tiles, attribution),
    live: null,
  };
  for (const piece of drawPage(await readTemplate(), payload, packDetails(bicycles))) await write(piece);
}

/** The page as it was built from `src/page/`; what is of a fleet stands in it as `{{fleet:…}}`. */
export function readTemplate(): Promise<string> {
  return readFile(distPath('page.html'), 'utf8');
}

function* valuesOf<T>(rows: Iterable<{ readonly value: T }>): Generator<T> {
  for (const { value } of rows) yield value;
}

const TOKEN = /{{fleet:(\w+)}}/;

/** The page in pieces, what is of this fleet put in. `details` is undefined for a page that asks for them. */
export function drawPage(template: string, payload: Payload, details: Details | undefined): string[] {
  const texts: Readonly<Record<string, () => string>> = {
    title: () => escapeHtml(`${payload.title} – fleet`),
    elsewhere: () => elsewhereOf(payload),
    data: () => inScript(payload),
    details: () => (details === undefined ? '' : inScript(details)),
  };
  // The pieces between are ours; every second one is the name of what is put in.
  return template.split(TOKEN).map((piece, index) => (index % 2 === 0 ? piece : (texts[piece]?.() ?? '')));
}

/** The policy of the page, for the header of one that is served. */
export function policyOf(template: string, payload: Payload): string {
  const [, policy = "default-src 'none'"] =
    /Content-Security-Policy" content="([^"]*)"/.exec(template.slice(0, 4096)) ?? [];
  return policy.replaceAll('{{fleet:elsewhere}}', elsewhereOf(payload));
}

/** Whom the page may ask: the tile server alone, and fleet where it serves the page. */
function elsewhereOf({ tiles, live }: Payload): string {
  return [...(live === null ? [] : ["'self'"]), ...(tiles === null ? [] : [new URL(tiles.url).origin])]
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
