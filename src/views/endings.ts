// Formats the results of a bulk run: bicycles grouped by outcome and reason.

import { wrap } from '../terminal/cells.js';
import { clean } from '../terminal/clean.js';
import { type Paint, paintIn } from '../terminal/colour.js';
import type { Column } from '../terminal/table.js';
import { ACTIONS, type ChangeResult, type Ended, OUTCOME_COLORS, type Outcome } from './action.js';
import { ID_DIGITS, showId } from './bicycle.js';
import { drawTable } from './rows.js';

export interface EndingsOptions {
  /**
   * The width of the terminal. Undefined for other outputs. On those, fleet truncates no line and
   * lists all bicycles.
   */
  width: number | undefined;
  paint: Paint;
}

/** The maximum number of bicycles that a terminal lists for one reason. */
const MOST_LISTED = 50;

/**
 * Matches the part at the start of an error message that names the bicycle or alert. This part is
 * removed, because the bicycles are listed below the reason.
 */
const SUBJECT =
  /^(?:bicycle|alert) [0-9a-f-]{36} is |^the service (?:refused|could not answer) (?:the new bicycle )?"[^"]*": |^(?:the new bicycle )?"[^"]*" was not found: /;

const NOT_ALLOWED = /^Action '[^']*' not allowed from current state '([^']*)'/;

/**
 * Returns the reason in the service's words, without the parts that differ between bicycles. The
 * result is empty when there is no reason.
 */
export function endReasonOf({ message }: ChangeResult): string {
  return clean(
    (message ?? '').replace(SUBJECT, '').replace(NOT_ALLOWED, 'not allowed from state $1'),
  );
}

/**
 * Returns groups such as `33 not allowed from state rented`, with their bicycles, in the order in
 * which they first occur.
 */
export function showEndings(endings: readonly Ended[], options: EndingsOptions): string {
  const { width, paint } = options;
  const groups = new Map<string, { outcome: Outcome; reason: string; ended: Ended[] }>();
  for (const ended of endings) {
    const reason = endReasonOf(ended);
    const key = `${ended.outcome} ${reason}`;
    const group = groups.get(key) ?? { outcome: ended.outcome, reason, ended: [] };
    group.ended.push(ended);
    groups.set(key, group);
  }
  const lines: string[] = [];
  for (const { outcome, reason, ended } of groups.values()) {
    const heading = wrap(headingOf(outcome, reason, ended.length), width, '    ');
    lines.push(...heading.map((line) => paintIn(paint, OUTCOME_COLORS[outcome], line)));
    const shown = width === undefined ? ended : ended.slice(0, MOST_LISTED);
    lines.push(...listOf(shown, options));
    if (shown.length < ended.length)
      lines.push(`  … and ${ended.length - shown.length} more; -o csv lists all`);
  }
  return lines.map((line) => `${line}\n`).join('');
}

function headingOf(outcome: Outcome, reason: string, count: number): string {
  if (outcome === 'refused' && reason.startsWith('not allowed')) return `${count} ${reason}`;
  return `${count} ${outcome.replace('-', ' ')}${reason === '' ? '' : `: ${reason}`}`;
}

/** Columns for the row in the input, the name and the UUID of a bicycle. */
const ENDED_COLUMNS: readonly Column<Ended>[] = [
  {
    header: '',
    field: 'row',
    keep: 3,
    cell: ({ row }) => ({ text: row === undefined ? '' : `row ${row}` }),
  },
  {
    header: '',
    field: 'name',
    keep: 1,
    maximum: 32,
    cell: ({ name }) => ({ text: clean(name ?? '') }),
  },
  {
    header: '',
    field: 'uuid',
    keep: 2,
    cell: ({ uuid }, at) => (uuid === null ? { text: '' } : showId(uuid, at)),
  },
];

/** Returns one line for each bicycle. Lines for programs are not truncated. */
function listOf(ended: readonly Ended[], { width, paint }: EndingsOptions): string[] {
  const columns = ENDED_COLUMNS.filter(({ field }) =>
    ended.some((one) => one[field as keyof Ended]),
  );
  const options = { width: width && width - 2, paint, now: 0, isWhole: width === undefined };
  return drawTable({ ...ACTIONS, columns }, ended, options).map((line) => `  ${line}`);
}

/** Returns a line such as `✓ Emmy 0001: rented` for one bicycle. `mark` is empty in a pipe. */
export function showSuccess(
  { name, uuid, state, outcome }: Ended,
  transition: string,
  mark: string,
): string {
  const label = clean(name?.trim() || uuid?.slice(0, ID_DIGITS) || 'bicycle');
  const words = { skipped: `${transition} was done before`, unchanged: 'unchanged' };
  const done = words[outcome as keyof typeof words] ?? `${transition} done`;
  const became = state ?? done;
  return `${mark === '' ? '' : `${mark} `}${label}: ${clean(became)}\n`;
}
