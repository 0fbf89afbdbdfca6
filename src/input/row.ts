// One row of an input file, and the error for a row that cannot be read.

/** The fields of a row, by their names. */
export type RowFields = { [field: string]: unknown };

/**
 * One row of an input.
 * - `cells` comes from CSV or a workbook: every field is a text, or null when the cell is empty. A
 *   file with semicolons has a decimal comma. With `hasGuards`, Excel or `--excel` wrote the file,
 *   so that `'-1` can mean `-1`.
 * - `object` comes from JSON, JSON lines, YAML or GeoJSON: values keep their types, and numbers
 *   keep their digits (`readExact`).
 * - `text` is a line of plain text, such as a UUID.
 */
export type InputRow =
  | CellRow
  | { place: RowPlace; kind: 'object'; fields: RowFields }
  | { place: RowPlace; kind: 'text'; text: string };

/** A row of CSV or of a workbook. */
export interface CellRow {
  place: RowPlace;
  kind: 'cells';
  fields: { [column: string]: string | null };
  hasGuards: boolean;
  /** The character between the columns of CSV; undefined for a workbook. */
  delimiter?: string;
}

/** One row of a sheet: its number as Excel shows it, and its cells as texts. */
export interface SheetRow {
  readonly row: number;
  readonly cells: readonly (string | null)[];
}

/** Where a row begins: at a line of a text, or at a row of a sheet. Both are counted from 1. */
export interface RowPlace {
  unit: 'line' | 'row';
  number: number;
}

/** `line 7` or `row 7`. */
export function describePlace({ unit, number }: RowPlace): string {
  return `${unit} ${number}`;
}

/** An input that cannot be read. The message describes the problem, and `place` is the row. */
export class UnreadableInput extends Error {
  readonly place: RowPlace;

  constructor(message: string, place: RowPlace) {
    super(message);
    this.name = 'UnreadableInput';
    this.place = place;
  }
}
