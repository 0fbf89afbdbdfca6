// Draws a report as an HTML page that loads no other files and has no script. Next to each SVG
// chart is a table with the same numbers.

import type { TimeZone } from '../../system/time-zone.js';
import { cleanMultiline } from '../../terminal/clean.js';
import { escapeMarkup, startPage } from '../../terminal/markup.js';
import { labelOf, showFigure } from '../../views/fleet-report.js';
import type { PartFigure } from './figures.js';
import type { FleetReport } from './make-report.js';
import {
  describeReport,
  figuresByPart,
  figuresTable,
  idleTable,
  partsTable,
  type TextTable,
} from './tables.js';

export const PAGE_STYLE = `
:root{color-scheme:light dark;--ground:#fff;--text:#1c1c1c;--faint:#555;--line:#ccc;--bar:#1f6feb}
@media (prefers-color-scheme:dark){:root{--ground:#15181c;--text:#eee;--faint:#b4b4b4;--line:#444;--bar:#6aa5ff}}
body{font:16px/1.4 system-ui,sans-serif;margin:0 auto;padding:1rem;max-width:70rem;color:var(--text);background:var(--ground)}
h1{margin:0 0 .5rem}h2{margin:2rem 0 .5rem}p{margin:.2rem 0;color:var(--faint)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;min-width:100%}
th,td{text-align:right;padding:.35rem .8rem .35rem 0;border-bottom:1px solid var(--line);white-space:nowrap;vertical-align:bottom}
thead th{white-space:normal}
th:first-child,td:first-child{text-align:left}
tbody th{font-weight:normal;white-space:normal}
figure{margin:1rem 0}figcaption{font-weight:bold;margin-bottom:.3rem}
svg{display:block;width:100%;height:auto;min-width:36rem;max-width:60rem}
svg text{fill:var(--text);font:12px system-ui,sans-serif}
svg rect{fill:var(--bar)}svg .unsure{fill:none;stroke:var(--bar);stroke-dasharray:4 3}svg line{stroke:var(--line)}
@media screen and (max-width:40rem){table{font-size:13px}th,td{padding-right:.3rem}}
@page{size:A4;margin:15mm}
@media print{:root{color-scheme:light;--ground:#fff;--text:#000;--faint:#333;--line:#bbb;--bar:#1f4e9e}
body{padding:0;max-width:none;font-size:10pt}.scroll{overflow:visible}svg{min-width:0}table{font-size:8pt}th,td{padding-right:.3rem}
figure,tr{break-inside:avoid}h2{break-after:avoid}}
`.trim();

/** The metrics for which a report with parts draws a chart. */
const CHARTED = ['rentals', 'fleet_size_mean', 'available_share', 'alerts_opened'];

export function drawFleetPage(report: FleetReport, zone: TimeZone): string {
  const parts = partsTable(report);
  const idle = idleTable(report, zone);
  return [
    ...startPage('Fleet report', PAGE_STYLE),
    '<main>',
    '<h1>Fleet report</h1>',
    ...describeReport(report, zone).map((line) => `<p>${escapeText(line)}</p>`),
    drawHtmlTable(figuresTable(report)),
    ...CHARTED.map((name) => drawChart(report, name)),
    ...(parts === undefined ? [] : [drawHtmlTable(parts)]),
    ...(idle.rows.length === 0 ? [] : [drawHtmlTable(idle)]),
    '</main></body></html>',
    '',
  ].join('\n');
}

export function drawHtmlTable({ title, header, rows }: TextTable): string {
  const id = title.toLowerCase().replace(/[^a-z]+/g, '-');
  const head = header.map((text) => `<th scope="col">${escapeText(text)}</th>`).join('');
  const body = rows.map(([first = '', ...cells]) => {
    const data = cells.map((text) => `<td>${escapeText(text)}</td>`).join('');
    return `<tr><th scope="row">${escapeText(first)}</th>${data}</tr>`;
  });
  return [
    `<h2 id="${id}">${escapeText(title)}</h2>`,
    // `tabindex` lets keyboard users scroll a wide table.
    `<div class="scroll" tabindex="0" role="region" aria-labelledby="${id}">`,
    `<table><thead><tr>${head}</tr></thead><tbody>`,
    ...body,
    '</tbody></table></div>',
  ].join('\n');
}

const CHART = { width: 720, height: 200, left: 8, top: 20, bottom: 24 };
/** The width of a label below a bar. With many bars, some labels are omitted. */
const LABEL_WIDTH = 76;
const LONGEST_LABEL_CHARACTERS = 11;

/**
 * Draws one bar for each part. An uncertain value is shown as a hollow bar, and an unknown value as
 * `-`.
 */
function drawChart({ figures, by }: FleetReport, name: string): string {
  const bars = figuresByPart(figures).flatMap(({ part, figures: own }) => {
    const figure = own.find((each) => each.name === name);
    return figure === undefined ? [] : [{ part, figure }];
  });
  if (bars.length < 2 || by === null) return '';
  const highest = Math.max(...bars.map(({ figure }) => figure.value ?? 0), Number.MIN_VALUE);
  const step = (CHART.width - 2 * CHART.left) / bars.length;
  const every = Math.ceil(LABEL_WIDTH / step);
  const floor = CHART.height - CHART.bottom;
  const drawn = bars.map(({ part, figure }, index) => {
    const x = CHART.left + index * step;
    const label = index % every === 0 ? drawLabel(part, x) : '';
    return drawBar(figure, { x, step, floor, highest }) + label;
  });
  const title = `${labelOf(name)} by ${by}`;
  return [
    `<figure><figcaption>${escapeText(title)}</figcaption>`,
    // On a phone, the user can scroll the chart, so that its labels stay readable.
    `<div class="scroll" tabindex="0" role="region" aria-label="${escapeText(title)}">`,
    `<svg viewBox="0 0 ${CHART.width} ${CHART.height}" role="img" aria-label="${escapeText(title)}; the figures are in the table by ${by}">`,
    ...drawn,
    `<line x1="0" x2="${CHART.width}" y1="${floor}" y2="${floor}"/>`,
    '</svg></div></figure>',
  ].join('\n');
}

function drawLabel(part: string, x: number): string {
  const characters = Array.from(part);
  const isLong = characters.length > LONGEST_LABEL_CHARACTERS;
  const text = isLong ? `${characters.slice(0, LONGEST_LABEL_CHARACTERS - 1).join('')}…` : part;
  return `<text x="${x.toFixed(1)}" y="${CHART.height - 7}">${escapeText(text)}</text>`;
}

interface BarPlace {
  readonly x: number;
  readonly step: number;
  readonly floor: number;
  readonly highest: number;
}

function drawBar({ value, unit, certain }: PartFigure, { x, step, floor, highest }: BarPlace) {
  const height = ((value ?? 0) / highest) * (floor - CHART.top);
  const text = showFigure(value, unit, certain);
  const width = Math.max(1, step * 0.8);
  const look = certain ? '' : ' class="unsure"';
  const rect = `<rect x="${x.toFixed(1)}" y="${(floor - height).toFixed(1)}" width="${width.toFixed(1)}" height="${height.toFixed(1)}"${look}/>`;
  // A narrow bar has no room for its number. The number is still in the table.
  if (step < 40) return rect;
  return `${rect}<text x="${x.toFixed(1)}" y="${(floor - height - 4).toFixed(1)}">${escapeText(text)}</text>`;
}

export function escapeText(text: string): string {
  return escapeMarkup(cleanMultiline(text));
}
