// Draws counts over time as an HTML page without scripts. The page has a chart for each count, and
// a table. Times for which the mirror has no data are hatched.

import type { TimeZone } from '../../system/time-zone.js';
import { startPage } from '../../terminal/markup.js';
import {
  COUNT_LABELS,
  OVER_TIME_COUNTS,
  type OverTimeCount,
  showCount,
} from '../../views/over-time.js';
import type { CountsOverTime } from './count-over-time.js';
import { describeSight } from './describe-sight.js';
import { drawHtmlTable, escapeText, PAGE_STYLE } from './page.js';
import type { Interval } from './parts.js';

const CHART = { width: 720, height: 200, left: 8, top: 20, bottom: 24 };
const FLOOR = CHART.height - CHART.bottom;
/** The width of a label below a bar. When the bars are narrower, some labels are omitted. */
const LABEL_WIDTH = 84;
/**
 * A bar must be at least this wide for its number to be printed above it. The table contains all
 * numbers.
 */
const NUMBER_WIDTH = 40;

const STYLE = `${PAGE_STYLE}
svg rect.unseen{fill:url(#hatch)}svg pattern path{stroke:var(--faint)}`;

export function drawOverTimePage(counts: CountsOverTime, zone: TimeZone): string {
  const title = `Fleet by ${counts.by}`;
  return [
    ...startPage(title, STYLE),
    '<main>',
    `<h1>${title}</h1>`,
    ...describeSight(counts, zone).map((line) => `<p>${escapeText(line)}</p>`),
    ...OVER_TIME_COUNTS.map((name, index) => drawChart(counts, name, index === 0)),
    drawHtmlTable({
      title: `By ${counts.by}`,
      header: [`By ${counts.by}`, ...OVER_TIME_COUNTS.map((name) => COUNT_LABELS[name]), 'Seen'],
      rows: counts.rows.map((row) => [
        row.part,
        ...OVER_TIME_COUNTS.map((name) => showCount(row, name)),
        `${row.coverage} %`,
      ]),
    }),
    '</main></body></html>',
    '',
  ].join('\n');
}

/** The hatching pattern for bars without data. The first chart defines it for all charts. */
const HATCH =
  '<defs><pattern id="hatch" width="8" height="8" patternUnits="userSpaceOnUse"><path d="M-2 10L10 -2M-2 2L2 -2M6 10L10 6"/></pattern></defs>';

function drawChart(
  { by, period, unseen, rows }: CountsOverTime,
  name: OverTimeCount,
  isFirst: boolean,
): string {
  const highest = Math.max(1, ...rows.map((row) => row[name] ?? 0));
  const width = CHART.width - 2 * CHART.left;
  const xOf = (ms: number) =>
    CHART.left + ((ms - period.fromMs) / (period.untilMs - period.fromMs)) * width;
  const hatching = unseen.map((interval) => drawUnseen(interval, xOf));
  const every = Math.ceil((LABEL_WIDTH * rows.length) / width);
  const bars = rows.map((row, index) => {
    const value = row[name] ?? 0;
    const x = xOf(Date.parse(row.from));
    const room = xOf(Date.parse(row.until)) - x;
    const height = (value / highest) * (FLOOR - CHART.top);
    const top = FLOOR - height;
    // The number of alerts is certain even when the mirror has gaps.
    const look = row.certain || name === 'alerts' ? '' : ' class="unsure"';
    const bar = `<rect x="${x.toFixed(1)}" y="${top.toFixed(1)}" width="${Math.max(1, room * 0.8).toFixed(1)}" height="${height.toFixed(1)}"${look}/>`;
    const number =
      room < NUMBER_WIDTH
        ? ''
        : `<text x="${x.toFixed(1)}" y="${(top - 4).toFixed(1)}">${escapeText(showCount(row, name))}</text>`;
    // The label has no year.
    const label =
      index % every === 0
        ? `<text x="${x.toFixed(1)}" y="${CHART.height - 7}">${escapeText(row.part.slice(5))}</text>`
        : '';
    return bar + number + label;
  });
  const title = `${COUNT_LABELS[name]} by ${by}`;
  return [
    `<figure><figcaption>${title}</figcaption>`,
    // On a phone, the user can scroll the chart, so that its labels stay readable.
    `<div class="scroll" tabindex="0" role="region" aria-label="${title}">`,
    `<svg viewBox="0 0 ${CHART.width} ${CHART.height}" role="img" aria-label="${title}; the counts are in the table below">`,
    ...(isFirst ? [HATCH] : []),
    ...hatching,
    ...bars,
    `<line x1="0" x2="${CHART.width}" y1="${FLOOR}" y2="${FLOOR}"/>`,
    '</svg></div></figure>',
  ].join('\n');
}

/** Draws a hatched area over the full height of the chart, where the mirror has no data. */
function drawUnseen({ fromMs, untilMs }: Interval, xOf: (ms: number) => number): string {
  const x = xOf(fromMs);
  const width = Math.max(1, xOf(untilMs) - x);
  return `<rect class="unseen" x="${x.toFixed(1)}" y="${CHART.top}" width="${width.toFixed(1)}" height="${FLOOR - CHART.top}"/>`;
}
