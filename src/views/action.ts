// How the outcome of a transition and of a creation looks.

import { BICYCLE } from '../api/bicycle.js';
import type { Color } from '../terminal/colour.js';
import type { Shape } from '../terminal/formats.js';
import type { Cell, Column } from '../terminal/table.js';
import { showState } from './bicycle.js';

/**
 * The outcomes of a change (cli.md, bicycles act):
 * - `done`: the service accepted it.
 * - `unchanged`: the bicycle already has these values, so nothing was sent.
 * - `refused`: the service rejected it.
 * - `failed`: it was not carried out, and a later attempt may succeed.
 * - `unknown`: it was sent, and no answer shows its outcome.
 * - `skipped`: an earlier run did it, according to the journal.
 * - `not-sent`: the run ended before its turn.
 */
export const OUTCOMES = [
  'done',
  'unchanged',
  'refused',
  'failed',
  'unknown',
  'skipped',
  'not-sent',
] as const;

export type Outcome = (typeof OUTCOMES)[number];

/** Whether an outcome leaves something to do. */
export function isBad(outcome: Outcome): boolean {
  return outcome !== 'done' && outcome !== 'unchanged' && outcome !== 'skipped';
}

/** What is known of a change that was tried; null where nothing is. */
export interface ChangeResult {
  outcome: Outcome;
  /** HTTP status. */
  status: number | null;
  /** The state after it, where the service says it. */
  state: string | null;
  request_id: string | null;
  milliseconds: number | null;
  /** Why it is not done, in the service's words where there are any. */
  message: string | null;
}

/** What became of one bicycle or alert that was to be changed. */
export interface Ended extends ChangeResult {
  /** Of a creation the new bicycle's, where it was created and the service says it. */
  uuid: string | null;
  /** As the input or the answer had it. */
  name: string | null;
  /** The action. */
  transition?: string;
  /** Where a creation stands in the input, from 1 on, the header of a CSV file not included. */
  row?: number;
}

/** The colour of each outcome, in tables and lines alike. */
export const OUTCOME_COLORS: { readonly [name in Outcome]: Color | undefined } = {
  done: 'green',
  refused: 'red',
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
  // The longest outcome, whatever the first row has.
  room: 'unchanged'.length,
  cell: ({ outcome }) => showOutcome(outcome),
};

/** One bicycle: what became of it. */
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

/** Room for a sentence of the service: rows of later batches have other reasons. */
const MESSAGE_ROOM_COLUMNS = 70;

const FAILURE_COLUMNS: readonly Column<ChangeResult>[] = [
  OUTCOME,
  { header: 'STATUS', field: 'status', keep: 3 },
  { header: 'WHY', field: 'message', keep: 4, room: MESSAGE_ROOM_COLUMNS },
  { header: 'REQUEST', field: 'request_id', keep: 1 },
];

/** Many bicycles; the table is meant for those that are not done. */
export const ACTIONS: Shape<Ended> = {
  noun: BICYCLE,
  fields: ACTION_FIELDS,
  columns: [{ header: 'UUID', field: 'uuid', keep: 6 }, ...FAILURE_COLUMNS],
};

/** Many new bicycles; the table is meant for those that are not created. */
export const CREATIONS: Shape<Ended> = {
  noun: BICYCLE,
  fields: ['row', 'name', 'uuid', ...RESULT_FIELDS],
  columns: [
    { header: 'ROW', field: 'row', keep: 6, align: 'right', room: 5 },
    { header: 'NAME', field: 'name', keep: 2, room: 20 },
    ...FAILURE_COLUMNS,
  ],
};
