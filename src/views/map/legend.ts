// The legend below a map: the states with their counts, the scale, and the bicycles that are not on
// the map.

import type { Bicycle } from '../../api/bicycle.js';
import { scaleBar } from '../../globe/graticule.js';
import type { View } from '../../globe/projection.js';
import type { Ink } from '../../terminal/canvas.js';
import { cut, widthOf } from '../../terminal/cells.js';
import { clean } from '../../terminal/clean.js';
import { lookOf } from '../bicycle.js';
import type { Layout } from './layout.js';
import { type BicyclePoint, type MapInput, MOST_STATES, nameOf } from './scene.js';

/** A text in one colour. */
export interface Piece {
  readonly text: string;
  readonly ink?: Ink;
}

/** The size of the terminal, and what it can display. */
export interface Look {
  readonly width: number;
  readonly height: number;
  readonly hasColor: boolean;
  readonly hasUnicode: boolean;
}

/** A state with its count, or the number of bicycles without a position. */
export interface LegendEntry {
  readonly row: number;
  readonly at: number;
  readonly words: string;
  /** The index of the state. */
  readonly state: number | undefined;
}

const LONGEST_STATE_COLUMNS = 16;
const MOST_NAMES = 3;

/**
 * Arranges the states and their counts in rows of a given width. The counts of states that do not
 * fit are added up to one number. `roomOf` returns the width of an entry including its margin.
 */
export function flowStates(
  counts: MapInput['counts'],
  { width, rows, roomOf }: { width: number; rows: number; roomOf(words: string): number },
): LegendEntry[] {
  const place = (texts: readonly string[], mostStates: number) => {
    let [row, end] = [0, 0];
    return texts.map((words, index): LegendEntry => {
      const isNewRow = end > 0 && end + roomOf(words) > width;
      if (isNewRow) row += 1;
      const at = isNewRow ? 0 : end;
      end = at + roomOf(words);
      return { row, at, words, state: index < mostStates ? index : undefined };
    });
  };
  const texts = counts.map(
    ({ value, count }) => `${cut(clean(value), LONGEST_STATE_COLUMNS)} ${count}`,
  );
  const all = place(texts, texts.length).filter(({ row }) => row < rows);
  if (all.length === texts.length) return all;
  for (let shown = all.length; ; shown--) {
    const rest = counts.slice(shown).reduce((sum, { count }) => sum + count, 0);
    const left = counts.length - shown;
    const words = shown === 0 ? `${left} states ${rest}` : `+ ${left} others ${rest}`;
    const placed = place([...texts.slice(0, shown), words], shown);
    if (shown === 0 || placed.every(({ row }) => row < rows)) return placed;
  }
}

export interface LegendInput extends Pick<MapInput, 'counts' | 'states' | 'unplaced'> {
  /** Whether states are marked by characters instead of coloured dots. */
  readonly hasSigns: boolean;
  readonly look: Look;
}

/**
 * Returns the maximum number of lines for states. This is at least half of all lines. It also
 * includes the lines that the bicycles without a position do not need.
 */
function mostStateLines({ unplaced }: LegendInput, rows: number): number {
  return Math.max(Math.ceil(rows / 2), rows - 1 - unplaced.length);
}

/** Returns the height of the legend, at most `most` lines. */
export function legendHeight(input: LegendInput, most: number): number {
  return Math.min(
    most,
    stateLines(input, mostStateLines(input, most)).length + 1 + input.unplaced.length,
  );
}

/**
 * Returns the lines of the legend: first the states, then the bicycles that are not on the map. The
 * last line contains the scale and the entries that did not fit on the previous lines.
 */
export function legendLines(
  input: LegendInput & { layout: Layout; view: View },
  rows: number,
): Piece[][] {
  const { layout, unplaced } = input;
  const outside = {
    label: 'outside the view',
    bicycles: layout.outside.map(({ bicycle }) => bicycle),
  };
  const states = stateLines(input, mostStateLines(input, rows));
  const absent = outside.bicycles.length === 0 ? unplaced : [outside, ...unplaced];
  const others = absent.map(({ label, bicycles }): Piece[] => [
    { text: `${bicycles.length} ${label}` },
    { text: `: ${firstNames(bicycles)}`, ink: 'dim' },
  ]);
  const room = Math.max(0, rows - states.length - 1);
  const rest = others
    .slice(room)
    .flatMap((pieces, _index, all) => [
      { text: '  ' },
      ...(all.length === 1 ? pieces : pieces.slice(0, 1)),
    ]);
  return [...states, ...others.slice(0, room), [...scalePieces(input), ...rest]].slice(0, rows);
}

function stateLines({ counts, states, look, hasSigns }: LegendInput, rows: number): Piece[][] {
  const lines: Piece[][] = [];
  // Besides its text, each entry needs four columns: two for its mark and a space before the text,
  // and two for the spaces after the text.
  const entries = flowStates(counts, {
    width: look.width + 2,
    rows,
    roomOf: (words) => widthOf(words) + 4,
  });
  for (const { row, at, words, state } of entries) {
    const { color = '', sign, letter } = lookOf(states[Math.min(state ?? 0, MOST_STATES - 1)]);
    const mark = look.hasUnicode ? (hasSigns ? sign : '⣿') : letter;
    const marked: Piece[] = [{ text: mark, ink: look.hasColor ? color : '' }, { text: ' ' }];
    lines[row] ??= [];
    lines[row].push({ text: at === 0 ? '' : '  ' }, ...(state === undefined ? [] : marked), {
      text: words,
    });
  }
  return lines;
}

/** Returns the scale: `├────┤ 500 m`. */
function scalePieces({ view, look }: LegendInput & { view: View }): Piece[] {
  const { dots, label } = scaleBar(view, 2 * Math.max(4, Math.min(20, Math.floor(look.width / 4))));
  const [start, line = '', end] = look.hasUnicode ? '├─┤' : '|-|';
  return [
    {
      text: `${start}${line.repeat(Math.max(0, Math.round(dots / 2) - 2))}${end} ${label}`,
      ink: 'dim',
    },
  ];
}

/** Returns the names of the first few bicycles in a list. */
export function firstNames(bicycles: readonly Bicycle[]): string {
  const shown = bicycles
    .slice(0, MOST_NAMES)
    .map((bicycle) => clean(nameOf(bicycle).slice(0, 100)));
  return shown.join(', ') + (bicycles.length > MOST_NAMES ? ' …' : '');
}

/**
 * Describes the selection. For several bicycles, returns the counts, such as `90: 53 available, 14
 * rented`. For a single bicycle, returns its name and state.
 */
export function chosenPieces(
  layout: Layout,
  names: readonly string[],
  place: BicyclePoint,
): Piece[] {
  const cluster = layout.clusters.find(({ members }) => members.includes(place));
  const stateName = (state: number) => clean((names[state] ?? '').slice(0, 100));
  if (cluster === undefined) {
    const name = clean(nameOf(place.bicycle).slice(0, 100));
    return [{ text: `${name} ${stateName(place.state)}  `, ink: 'bold' }];
  }
  const states = cluster.byState.flatMap((count, state) =>
    count === 0 ? [] : [`${count} ${stateName(state)}`],
  );
  return [{ text: `${cluster.count}: ${states.join(', ')}  `, ink: 'bold' }];
}
