// The history of a bicycle. Each row is a change or a gap.

import { clean } from '../terminal/clean.js';
import type { Shape } from '../terminal/formats.js';
import type { Cell } from '../terminal/table.js';
import { lookOf, showText, timeColumn } from './bicycle.js';

/** A change of a field, or a gap. The field of a gap is null. */
export interface HistoryRow {
  at: string;
  field: string | null;
  old: unknown;
  new: unknown;
  transition: string | null;
  /** The author of the change: the author's name if it is known, otherwise an identifier. */
  by: string | null;
  /** The source of the entry: `service`, or `push` or `list` for a change from a mirror. */
  source: string | null;
  version: unknown;
  /**
   * Describes a gap and its length. For a bicycle that appeared in the list or disappeared from it,
   * describes this event instead.
   */
  note: string | null;
}

const LONGEST_CELL_CHARACTERS = 200;

export const HISTORY: Shape<HistoryRow> = {
  noun: { one: 'change', many: 'changes' },
  fields: ['at', 'field', 'old', 'new', 'transition', 'by', 'source', 'version', 'note'],
  columns: [
    { ...timeColumn('WHEN', 'at', 6), programHeader: 'AT' },
    { header: 'FIELD', field: 'field', keep: 5 },
    {
      header: 'OLD',
      field: 'old',
      keep: 3,
      minimum: 9,
      cell: ({ field, old }) => showValue(field, old),
    },
    {
      header: 'NEW',
      field: 'new',
      keep: 4,
      minimum: 9,
      cell: (entry) => showValue(entry.field, entry.new),
    },
    { header: 'TRANSITION', field: 'transition', keep: 3.5, minimum: 18, maximum: 28 },
    { header: 'BY', field: 'by', keep: 2.5, maximum: 32 },
    { header: 'SOURCE', field: 'source', keep: 1 },
    { header: 'NOTE', field: 'note', keep: 2, cell: ({ note }) => ({ text: clean(note ?? '') }) },
  ],
};

function showValue(field: string | null, value: unknown): Cell {
  const cell = showText(value, LONGEST_CELL_CHARACTERS);
  return field === 'state' ? { ...cell, color: lookOf(value).color } : cell;
}
