// Bicycles to be created from a file, which is checked as a whole before anything is sent.

import { BICYCLE_FIELDS, NEW_BICYCLE_FIELDS, type NewBicycle } from '../../api/bicycle.js';
import { isLinkField } from '../../api/links.js';
import { nearest } from '../../cli/nearest.js';
import type { Context } from '../../context.js';
import { FleetError, usageError } from '../../errors.js';
import { readLines } from '../../terminal/stdin.js';
import type { Creation } from '../shared/bulk/plan.js';
import { readRows, Unreadable } from '../shared/input/rows.js';
import { requireOrganization } from '../shared/organization.js';
import { isField, readBicycleFields } from './fields.js';

type Body = Partial<NewBicycle>;

/** Fields that no two bicycles share. */
const UNIQUE_FIELDS = ['serial_number', 'lock'] as const;

/** What is kept of a file. */
const MOST_CHARACTERS = 256 * 1024 * 1024;

/** A file of which every line is wrong is wrong as a whole. */
const MOST_PROBLEMS = 1000;

/** How many more than the first an error says in its hint. */
const PROBLEMS_SHOWN = 10;

/**
 * Reads bicycles from a JSON array, JSON lines or CSV with a header; all of them are kept. `given` are fields that a row does not have; where
 * rows have no organization then, it is found. Throws a FleetError of kind `usage` with everything that is wrong and where, as its detail:
 * unreadable text, unknown fields, missing names, bad links, duplicates.
 */
export async function readNewBicycles(
  context: Context,
  from: string,
  source: string,
  given: Body,
): Promise<Creation[]> {
  let defaults = given;
  const problems: string[] = [];
  const complain = (line: number, message: string) =>
    problems.push(`${source}:${line}: ${message}`);
  const creations: Creation[] = [];
  const lines = new Map<string, number>();
  let characters = 0;
  const isHeader = (names: readonly string[], line: number) => {
    checkNames(names, line);
    if (!names.includes('name')) throw new Unreadable('the header has no column "name"', line);
    return true;
  };
  try {
    for await (const { line, value } of readRows(readLines(context, from), {
      isHeader,
      hasComments: false,
    })) {
      if (typeof value === 'string') throw new Unreadable('an object is expected', line);
      // Before the row is taken: where none can be found, that is no fault of the row.
      if (defaults.organization === undefined && lacksOrganization(value)) {
        const organization = await requireOrganization(context, undefined);
        defaults = { ...defaults, ...(await readBicycleFields(context, { organization })) };
      }
      try {
        const own = await readBody(context, value, line);
        // The row's fields in their order, as keys of journals have them, then those that it lacks.
        const {
          name = '',
          organization = '',
          ...rest
        }: Body = Object.assign({ ...own }, defaults, own);
        const body = { name, organization, ...rest };
        const text = JSON.stringify(body);
        characters += text.length;
        if (characters > MOST_CHARACTERS)
          throw new Unreadable('the file is larger than 256 MB up to here', line);
        refuseTwin(body, text, line, lines);
        creations.push({ row: creations.length + 1, body });
      } catch (error) {
        if (!(error instanceof FleetError) || !['usage', 'not-found'].includes(error.kind))
          throw error;
        complain(line, error.message);
        if (problems.length > MOST_PROBLEMS) break;
      }
    }
    if (problems.length === 0 && creations.length === 0)
      throw new Unreadable('no bicycles found', 1);
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    complain(error.line, error.message);
  }
  if (problems.length > 0) throw wrongRows(problems);
  return creations;
}

function lacksOrganization(row: { [field: string]: unknown }): boolean {
  return !Object.entries(row).some(
    ([name, value]) => value !== null && name.trim().toLowerCase() === 'organization',
  );
}

/** Throws Unreadable for fields of which one cannot be set, or one comes twice. */
function checkNames(names: readonly string[], line: number): void {
  for (const [index, name] of names.entries()) {
    if (!isField(name)) throw new Unreadable(unknownField(name), line);
    if (names.indexOf(name) < index) throw new Unreadable(`"${name}" appears twice`, line);
  }
}

function unknownField(name: string): string {
  if ((BICYCLE_FIELDS as readonly string[]).includes(name))
    return `"${name}" cannot be set: the service assigns it`;
  const meant = nearest(name.replace(/[\s-]+/g, '_'), NEW_BICYCLE_FIELDS);
  const hint =
    meant === undefined
      ? `the fields are ${NEW_BICYCLE_FIELDS.join(', ')}`
      : `did you mean "${meant}"?`;
  return `unknown field "${name}": ${hint}`;
}

/** The fields of a row. Throws Unreadable for names of fields, and a FleetError for what they hold. */
async function readBody(
  context: Context,
  row: { [field: string]: unknown },
  line: number,
): Promise<Body> {
  const fields = Object.entries(row).map(
    ([name, value]) => [name.trim().toLowerCase(), value] as const,
  );
  const names = fields.map(([name]) => name);
  checkNames(names, line);
  const texts = new Map<string, string>();
  for (const [name, value] of fields) {
    if (value === null) continue;
    if (typeof value !== 'string')
      throw usageError(`${name} must be text, not ${JSON.stringify(value).slice(0, 40)}`);
    if (isLinkField(name) && value.trim() === '') throw usageError(`${name} is empty`);
    texts.set(name, value);
  }
  const name = texts.get('name');
  if (name === undefined) throw usageError('the name is missing');
  if (name.trim() === '') throw usageError('the name is empty');
  return readBicycleFields(context, Object.fromEntries(texts));
}

/** Refuses a bicycle that an earlier one is the same as, or has something of that no two can have. `lines` are where each came first. */
function refuseTwin(body: Body, text: string, line: number, lines: Map<string, number>): void {
  const own = UNIQUE_FIELDS.filter((field) => body[field] !== undefined).map(
    (field) => `${field} "${body[field]}"`,
  );
  const twice = [text, ...own].find((unique) => lines.has(unique));
  const what = twice === text ? 'the same bicycle as in' : `${twice} is already that of`;
  if (twice !== undefined) throw usageError(`${what} line ${lines.get(twice)}`);
  for (const unique of [text, ...own]) lines.set(unique, line);
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
