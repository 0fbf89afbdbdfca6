// How the end of a bulk run looks to people: bicycles grouped by what became of them and why, the whole reason first, then which.

import { pad, widthOf } from '../terminal/cells.js';
import { clean } from '../terminal/clean.js';
import type { Paint } from '../terminal/colour.js';
import { type ChangeResult, OUTCOME_COLORS, type Outcome } from './action.js';

/** What is shown of one bicycle. */
export interface Ended extends ChangeResult {
  uuid: string | null;
  name: string | null;
  /** Where it stands in the input of a creation. */
  row?: number;
}

export interface EndingsOptions {
  /** Columns of the terminal; undefined where nothing is cut and all are listed. */
  width: number | undefined;
  paint: Paint;
}

/** The bicycles of one group that a terminal shows. */
const MOST_LISTED = 50;

/** The digits of a UUID that a terminal shows: enough to find it again. */
const SHOWN_DIGITS = 8;

/** Longer names push nothing aside. */
const LONGEST_NAME_COLUMNS = 32;

const OUTCOME_TEXT: { readonly [name in Outcome]: string } = {
  done: 'done',
  allowed: 'would be allowed',
  refused: 'refused',
  failed: 'failed',
  unknown: 'unknown',
  skipped: 'skipped',
  'not-sent': 'not sent',
};

/** What the service calls what was asked for, which is the same for all of them; or which one is meant, which is listed below. */
const SUBJECT =
  /^(?:bicycle|alert) [0-9a-f-]{36} is |^the service (?:refused|could not answer|does not know) (?:the new bicycle )?"[^"]*": /;

const NOT_ALLOWED = /^(?:actions: )?Action '[^']*' not allowed from current state '([^']*)'/;

/** The reason in the service's words, without what stands in it for every bicycle; the empty text where there is none. */
export function reasonOf({ message }: ChangeResult): string {
  return clean((message ?? '').replace(SUBJECT, '').replace(NOT_ALLOWED, 'not allowed from state $1'));
}

/** `33 not allowed from state rented`, and below it which; the groups in the order in which they began. */
export function showEndings(endings: readonly Ended[], { width, paint }: EndingsOptions): string {
  const groups = new Map<string, { outcome: Outcome; reason: string; ended: Ended[] }>();
  for (const ended of endings) {
    const reason = reasonOf(ended);
    const key = `${ended.outcome} ${reason}`;
    const group = groups.get(key) ?? { outcome: ended.outcome, reason, ended: [] };
    group.ended.push(ended);
    groups.set(key, group);
  }
  const lines: string[] = [];
  for (const { outcome, reason, ended } of groups.values()) {
    const color = OUTCOME_COLORS[outcome];
    const heading = wrap(headingOf(outcome, reason, ended.length), width);
    lines.push(...heading.map((line) => (color === undefined ? line : paint[color](line))));
    const shown = width === undefined ? ended : ended.slice(0, MOST_LISTED);
    lines.push(...listOf(shown, width));
    if (shown.length < ended.length) lines.push(`  … and ${ended.length - shown.length} more; -o csv lists all`);
  }
  return lines.map((line) => `${line}\n`).join('');
}

function headingOf(outcome: Outcome, reason: string, count: number): string {
  if (outcome === 'refused' && reason.startsWith('not allowed')) return `${count} ${reason}`;
  return reason === '' ? `${count} ${OUTCOME_TEXT[outcome]}` : `${count} ${OUTCOME_TEXT[outcome]}: ${reason}`;
}

function listOf(ended: readonly Ended[], width: number | undefined): string[] {
  const cells = ended.map(({ name, uuid, row }) => ({
    name: [...(row === undefined ? [] : [`row ${row}`]), ...(name === null ? [] : [clean(name)])].join('  '),
    id: uuid === null ? '' : width === undefined ? uuid : uuid.slice(0, SHOWN_DIGITS),
  }));
  const widest = Math.min(LONGEST_NAME_COLUMNS, Math.max(0, ...cells.map(({ name }) => widthOf(name))));
  return cells.map(
    ({ name, id }) =>
      `  ${[...(widest === 0 ? [] : [id === '' ? name : pad(name, widest)]), ...(id === '' ? [] : [id])].join('  ')}`,
  );
}

/** `✓ Emmy 0001: rented`: one bicycle on which the transition was run. */
export function showSuccess({ name, uuid, state, outcome }: Ended, transition: string, paint: Paint): string {
  const label = clean(name ?? uuid?.slice(0, SHOWN_DIGITS) ?? '');
  const became =
    outcome === 'allowed'
      ? `${transition} would be allowed`
      : state === null
        ? `${transition} ${outcome === 'skipped' ? 'was done before' : 'done'}`
        : state;
  return `${paint.green('✓')} ${label}: ${clean(became)}\n`;
}

/** The text in lines of at most that many columns, those behind the first indented; one word may be wider. */
function wrap(text: string, width: number | undefined): string[] {
  if (width === undefined) return [text];
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line !== '' && widthOf(longer) > width) {
      lines.push(line);
      line = `    ${word}`;
    } else line = longer;
  }
  return [...lines, line];
}
