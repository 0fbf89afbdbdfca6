// The records of a journal as rows.

import type { Shape } from '../terminal/formats.js';
import { type ChangeResult, showOutcome } from './action.js';
import { showId, timeColumn } from './bicycle.js';

/** A row about one request. The response values are null when there was no response. */
export interface JournalRow
  extends Pick<ChangeResult, 'status' | 'state' | 'request_id' | 'message' | 'outcome'> {
  uuid: string | null;
  /** The position of a created bicycle's row in the input file. */
  row?: number;
  name: string | null;
  /**
   * The state before the change, or the values that an edit replaced; null when the journal does
   * not contain them.
   */
  before: string | null;
  /** The state after the change, or the new values; null when the change was not carried out. */
  after: string | null;
  at: string | null;
  run: string;
  /** The evidence that proves the outcome. Null when the outcome is unknown. */
  how: string | null;
}

export type JournalShape = Shape<JournalRow>;

export function journalShape(noun: JournalShape['noun']): JournalShape {
  return {
    noun,
    fields: [
      'uuid',
      'row',
      'name',
      'outcome',
      'at',
      'run',
      'how',
      'status',
      'state',
      'request_id',
      'message',
    ],
    columns: [
      {
        header: 'ID',
        programHeader: 'UUID',
        field: 'uuid',
        keep: 8,
        cell: ({ uuid, row }, at) => (uuid === null ? { text: `row ${row}` } : showId(uuid, at)),
      },
      { header: 'NAME', field: 'name', keep: 6 },
      { header: 'OUTCOME', field: 'outcome', keep: 9, cell: ({ outcome }) => showOutcome(outcome) },
      { header: 'HOW', field: 'how', keep: 7 },
      { ...timeColumn('AGE', 'at', 5), programHeader: 'AT' },
      { header: 'STATE', field: 'state', keep: 3 },
      { header: 'STATUS', field: 'status', keep: 2 },
      { header: 'RUN', field: 'run', keep: 1 },
      { header: 'REQUEST', field: 'request_id', keep: 0 },
    ],
  };
}
