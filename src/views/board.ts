// The live board of a watch as lines of a screen: the fleet, recent changes, and the keys.

import { type Alert, isOpenState } from '../api/alert.js';
import { BICYCLE_STATES, type Bicycle } from '../api/bicycle.js';
import { wholeUuid } from '../api/links.js';
import { showClock, type TimeZone } from '../system/time-zone.js';
import { cut, pad, widthOf } from '../terminal/cells.js';
import { clean } from '../terminal/clean.js';
import { NO_PAINT, type Paint } from '../terminal/colour.js';
import { count } from '../terminal/count.js';
import type { Shape } from '../terminal/formats.js';
import { splitMark } from '../terminal/marks.js';
import { drawBar } from '../terminal/progress.js';
import { showDuration } from '../terminal/time.js';
import { numberOf, textOf } from '../terminal/values.js';
import { ALERTS } from './alert.js';
import { BICYCLES, lookOf } from './bicycle.js';
import { type BoardDialog, dialogLines } from './board-dialog.js';
import {
  type BoardConnection,
  connectionText,
  helpLines,
  KEYS,
  keyHints,
  MAP_KEYS,
} from './board-help.js';
import { drawCard } from './card.js';
import type { WatchCounts } from './connection.js';
import { drawRow, drawTable, type PlacedCell } from './rows.js';
import { changeLine, type ShownEntry } from './watch.js';

/** The panel that is visible on the board. */
export type BoardPanel =
  | { readonly type: 'fleet' }
  | { readonly type: 'map' }
  | { readonly type: 'help' }
  /** All fields of one bicycle. */
  | { readonly type: 'card'; readonly uuid: string; readonly scroll: number };

export const SORTS = ['charge', 'name', 'state', 'last change'] as const;
export type Sort = (typeof SORTS)[number];

export interface BoardView {
  panel: BoardPanel;
  /** The panel to which the board returns when the user closes the help or a card. */
  home: 'fleet' | 'map';
  sort: Sort;
  /**
   * The text or conditions that bicycles and changes must match. When this filter is empty, all
   * bicycles and changes match.
   */
  filter: string;
  isTyping: boolean;
  /** `selected` is the row that Enter opens, and `scroll` is the first visible row. */
  selected: number;
  scroll: number;
  /** The UUIDs of the marked bicycles. */
  marked: ReadonlySet<string>;
  /** The question or message above the footer. */
  dialog: BoardDialog | undefined;
  /** A line that the footer shows instead of the keys. */
  message: string | undefined;
  /** Whether a change is running. */
  isBusy: boolean;
}

export interface BoardInput {
  view: BoardView;
  /** The followed organization or bicycles. */
  title: string;
  /** The current time by the machine's clock, in milliseconds since the epoch. */
  nowMs: number;
  monotonicMs: number;
  zone: TimeZone;
  /** The connection of each topic. */
  connections: ReadonlyMap<string, BoardConnection>;
  traffic: BoardTraffic;
  fleet: BoardFleet;
  /** Newest first. */
  changes: readonly { entry: ShownEntry; atMs: number }[];
  alerts: readonly Alert[];
  /**
   * The reason why the comparison after the last gap is incomplete. Undefined when it is complete.
   */
  doubt?: string | undefined;
  /**
   * Set when the list of alerts cannot be read. The board then shows the alerts from the last
   * successful read.
   */
  staleAlerts?: StaleAlerts | undefined;
}

/** Describes the last attempt to read the list of alerts when this attempt failed. */
export interface StaleAlerts {
  /**
   * When the shown alerts were read, on the monotonic clock. Undefined when the list was never
   * read.
   */
  readonly readAtMs: number | undefined;
  readonly reason: string;
}

/** The numbers of messages and gaps, for the traffic line. */
export interface BoardTraffic extends Pick<WatchCounts, 'messages' | 'gapCount' | 'downMs'> {
  perSecond: number;
  /** When the last message arrived, on the monotonic clock. */
  lastMessageMs: number | undefined;
}

export interface BoardFleet {
  /** The number of known bicycles by state. */
  counts: ReadonlyMap<string, number>;
  known: number;
  /** The service's count of bicycles, if known. */
  total: number | undefined;
  /** Whether every followed bicycle is known. */
  isWhole: boolean;
  /** The bicycles on the screen. They match the filter and are in the order of the view. */
  rows: readonly Bicycle[];
  /** The number of bicycles that match the filter. */
  matching: number;
  /** The reason why the filter is invalid. */
  filterProblem?: string | undefined;
  /** The bicycle of the card. */
  card: Bicycle | undefined;
}

export interface BoardPlace {
  width: number;
  height: number;
  paint: Paint;
}

/** The width of the longest state, `unrecoverable`, plus a space. */
const STATE_COLUMNS = 15;
const COUNT_COLUMNS = 6;
const GUTTER = '  ';

/** The keys of the footer, most important first. */
const FLEET_HINTS = [
  ...['q quit', '? help', 'a act', 'Space mark', '/ filter', 'Enter open', 's sort'],
  ...['m map', 'c copy ID', 'y command', '↑↓ scroll'],
];
const CARD_HINTS = ['q quit', 'Esc back', 'a act', '↑↓ scroll', 'c copy ID', 'y command'];

/** The number of rows that each part of the board needs to show all its items. */
export interface BoardNeeds {
  /** The number of bicycles that match the filter. */
  readonly bicycles: number;
  readonly changes: number;
  readonly alerts: number;
}

/** The list has two heading lines: its own heading, and the column headings. */
const LIST_HEADINGS = 2;

/**
 * Returns the number of bicycles that fit on the board. The caller reads at most this many
 * bicycles.
 */
export function bicycleRows(height: number, needs: BoardNeeds): number {
  return Math.max(0, shareHeight(height, needs).top - LIST_HEADINGS);
}

/** The heights of the parts of the board, including their headings. */
interface BoardHeights {
  /** The height of the section that shows the states and, next to them, the bicycles. */
  readonly top: number;
  readonly changes: number;
  readonly alerts: number;
}

/**
 * When the list of bicycles grows beyond its usual height, it leaves at least this many rows for
 * the changes, including their heading.
 */
const FEWEST_CHANGE_ROWS = 4;
/**
 * The minimum height of the lower half of the board for showing alerts. With fewer rows, the alerts
 * are hidden.
 */
const FEWEST_ROWS_WITH_ALERTS = 9;

/**
 * Divides the height of the board. The list of bicycles gets the rows that changes and alerts do
 * not need. The changes get the rows that the list does not need.
 */
function shareHeight(height: number, needs: BoardNeeds): BoardHeights {
  // Four lines are always shown: the title, the traffic, the warning about an incomplete
  // comparison, and the footer.
  const left = Math.max(0, height - 4);
  const usual = Math.min(
    Math.max(BICYCLE_STATES.length + 1, Math.floor(left * 0.5)),
    Math.floor(left * 0.6),
  );
  const topNeed = Math.max(BICYCLE_STATES.length + 1, needs.bicycles + LIST_HEADINGS);
  const rest = left - usual;
  const alerts =
    rest < FEWEST_ROWS_WITH_ALERTS
      ? 0
      : Math.min(Math.max(4, Math.floor(rest / 3)), 2 + Math.max(1, needs.alerts));
  // There is a blank line above the changes and above the alerts.
  const changesNeed = Math.max(FEWEST_CHANGE_ROWS, needs.changes + 1) + 1;
  const bottomNeed = changesNeed + alerts;
  const top = topNeed < usual ? topNeed : Math.min(topNeed, usual + Math.max(0, rest - bottomNeed));
  return { top, alerts, changes: Math.max(0, left - top - alerts) };
}

/**
 * Returns the lines of the board. The number of lines equals the height of the board. No line is
 * wider than the board.
 */
export function boardLines(input: BoardInput, place: BoardPlace): string[] {
  const { panel } = input.view;
  const footer = footerLine(input, place);
  if (place.height === 1) return [footer];
  const rows = Math.max(0, place.height - 2);
  const lines = panelLines(input, place);
  const whole = panel.type === 'fleet' ? lines : withHiddenSign(lines, rows, place);
  const { dialog } = input.view;
  if (dialog === undefined) return [titleLine(input, place), ...fill(whole, rows), footer];
  const asked = dialogLines(dialog, { ...place, height: rows }).slice(0, rows);
  return [titleLine(input, place), ...fill(whole, rows - asked.length), ...asked, footer];
}

/** Returns the lines of the visible panel. */
function panelLines(input: BoardInput, place: BoardPlace): string[] {
  const { panel, home } = input.view;
  if (panel.type === 'help') return helpLines(home === 'map' ? MAP_KEYS : KEYS, place);
  if (panel.type === 'card') return cardLines(input, panel.scroll, place);
  return fleetLines(input, place);
}

/**
 * When some lines do not fit, replaces the last visible line by a line that shows the number of
 * hidden lines.
 */
function withHiddenSign(
  lines: readonly string[],
  rows: number,
  { width, paint }: BoardPlace,
): readonly string[] {
  if (lines.length <= rows || rows < 2) return lines;
  const hidden = lines.length - rows + 1;
  return [...lines.slice(0, rows - 1), paint.dim(cut(`… ${count(hidden, 'more line')}`, width))];
}

/** Shortens a list of lines to `count` lines, or adds empty lines at its end. */
function fill(lines: readonly string[], count: number): string[] {
  return Array.from({ length: Math.max(0, count) }, (_, index) => lines[index] ?? '');
}

function fleetLines(input: BoardInput, place: BoardPlace): string[] {
  const { width, height, paint } = place;
  const heights = shareHeight(height, {
    bicycles: input.fleet.matching,
    changes: input.changes.length,
    alerts: input.alerts.length,
  });
  const top = topLines(input, place, heights.top);
  // Two of these rows are used for the changes heading and the blank line above it.
  const changeRows = Math.max(0, heights.changes - 2);
  const alertRows = heights.alerts;
  const line = { width, terminal: true, zone: input.zone, paint };
  const changes = input.changes.slice(0, Math.max(0, changeRows));
  const lines = [
    trafficLine(input, place),
    doubtLine(input, place),
    ...top,
    '',
    paint.bold(cut(changesHeading(input, changes.length, alertRows > 0), width)),
  ];
  const changeLines = changes.map(({ entry, atMs }) => changeLine(entry, atMs, line));
  lines.push(...fill(changeLines, changeRows));
  if (alertRows === 0) return lines;
  const alerts = drawTable(ALERTS, input.alerts.slice(0, alertRows - 2), {
    width,
    paint,
    now: input.nowMs,
  });
  return [...lines, '', alertsHeading(input, alerts.length, place), ...alerts];
}

/** Returns the heading of the changes. It contains the number of rows that do not fit. */
function changesHeading(
  { changes, alerts }: BoardInput,
  shownCount: number,
  hasAlerts: boolean,
): string {
  const hidden = [
    ...(shownCount < changes.length ? [`newest ${shownCount} of ${changes.length}`] : []),
    ...(hasAlerts || alerts.length === 0 ? [] : [`${count(alerts.length, 'alert')} hidden`]),
  ];
  return ['CHANGES', ...(hidden.length === 0 ? [] : [hidden.join('; ')])].join(GUTTER);
}

/** Returns the line that explains why a comparison is incomplete, or an empty line. */
function doubtLine({ doubt }: BoardInput, { width, paint }: BoardPlace): string {
  if (doubt === undefined) return '';
  const text = `the comparison after the last gap is not complete: ${clean(doubt)}`;
  return paint.yellow(cut(text, width));
}

/**
 * Returns the heading of the alerts. While the list cannot be read, it contains the age of the
 * alerts.
 */
function alertsHeading(
  { alerts, staleAlerts, monotonicMs }: BoardInput,
  shownCount: number,
  { width, paint }: BoardPlace,
): string {
  const title =
    shownCount < alerts.length ? `ALERTS  newest ${shownCount} of ${alerts.length}` : 'ALERTS';
  if (staleAlerts === undefined) return paint.bold(cut(title, width));
  const { readAtMs, reason } = staleAlerts;
  const age = readAtMs === undefined ? 'not read' : `${showDuration(monotonicMs - readAtMs)} old`;
  const mark = cut(`${GUTTER}${age}: ${clean(reason)}`, Math.max(0, width - title.length));
  return `${paint.bold(cut(title, width))}${paint.yellow(mark)}`;
}

/** Returns the lines with the states, and the bicycles next to them. */
function topLines(input: BoardInput, { width, paint }: BoardPlace, rows: number): string[] {
  const { fleet } = input;
  const each = Math.max(0, Math.floor((width - GUTTER.length) / 2));
  const bold = (text: string) => paint.bold(pad(cut(text, each), each));
  const states = hideRows(
    [bold(statesHeading(fleet)), ...stateRows(fleet, each, paint)],
    rows,
    each,
  );
  const bicycles = [bold(bicyclesHeading(input)), ...listRows(input, each, paint)];
  const lines = Array.from({ length: rows }, (_, row) => [
    states[row] ?? ' '.repeat(each),
    bicycles[row] ?? '',
  ]);
  return lines.map((halves) => halves.join(GUTTER).trimEnd());
}

/**
 * Keeps the rows that fit. If some rows do not fit, the last visible row shows the number of hidden
 * states.
 */
function hideRows(lines: readonly string[], rows: number, width: number): readonly string[] {
  if (lines.length <= rows || rows < 2) return lines;
  const hidden = lines.length - rows + 1;
  return [...lines.slice(0, rows - 1), pad(cut(`… ${count(hidden, 'more state')}`, width), width)];
}

function titleLine({ title, nowMs, zone }: BoardInput, { width, paint }: BoardPlace): string {
  const clock = `${showClock(nowMs, zone)} `;
  const name = { text: ` fleet watch ${clean(title)}`, width: width - clock.length - 1 };
  return paint.inverse(cut(drawRow([name, { text: clock }], NO_PAINT), width));
}

function trafficLine(
  { traffic, connections, monotonicMs }: BoardInput,
  { width }: BoardPlace,
): string {
  const { perSecond, messages, lastMessageMs, gapCount, downMs } = traffic;
  const isDown = [...connections.values()].some(
    ({ state, hasStood }) => state === 'lost' && hasStood !== false,
  );
  const last =
    lastMessageMs === undefined ? '' : `, last ${showDuration(monotonicMs - lastMessageMs)} ago`;
  const over = gapCount === 0 ? [] : [`${count(gapCount, 'gap')}, down ${showDuration(downMs)}`];
  const gaps = [...over, ...(isDown ? ['a gap is open'] : [])].join(', ') || 'no gaps';
  return cut(
    `${perSecond.toFixed(perSecond < 10 ? 1 : 0)}/s, ${messages} messages${last}; ${gaps}`,
    width,
  );
}

function statesHeading({ known, total, isWhole }: BoardFleet): string {
  if (isWhole) return `STATES of ${known}`;
  return total === undefined || total <= known
    ? `STATES of ${known} known`
    : `STATES of ${known} known of ${total}`;
}

/**
 * Returns a row for each documented state, followed by rows for other states. The counts are marked
 * as incomplete while some bicycles are still unknown.
 */
function stateRows({ counts, isWhole }: BoardFleet, width: number, paint: Paint): string[] {
  const states = [...new Set<string>([...BICYCLE_STATES, ...[...counts.keys()].sort()])];
  const most = Math.max(1, ...counts.values());
  const stateColumns = Math.max(0, Math.min(STATE_COLUMNS, width - COUNT_COLUMNS - 1) - 1);
  const room = Math.max(0, width - stateColumns - COUNT_COLUMNS - 2);
  const gray = isWhole ? undefined : 'gray';
  return states.map((state) => {
    const count = counts.get(state) ?? 0;
    const number = isWhole ? String(count) : count === 0 ? '?' : `${count}+`;
    const cells: PlacedCell[] = [
      { text: clean(state), width: stateColumns, color: gray },
      { text: drawBar(count / most, room), width: room, color: gray ?? lookOf(state).color },
      { text: number, width: COUNT_COLUMNS, align: 'right', color: gray },
    ];
    return drawRow(cells, paint);
  });
}

function bicyclesHeading({
  view,
  fleet: { rows, matching, known, isWhole, filterProblem },
}: BoardInput): string {
  if (filterProblem !== undefined) return `BICYCLES: ${clean(filterProblem)}`;
  const marks = view.marked.size === 0 ? '' : `${view.marked.size} marked, `;
  const place =
    rows.length < matching
      ? `${view.scroll + 1}-${view.scroll + rows.length} of ${matching}, `
      : '';
  const filter = view.filter === '' ? '' : `: ${matching} of ${known} with "${clean(view.filter)}"`;
  const extent = isWhole ? '' : ', of those known';
  return `BICYCLES ${place}${marks}by ${view.sort}${filter}${extent}`;
}

/** The columns of a list in half of the screen. The name is shortened first. */
const LIST_COLUMNS = {
  state_of_charge: {},
  name: { keep: 4.5, minimum: 8 },
  state: { minimum: 8 },
};
const LIST: Shape<Bicycle> = {
  ...BICYCLES,
  columns: Object.entries(LIST_COLUMNS).flatMap(([field, fit]) =>
    BICYCLES.columns
      .filter((column) => column.field === field)
      .map((column) => ({ ...column, ...fit })),
  ),
};

function listRows({ view, fleet, nowMs }: BoardInput, width: number, paint: Paint): string[] {
  const [heading, ...rows] = drawTable(LIST, fleet.rows, {
    width: width - 2,
    paint,
    now: nowMs,
    hasHeader: true,
  });
  if (heading === undefined) return [];
  const drawn = rows.map((row, index) => {
    const uuid = textOf(fleet.rows[index]?.uuid)?.toLowerCase() ?? '';
    const mark = view.marked.has(uuid) ? '*' : ' ';
    const isSelected = view.scroll + index === view.selected;
    return isSelected ? paint.inverse(`>${mark}${row}`) : ` ${mark}${row}`;
  });
  return [`  ${heading}`, ...drawn];
}

/**
 * Returns the number of open alerts for the bicycle among the newest alerts. Returns undefined when
 * this number is 0.
 */
function countOpenAlerts({ uuid }: Bicycle, alerts: readonly Alert[]) {
  const wanted = textOf(uuid)?.toLowerCase();
  const isAbout = ({ bicycle, state }: Alert) =>
    isOpenState(state) && wholeUuid(String(bicycle ?? '')) === wanted;
  const count = wanted === undefined ? 0 : alerts.filter(isAbout).length;
  return count === 0 ? undefined : { count, isWhole: false };
}

/**
 * Returns the lines of one bicycle's card: its name on the first line, then all its known fields.
 */
function cardLines(
  { fleet: { card }, alerts, nowMs, zone }: BoardInput,
  scroll: number,
  { width, paint }: BoardPlace,
): string[] {
  if (card === undefined) return [cut('nothing is known of this bicycle any more', width)];
  const text = drawCard(
    card,
    { alerts: undefined, changes: [], openAlerts: countOpenAlerts(card, alerts) },
    { width, paint, now: nowMs, zone },
  );
  const [name = '', ...rows] = text.trimEnd().split('\n');
  // A card does not split long words, so a line can be wider than the screen. Such lines are
  // truncated here.
  return [
    name,
    ...rows.slice(scroll).map((row) => (row.includes('\u001b') ? row : cut(row, width))),
  ];
}

/** Returns the key hints that fit, and the state of the connection. */
function footerLine(input: BoardInput, { width, paint }: BoardPlace): string {
  const { view } = input;
  const { text, color } = connectionText(input.connections, input.monotonicMs);
  const hints = view.panel.type === 'fleet' ? FLEET_HINTS : CARD_HINTS;
  // The footer shows the result of an action instead of the connection state. The next keypress
  // restores the connection state.
  if (view.message !== undefined && !view.isTyping) {
    const { mark, text: line } = splitMark(view.message);
    const shown = cut(clean(line), width);
    if (mark === 'done') return paint.green(shown);
    return mark === 'warning' ? paint.yellow(shown) : shown;
  }
  const typing =
    `filter: ${clean(view.filter)}_  ${view.filter === '' ? 'words, charge<20, state=lost' : ''}`.trimEnd();
  const keys = cut(view.isTyping ? typing : keyHints(hints, width - widthOf(text) - 2), width);
  const connection = cut(text, Math.max(0, width - widthOf(keys) - 2));
  const gap = ' '.repeat(Math.max(0, width - widthOf(keys) - widthOf(connection)));
  return `${keys}${gap}${paint[color](connection)}`;
}

/**
 * Returns `count` bicycles that match the filter, starting at index `from`, and the total number of
 * matches.
 *
 * `bicycles` must be in order of their last update, oldest first. The sort order `last change` is
 * the reverse of this order.
 */
export function pickRows(
  bicycles: Iterable<Bicycle>,
  { sort, keep }: { sort: Sort; keep(bicycle: Bicycle): boolean },
  from: number,
  count: number,
): { rows: Bicycle[]; matching: number } {
  const found = Array.from(bicycles, (bicycle, index) => ({
    bicycle,
    key: keyOf(bicycle, sort, index),
  }));
  const kept = found.filter(({ bicycle }) => keep(bicycle));
  kept.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  return {
    rows: kept.slice(from, from + count).map(({ bicycle }) => bicycle),
    matching: kept.length,
  };
}

function keyOf(bicycle: Bicycle, sort: Sort, index: number): number | string {
  // A bicycle whose charge is unknown comes last.
  if (sort === 'charge') return numberOf(bicycle.state_of_charge) ?? Number.POSITIVE_INFINITY;
  if (sort === 'last change') return -index;
  return (textOf(sort === 'name' ? bicycle.name : bicycle.state) ?? '\uffff').toLowerCase();
}
