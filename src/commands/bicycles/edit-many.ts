// `fleet bicycles edit -` and `--from FILE`: changes fields of many bicycles. The rows of the input
// contain the new values. Each edit is sent at most once.

import {
  NEW_BICYCLE_FIELDS,
  OPERATOR_FIELDS,
  READ_ONLY_BICYCLE_FIELDS,
} from '../../api/bicycle.js';
import { nearest } from '../../cli/nearest.js';
import type { Context } from '../../context.js';
import { FleetError, usageError } from '../../errors.js';
import { type InputSource, nameOfInput } from '../../input/open.js';
import { describePlace, type RowFields } from '../../input/row.js';
import { TEXT_FORMAT_HINT } from '../../input/rows-by-name.js';
import { badRow, readTargets, type TargetRow } from '../../input/targets.js';
import { readExact } from '../../json/exact.js';
import { clean } from '../../terminal/clean.js';
import { isExportOf } from '../../terminal/formats/cell-text.js';
import { firstSegment } from '../../terminal/formats/columns.js';
import { readPath, textOf } from '../../terminal/values.js';
import { ACTIONS } from '../../views/action.js';
import { BICYCLES } from '../../views/bicycle.js';
import type { BicycleFields } from './edit-change.js';
import { carryOutEdits, type Edit, prepareEdit, VERSION_FIELD } from './edit-change.js';
import {
  clearedValue,
  isSameValue,
  readCellValue,
  readObjectValue,
  refuseControlCharacters,
  reportReadOnlyColumns,
  TEXT_FIELDS,
} from './field-values.js';
import { refuseFlags } from './fields.js';
import type { EditOptions } from './flags.js';

/** Headers of fleet's own tables that are not names of writable fields, such as `charge`. */
const TABLE_HEADERS: readonly string[] = BICYCLES.columns
  .map(({ header }) => header.toLowerCase())
  .filter((header) => !TEXT_FIELDS.includes(header));

/** Columns of an exported list that an edit cannot change. */
const READ_ONLY_COLUMNS: readonly string[] = [
  ...new Set([...READ_ONLY_BICYCLE_FIELDS, ...TABLE_HEADERS, 'id']),
];

/**
 * Edits the bicycles of an input. Throws the errors of carryOut, and a FleetError of kind `usage`
 * for rows that cannot be carried out.
 */
export async function editMany(
  context: Context,
  source: InputSource,
  options: EditOptions,
): Promise<void> {
  const fields = [
    'name',
    'description',
    'serialNumber',
    'note',
    'model',
    'lock',
    'organization',
    'field',
  ] as const;
  refuseFlags(options, fields, 'is for one bicycle', 'rows have their fields in columns');
  const name = nameOfInput(source.path);
  const rows = new Map<string, TargetRow>();
  for await (const row of readTargets(context, source, 'first')) {
    const first = rows.get(row.uuid);
    if (first !== undefined)
      throw badRow(name, row.place, `the same bicycle as in ${describePlace(first.place)}`);
    rows.set(row.uuid, row);
  }
  const edits = await readEdits(context, name, [...rows.values()], options);
  const plan = { shape: ACTIONS, isStdin: source.path === '-' };
  await carryOutEdits(context, edits, options, plan, { isAlwaysAsked: true });
}

/**
 * Returns the fields of a row that an edit may change, without read-only fields and the field that
 * identifies the bicycle.
 */
function editableFields({ fields, namedBy }: TargetRow): [string, unknown][] {
  return Object.entries(fields).filter(
    ([field]) => field !== namedBy && !READ_ONLY_COLUMNS.includes(field),
  );
}

/**
 * Reads the current values of the bicycles and determines the changes of each row. Throws a
 * FleetError of kind `usage` for unknown columns and invalid values, and when no column can be
 * edited.
 */
async function readEdits(
  context: Context,
  source: string,
  rows: readonly TargetRow[],
  options: EditOptions,
): Promise<Edit[]> {
  refuseUselessColumns(rows, source);
  const client = await context.client();
  const edits: Edit[] = [];
  const fieldsOfService = new Set(TEXT_FIELDS);
  const isClearing = options.empty === 'clear';
  const work = async (left: IterableIterator<[number, TargetRow]>) => {
    for (const [index, row] of left) {
      const fields = editableFields(row);
      const wantedFor = (before: BicycleFields) => {
        for (const field of Object.keys(before)) fieldsOfService.add(field);
        return readWanted(context, source, row, fields, before, isClearing);
      };
      const asked = Object.fromEntries(fields);
      const edit = await prepareEdit(context, client, row.uuid, wantedFor, asked);
      const version = readVersion(source, row, edit.before[VERSION_FIELD]);
      edits[index] = version === undefined ? edit : { ...edit, version };
    }
  };
  const left = rows.entries();
  await Promise.all(Array.from({ length: options.concurrency }, () => work(left)));
  refuseUnknownColumns(rows, fieldsOfService, { source, isClearing });
  await reportReadOnlyColumns(context, ignoredColumns(rows));
  return edits;
}

/**
 * Returns the version in a row, which is sent with the edit. If another user has saved the bicycle
 * since the export, this version is outdated and the service refuses the edit. Returns undefined
 * when the row has no version or contains the current version.
 *
 * Throws a FleetError of kind `usage` when the service's version is a whole number but the row's
 * version is not.
 */
function readVersion(
  source: string,
  { fields, isCells, place }: TargetRow,
  present: unknown,
): unknown {
  const value = fields[VERSION_FIELD] ?? null;
  if (value === null || value === '') return undefined;
  if (!isCells) return isSameValue(VERSION_FIELD, value, present) ? undefined : value;
  const cell = String(value).trim();
  const isWhole = /^\d+$/.test(cell);
  if (cell === textOf(present) || (isWhole && isExportOf(cell, present))) return undefined;
  if (isWhole) return typeof present === 'string' ? cell : readExact(cell);
  if (typeof present === 'string') return cell;
  throw usageError(
    `${describePlace(place)} of ${source}: ${VERSION_FIELD} "${clean(cell)}" is not a whole number; nothing was sent`,
    TEXT_FORMAT_HINT,
  );
}

/** Returns the new values of a row. Throws a FleetError of kind `usage` with the row number. */
async function readWanted(
  context: Context,
  source: string,
  row: TargetRow,
  fields: readonly (readonly [string, unknown])[],
  before: BicycleFields,
  isClearing: boolean,
): Promise<RowFields> {
  const wanted: [string, unknown][] = [];
  for (const [field, value] of fields) {
    if (isPathInto(before, field)) {
      refuseChangedPath(source, row, field, before);
      continue;
    }
    const present = Object.hasOwn(before, field) ? before[field] : undefined;
    if (row.isCells && value === null) {
      if (isClearing) wanted.push([field, clearedValue(field, present)]);
      continue;
    }
    try {
      const read = row.isCells
        ? await readCellValue(context, field, String(value), present, row)
        : await readObjectValue(context, field, value, present);
      if (read !== present) refuseControlCharacters(field, read);
      wanted.push([field, read]);
    } catch (error) {
      if (!(error instanceof FleetError) || error.kind !== 'usage') throw error;
      throw error.with({
        message: `${describePlace(row.place)} of ${source}: ${error.message}; nothing was sent`,
      });
    }
  }
  return Object.fromEntries(wanted);
}

/** Whether a column is a dotted path into a field, such as `extra.location`. */
function isPathInto(before: BicycleFields, column: string): boolean {
  return column.includes('.') && !Object.hasOwn(before, column);
}

/**
 * Refuses to change the value of a dotted path. An export can contain such paths, but an edit can
 * only replace whole fields.
 */
function refuseChangedPath(
  source: string,
  { fields, isCells, place }: TargetRow,
  path: string,
  before: BicycleFields,
): void {
  const value = fields[path];
  const present = readPath(before, path);
  const isUnchanged = isCells
    ? value === null || isExportOf(String(value), present)
    : isSameValue(path, value, present);
  if (isUnchanged) return;
  const field = firstSegment(path);
  throw usageError(
    `${describePlace(place)} of ${source}: "${clean(path)}" cannot be changed alone; nothing was sent`,
    `remove the column, or write the whole field "${clean(field)}" as JSON`,
  );
}

function refuseUselessColumns(rows: readonly TargetRow[], source: string): void {
  if (rows.length === 0 || rows.some((row) => editableFields(row).length > 0)) return;
  throw usageError(
    `${source} has no column that edit can change`,
    `add fields such as ${NEW_BICYCLE_FIELDS.slice(0, 3).join(', ')}; to change the state, run "fleet bicycles act - TRANSITION"`,
  );
}

/** Throws one error that names all unknown columns. */
function refuseUnknownColumns(
  rows: readonly TargetRow[],
  fieldsOfService: ReadonlySet<string>,
  { source, isClearing }: { source: string; isClearing: boolean },
): void {
  // Empty cells of a known field are ignored. An export has a column for every known field, even
  // when the service does not have the field.
  const isUnused = (row: TargetRow, field: string, value: unknown) =>
    row.isCells && value === null && !isClearing && OPERATOR_FIELDS.some((each) => each === field);
  const columns = new Set(
    rows.flatMap((row) =>
      editableFields(row)
        .filter(([field, value]) => !isUnused(row, field, value))
        .map(([field]) => field),
    ),
  );
  const [first, ...others] = [...columns].filter(
    (column) => !fieldsOfService.has(firstSegment(column)),
  );
  if (first === undefined) return;
  const names = [first, ...others].map((name) => `"${clean(name)}"`).join(', ');
  const meant = others.length === 0 ? nearest(first, TEXT_FIELDS) : undefined;
  throw usageError(
    `unknown ${others.length === 0 ? 'column' : 'columns'} ${names} in ${source}; nothing was sent`,
    `${meant === undefined ? '' : `did you mean "${meant}"? `}columns: ${[...NEW_BICYCLE_FIELDS, ...OPERATOR_FIELDS].join(', ')}; rename a column with --map 'HEADING=FIELD'`,
  );
}

/**
 * Returns the columns of the input that an edit ignores because they are read-only. The version is
 * not among these columns, because it is sent with the edit.
 */
function ignoredColumns(rows: readonly TargetRow[]): Set<string> {
  const columns = new Set<string>();
  for (const { fields, namedBy } of rows)
    for (const field of Object.keys(fields))
      if (field !== namedBy && READ_ONLY_COLUMNS.includes(field)) columns.add(field);
  columns.delete(VERSION_FIELD);
  return columns;
}
