// The map as an SVG picture that loads no other files. The same fleet always results in the same
// picture.

import { scaleBar } from '../../globe/graticule.js';
import { type Extent, fitView, metresPerDot, toDots, type View } from '../../globe/projection.js';
import { OUTLINES, pageLookOf } from '../../page/outlines.js';
import { cut } from '../../terminal/cells.js';
import { clean } from '../../terminal/clean.js';
import { escapeMarkup } from '../../terminal/markup.js';
import { lookOf } from '../bicycle.js';
import { type Coast, LEAST_METRES_A_COLUMN } from './coast.js';
import { type Cluster, type Dot, type Grid, layOutMap } from './layout.js';
import { firstNames, flowStates, type LegendEntry } from './legend.js';
import { type MapInput, MOST_STATES, nameOf } from './scene.js';

export interface SvgInput extends MapInput {
  /** The size in pixels. */
  readonly width: number;
  readonly height: number;
}

const INK = {
  text: '#1f2933',
  faint: '#64748b',
  sea: '#eaf1f7',
  ground: '#f4f6f8',
  land: '#ffffff',
  coast: '#b6c4d2',
};
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif";
const HEAD = 58;
const LINE = 20;
const LEAST_MAP_HEIGHT = 40;
const MARGIN = 20;
/** The width of a bicycle's mark in pixels. The marks of neighbouring bicycles just touch. */
const CELL = 10;
/** The maximum width of a name or title. */
const LONGEST_TEXT_COLUMNS = 120;

/** Draws the picture: the map above the legend. */
export function drawSvg(input: SvgInput): string {
  const { width, height, places } = input;
  const notes = input.unplaced.map(({ bicycles, label }) =>
    text(`Not on the map: ${bicycles.length} ${label}: ${firstNames(bicycles)}`),
  );
  const rows = Math.max(
    1,
    Math.floor((height - HEAD - LEAST_MAP_HEIGHT - MARGIN) / LINE) - notes.length,
  );
  const legend = flowStates(input.counts, {
    width: width - 2 * MARGIN,
    rows,
    roomOf: (words) => 34 + words.length * CHARACTER,
  });
  const legendRows = (legend.at(-1)?.row ?? 0) + 1;
  const foot = MARGIN + (legendRows + notes.length) * LINE;
  const map = { width, height: Math.max(LEAST_MAP_HEIGHT, height - HEAD - foot) };
  const view = fitView(places, map);
  const layout = layOutMap(places, view, gridOf(map));
  const credit = [
    ...(layout.clusters.length > 0 ? ['A ring is a cluster with its number'] : []),
    ...(hasCoast(view) ? ['Coastline: Natural Earth'] : []),
  ];
  const absent = input.unplaced.map(({ bicycles, label }) => `; ${bicycles.length} ${label}`);
  const title = text(input.title);
  const body = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" font-family="${FONT}" font-size="13" fill="${INK.text}">`,
    `<title>${title}</title>`,
    `<desc>${legend.map(({ words }) => text(words)).join(', ')}${absent.join('')}</desc>`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<text x="${MARGIN}" y="27" font-size="18" font-weight="600">${title}</text>`,
    `<text x="${MARGIN}" y="46" fill="${INK.faint}">${[text(input.moment), ...credit].join('. ')}</text>`,
    `<clipPath id="map"><rect width="${map.width}" height="${map.height}"/></clipPath>`,
    `<g transform="translate(0 ${HEAD})" clip-path="url(#map)">`,
    `<rect width="${map.width}" height="${map.height}" fill="${hasCoast(view) ? INK.sea : INK.ground}"/>`,
    ...(hasCoast(view) ? land(input.coast, view, map) : []),
    ...layout.dots.map((dot) => mark(dot, input.states, view, map)),
    ...layout.clusters.map((cluster) => badge(cluster, input)),
    scale(view, map),
    '</g>',
    ...legend.map((entry) => legendMark(entry, input.states, HEAD + map.height + MARGIN)),
    ...notes.map((note, index) => {
      const y = HEAD + map.height + MARGIN + (legendRows + index) * LINE;
      return `<text x="${MARGIN}" y="${y}" fill="${INK.faint}">${note}</text>`;
    }),
    '</svg>',
    '',
  ];
  return body.join('\n');
}

function gridOf({ width, height }: Extent): Grid {
  return {
    columns: Math.max(1, Math.floor(width / CELL)),
    rows: Math.max(1, Math.floor(height / CELL)),
    across: 1,
    down: 1,
    cell: { width: CELL, height: CELL },
    reachDots: 2,
    bin: { columns: 7, rows: 7 },
    labelOf: (count) => {
      const cells = Math.ceil((2 * radiusOf(count)) / CELL);
      return { columns: cells, rows: cells };
    },
  };
}

/**
 * Returns the radius of a cluster's circle in pixels. The circle is large enough for the number
 * inside it.
 */
function radiusOf(count: number): number {
  return 12 + 3.2 * String(count).length;
}

/**
 * Formats a coordinate to a tenth of a pixel. The rounding makes the result the same on every
 * machine.
 */
function at(value: number): string {
  return String(Math.round(value * 10) / 10 + 0);
}

/**
 * Makes text from the service safe for SVG: replaces control characters with visible symbols,
 * truncates the text and escapes it.
 */
function text(value: string): string {
  return escapeMarkup(cut(clean(value.slice(0, 1_000)), LONGEST_TEXT_COLUMNS));
}

/** Whether the coastline is accurate enough for a view. */
function hasCoast(view: View): boolean {
  return metresPerDot(view) * 2 >= LEAST_METRES_A_COLUMN / 4;
}

/** Draws the land as filled shapes, once for each visible copy of the world. */
function land(coast: Coast, view: View, map: Extent): string[] {
  const copies = [-2, -1, 0, 1, 2].map((copy) => (copy - view.x) * view.worldDots + map.width / 2);
  const top = -view.y * view.worldDots + map.height / 2;
  // In an SVG path, line commands are implicit: all points after the first one are connected by
  // lines.
  const path = coast
    .map((ring) => `M${Array.from(ring, (number) => at(number * view.worldDots)).join(' ')}Z`)
    .join('');
  const uses = copies
    // A shape of land that crosses the antimeridian extends beyond the edge of its copy of the
    // world. The neighbouring copy must therefore be drawn too.
    .filter((left) => left - view.worldDots < map.width && left + 2 * view.worldDots > 0)
    .map((left) => `<use href="#land" x="${at(left)}" y="${at(top)}"/>`);
  return [
    `<defs><path id="land" d="${path}" fill="${INK.land}" stroke="${INK.coast}" stroke-width="0.8" stroke-linejoin="round"/></defs>`,
    ...uses,
  ];
}

/**
 * Draws a bicycle at its position. If the layout moved the bicycle to another grid cell, draws it
 * in the middle of that cell.
 */
function mark({ place, x, y }: Dot, states: readonly string[], view: View, map: Extent): string {
  const [left, top] = toDots(view, map, place);
  const isAtHome = Math.floor(left / CELL) === x && Math.floor(top / CELL) === y;
  const [middleX, middleY] = isAtHome ? [left, top] : [(x + 0.5) * CELL, (y + 0.5) * CELL];
  const state = states[place.state] ?? '';
  const words = text(`${nameOf(place.bicycle)}: ${state}`);
  return `<g transform="translate(${at(middleX)} ${at(middleY)})"><title>${words}</title>${shape(state)}</g>`;
}

/**
 * Draws the mark of a state, centred at 0, 0. Each state has its own shape, so that it can be
 * recognised without colour.
 */
function shape(state: string): string {
  const look = `fill="${lookOf(state).hex}" fill-rule="evenodd" stroke="#fff" stroke-width="0.9" paint-order="stroke"`;
  return `<path transform="translate(-8 -8)" d="${OUTLINES[pageLookOf(state)]}" ${look}/>`;
}

/** Draws a cluster: its count, inside a ring with the colours of its states. */
function badge(
  { column, row, columns, rows, count, byState }: Cluster,
  { states }: SvgInput,
): string {
  const radius = radiusOf(count);
  const [middleX, middleY] = [(column + columns / 2) * CELL, (row + rows / 2) * CELL];
  const ring = `r="${at(radius - 2.5)}" fill="none" stroke-width="5" pathLength="${count}" transform="rotate(-90)"`;
  const parts = byState
    .map((number, state) => ({ number, state }))
    .filter(({ number }) => number > 0);
  let start = 0;
  const arcs = parts.map(({ number, state }) => {
    const dashes = `stroke-dasharray="${number} ${count}" stroke-dashoffset="${-start}"`;
    start += number;
    return `<circle ${ring} stroke="${lookOf(states[state]).hex}" ${dashes}/>`;
  });
  const words = parts
    .map(({ number, state }) => `${number} ${text(states[state] ?? '')}`)
    .join(', ');
  return [
    `<g transform="translate(${at(middleX)} ${at(middleY)})"><title>${count} bicycles: ${words}</title>`,
    `<circle r="${at(radius)}" fill="#fff" stroke="#fff" stroke-width="2"/>`,
    ...arcs,
    `<text y="4.5" text-anchor="middle" font-size="12" font-weight="600">${count}</text></g>`,
  ].join('');
}

function scale(view: View, { width, height }: Extent): string {
  const { dots, label } = scaleBar(view, Math.max(20, Math.min(160, width / 4)));
  const [left, bottom] = [width - MARGIN - dots, height - 26];
  return [
    `<path d="M${at(left)} ${bottom - 5}V${bottom}H${at(left + dots)}V${bottom - 5}" fill="none" stroke="${INK.text}" stroke-width="1.5"/>`,
    `<text x="${at(left + dots / 2)}" y="${bottom - 7}" text-anchor="middle" font-size="11">${label}</text>`,
  ].join('');
}

/** The approximate width of a character in the legend. */
const CHARACTER = 7.6;

/** Draws an entry of the legend: the mark of a state and its count. */
function legendMark(
  { words, row, at: left, state }: LegendEntry,
  states: readonly string[],
  top: number,
): string {
  const mark = state === undefined ? '' : shape(states[Math.min(state, MOST_STATES - 1)] ?? '');
  const place = `translate(${at(MARGIN + left + 6)} ${top + row * LINE - 4.5})`;
  return `<g transform="${place}">${mark}<text x="12" y="4.5">${text(words)}</text></g>`;
}
