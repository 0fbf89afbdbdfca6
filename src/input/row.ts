// Types for input rows, and the error for an unreadable row.

/** The fields of a row by name. */
export type RowFields = { [field: string]: unknown };

/**
 * One row of an input.
 *
 * - `cells` comes from CSV or a workbook. Each field is a string, or null for an empty cell. A file
 *   with semicolons uses a decimal comma. `hasGuards` means that Excel or `--excel` wrote the file,
 *   so the text `'-1` can mean `-1`.
 * - `object` comes from JSON, JSON lines, YAML or GeoJSON. Values keep their types, and numbers
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
  /** The delimiter of the CSV file; undefined for a workbook. */
  delimiter?: string;
}

/** One row of a sheet, with the row number that Excel shows and the text of its cells. */
export interface SheetRow {
  readonly row: number;
  readonly cells: readonly (string | null)[];
}

/** The position where a row begins: a line of text or a row of a sheet, counted from 1. */
export interface RowPlace {
  unit: 'line' | 'row';
  number: number;
}

/** Returns a position for messages: `line 7` or `row 7`. */
export function describePlace({ unit, number }: RowPlace): string {
  return `${unit} ${number}`;
}

/**
 * Thrown when an input cannot be read. The message describes the problem, and `place` is the row in
 * which it occurred.
 */
export class UnreadableInput extends Error {
  readonly place: RowPlace;

  constructor(message: string, place: RowPlace) {
    super(message);
    this.name = 'UnreadableInput';
    this.place = place;
  }
}
