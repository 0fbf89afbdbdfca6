// The interface of the formats: what a renderer gets and returns.

import type { Paint } from '../colour.js';
import type { Column } from '../table.js';
import type { ExcelLocale } from './excel-locale.js';

/** One resource: its JSON text as the service sent it, and its value; the twin of the HTTP room's Item. */
export interface ListedItem<T> {
  readonly json: string;
  readonly value: T;
}

/** What the formats need to know of a kind of resource. */
export interface Shape<T> {
  noun: { readonly one: string; readonly many: string };
  /** The table's columns, in order. None: every field of the first batch. */
  columns: readonly Column<T>[];
  /** The documented fields, in the document's order. None: those of the first batch. */
  fields: readonly string[];
  /** Where the resource is, in degrees; undefined where that is not known. */
  position?(value: T): readonly [longitude: number, latitude: number] | undefined;
  /** Its outline, where it has more than a position: a GeoJSON geometry. */
  geometry?(value: T): object | undefined;
  /** Files of values have every field of the first batch, those of `fields` first. */
  areFieldsOpen?: boolean;
  /** The fields that the position is made of and that GeoJSON need not repeat. */
  positionFields?: readonly string[];
  /** One object instead of a list: a creation, a status. Then there is one row. */
  single?: boolean;
  /** A few rows of our own, such as settings: their cells are wrapped where those of a list are cut. */
  isReport?: boolean;
}

/** One format at work: `begin`, any number of batches, `end`. Each returns text to write as it is; where one is absent there is none. */
export interface Renderer<T> {
  begin?(): string;
  rows(rows: readonly ListedItem<T>[]): string;
  end?(): string;
  /** A file that is whole at the end alone. */
  finish?(): Promise<Buffer>;
  /** After the end: what the operator should know of what is not in the output, a line each. */
  notices?(): string[];
}

export interface RendererOptions {
  /** `--columns`: fields by their dotted path, or headers of the table in any case. */
  columns?: readonly string[] | undefined;
  /** Nothing is cut or shortened: `-o wide` and `--no-truncate`. */
  isWhole?: boolean;
  /** csv for Excel: a byte order mark, the separator and the decimal sign of the locale, and no text that becomes a formula. */
  excel?: ExcelLocale | undefined;
  /** False: no line of headers in tables and files of values. */
  hasHeader?: boolean;
  /** The IANA name of the zone of local times; the machine's zone when absent. */
  timezone?: string | undefined;
  terminal: boolean;
  /** Columns to draw in; undefined where nothing limits the width: a pipe, and `-o wide`. */
  width: number | undefined;
  colorLevel: 0 | 1 | 2 | 3;
  /** Milliseconds since the epoch, for ages. */
  now: number;
}

/** The same, with the paint made. */
export interface RendererTools extends RendererOptions {
  paint: Paint;
}

/** `1 bicycle`, `2 bicycles`. */
export function countNoun(count: number, noun: Shape<unknown>['noun']): string {
  return `${count} ${count === 1 ? noun.one : noun.many}`;
}
