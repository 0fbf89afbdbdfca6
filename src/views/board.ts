// The live board of a watch as the lines of one screen: what is known of the fleet, what has just happened, and the keys.

import type { Alert } from '../api/alert.js';
import { BICYCLE_STATES, type Bicycle } from '../api/bicycle.js';
import type { Gap } from '../http/stream/events.js';
import { drawBar } from '../terminal/bar.js';
import { cut, pad, widthOf } from '../terminal/cells.js';
import { clean } from '../terminal/clean.js';
import { type Paint, paintIn } from '../terminal/colour.js';
import { age, showDuration } from '../terminal/time.js';
import { MISSING, numberOf, textOf } from '../terminal/values.js';
import { showAlertBicycle, showAlertState } from './alert.js';
import { lookOf, showCharge, showText } from './bicycle.js';
import { type BoardConnection, connectionText, helpLines, KEYS, keyHints, MAP_KEYS } from './board-keys.js';
import { changeLine, type ShownEntry, showClock } from './change.js';

/** What can be seen at once. */
export type BoardPanel =
  | { readonly type: 'fleet' }
  | { readonly type: 'map' }
  | { readonly type: 'help' }
  /** Everything that is known of one bicycle. */
  | { readonly type: 'card'; readonly uuid: string; readonly scroll: number };

export const SORTS = ['charge', 'name', 'state', 'last change'] as const;
export type Sort = (typeof SORTS)[number];

export interface BoardView {
  panel: BoardPanel;
  /** What help and a card are closed to. */
  home: 'fleet' | 'map';
  sort: Sort;
  /** What bicycles and changes have to contain; '' for all. */
  filter: string;
  isTyping: boolean;
  /** The row of the list that Enter opens, and the first one that is shown. */
  selected: number;
  scroll: number;
}

/** When it is drawn. */
interface BoardMoment {
  /** By the machine's date, in milliseconds since the epoch. */
  nowMs: number;
  monotonicMs: number;
  offsetMinutes: number;
}

/** The line of rates: what came and what did not. */
interface BoardRate {
  messages: number;
  /** When the last message came, on the monotonic clock. */
  lastMessageMs: number | undefined;
  /** Messages in each of the last seconds, the present one last, and since when they are counted, on the monotonic clock. */
  perSecond: readonly number[];
  openedMs: number;
  gapCount: number;
  blindMs: number;
}

/** The panels of states and bicycles. */
interface BoardFleet {
  /** Bicycles by state, those that are known. */
  counts: ReadonlyMap<string, number>;
  known: number;
  /** How many bicycles the service counts, when known. */
  total: number | undefined;
  /** Every bicycle that is followed is known. */
  isWhole: boolean;
  /** Bicycles that pass the filter, in the order of the view, from its first row on. */
  rows: readonly Bicycle[];
  /** How many pass the filter. */
  matching: number;
  /** What is wrong with the filter. */
  filterProblem?: string | undefined;
  /** The bicycle of the card. */
  card: Bicycle | undefined;
}

export interface BoardInput extends BoardMoment, BoardRate, BoardFleet {
  view: BoardView;
  /** What is followed, for the title. */
  title: string;
  /** By topic. */
  connections: ReadonlyMap<string, BoardConnection>;
  /** The newest first. */
  alerts: readonly { alert: Alert; atMs: number }[];
  changes: readonly { entry: ShownEntry; atMs: number }[];
  gaps: readonly Gap[];
}

export interface BoardPlace {
  width: number;
  height: number;
  paint: Paint;
}

/** From this width on the gaps have a column of their own. */
const WIDE_COLUMNS = 110;
/** Below this width the bicycles have no room beside the states. */
const NARROW_COLUMNS = 50;
/** Below this height there is room for the states alone, or for nothing but the title and the footer. */
const LOW_ROWS = 10;
/** Seconds that the rate is the mean of: long enough to be read, short enough to follow. */
const RATE_SECONDS = 10;
const SPARKS = '▁▂▃▄▅▆▇█';
/** The longest state, `unrecoverable`, and a space. */
const STATE_COLUMNS = 15;
const COUNT_COLUMNS = 7;
/** Most types of alerts; a longer one pushes its message aside. */
const TYPE_MOST_COLUMNS = 24;
const GUTTER = '  ';

/** The keys of the footer, the most needed first. */
const FLEET_HINTS = ['q quit', '? help', '/ filter', 'Enter open', 's sort', 'm map', '↑↓ scroll'];
const CARD_HINTS = ['q quit', 'Esc back', '↑↓ scroll'];

/** How many rows of bicycles the board has room for; the caller fetches no more. */
export function bicycleRows(height: number): number {
  return Math.max(0, topRows(height) - 1);
}

/** Rows of the block with states and bicycles, its heading included. */
function topRows(height: number): number {
  const left = height - 4;
  if (height < LOW_ROWS) return Math.max(0, height - 3);
  return Math.min(Math.max(BICYCLE_STATES.length + 2, Math.floor(left * 0.4)), Math.floor(left * 0.55));
}

/** The lines of the board: exactly as many as the height, none wider than the width. */
export function boardLines(input: BoardInput, place: BoardPlace): string[] {
  const { width, height } = place;
  const body = height - 2;
  const lines =
    input.view.panel.type === 'help'
      ? helpLines(input.view.home === 'map' ? MAP_KEYS : KEYS, place)
      : input.view.panel.type === 'card'
        ? cardLines(input, input.view.panel.scroll, place)
        : fleetLines(input, place);
  const footer = footerLine(input, place);
  if (height === 1) return [footer];
  return [titleLine(input, place), ...fill(lines, body).slice(0, Math.max(0, body)), footer].map((line) =>
    widthOf(line) === 0 && width > 0 ? '' : line,
  );
}

function fill(lines: readonly string[], count: number): string[] {
  return [...lines, ...Array.from({ length: Math.max(0, count - lines.length) }, () => '')];
}

function fleetLines(input: BoardInput, place: BoardPlace): string[] {
  const { width, height, paint } = place;
  const lines = [rateLine(input, place)];
  if (height >= LOW_ROWS) lines.push('');
  lines.push(...topLines(input, place, topRows(height)));
  if (height < LOW_ROWS) return lines;
  lines.push('');
  const rest = height - 2 - lines.length;
  const alertRows = rest >= 9 ? Math.max(3, Math.floor(rest / 4)) : 0;
  const changeRows = rest - alertRows - (alertRows > 0 ? 1 : 0);
  const linePlace = { width, terminal: true, offsetMinutes: input.offsetMinutes, paint };
  lines.push(paint.bold(cut('CHANGES', width)));
  const changes = input.changes.slice(0, Math.max(0, changeRows - 1));
  lines.push(
    ...fill(
      changes.map(({ entry, atMs }) => changeLine(entry, atMs, linePlace)),
      changeRows - 1,
    ),
  );
  if (alertRows > 0) {
    const alerts = input.alerts.slice(0, alertRows - 1);
    const types = alerts.map(({ alert }) => widthOf(showText(alert.alert_type).text));
    const typeColumns = Math.min(TYPE_MOST_COLUMNS, Math.max(0, ...types));
    lines.push('', paint.bold('ALERTS'), ...alerts.map((alert) => alertLine(alert, input, place, typeColumns)));
  }
  return lines;
}

function topLines(input: BoardInput, { width, paint }: BoardPlace, rows: number): string[] {
  if (rows < 1) return [];
  const isWide = width >= WIDE_COLUMNS;
  const columns = isWide ? 3 : width < NARROW_COLUMNS ? 1 : 2;
  const each = Math.floor((width - GUTTER.length * (columns - 1)) / columns);
  const blocks = [block(statesHeading(input), stateRows(input, each, paint), each, rows, paint)];
  if (columns > 1) blocks.push(block(bicyclesHeading(input), listRows(input, each, paint), each, rows, paint));
  if (isWide) blocks.push(block('GAPS', gapRows(input, each), each, rows, paint));
  return Array.from({ length: rows }, (_, row) =>
    blocks
      .map((lines) => lines[row] ?? ' '.repeat(each))
      .join(GUTTER)
      .trimEnd(),
  );
}

function block(heading: string, rows: readonly string[], width: number, height: number, paint: Paint): string[] {
  const shown = fill(rows, height - 1).slice(0, height - 1);
  return [paint.bold(pad(cut(heading, width), width)), ...shown.map((row) => (row === '' ? ' '.repeat(width) : row))];
}

/** Text at the left and at the right end of a line; the left one is cut. */
function spread(left: string, right: string, width: number): string {
  const room = Math.max(0, width - widthOf(right) - 1);
  return cut(`${pad(cut(left, room), room)} ${right}`, width);
}

function titleLine({ title, nowMs, offsetMinutes }: BoardInput, { width, paint }: BoardPlace): string {
  return paint.inverse(spread(` fleet watch ${clean(title)}`, `${showClock(nowMs, offsetMinutes)} `, width));
}

function rateLine(input: BoardInput, { width }: BoardPlace): string {
  const { perSecond, messages, monotonicMs, openedMs, gapCount, blindMs, lastMessageMs } = input;
  const recent = perSecond.slice(-RATE_SECONDS);
  const seconds = Math.max(1, Math.min(RATE_SECONDS, (monotonicMs - openedMs) / 1000));
  const rate = recent.reduce((sum, number) => sum + number, 0) / seconds;
  const most = Math.max(1, ...perSecond);
  const sparksOf = (columns: number) =>
    perSecond
      .slice(perSecond.length - Math.max(0, columns))
      .map((number) => SPARKS[Math.min(7, Math.ceil((number / most) * 8) - 1)] ?? ' ')
      .join('');
  const last = lastMessageMs === undefined ? '' : `, last ${showDuration(monotonicMs - lastMessageMs)} ago`;
  const gaps =
    gapCount === 0 ? 'no gaps' : `${gapCount} ${gapCount === 1 ? 'gap' : 'gaps'}, down ${showDuration(blindMs)}`;
  const shownRate = rate < 10 ? rate.toFixed(1) : String(Math.round(rate));
  const text = `${shownRate}/s, ${messages} messages${last}; ${gaps}`;
  return spread(text, sparksOf(Math.min(perSecond.length, width - widthOf(text) - 2)), width).trimEnd();
}

function statesHeading({ known, total, isWhole }: BoardInput): string {
  if (isWhole) return `STATES of ${known}`;
  return total === undefined || total <= known ? `STATES of ${known} known` : `STATES of ${known} known of ${total}`;
}

/** The documented states first, then whatever else came. While some bicycles are not known, no count is the last word. */
function stateRows({ counts, isWhole }: BoardInput, width: number, paint: Paint): string[] {
  const others = [...counts.keys()].filter((state) => !(BICYCLE_STATES as readonly string[]).includes(state)).sort();
  const states = [...BICYCLE_STATES, ...others];
  const most = Math.max(1, ...counts.values());
  const stateColumns = Math.min(STATE_COLUMNS, Math.max(1, width - COUNT_COLUMNS));
  const room = Math.max(0, width - stateColumns - COUNT_COLUMNS);
  return states.map((state) => {
    const count = counts.get(state) ?? 0;
    const bar = drawBar(count / most, room);
    const name = pad(cut(clean(state), stateColumns - 1), stateColumns);
    const number = isWhole ? String(count) : count === 0 ? '?' : `${count}+`;
    const row = ' '.repeat(Math.max(0, room - widthOf(bar))) + pad(number, COUNT_COLUMNS, 'right');
    if (!isWhole) return paint.gray(`${name}${bar}${row}`);
    return `${name}${paintIn(paint, lookOf(state).color, bar)}${row}`;
  });
}

function bicyclesHeading({ view, matching, known, isWhole, filterProblem }: BoardInput): string {
  if (filterProblem !== undefined) return `BICYCLES: ${clean(filterProblem)}`;
  const filter = view.filter === '' ? '' : `: ${matching} of ${known} with "${clean(view.filter)}"`;
  return `BICYCLES by ${view.sort}${filter}${isWhole ? '' : ', of those known'}`;
}

function listRows({ view, rows, isWhole, nowMs }: BoardInput, width: number, paint: Paint): string[] {
  const stateColumns = Math.min(STATE_COLUMNS, Math.max(0, width - 20));
  const nameColumns = Math.max(1, width - 8 - stateColumns);
  return rows.map((bicycle, index) => {
    const { text, color } = showCharge(bicycle.state_of_charge, { now: nowMs, terminal: true });
    const charge = pad(cut(text, 5), 5, 'right');
    const name = pad(cut(clean(boundedName(bicycle)), nameColumns - 1), nameColumns);
    const state = pad(cut(showText(bicycle.state).text, stateColumns), stateColumns);
    const isSelected = view.scroll + index === view.selected;
    const plain = cut(`${isSelected ? '>' : ' '} ${charge} ${name}${state}`, width);
    if (isSelected) return paint.inverse(pad(plain, width));
    if (!isWhole) return paint.gray(pad(plain, width));
    return width < 20 ? pad(plain, width) : `  ${paintIn(paint, color, charge)} ${name}${state}`;
  });
}

/** A name is cut before it is cleaned and measured. */
function boundedName(bicycle: Bicycle): string {
  return (textOf(bicycle.name) ?? textOf(bicycle.uuid) ?? MISSING).slice(0, 200);
}

function gapText(gap: Gap, offsetMinutes: number): string {
  const length = gap.durationMs > 0 ? ` (${showDuration(gap.durationMs)})` : '';
  return `${showClock(gap.fromWallMs, offsetMinutes)}${length}: ${clean(gap.message.slice(0, 500))}`;
}

function gapRows({ gaps, offsetMinutes }: BoardInput, width: number): string[] {
  if (gaps.length === 0) return [pad('none', width)];
  return gaps.map((gap) => pad(cut(gapText(gap, offsetMinutes), width), width));
}

function alertLine(
  { alert, atMs }: BoardInput['alerts'][number],
  { nowMs }: BoardInput,
  { width, paint }: BoardPlace,
  typeColumns: number,
): string {
  const state = showAlertState(alert.state);
  const time = pad(age(new Date(atMs).toISOString(), nowMs), 11);
  const type = showText(alert.alert_type).text;
  if (width < 60) return cut(`${time}${type} ${state.text}`, width);
  const head = `${time}${pad(cut(showAlertBicycle(alert, { now: 0, terminal: true }).text, 16), 16)} `;
  const word = pad(cut(state.text, 10), 10);
  const message = (textOf(alert.message) ?? MISSING).slice(0, 500);
  const rest = cut(`${pad(type, typeColumns)}  ${clean(message)}`, Math.max(0, width - widthOf(head) - 11));
  return `${head}${paintIn(paint, state.color, word)} ${rest}`.trimEnd();
}

/** Every field that is known of one bicycle. */
function cardLines({ card }: BoardInput, scroll: number, { width, paint }: BoardPlace): string[] {
  if (card === undefined) return [cut('nothing is known of this bicycle any more', width)];
  const fields = Object.entries(card).slice(0, 500);
  const columns = Math.min(30, Math.max(...fields.map(([name]) => widthOf(clean(name.slice(0, 100))))) + 2);
  const rows = fields.map(([name, value]) => {
    const text = typeof value === 'object' && value !== null ? JSON.stringify(value) : (textOf(value) ?? MISSING);
    return cut(`${pad(cut(clean(name.slice(0, 100)), columns - 1), columns)}${clean(text.slice(0, 1_000))}`, width);
  });
  return [paint.bold(cut(clean(boundedName(card)), width)), ...rows.slice(scroll)];
}

/** The keys in as many words as there is room for, and the state of the connection. */
function footerLine(input: BoardInput, { width, paint }: BoardPlace): string {
  const { view } = input;
  const { text, color } = connectionText(input.connections, input.monotonicMs);
  const hints = view.panel.type === 'fleet' ? FLEET_HINTS : CARD_HINTS;
  const typing =
    `filter: ${clean(view.filter)}_  ${view.filter === '' ? 'words, charge<20, state=lost' : ''}`.trimEnd();
  const keys = cut(view.isTyping ? typing : keyHints(hints, width - widthOf(text) - 2), width);
  const connection = cut(text, Math.max(0, width - widthOf(keys) - 2));
  const gap = ' '.repeat(Math.max(0, width - widthOf(keys) - widthOf(connection)));
  return `${keys}${gap}${paint[color](connection)}`;
}

/**
 * The bicycles that pass the filter, in order, `count` of them from `from` on, and how many pass. The bicycles come the longest
 * untouched first, which is the order of `last change` backwards.
 */
export function pickRows(
  bicycles: Iterable<Bicycle>,
  { sort, keep }: { sort: Sort; keep(bicycle: Bicycle): boolean },
  from: number,
  count: number,
): { rows: Bicycle[]; matching: number } {
  const found: { bicycle: Bicycle; key: number | string }[] = [];
  let index = 0;
  for (const bicycle of bicycles) {
    index++;
    if (!keep(bicycle)) continue;
    found.push({ bicycle, key: keyOf(bicycle, sort, index) });
  }
  found.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  return { rows: found.slice(from, from + count).map(({ bicycle }) => bicycle), matching: found.length };
}

function keyOf(bicycle: Bicycle, sort: Sort, index: number): number | string {
  // An unknown charge is not a low one.
  if (sort === 'charge') return numberOf(bicycle.state_of_charge) ?? Number.POSITIVE_INFINITY;
  if (sort === 'last change') return -index;
  return (textOf(sort === 'name' ? bicycle.name : bicycle.state) ?? '\uffff').toLowerCase();
}
