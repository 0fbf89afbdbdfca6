// Draws counts for a terminal. Each group is below its heading and has bars. If there is enough
// room, the groups are in two columns.

import { stripVTControlCharacters } from 'node:util';
import { cut, pad, widthOf } from '../terminal/cells.js';
import { clean } from '../terminal/clean.js';
import { type Paint, paintIn } from '../terminal/colour.js';
import { drawBar } from '../terminal/progress.js';
import { colorOfStats, type StatsRow, showPercent } from './stats.js';

export interface StatsPlace {
  width: number;
  height: number;
  paint: Paint;
}

/** When the terminal has at least this many columns, the groups are drawn in two columns. */
const TWO_COLUMNS_WIDTH = 80;
const GUTTER_COLUMNS = 3;
/** These groups are drawn in the right column, because their values have short names. */
const RIGHT_GROUPS: readonly string[] = ['charge', 'silence'];
const RIGHT_WIDTH = 36;
/** The maximum width of the left column. It has room for the longest alert type and a bar. */
const LONGEST_LEFT_WIDTH = 60;
/** The column widths of a count and of a percentage. */
const COUNT_COLUMNS = 6;
const PERCENT_COLUMNS = 7;
const LONGEST_BAR_COLUMNS = 20;
/** The minimum length of a bar. A shorter bar would show too little, so it is not drawn. */
const SHORTEST_BAR_COLUMNS = 4;

/**
 * The minimum number of rows for the groups. It also applies when the terminal has fewer rows. A
 * few of these rows stay free for the total and the prompt.
 */
const USUAL_HEIGHT = 24;
const LINES_BELOW = 3;

/** Draws the groups. Every line ends with a newline and is at most `width` columns wide. */
export function drawStats(rows: readonly StatsRow[], place: StatsPlace): string {
  const groups = groupRows(rows);
  const isWide = place.width >= TWO_COLUMNS_WIDTH && groups.length > 1;
  const lines = isWide ? drawTwoColumns(groups, place) : drawColumn(groups, place.width, place);
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}

type Group = readonly [name: string, rows: readonly StatsRow[]];

function groupRows(rows: readonly StatsRow[]): Group[] {
  const groups = new Map<string, StatsRow[]>();
  for (const row of rows) groups.set(row.group, [...(groups.get(row.group) ?? []), row]);
  return [...groups];
}

function drawTwoColumns(groups: readonly Group[], place: StatsPlace): string[] {
  const leftWidth = Math.min(LONGEST_LEFT_WIDTH, place.width - RIGHT_WIDTH - GUTTER_COLUMNS);
  const isRight = ([name]: Group) => RIGHT_GROUPS.includes(name);
  const leftGroups = groups.filter((group) => !isRight(group));
  const most = Math.max(USUAL_HEIGHT, place.height) - LINES_BELOW;
  const left = drawColumn(limitLast(leftGroups, most), leftWidth, place);
  const right = drawColumn(groups.filter(isRight), RIGHT_WIDTH, place);
  const count = Math.max(left.length, right.length);
  return Array.from({ length: count }, (_, index) => {
    const line = left[index] ?? '';
    // Colour escape sequences do not take up columns on the screen.
    const missing = Math.max(0, leftWidth - widthOf(stripVTControlCharacters(line)));
    const gap = ' '.repeat(missing + GUTTER_COLUMNS);
    return `${line}${gap}${right[index] ?? ''}`;
  });
}

/**
 * When the groups need too many lines, combines the last group's least frequent values into one
 * line.
 */
function limitLast(groups: readonly Group[], most: number): Group[] {
  const needed = groups.reduce((sum, [, rows]) => sum + rows.length + 2, -1);
  const last = groups.at(-1);
  if (last === undefined || needed <= most) return [...groups];
  const [name, rows] = last;
  const kept = Math.max(1, rows.length - (needed - most) - 1);
  const rest = rows.slice(kept);
  const sum = (field: 'count' | 'percent') => rest.reduce((total, row) => total + row[field], 0);
  const others = {
    group: name,
    value: `${rest.length} others`,
    count: sum('count'),
    percent: sum('percent'),
  };
  return [...groups.slice(0, -1), [name, [...rows.slice(0, kept), others]]];
}

/** Draws groups below each other, with an empty line between them. */
function drawColumn(groups: readonly Group[], width: number, { paint }: StatsPlace): string[] {
  return groups.flatMap(([name, rows], index) => {
    const heading = paint.bold(cut(clean(name).toUpperCase(), width));
    const lines = drawGroup(rows, width, paint);
    return [...(index === 0 ? [] : ['']), heading, ...lines];
  });
}

function drawGroup(rows: readonly StatsRow[], width: number, paint: Paint): string[] {
  const names = rows.map(({ value }) => clean(value));
  const longest = Math.max(...names.map(widthOf));
  const room = width - COUNT_COLUMNS - PERCENT_COLUMNS - 2;
  const nameColumns = Math.max(1, Math.min(longest, room));
  const left = room - nameColumns - 1;
  const barColumns = left < SHORTEST_BAR_COLUMNS ? 0 : Math.min(LONGEST_BAR_COLUMNS, left);
  return rows.map((row, index) => {
    const name = pad(cut(names[index] ?? '', nameColumns), nameColumns);
    const count = pad(String(row.count), COUNT_COLUMNS, 'right');
    const percent = pad(`${showPercent(row.percent)} %`, PERCENT_COLUMNS, 'right');
    const bar = drawBar(row.percent / 100, barColumns);
    return `${name} ${count} ${percent} ${paintIn(paint, colorOfStats(row), bar)}`.trimEnd();
  });
}
