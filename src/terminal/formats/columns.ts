// `--columns`: chooses the fields of tables and files, and their names.

import { unknownWord } from '../../cli/nearest.js';
import { usageError } from '../../errors.js';
import { isObject } from '../../json/parse.js';
import { clean } from '../clean.js';
import { type CellContext, type Column, cellOf } from '../table.js';
import { age, readTime } from '../time.js';
import { MISSING, readPath, textOf } from '../values.js';
import type { RendererTools, Shape } from './renderer.js';

/**
 * Assumed: fields with these names contain times. Only `created`, `modified` and
 * `latest_gps_timestamp` are documented in the interface.
 */
const TIME_FIELD = /(?:^|[._])(?:created|modified|timestamp|at|time)$/;

/** Whether a field contains times, by its name. */
export function isTimeField(path: string): boolean {
  return TIME_FIELD.test(path);
}

/** Returns a column for a field without special formatting. */
function fieldColumn<T>(path: string, keep: number): Column<T> {
  const isTime = isTimeField(path);
  return {
    header: clean(path.toUpperCase()),
    field: path,
    keep,
    cell(value, at) {
      const inner = readPath(value, path);
      if (isTime && at.terminal && readTime(inner) !== undefined)
        return { text: age(inner, at.now) };
      return { text: clean(textOf(inner) ?? MISSING) };
    },
    ...(path === 'uuid' || path.endsWith('_uuid') ? { minimum: 36 } : {}),
  };
}

function pickField<T>(shape: Shape<T>, path: string, keep: number): Column<T> {
  const view = shape.columns.find((column) => column.field === path);
  if (view === undefined) return fieldColumn<T>(path, keep);
  const header = path.toUpperCase();
  const maximum =
    view.maximum === undefined ? {} : { maximum: Math.max(view.maximum, header.length) };
  return { ...view, header, keep, ...maximum };
}

/**
 * Chooses the columns when the first values arrive: the columns that the user typed, otherwise
 * `own`. Throws (exit 2) immediately for a column that cannot exist. For a column that the first
 * values do not have, throws when these values arrive.
 */
function findColumns<T>(
  shape: Shape<T>,
  words: readonly string[] | undefined,
  own: (values: readonly T[]) => readonly Column<T>[],
): (values: readonly T[]) => readonly Column<T>[] {
  if (words === undefined) return own;
  const { columns, doubtful } = pickColumns(words, shape);
  return (values) => {
    if (values.length > 0) checkColumns(doubtful, values, shape);
    return columns;
  };
}

/**
 * Returns the columns of a table: the columns that the user typed, the columns of the shape, or
 * every field of the first values.
 */
export function openTableColumns<T>(shape: Shape<T>, words: readonly string[] | undefined) {
  const own = (values: readonly T[]) => fieldColumns(fieldsOf(values), shape);
  return findColumns(shape, words, shape.columns.length > 0 ? () => shape.columns : own);
}

/** Returns the first field of a dotted path. */
export function firstSegment(path: string): string {
  return path.split('.', 1)[0] ?? path;
}

/**
 * Returns the columns of `--columns`. First looks for a documented field, or a path that begins
 * with a documented field. Then looks for a table header, and then for a field name, both ignoring
 * case. Any other word can be a field that only the service knows. On a narrow terminal the last
 * columns are dropped first.
 */
function pickColumns<T>(
  words: readonly string[],
  shape: Shape<T>,
): { columns: Column<T>[]; doubtful: string[] } {
  const doubtful: string[] = [];
  const wanted = words.flatMap((word) => word.split(',')).flatMap((word) => word.trim() || []);
  if (wanted.length === 0)
    throw usageError('--columns needs at least one column', `columns: ${shape.fields.join(', ')}`);
  const columns = wanted.map((word, index): Column<T> => {
    const keep = wanted.length - index;
    const lower = word.toLowerCase();
    const isKnown = shape.fields.includes(firstSegment(word));
    const view = viewsOf(shape).find(
      (column) => column.header.toLowerCase() === lower || column.field === word,
    );
    if (!isKnown && view !== undefined) return { ...view, keep, isAsked: true };
    const field = isKnown ? word : shape.fields.find((name) => name.toLowerCase() === lower);
    if (field === undefined) doubtful.push(word);
    return { ...pickField(shape, field ?? word, keep), isAsked: true };
  });
  return { columns, doubtful };
}

/**
 * Throws (exit 2) for a column that is neither in the interface nor in the first batch. The error
 * suggests the most similar name and lists all names.
 */
function checkColumns<T>(doubtful: readonly string[], values: readonly T[], shape: Shape<T>): void {
  for (const word of doubtful) {
    if (hasField(values, word)) continue;
    throw unknownWord('column', firstSegment(word), [
      ...new Set([...shape.fields, ...fieldsOf(values).map(clean)]),
    ]);
  }
}

/** Whether a value has the field or the first field of the dotted path. */
export function hasField(values: readonly unknown[], path: string): boolean {
  return values.some(
    (value) =>
      isObject(value) && (Object.hasOwn(value, path) || Object.hasOwn(value, firstSegment(path))),
  );
}

/** Returns all columns that have special formatting. */
function viewsOf<T>({ columns, furtherColumns = [] }: Shape<T>): readonly Column<T>[] {
  return [...columns, ...furtherColumns];
}

/** Whether a column shows a single field unchanged. */
function isField<T>({ field }: Column<T>, shape: Shape<T>): boolean {
  return (
    shape.fields.includes(firstSegment(field)) ||
    viewsOf(shape).every((column) => column.field !== field)
  );
}

/** Returns the fields of the values, in the order in which they first occur. */
export function fieldsOf<T>(values: readonly T[]): string[] {
  const fields = new Set<string>();
  for (const value of values) {
    if (isObject(value)) for (const field of Object.keys(value)) fields.add(field);
  }
  return [...fields];
}

/** Returns a column for each field, in order. */
export function fieldColumns<T>(fields: readonly string[], shape: Shape<T>): Column<T>[] {
  return fields.map((field, index) => pickField(shape, field, fields.length - index));
}

/**
 * Returns the columns of a file: the documented fields, or the fields of the values with the
 * documented fields first.
 */
function fieldsOfFile<T>(shape: Shape<T>, values: readonly T[]): Column<T>[] {
  const { fields, areFieldsOpen } = shape;
  if (fields.length > 0 && areFieldsOpen !== true) return fieldColumns(fields, shape);
  const found = fieldsOf(values);
  const first = fields.filter((field) => found.includes(field));
  return fieldColumns([...first, ...found.filter((field) => !fields.includes(field))], shape);
}

/** The columns of a file, and the values of a row. */
interface FileCells<T> {
  /** The names of the fields. */
  readonly names: readonly string[];
  /** The header. */
  readonly headings: readonly string[];
  /** Whether the cells of each column are web addresses. */
  readonly areLinks: readonly boolean[];
  read(value: T): unknown[];
}

/**
 * Returns the columns of a file and a function that reads the cells of a row. The columns are
 * chosen when the first values arrive. Missing values are null. The columns of `further` come after
 * the columns of the fields. With `--columns`, they are omitted.
 */
export function openFileCells<T>(
  shape: Shape<T>,
  tools: RendererTools,
  further: readonly Column<T>[] = [],
) {
  const columnsOf = findColumns(shape, tools.columns, (values) => [
    ...fieldsOfFile(shape, values),
    ...further,
  ]);
  const { headingOf = (field: string) => field } = tools;
  const at: CellContext = { now: tools.now, terminal: false };
  const readerOf = (column: Column<T>) => {
    if (isField(column, shape)) return (value: T) => readPath(value, column.field);
    return (value: T) => {
      const { text } = cellOf(column, value, at);
      return text === MISSING ? null : text;
    };
  };
  let found: FileCells<T> | undefined;
  return (values: readonly T[]) => {
    if (found !== undefined) return found;
    const columns = columnsOf(values);
    const readers = columns.map(readerOf);
    found = {
      names: columns.map(({ field }) => clean(field)),
      headings: columns.map(({ field }) => clean(headingOf(field))),
      areLinks: columns.map(({ isLink = false }) => isLink),
      read: (value) => readers.map((read) => read(value)),
    };
    return found;
  };
}
