// Writes the tours as a single HTML file without scripts. The file contains a map. When it is
// printed, each van has a separate page.

import { scaleBar } from '../../globe/graticule.js';
import { mapLink } from '../../globe/map-link.js';
import {
  type Extent,
  fitView,
  mercatorY,
  toDots,
  type View,
  worldX,
} from '../../globe/projection.js';
import { clean } from '../../terminal/clean.js';
import { count } from '../../terminal/count.js';
import { escapeMarkup, startPage } from '../../terminal/markup.js';
import { textOf } from '../../terminal/values.js';
import { lookOf } from '../../views/bicycle.js';
import { showDistance } from '../../views/distance.js';
import type { Spot } from './distances.js';
import {
  describeVan,
  nameOfStop,
  type Rounds,
  showArrival,
  type TourStop,
  type VanTour,
} from './plan.js';

/**
 * The colours of the vans. They are readable on white. They differ in brightness, so that
 * black-and-white prints also show the difference.
 */
const VAN_COLORS = [
  '#0b63ce',
  '#c2410c',
  '#15803d',
  '#9333ea',
  '#b4005a',
  '#0e7490',
  '#854d0e',
  '#374151',
];
const WHOLE_MAP: Extent = { width: 680, height: 480 };
const VAN_MAP: Extent = { width: 680, height: 400 };
/**
 * The maximum number of numbered stops on the map that shows all vans. With more stops, the numbers
 * would overlap.
 */
const MOST_NUMBERS = 60;

const STYLE = `
:root{color-scheme:light}
body{font:16px/1.45 system-ui,sans-serif;margin:0 auto;padding:1rem;max-width:62rem;color:#1f2933;background:#fff}
h1{font-size:1.5rem;margin:.2rem 0}h2{font-size:1.2rem;margin:0 0 .4rem}
p{margin:.2rem 0 .8rem}nav ul{list-style:none;padding:0;margin:.5rem 0;display:flex;flex-wrap:wrap;gap:.3rem 1.2rem}
svg{display:block;width:100%;max-width:56rem;height:auto;border:1px solid #cbd5e1;border-radius:6px;background:#f4f6f8}
section{margin:2rem 0}
i.key{display:inline-block;width:.9em;height:.9em;border-radius:50%;margin-right:.4em;vertical-align:-.1em;print-color-adjust:exact;-webkit-print-color-adjust:exact}
.scroll{overflow-x:auto}
td.name{overflow-wrap:anywhere}td.number,.coordinates{white-space:nowrap}
table{border-collapse:collapse;width:100%;margin-top:.6rem}
th,td{text-align:left;vertical-align:top;padding:.35rem .6rem .35rem 0;border-bottom:1px solid #d5dbe2}
th.number,td.number{text-align:right;font-variant-numeric:tabular-nums}
td.box::before{content:"";display:inline-block;width:.9em;height:.9em;border:1.5px solid #475569;border-radius:2px}
a{color:#0b5cad}
@media (max-width:40rem){body{padding:.7rem;font-size:15px}.wide{display:none}th,td{padding-right:.4rem}}
@media print{
@page{margin:12mm}
body{max-width:none;padding:0;font-size:9pt;line-height:1.3}
th,td{padding:.16rem .5rem .16rem 0}td.name{min-width:9rem}
span.link{display:none}.scroll{overflow:visible}
section.van,section.left-out{break-before:page;margin:0}
tr,svg{break-inside:avoid}thead{display:table-header-group}
nav{display:none}.wide{display:table-cell}span.wide{display:inline}a{color:inherit;text-decoration:none}
svg{height:9cm;width:auto;max-width:100%;margin:0 auto}
}`;

/** Returns the HTML of the page. */
export function drawTourPage(rounds: Rounds): string {
  const stops = rounds.vans.reduce((sum, van) => sum + van.stops.length, 0);
  const title = `Rounds: ${count(stops, 'bicycle')}, ${count(rounds.vans.length, 'van')}`;
  const left = rounds.leftOut.length;
  return [
    ...startPage(title, STYLE),
    `<header><h1>${title}</h1>`,
    `<p>${showStart(rounds)}${left === 0 ? '' : ` <a href="#left-out">${count(left, 'bicycle')} left out.</a>`}</p>`,
    `<nav aria-label="Vans"><ul>${rounds.vans.map(navItem).join('')}</ul></nav></header><main>`,
    drawTourMap(rounds, rounds.vans, WHOLE_MAP, 'All tours'),
    ...rounds.vans.map((van) => vanSection(rounds, van)),
    left === 0 ? '' : leftOutSection(rounds),
    '</main></body></html>',
    '',
  ].join('\n');
}

function showStart(rounds: Rounds): string {
  return rounds.startMs === undefined
    ? 'Times are hours and minutes since the departure.'
    : `Departure at ${showArrival(rounds, 0)}, local time.`;
}

function colorOf({ van }: VanTour): string {
  return VAN_COLORS[(van - 1) % VAN_COLORS.length] ?? '#000';
}

function keyOf(van: VanTour): string {
  return `<i class="key" style="background:${colorOf(van)}"></i>`;
}

function navItem(van: VanTour): string {
  return `<li>${keyOf(van)}<a href="#van-${van.van}">${describeVan(van)}</a></li>`;
}

function vanSection(rounds: Rounds, van: VanTour): string {
  const header =
    '<tr><th class="number" scope="col">Stop</th><th scope="col">Done</th><th scope="col">Bicycle</th><th class="wide" scope="col">Serial number</th><th class="wide" scope="col">State</th><th class="number wide" scope="col">Charge</th><th class="number" scope="col">Leg</th><th class="number" scope="col">Arrival</th><th scope="col">Map</th></tr>';
  return [
    `<section class="van" id="van-${van.van}"><h2>${keyOf(van)}${describeVan(van)}</h2>`,
    drawTourMap(rounds, [van], VAN_MAP, `Tour of van ${van.van}`),
    `<div class="scroll"><table><thead>${header}</thead><tbody>`,
    ...van.stops.map((stop, index) => stopRow(rounds, stop, index + 1)),
    '</tbody></table></div></section>',
  ].join('\n');
}

function stopRow(rounds: Rounds, stop: TourStop, number: number): string {
  const { bicycle, spot, legM, arrivalS } = stop;
  const charge = textOf(bicycle.state_of_charge);
  return [
    `<tr><td class="number">${number}</td><td class="box"></td>`,
    `<td class="name">${escapeText(nameOfStop(stop))}</td>`,
    `<td class="wide">${escapeText(textOf(bicycle['serial_number']) ?? '')}</td>`,
    `<td class="wide">${escapeText(textOf(bicycle.state) ?? '')}</td>`,
    `<td class="number wide">${charge === undefined ? '' : `${escapeText(charge)} %`}</td>`,
    `<td class="number">${showDistance(legM)}</td>`,
    `<td class="number">${showArrival(rounds, arrivalS)}</td>`,
    `<td><a href="${escapeText(mapLink(spot))}" rel="noreferrer"><span class="link">map </span><span class="wide coordinates">${spot[1].toFixed(5)}, ${spot[0].toFixed(5)}</span></a></td></tr>`,
  ].join('');
}

function leftOutSection({ leftOut }: Rounds): string {
  const rows = leftOut.map(
    ({ bicycle, reason }) =>
      `<tr><td>${escapeText(nameOfStop({ bicycle }))}</td><td class="wide">${escapeText(textOf(bicycle['serial_number']) ?? '')}</td><td>${escapeText(reason)}</td></tr>`,
  );
  return `<section class="left-out" id="left-out"><h2>Left out: ${count(leftOut.length, 'bicycle')}</h2><div class="scroll"><table><thead><tr><th scope="col">Bicycle</th><th class="wide" scope="col">Serial number</th><th scope="col">Reason</th></tr></thead><tbody>${rows.join('\n')}</tbody></table></div></section>`;
}

/** Draws tours as lines with numbered stops. A square marks the start. */
function drawTourMap(
  rounds: Rounds,
  vans: readonly VanTour[],
  extent: Extent,
  label: string,
): string {
  const spots = [
    rounds.depot,
    rounds.end,
    ...vans.flatMap(({ stops }) => stops.map(({ spot }) => spot)),
  ];
  const view = fitView(spots.map(worldPoint), extent);
  const place = (spot: Spot) => toDots(view, extent, worldPoint(spot)).map(tenth);
  const hasNumbers = vans.length === 1 || spots.length <= MOST_NUMBERS;
  const parts = vans.flatMap((van) => {
    const path = [rounds.depot, ...van.stops.map(({ spot }) => spot), rounds.end];
    const line = `<polyline points="${path.map((spot) => place(spot).join(',')).join(' ')}" fill="none" stroke="${colorOf(van)}" stroke-width="2.5" stroke-linejoin="round" opacity=".75"/>`;
    return [
      line,
      ...van.stops.map((stop, index) => stopMark(stop, index + 1, van, place, hasNumbers)),
    ];
  });
  const ends = [rounds.end, rounds.depot].map((spot) => {
    const [x = 0, y = 0] = place(spot);
    return `<rect x="${tenth(x - 8)}" y="${tenth(y - 8)}" width="16" height="16" rx="3" fill="#111827" stroke="#fff" stroke-width="2"><title>${spot === rounds.depot ? 'Start' : 'End'}</title></rect>`;
  });
  return [
    `<svg viewBox="0 0 ${extent.width} ${extent.height}" role="img" aria-label="${label}" font-family="system-ui,sans-serif">`,
    ...parts,
    ...ends,
    scaleMark(view, extent),
    '</svg>',
  ].join('\n');
}

function stopMark(
  stop: TourStop,
  number: number,
  van: VanTour,
  place: (spot: Spot) => number[],
  hasNumber: boolean,
): string {
  const [x, y] = place(stop.spot);
  const title = `<title>${number} ${escapeText(nameOfStop(stop))}</title>`;
  if (!hasNumber)
    return `<circle cx="${x}" cy="${y}" r="4" fill="${lookOf(stop.bicycle.state).hex}" stroke="${colorOf(van)}" stroke-width="1.5">${title}</circle>`;
  return `<g transform="translate(${x} ${y})">${title}<circle r="11" fill="#fff" stroke="${colorOf(van)}" stroke-width="2"/><text y="4.3" text-anchor="middle" font-size="12" font-weight="600" fill="#111827">${number}</text></g>`;
}

function scaleMark(view: View, { width, height }: Extent): string {
  const { dots, label } = scaleBar(view, width / 5);
  const [left, bottom] = [tenth(width - 16 - dots), height - 14];
  return `<path d="M${left} ${bottom - 5}V${bottom}H${tenth(left + dots)}V${bottom - 5}" fill="none" stroke="#1f2933" stroke-width="1.5"/><text x="${tenth(left + dots / 2)}" y="${bottom - 8}" text-anchor="middle" font-size="12" fill="#1f2933">${label}</text>`;
}

function worldPoint([longitude, latitude]: Spot) {
  return { x: worldX(longitude), y: mercatorY(latitude) };
}

function tenth(value: number): number {
  return Math.round(value * 10) / 10;
}

function escapeText(text: string): string {
  return escapeMarkup(clean(text));
}
