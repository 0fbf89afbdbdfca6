// How the outcome of a transition looks.

import type { Shape } from '../terminal/formats.js';
import { stateColor } from './bicycle.js';

/** What became of one bicycle (cli.md, bicycles act). */
export interface ActionResult {
  uuid: string;
  transition: string;
  outcome: string;
  /** HTTP status. */
  status: number | null;
  /** The state after it, when the service told. */
  state: string | null;
  request_id: string | null;
  milliseconds: number | null;
}

export const ACTIONS: Shape<ActionResult> = {
  noun: { one: 'bicycle', many: 'bicycles' },
  fields: ['uuid', 'transition', 'outcome', 'status', 'state', 'request_id', 'milliseconds'],
  single: true,
  columns: [
    { header: 'TRANSITION', field: 'transition', keep: 3, cell: ({ transition }) => ({ text: transition }) },
    { header: 'OUTCOME', field: 'outcome', keep: 5, cell: ({ outcome }) => ({ text: outcome }) },
    {
      header: 'STATE',
      field: 'state',
      keep: 4,
      cell: ({ state }) => ({ text: state ?? '-', ...(state === null ? {} : stateColor(state)) }),
    },
    { header: 'REQUEST', field: 'request_id', keep: 1, cell: ({ request_id }) => ({ text: request_id ?? '-' }) },
    { header: 'UUID', field: 'uuid', keep: 2, cell: ({ uuid }) => ({ text: uuid }) },
  ],
};
