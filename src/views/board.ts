// The live board of a watch: everything that is known and has just happened, as the lines of one screen.

import type { Alert } from '../api/alert.js';
import { BICYCLE_STATES, type Bicycle } from '../api/bicycle.js';
import type { Gap } from '../http/stream/events.js';
import { cut, pad, widthOf } from '../terminal/cells.js';
import { clean } from '../terminal/clean.js';
import type { Paint } from '../terminal/colour.js';
import { age, showDuration } from '../terminal/time.js';
import { numberOf, textOf } from '../terminal/values.js';
import { alertStateColor, showAlertBicycle } from './alert.js';
import { showCharge, showText, stateColor } from './bicycle.js';
import { changeLine, type Sight, showClock } from './change.js';

/** One topic's connection. */
export interface BoardConnection {
  topic: string;
  /** `connecting` until it stands for the first time and while a try is under way. */
  state: 'connecting' | 'open' | 'lost';
  /** When it came into this state, in milliseconds since the epoch. */
  since: number;
  /** Why it was lost, and when the next try is. */
  message?: string;
  retryAt?: number;
}

export interface BoardFacts {
  /** Milliseconds since the epoch. */
  now: number;
  startedAt: number;
  offsetMinutes: number;
  connections: readonly BoardConnection[];
  messages: number;
  lastMessageAt: number | undefined;
  /** Messages in each of the last seconds, the present one last. */
  perSecond: readonly number[];
  /** Bicycles by state, those that are known. */
  counts: ReadonlyMap<string, number>;
  /** How many bicycles the service has, when a list has said so. */
  total: number | undefined;
  /** Known bicycles with the lowest charges, the lowest first. */
  lowest: readonly Bicycle[];
  /** The newest first. */
  alerts: readonly { alert: Alert; at: number }[];
  changes: readonly { sight: Sight; at: number }[];
  gaps: readonly Gap[];
  gapCount: number;
  blindMs: number;
}

export interface BoardPlace {
  width: number;
  height: number;
  paint: Paint;
}

/** From this width on the gaps have a column of their own. */
const WIDE_COLUMNS = 110;
/** Below this width the lowest charges have no room beside the states. */
const NARROW_COLUMNS = 60;
/** Seconds that the rate is the mean of: long enough to be read, short enough to follow. */
const RATE_SECONDS = 10;
const SPARKS = '▁▂▃▄▅▆▇█';
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
/** The longest state, `unrecoverable`, and a space. */
const STATE_COLUMNS = 15;
const COUNT_COLUMNS = 6;

/** The lines of the board: exactly as many as the height, none wider than the width. */
export function boardLines(facts: BoardFacts, place: BoardPlace): string[] {
  const { width, height, paint } = place;
  const isWide = width >= WIDE_COLUMNS;
  const lines = [
    titleLine(facts, place),
    ...connectionLines(facts, place),
    rateLine(facts, place),
    gapLine(facts, place, isWide),
    '',
  ];
  const left = height - lines.length;
  const states = stateRows(facts);
  const topRows = Math.min(states.length + 1, Math.max(0, Math.floor(left / 2)));
  if (topRows > 1) {
    const gutter = 2;
    const columns = isWide ? 3 : width < NARROW_COLUMNS ? 1 : 2;
    const each = Math.floor((width - gutter * (columns - 1)) / columns);
    const blocks = [
      block(statesHeading(facts), barRows(states, each, paint), each, topRows, paint),
      ...(columns > 1 ? [block('LOWEST CHARGE', lowestRows(facts, each, paint), each, topRows, paint)] : []),
      ...(isWide ? [block('GAPS', gapRows(facts, each), each, topRows, paint)] : []),
    ];
    for (let row = 0; row < topRows; row++) {
      lines.push(
        blocks
          .map((rows) => rows[row] ?? ' '.repeat(each))
          .join(' '.repeat(gutter))
          .trimEnd(),
      );
    }
    lines.push('');
  }
  const rest = height - lines.length;
  const alertRows = rest >= 8 ? Math.max(3, Math.floor(rest / 4)) : 0;
  const changeRows = rest - alertRows - (alertRows > 0 ? 1 : 0);
  if (changeRows > 1) {
    lines.push(paint.bold('CHANGES'));
    const linePlace = { width, terminal: true, offsetMinutes: facts.offsetMinutes, paint };
    const shown = facts.changes.slice(0, changeRows - 1).map(({ sight, at }) => changeLine(sight, at, linePlace));
    lines.push(...fill(shown, changeRows - 1));
  }
  if (alertRows > 0) {
    lines.push('', paint.bold('ALERTS'));
    lines.push(
      ...fill(
        facts.alerts.slice(0, alertRows - 1).map((told) => alertLine(told, facts, place)),
        alertRows - 1,
      ),
    );
  }
  return fill(lines, height).slice(0, height);
}

function fill(lines: readonly string[], count: number): string[] {
  return [...lines, ...Array.from({ length: Math.max(0, count - lines.length) }, () => '')];
}

/** Text at the left and at the right end of a line; the left one gives way. */
function spread(left: string, right: string, width: number): string {
  const room = Math.max(0, width - widthOf(right) - 1);
  return cut(`${pad(cut(left, room), room)} ${right}`, width);
}

function titleLine(facts: BoardFacts, { width, paint }: BoardPlace): string {
  const topics = facts.connections.map(({ topic }) => clean(topic)).join(' ');
  const right = `${showClock(facts.now, facts.offsetMinutes)} `;
  return paint.inverse(spread(` fleet watch ${topics}`, right, width));
}

/** One line for all connections that stand, else one for the first that does not. */
function connectionLines({ connections, now, lastMessageAt }: BoardFacts, { width, paint }: BoardPlace): string[] {
  const open = connections.filter(({ state }) => state === 'open');
  const odd = connections.find(({ state }) => state !== 'open');
  const last = lastMessageAt === undefined ? 'no message yet' : `last message ${showDuration(now - lastMessageAt)} ago`;
  if (odd === undefined) {
    const since = Math.max(...open.map((connection) => connection.since));
    const many = connections.length > 1 ? ` on all ${connections.length} topics` : '';
    return [paint.green(cut(`● connected${many} for ${showDuration(now - since)}, ${last}`, width))];
  }
  const how = connections.length > 1 ? `${open.length} of ${connections.length} topics connected; ` : '';
  if (odd.state === 'connecting')
    return [paint.yellow(cut(`○ ${how}connecting for ${showDuration(now - odd.since)}`, width))];
  const again = odd.retryAt === undefined ? '' : `, again in ${showDuration(Math.max(0, odd.retryAt - now))}`;
  return [
    paint.red(cut(`○ ${how}lost for ${showDuration(now - odd.since)}${again}: ${clean(odd.message ?? '')}`, width)),
  ];
}

function rateLine({ perSecond, messages, now, startedAt }: BoardFacts, { width }: BoardPlace): string {
  const recent = perSecond.slice(-RATE_SECONDS);
  const seconds = Math.max(1, Math.min(RATE_SECONDS, (now - startedAt) / 1000));
  const rate = recent.reduce((sum, number) => sum + number, 0) / seconds;
  const most = Math.max(1, ...perSecond);
  const sparks = perSecond
    .slice(-Math.max(10, Math.min(60, width - 50)))
    .map((number) => SPARKS[Math.min(7, Math.ceil((number / most) * 8) - 1)] ?? ' ')
    .join('');
  return cut(
    `${rate < 10 ? rate.toFixed(1) : Math.round(rate)} messages/s ${sparks} ${messages} in all`,
    width,
  ).trimEnd();
}

function gapLine(
  { gapCount, gaps, blindMs, offsetMinutes }: BoardFacts,
  { width, paint }: BoardPlace,
  isWide: boolean,
): string {
  const last = gaps[0];
  if (last === undefined) return paint.gray('no gaps');
  const count = `${gapCount} ${gapCount === 1 ? 'gap' : 'gaps'}, blind for ${showDuration(blindMs)} in all`;
  return paint.yellow(cut(isWide ? count : `${count}; last ${gapText(last, offsetMinutes)}`, width));
}

function gapText(gap: Gap, offsetMinutes: number): string {
  const length = gap.durationMs > 0 ? ` (${showDuration(gap.durationMs)})` : '';
  return `${showClock(gap.fromWallMs, offsetMinutes)}${length}: ${clean(gap.message)}`;
}

function block(heading: string, rows: readonly string[], width: number, height: number, paint: Paint): string[] {
  return [paint.bold(pad(cut(heading, width), width)), ...fill(rows, height - 1).slice(0, height - 1)].map((row) =>
    row === '' ? ' '.repeat(width) : row,
  );
}

function statesHeading({ counts, total }: BoardFacts): string {
  const known = [...counts.values()].reduce((sum, count) => sum + count, 0);
  return `STATES of ${known}${total === undefined || total <= known ? '' : ` known of ${total}`}`;
}

/** The documented states first, also those that no bicycle is in; then whatever else came. */
function stateRows({ counts }: BoardFacts): (readonly [state: string, count: number])[] {
  const others = [...counts.keys()].filter((state) => !(BICYCLE_STATES as readonly string[]).includes(state));
  return [...BICYCLE_STATES, ...others.sort()].map((state) => [state, counts.get(state) ?? 0] as const);
}

function barRows(rows: readonly (readonly [string, number])[], width: number, paint: Paint): string[] {
  const most = Math.max(1, ...rows.map(([, count]) => count));
  const stateColumns = Math.min(STATE_COLUMNS, width - COUNT_COLUMNS);
  const room = width - stateColumns - COUNT_COLUMNS;
  return rows.map(([state, count]) => {
    const { color } = stateColor(state);
    const eighths = Math.round((count / most) * room * 8);
    const bar = '█'.repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? '');
    const painted = color === undefined ? bar : paint[color](bar);
    const name = pad(cut(clean(state), stateColumns - 1), stateColumns);
    return `${name}${painted}${' '.repeat(room - widthOf(bar))}${pad(String(count), COUNT_COLUMNS, 'right')}`;
  });
}

function lowestRows({ lowest, now }: BoardFacts, width: number, paint: Paint): string[] {
  const nameColumns = Math.max(8, width - 6 - STATE_COLUMNS);
  return lowest.map((bicycle) => {
    const { text, color } = showCharge(bicycle.state_of_charge, { now, terminal: true });
    const charge = pad(text, 5, 'right');
    const name = pad(cut(clean(textOf(bicycle.name) ?? textOf(bicycle.uuid) ?? ''), nameColumns - 1), nameColumns);
    const state = showText(bicycle.state).text;
    const row = `${color === undefined ? charge : paint[color](charge)} ${name}`;
    return `${row}${pad(cut(state, width - 6 - nameColumns), width - 6 - nameColumns)}`;
  });
}

function gapRows({ gaps, offsetMinutes }: BoardFacts, width: number): string[] {
  return gaps.map((gap) => pad(cut(gapText(gap, offsetMinutes), width), width));
}

function alertLine(
  { alert, at }: { alert: Alert; at: number },
  facts: BoardFacts,
  { width, paint }: BoardPlace,
): string {
  const state = { ...showText(alert.state), ...alertStateColor(alert.state) };
  const time = pad(age(new Date(at).toISOString(), facts.now), 11);
  const head = `${time}${pad(cut(showAlertBicycle(alert).text, 16), 16)} `;
  if (width < NARROW_COLUMNS) return cut(`${time}${showText(alert.alert_type).text} ${state.text}`, width);
  const rest = cut(
    `${showText(alert.alert_type).text}  ${showText(alert.message).text}`,
    Math.max(0, width - widthOf(head) - 11),
  );
  return `${head}${state.color === undefined ? pad(state.text, 10) : paint[state.color](pad(state.text, 10))} ${rest}`.trimEnd();
}

/** The bicycles with the lowest known charges, the lowest first. */
export function lowestCharges(bicycles: Iterable<Bicycle>, count: number): Bicycle[] {
  const lowest: { charge: number; bicycle: Bicycle }[] = [];
  for (const bicycle of bicycles) {
    const charge = numberOf(bicycle.state_of_charge);
    if (charge === undefined) continue;
    const last = lowest[count - 1];
    if (last !== undefined && charge >= last.charge) continue;
    const at = lowest.findIndex((other) => charge < other.charge);
    lowest.splice(at === -1 ? lowest.length : at, 0, { charge, bicycle });
    if (lowest.length > count) lowest.pop();
  }
  return lowest.map(({ bicycle }) => bicycle);
}
