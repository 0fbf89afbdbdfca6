// The legend beside or below a map of the terminal: states with their counts, the scale, and every bicycle that is not on it.

import type { Bicycle } from '../../api/bicycle.js';
import { scaleBar } from '../../globe/graticule.js';
import type { View } from '../../globe/projection.js';
import type { Ink } from '../../terminal/canvas.js';
import { cut, pad, widthOf } from '../../terminal/cells.js';
import { clean } from '../../terminal/clean.js';
import { lookOf } from '../bicycle.js';
import type { Layout } from './layout.js';
import { type BicyclePoint, type MapInput, MOST_STATES, nameOf } from './scene.js';

/** Text in one ink. */
export interface Piece {
  readonly text: string;
  readonly ink?: Ink;
}

/** What the terminal can show. */
export interface Look {
  readonly width: number;
  readonly height: number;
  readonly hasColor: boolean;
  readonly hasUnicode: boolean;
}

export interface LegendInput extends Pick<MapInput, 'counts' | 'states' | 'unplaced'> {
  readonly layout: Layout;
  readonly view: View;
  /** Whether states are drawn as signs, not as dots in their colours. */
  readonly hasSigns: boolean;
  readonly look: Look;
}

/** What its states alone take. */
type StatesInput = Pick<LegendInput, 'counts' | 'states' | 'look' | 'hasSigns'>;

interface Room {
  readonly columns: number;
  readonly rows: number;
}

/** From this size on there is a panel at the right, else lines below. */
const PANEL_FROM = { width: 100, height: 16 };
const LONGEST_STATE_COLUMNS = 16;
const MOST_NAMES = 3;

export function hasPanel({ width, height }: { width: number; height: number }): boolean {
  return width >= PANEL_FROM.width && height >= PANEL_FROM.height;
}

/** The sign and the name of each state, its number behind. */
function stateEntries({ counts, states, look, hasSigns }: StatesInput): { pieces: Piece[]; count: number }[] {
  return counts.map(({ value, count }, index) => {
    const { color, sign, letter } = lookOf(states[Math.min(index, MOST_STATES - 1)]);
    const mark = look.hasUnicode ? (hasSigns ? sign : '⣿') : letter;
    const name = cut(clean(value), LONGEST_STATE_COLUMNS);
    return {
      count,
      pieces: [{ text: mark, ink: look.hasColor ? (color ?? '') : '' }, { text: ` ${name}` }],
    };
  });
}

/** `├────┤ 500 m`. */
function scalePieces({ view, look }: LegendInput, columns: number): Piece[] {
  const { dots, label } = scaleBar(view, columns * 2);
  const length = Math.max(2, Math.round(dots / 2));
  const [start, line, end] = look.hasUnicode ? ['├', '─', '┤'] : ['|', '-', '|'];
  return [{ text: `${start}${line?.repeat(length - 2)}${end} ${label}`, ink: 'dim' }];
}

/** What is chosen, in words: `90: 53 available, 14 rented`, or the name of a bicycle and its state. */
export function chosenPieces({ layout, states: names }: LegendInput, place: BicyclePoint): Piece[] {
  const cluster = layout.clusters.find(({ members }) => members.includes(place));
  const stateName = (state: number) => clean((names[state] ?? '').slice(0, 100));
  if (cluster === undefined) {
    const name = clean(nameOf(place.bicycle).slice(0, 100));
    return [{ text: `${name} ${stateName(place.state)}  `, ink: 'bold' }];
  }
  const states = cluster.byState.flatMap((count, state) => (count === 0 ? [] : [`${count} ${stateName(state)}`]));
  return [{ text: `${cluster.count}: ${states.join(', ')}  `, ink: 'bold' }];
}

/** What is not on the map, each kind with its number and the first of their names. */
function absences({ layout: { outside }, unplaced }: LegendInput) {
  const first = outside.slice(0, MOST_NAMES + 1).map(({ bicycle }) => bicycle);
  const beyond = { label: 'outside the view', count: outside.length, detail: names(first) };
  const nowhere = unplaced.map(({ bicycles, label }) => ({ label, count: bicycles.length, detail: names(bicycles) }));
  return outside.length === 0 ? nowhere : [beyond, ...nowhere];
}

function names(bicycles: readonly Bicycle[]): string {
  const shown = bicycles.slice(0, MOST_NAMES).map((bicycle) => clean(nameOf(bicycle).slice(0, 100)));
  const more = bicycles.length - shown.length;
  return shown.join(', ') + (more > 0 ? ' …' : '');
}

/** Lines below the map: the states first, then the scale and what is not on the map. */
export function legendLines(input: LegendInput, { columns, rows }: Room): Piece[][] {
  if (rows === 0) return [];
  const scale = scalePieces(input, Math.max(4, Math.min(20, Math.floor(columns / 4))));
  const last: Piece[] = [...scale];
  for (const { label, count, detail } of absences(input)) {
    last.push({ text: `  ${count} ${label}` }, { text: `: ${detail}`, ink: 'dim' });
  }
  return [...stateFlow(input, columns, rows - 1), last];
}

/** How many lines there are below the map, `most` at most. */
export function legendHeight(input: StatesInput, most: number): number {
  return stateFlow(input, input.look.width, most - 1).length + 1;
}

/** The position of an entry of the legend. */
export interface Spot {
  readonly row: number;
  readonly at: number;
}

/**
 * Puts entries of these widths one behind the other in rows of `width`; where one has no room, the last spot is that of what says how many
 * there are from there on, `widthOfRest` wide.
 */
export function flow(
  widths: readonly number[],
  { width, rows, gap }: { width: number; rows: number; gap: number },
  widthOfRest: (from: number) => number,
): { spots: Spot[]; placed: number } {
  const spots: Spot[] = [];
  let [row, end] = [0, 0];
  for (const [index, own] of widths.entries()) {
    const start = end === 0 ? 0 : end + gap;
    const fits = (more: number) => start + own + more <= width;
    const isLast = index === widths.length - 1;
    spots.push({ row, at: start });
    if (row === rows - 1 && widths.length > 1 && !fits(isLast ? 0 : gap + widthOfRest(index)))
      return { spots, placed: index };
    if (!fits(0) && end > 0) {
      row += 1;
      spots[index] = { row, at: 0 };
    }
    end = (spots[index]?.at ?? 0) + own;
  }
  return { spots, placed: widths.length };
}

/** The states one behind the other in so many lines; those without room are one number. */
function stateFlow(input: StatesInput, columns: number, rows: number): Piece[][] {
  const entries = stateEntries(input);
  const texts = entries.map(({ pieces, count }) => [...pieces, { text: ` ${count}` }]);
  const restOf = (from: number) => {
    const rest = entries.slice(from).reduce((sum, { count }) => sum + count, 0);
    return from === 0 ? `${rest} in ${entries.length} states` : `+ ${rest} others`;
  };
  const { spots, placed } = flow(
    texts.map(widthOfPieces),
    { width: columns, rows, gap: 2 },
    (from) => restOf(from).length,
  );
  const lines: Piece[][] = Array.from({ length: (spots.at(-1)?.row ?? 0) + 1 }, () => []);
  for (const [index, { row, at }] of spots.entries()) {
    const rest = [{ text: cut(restOf(index), Math.max(0, columns - at)) }];
    lines[row]?.push({ text: at === 0 ? '' : '  ' }, ...(index < placed ? (texts[index] ?? []) : rest));
  }
  return lines;
}

function widthOfPieces(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, { text }) => sum + widthOf(text), 0);
}

/** The panel at the right: states with their numbers, and what is not on the map. */
export function panelLines(input: LegendInput, { columns, rows }: Room): Piece[][] {
  const total = input.counts.reduce((sum, { count }) => sum + count, 0);
  const foot = footLines(input, columns, rows - 1 - input.counts.length);
  const states = stateLines(input, columns, Math.max(1, rows - 1 - foot.length));
  const lines = [heading(`STATES of ${total}`, columns), ...states];
  const fill = Math.max(0, rows - lines.length - foot.length);
  return [...lines, ...Array.from({ length: fill }, () => []), ...foot].slice(0, rows);
}

function heading(text: string, columns: number): Piece[] {
  return [{ text: cut(text, columns), ink: 'bold' }];
}

/** A line a state; those without room are one line. */
function stateLines(input: LegendInput, columns: number, rows: number): Piece[][] {
  const entries = stateEntries(input);
  const shown = entries.length > rows ? entries.slice(0, rows - 1) : entries;
  const rest = entries.slice(shown.length);
  const restCount = rest.reduce((sum, { count }) => sum + count, 0);
  const others = { pieces: [{ text: cut(`+ ${rest.length} others`, columns) }], count: restCount };
  return [...shown, ...(rest.length === 0 ? [] : [others])].map(({ pieces, count }) => {
    return [...pieces, { text: pad(String(count), Math.max(1, columns - widthOfPieces(pieces)), 'right') }];
  });
}

/** What is not on the map, with its details where there is room for them, and the scale. */
function footLines(input: LegendInput, columns: number, rows: number): Piece[][] {
  const absent = absences(input);
  const scale = scalePieces(input, columns - 10);
  const hasDetails = 4 + 2 * absent.length <= rows;
  const lines = absent.flatMap(({ label, count, detail }) => [
    [{ text: cut(`${count} ${label}`, columns) }],
    ...(hasDetails ? [[{ text: cut(`  ${detail}`, columns), ink: 'dim' as Ink }]] : []),
  ]);
  return [...(absent.length === 0 ? [] : [[], heading('NOT ON THE MAP', columns), ...lines]), [], scale];
}
