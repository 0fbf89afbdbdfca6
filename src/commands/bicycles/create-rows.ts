// Reads the bicycles to create from a file. The whole file is checked before any request is sent.

import {
  BICYCLE,
  type Bicycle,
  NEW_BICYCLE_FIELDS,
  type NewBicycle,
  OPERATOR_FIELDS,
  READ_ONLY_BICYCLE_FIELDS,
} from '../../api/bicycle.js';
import { isLinkField } from '../../api/links.js';
import type { Creation } from '../../bulk/plan.js';
import { nearest } from '../../cli/nearest.js';
import type { Context } from '../../context.js';
import { FleetError, usageError } from '../../errors.js';
import { removeFormulaGuard } from '../../input/csv.js';
import { type InputSource, nameOfInput, readInputRows } from '../../input/open.js';
import { type InputRow, type RowFields, type RowPlace, UnreadableInput } from '../../input/row.js';
import { refuseRepeatedNames } from '../../input/targets.js';
import { readExact, spellingOf, writeJson, writtenNumber } from '../../json/exact.js';
import { parseJson } from '../../json/parse.js';
import { requireOrganization, scopeOf } from '../../list/organization.js';
import { clean } from '../../terminal/clean.js';
import { textOf } from '../../terminal/values.js';
import { BICYCLES } from '../../views/bicycle.js';
import {
  refuseControlCharacters,
  refuseScientificNumber,
  reportReadOnlyColumns,
} from './field-values.js';
import { isField, readBicycleFields } from './fields.js';

type Body = Partial<NewBicycle>;

/** Fields whose values must be unique for each bicycle. */
const UNIQUE_FIELDS = ['serial_number', 'lock'] as const;

/** The maximum total length of all request bodies, which are kept in memory. */
const MOST_CHARACTERS = 256 * 1024 * 1024;

/** Reading stops after this many problems. */
const MOST_PROBLEMS = 1000;

/** The maximum number of further problems that an error lists after the first problem. */
const PROBLEMS_SHOWN = 10;

/** The fields that a row can set. */
const SETTABLE_FIELDS: readonly string[] = [...NEW_BICYCLE_FIELDS, ...OPERATOR_FIELDS];

/** Columns of an exported list that cannot be set when a bicycle is created. */
const READ_ONLY_COLUMNS: ReadonlySet<string> = new Set(
  [
    ...READ_ONLY_BICYCLE_FIELDS,
    ...BICYCLES.columns.map(({ header }) => header.toLowerCase()),
  ].filter((column) => !SETTABLE_FIELDS.includes(column)),
);

/**
 * Reads bicycles from an input into memory. `given` contains values for fields that a row does not
 * have. For rows that still have no organization, the organization is looked up.
 *
 * Throws a FleetError of kind `usage` with every problem and its place, such as invalid text,
 * unknown columns, missing names, invalid links and duplicates.
 */
export async function readNewBicycles(
  context: Context,
  source: InputSource,
  given: Body,
): Promise<Creation[]> {
  const name = nameOfInput(source.path);
  const reader = new CreationReader(context, name, given);
  const isHeader = (columns: readonly string[], place: RowPlace) => {
    refuseRepeatedNames(columns, place);
    if (!columns.includes('name'))
      throw new UnreadableInput('the header has no column "name"', place);
    for (const column of columns) reader.noteColumn(column, place);
    return true;
  };
  try {
    for await (const row of readInputRows(context, source, { isHeader, hasComments: false })) {
      await reader.add(row);
      if (reader.problems.length > MOST_PROBLEMS) break;
    }
    if (reader.problems.length === 0 && reader.creations.length === 0)
      throw new UnreadableInput('no bicycles found', { unit: 'line', number: 1 });
  } catch (error) {
    if (!(error instanceof UnreadableInput)) throw error;
    reader.complain(error.place, error.message);
  }
  await reader.checkColumns();
  if (reader.problems.length > 0) throw wrongRows(reader.problems);
  await reader.reportReadOnlyColumns();
  return reader.creations;
}

/** Collects the bicycles to create from a file, and the problems in the file. */
class CreationReader {
  readonly creations: Creation[] = [];
  readonly problems: string[] = [];
  readonly #context: Context;
  readonly #source: string;
  #defaults: Body;
  #characters = 0;
  /** The row in which each body, serial number and lock occurred first. */
  readonly #places = new Map<string, RowPlace>();
  /**
   * Columns that cannot be set when a bicycle is created, and unknown columns. The place of each
   * unknown column is the place where it first occurred.
   */
  readonly #readOnly = new Set<string>();
  readonly #unknown = new Map<string, RowPlace>();

  constructor(context: Context, source: string, given: Body) {
    this.#context = context;
    this.#source = source;
    this.#defaults = given;
  }

  complain({ number }: RowPlace, message: string): void {
    this.problems.push(`${this.#source}:${number}: ${message}`);
  }

  /** Adds a row's bicycle, or records why the row is invalid. */
  async add(row: InputRow): Promise<void> {
    const { place } = row;
    if (row.kind === 'text') throw new UnreadableInput('an object is expected', place);
    const fields = this.#settableFields(
      row.kind === 'cells' && row.hasGuards ? withoutGuards(row.fields) : row.fields,
      place,
    );
    await this.#findOrganization(fields);
    try {
      const own = await this.#readBody(fields, row.kind === 'cells');
      // The row's fields are spread twice. The first spread puts them before the defaults, and the
      // second one makes their values override the defaults.
      const all: Body = { ...own, ...this.#defaults, ...own };
      const { name = '', organization = '', ...rest } = all;
      const body = { name, organization, ...rest };
      const text = writeJson(body);
      this.#characters += text.length;
      if (this.#characters > MOST_CHARACTERS)
        throw new UnreadableInput('the file is larger than 256 MB up to here', place);
      this.#refuseTwin(body, text, place);
      this.creations.push({ row: this.creations.length + 1, body });
    } catch (error) {
      const isProblem = error instanceof FleetError && ['usage', 'not-found'].includes(error.kind);
      if (!isProblem) throw error;
      this.complain(place, error.message);
    }
  }

  /** Returns the fields that can be set, by their names in lower case. */
  #settableFields(row: RowFields, place: RowPlace): Map<string, unknown> {
    const fields = new Map<string, unknown>();
    for (const [written, value] of Object.entries(row)) {
      const name = written.trim().toLowerCase();
      if (fields.has(name)) throw new UnreadableInput(`"${name}" appears twice`, place);
      if (SETTABLE_FIELDS.includes(name)) fields.set(name, value);
      else this.noteColumn(name, place);
    }
    return fields;
  }

  /**
   * Records a column that cannot be set when a bicycle is created. Ignores columns that can be set.
   */
  noteColumn(name: string, place: RowPlace): void {
    if (name === '' || SETTABLE_FIELDS.includes(name)) return;
    if (READ_ONLY_COLUMNS.has(name)) this.#readOnly.add(name);
    else if (!this.#unknown.has(name)) this.#unknown.set(name, place);
  }

  /**
   * Looks up the default organization for rows without an organization. If this fails, the command
   * ends, and no problem is recorded for the row.
   */
  async #findOrganization(fields: ReadonlyMap<string, unknown>): Promise<void> {
    const isGiven = (fields.get('organization') ?? null) !== null;
    if (isGiven || this.#defaults.organization !== undefined) return;
    const organization = await requireOrganization(this.#context, undefined);
    const found = await readBicycleFields(this.#context, { organization });
    this.#defaults = { ...this.#defaults, ...found };
  }

  /** Reads the values of a row. Throws a FleetError of kind `usage` or `not-found`. */
  async #readBody(fields: ReadonlyMap<string, unknown>, isCells: boolean): Promise<Body> {
    const texts = new Map<string, string>();
    const others: { [field: string]: unknown } = {};
    for (const [field, value] of fields) {
      if (value === null) continue;
      if (!isField(field) && field !== 'note') {
        others[field] = isCells ? readCell(field, String(value)) : value;
        continue;
      }
      const text = textOfField(field, value);
      if (isCells) refuseScientificNumber(field, text);
      if (isLinkField(field) && text.trim() === '') throw usageError(`${field} is empty`);
      refuseControlCharacters(field, text);
      texts.set(field, text);
    }
    const name = texts.get('name');
    if (name === undefined) throw usageError('the name is missing');
    if (name.trim() === '') throw usageError('the name is empty');
    const note = texts.get('note');
    texts.delete('note');
    const body = await readBicycleFields(this.#context, Object.fromEntries(texts));
    return { ...body, ...(note === undefined ? {} : { note }), ...others };
  }

  /** Refuses a row that repeats an earlier bicycle, or that repeats a value of a unique field. */
  #refuseTwin(body: Body, text: string, place: RowPlace): void {
    const own = UNIQUE_FIELDS.filter((field) => (body[field] ?? '') !== '').map(
      (field) => `${field} "${body[field]}"`,
    );
    const twice = [text, ...own].find((unique) => this.#places.has(unique));
    if (twice !== undefined) {
      const what = twice === text ? 'the same bicycle as in' : `${twice} is already used in`;
      const { unit, number } = this.#places.get(twice) ?? place;
      throw usageError(`${what} ${unit} ${number}`);
    }
    for (const unique of [text, ...own]) this.#places.set(unique, place);
  }

  /**
   * Records one problem for all unknown columns. Ignores a column when the service's bicycles have
   * a field of this name. The field then exists, but it cannot be set for a new bicycle.
   */
  async checkColumns(): Promise<void> {
    if (this.#unknown.size === 0) return;
    const ofService = await this.#fieldsOfService();
    const unknown: string[] = [];
    let first: RowPlace | undefined;
    for (const [name, place] of this.#unknown) {
      if (ofService.has(name)) {
        this.#readOnly.add(name);
        continue;
      }
      unknown.push(name);
      first ??= place;
    }
    if (first !== undefined) this.complain(first, describeUnknown(unknown));
  }

  /** Returns the fields that bicycles of the service have. Empty when no bicycle can be read. */
  async #fieldsOfService(): Promise<Set<string>> {
    const context = this.#context;
    const list = {
      path: BICYCLE.listPath,
      query: await scopeOf(context),
      subject: 'the list of bicycles',
    };
    const names = new Set<string>();
    for await (const { items } of (await context.client()).pages<Bicycle>(list)) {
      for (const { value } of items) for (const name of Object.keys(value)) names.add(name);
      break;
    }
    return names;
  }

  reportReadOnlyColumns(): Promise<void> {
    return reportReadOnlyColumns(this.#context, this.#readOnly);
  }
}

/**
 * Removes the apostrophe before text that looks like a formula. Excel and `--excel` write this
 * apostrophe, so that a spreadsheet does not evaluate the text.
 */
function withoutGuards(fields: { [column: string]: string | null }): RowFields {
  return Object.fromEntries(
    Object.entries(fields).map(([name, cell]) => [name, cell && removeFormulaGuard(cell)]),
  );
}

/** Returns the value of a field as text. A number keeps all its digits. */
function textOfField(field: string, value: unknown): string {
  if (typeof value === 'string') return value;
  const isNumber = typeof value === 'number' || writtenNumber(value) !== undefined;
  if (isNumber) return spellingOf(value) ?? textOf(value) ?? '';
  throw usageError(`${field} must be text, not ${writeJson(value).slice(0, 40)}`);
}

/**
 * Parses a cell of a field whose value is a list or an object, such as `tags`. The cell contains
 * JSON.
 */
function readCell(field: string, cell: string): unknown {
  try {
    parseJson(cell);
  } catch {
    throw usageError(`${field} must be JSON such as ["a"], not "${clean(cell.slice(0, 40))}"`);
  }
  return readExact(cell);
}

function describeUnknown(names: readonly string[]): string {
  const shown = names.map((name) => `"${clean(name)}"`).join(', ');
  const [only = '', ...others] = names;
  const meant =
    others.length === 0 ? nearest(only.replace(/[\s-]+/g, '_'), SETTABLE_FIELDS) : undefined;
  const hint =
    meant === undefined
      ? `the fields are ${SETTABLE_FIELDS.join(', ')}; rename a column with --map 'HEADING=FIELD'`
      : `did you mean "${meant}"?`;
  return `unknown ${others.length === 0 ? 'field' : 'fields'} ${shown}: ${hint}`;
}

function wrongRows(problems: readonly string[]): FleetError {
  const [first, ...others] = problems;
  return new FleetError(
    'usage',
    others.length === 0 ? `${first}` : `${first} (and ${others.length} more)`,
    {
      detail: problems,
      more: others.slice(0, PROBLEMS_SHOWN),
      hint: 'nothing was sent; fix the file and run the command again',
    },
  );
}
