// The interface of the formats: the input and output of a renderer.

import type { Paint } from '../colour.js';
import type { Column } from '../table.js';
import type { ExcelLocale } from './excel-locale.js';

/**
 * A resource: its JSON text as the service sent it, and its value. The same type is `Item` in
 * src/http.
 */
export interface ListedItem<T> {
  readonly json: string;
  readonly value: T;
}

/** The properties of a resource that formats need. */
export interface Shape<T> {
  noun: { readonly one: string; readonly many: string };
  /**
   * The columns of the table, in order. When it is empty, the columns are the fields of the first
   * batch.
   */
  columns: readonly Column<T>[];
  /**
   * Additional columns, which a workbook always contains. Other formats show them only when
   * `--columns` names them.
   */
  furtherColumns?: readonly Column<T>[];
  /** The name of the sheet in a workbook. Default: the noun. */
  sheetName?: string | undefined;
  /** The documented fields, in order. When it is empty, the fields of the first batch are used. */
  fields: readonly string[];
  /** Returns the position in degrees, or undefined when there is no position. */
  position?(value: T): readonly [longitude: number, latitude: number] | undefined;
  /** Returns the outline as a GeoJSON geometry, for resources with more than a position. */
  geometry?(value: T): object | undefined;
  /**
   * Whether a file contains every field of the first batch, not only the documented `fields`. The
   * documented fields come first.
   */
  areFieldsOpen?: boolean;
  /** The fields that contain the position. GeoJSON does not repeat them as properties. */
  positionFields?: readonly string[];
  /** Whether the result is one object instead of a list, such as a created bicycle or a status. */
  single?: boolean;
  /**
   * Whether the rows are a short report, such as settings. Long cells are then wrapped instead of
   * truncated.
   */
  isReport?: boolean;
}

/**
 * A renderer: one call of `begin`, any number of batches, one call of `end`. Each call returns text
 * that is written unchanged.
 */
export interface Renderer<T> {
  begin?(): string;
  rows(rows: readonly ListedItem<T>[]): string;
  end?(): string;
  /**
   * Returns the bytes of a file that can be created only when all rows are known, such as a
   * workbook.
   */
  finish?(): Promise<Buffer>;
  /** Returns notices about content that is missing from the output, one line each. */
  notices?(): string[];
}

export interface RendererOptions {
  /** The fields of `--columns`, as dotted paths, or as table headers in any letter case. */
  columns?: readonly string[] | undefined;
  /** Whether nothing is shortened, as with `-o wide` and `--no-truncate`. */
  isWhole?: boolean;
  /**
   * The locale of a csv file for Excel. The file then has a byte order mark, the locale's separator
   * and decimal sign, and apostrophes before formulas.
   */
  excel?: ExcelLocale | undefined;
  /** Whether tables and files have a header. */
  hasHeader?: boolean;
  /** Returns the heading of a field in a file. Default: the name of the field. */
  headingOf?: ((field: string) => string) | undefined;
  /** The IANA name of the time zone for local times. Default: the machine's zone. */
  timezone?: string | undefined;
  terminal: boolean;
  /** The width of the terminal; undefined in a pipe and with `-o wide`. */
  width: number | undefined;
  colorLevel: 0 | 1 | 2 | 3;
  /** The current time in milliseconds since the epoch, from which ages are computed. */
  now: number;
}

/** The options of a renderer, together with the functions that colour its text. */
export interface RendererTools extends RendererOptions {
  paint: Paint;
}

/** Returns `1 bicycle` or `2 bicycles`. */
export function countNoun(count: number, noun: Shape<unknown>['noun']): string {
  return `${count} ${count === 1 ? noun.one : noun.many}`;
}
