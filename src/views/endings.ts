// Prints the results of a bulk run: bicycles grouped by outcome and reason.

import { wrap } from '../terminal/cells.js';
import { clean } from '../terminal/clean.js';
import { type Paint, paintIn } from '../terminal/colour.js';
import type { Column } from '../terminal/table.js';
import { ACTIONS, type ChangeResult, type Ended, OUTCOME_COLORS, type Outcome } from './action.js';
import { ID_DIGITS, showId } from './bicycle.js';
import { drawTable } from './rows.js';

export interface EndingsOptions {
  /** Columns of the terminal; undefined where nothing is cut and all are listed. */
  width: number | undefined;
  paint: Paint;
}

/** The bicycles of one group that a terminal shows. */
const MOST_LISTED = 50;

/** What the service calls what was asked for, which is the same for all of them; or which one is meant, which is listed below. */
const SUBJECT =
  /^(?:bicycle|alert) [0-9a-f-]{36} is |^the service (?:refused|could not answer) (?:the new bicycle )?"[^"]*": |^(?:the new bicycle )?"[^"]*" was not found: /;

const NOT_ALLOWED = /^Action '[^']*' not allowed from current state '([^']*)'/;

/** The reason in the service's words, without what differs from bicycle to bicycle; the empty text where there is none. */
export function endReasonOf({ message }: ChangeResult): string {
  return clean(
    (message ?? '').replace(SUBJECT, '').replace(NOT_ALLOWED, 'not allowed from state $1'),
  );
}

/** `33 not allowed from state rented`, and below it which; the groups in the order in which they began. */
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

/** Where each stands in the input, its name, its UUID. */
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

/** A line each, whole for programs. */
function listOf(ended: readonly Ended[], { width, paint }: EndingsOptions): string[] {
  const columns = ENDED_COLUMNS.filter(({ field }) =>
    ended.some((one) => one[field as keyof Ended]),
  );
  const options = { width: width && width - 2, paint, now: 0, isWhole: width === undefined };
  return drawTable({ ...ACTIONS, columns }, ended, options).map((line) => `  ${line}`);
}

/** `✓ Emmy 0001: rented`: one bicycle on which the transition was run. `mark` is drawn for a terminal, empty in a pipe. */
export function showSuccess(
  { name, uuid, state, outcome }: Ended,
  transition: string,
  mark: string,
): string {
  const label = clean(name ?? uuid?.slice(0, ID_DIGITS) ?? '');
  const words = { skipped: `${transition} was done before`, unchanged: 'unchanged' };
  const done = words[outcome as keyof typeof words] ?? `${transition} done`;
  const became = state ?? done;
  return `${mark === '' ? '' : `${mark} `}${label}: ${clean(became)}\n`;
}
