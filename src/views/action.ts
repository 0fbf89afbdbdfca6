// The columns and colours for the outcomes of transitions and of created bicycles.

import { BICYCLE } from '../api/bicycle.js';
import type { Color } from '../terminal/colour.js';
import type { Shape } from '../terminal/formats.js';
import type { Cell, Column } from '../terminal/table.js';
import { showState } from './bicycle.js';

/**
 * The outcomes of a change (cli.md, bicycles act):
 * - `done`: the service accepted it.
 * - `unchanged`: the bicycle already had these values, so nothing was sent.
 * - `refused`: the service rejected it.
 * - `changed`: another user changed the bicycle after it was read, so nothing was sent.
 * - `gone`: the service no longer shows the plan's bicycle, so nothing was sent.
 * - `failed`: the change was definitely not carried out, and a later attempt may succeed.
 * - `unknown`: the change was sent, and no response proves its outcome.
 * - `skipped`: an earlier run carried it out, according to the journal.
 * - `not-sent`: the run ended before this task was sent.
 */
export const OUTCOMES = [
  'done',
  'unchanged',
  'refused',
  'changed',
  'gone',
  'failed',
  'unknown',
  'skipped',
  'not-sent',
] as const;

export type Outcome = (typeof OUTCOMES)[number];

/** Whether this outcome still needs action from the operator. */
export function isBad(outcome: Outcome): boolean {
  return outcome !== 'done' && outcome !== 'unchanged' && outcome !== 'skipped';
}

/** The result of an attempted change. Unknown values are null. */
export interface ChangeResult {
  outcome: Outcome;
  /** The HTTP status of the response. */
  status: number | null;
  /** The state after the change, if the response contains it. */
  state: string | null;
  request_id: string | null;
  milliseconds: number | null;
  /** The reason why the change was not carried out, in the service's words if possible. */
  message: string | null;
}

/** The result for one bicycle or alert. */
export interface Ended extends ChangeResult {
  /** The UUID of a newly created bicycle, if the response contains it. */
  uuid: string | null;
  /** The name from the input or the response. */
  name: string | null;
  /** The action. */
  transition?: string;
  /** The position of the new bicycle's row in the input, counted from 1 without the header. */
  row?: number;
}

/** The colour of each outcome, in tables and lines. */
export const OUTCOME_COLORS: { readonly [name in Outcome]: Color | undefined } = {
  done: 'green',
  refused: 'red',
  changed: 'yellow',
  gone: 'yellow',
  failed: 'red',
  unknown: 'yellow',
  unchanged: 'gray',
  skipped: 'gray',
  'not-sent': 'gray',
};

export function showOutcome(outcome: Outcome): Cell {
  return { text: outcome, color: OUTCOME_COLORS[outcome] };
}

const RESULT_FIELDS = ['outcome', 'status', 'state', 'request_id', 'milliseconds', 'message'];
const ACTION_FIELDS = ['uuid', 'name', 'transition', ...RESULT_FIELDS];

const OUTCOME: Column<Pick<ChangeResult, 'outcome'>> = {
  header: 'OUTCOME',
  field: 'outcome',
  keep: 5,
  // The width of the longest outcome. The table reserves this width, because a later row may have
  // that outcome.
  room: 'unchanged'.length,
  cell: ({ outcome }) => showOutcome(outcome),
};

/** The result for one bicycle. */
export const ACTION: Shape<Ended> = {
  noun: BICYCLE,
  fields: ACTION_FIELDS,
  single: true,
  columns: [
    { header: 'TRANSITION', field: 'transition', keep: 3 },
    OUTCOME,
    { header: 'STATE', field: 'state', keep: 4, cell: ({ state }) => showState(state) },
    { header: 'REQUEST', field: 'request_id', keep: 1 },
    { header: 'UUID', field: 'uuid', keep: 2 },
  ],
};

/**
 * The width that the table reserves for service messages, because a later row may have a longer
 * message.
 */
const MESSAGE_ROOM_COLUMNS = 70;

const FAILURE_COLUMNS: readonly Column<ChangeResult>[] = [
  OUTCOME,
  { header: 'STATUS', field: 'status', keep: 3 },
  { header: 'WHY', field: 'message', keep: 4, room: MESSAGE_ROOM_COLUMNS },
  { header: 'REQUEST', field: 'request_id', keep: 1 },
];

/**
 * Describes the table with the results for many bicycles. It shows only bicycles whose change was
 * not completed.
 */
export const ACTIONS: Shape<Ended> = {
  noun: BICYCLE,
  fields: ACTION_FIELDS,
  columns: [{ header: 'UUID', field: 'uuid', keep: 6 }, ...FAILURE_COLUMNS],
};

/**
 * Describes the table with the results for many new bicycles. It only shows bicycles that were not
 * created.
 */
export const CREATIONS: Shape<Ended> = {
  noun: BICYCLE,
  fields: ['row', 'name', 'uuid', ...RESULT_FIELDS],
  columns: [
    { header: 'ROW', field: 'row', keep: 6, align: 'right', room: 5 },
    { header: 'NAME', field: 'name', keep: 2, room: 20 },
    ...FAILURE_COLUMNS,
  ],
};
