// The bicycles or alerts on stdin: UUIDs, JSON lines, a JSON array or CSV, read and checked to the end before anything is sent.

import { wholeUuid } from '../../../api/links.js';
import type { Context } from '../../../context.js';
import { type FleetError, usageError } from '../../../errors.js';
import { readLines } from '../../../terminal/stdin.js';
import { shorten } from '../list/pick-one.js';
import { readRows, Unreadable } from './rows.js';
import { findNamedRows, NAMING_FIELDS, type NamedRow, namesOf } from './rows-by-name.js';

/** More than any fleet has; an input that never ends has them at some time. */
const MOST_TARGETS = 1_000_000;

/** A row that names its bicycle or alert; of a plain UUID nothing else is known. */
export interface TargetRow {
  line: number;
  uuid: string;
  fields: { [field: string]: unknown };
  /** Whether its fields are cells of CSV. */
  isRecord: boolean;
  /** The field that named it. */
  namedBy: string;
}

/** How a row may name its bicycle without a UUID: by all columns that can, by the surest of them (the others are values), or not at all. */
export type Naming = 'all' | 'surest' | 'none';

/**
 * Reads stdin row by row; what is a JSON array is read at its end, and so are rows that name their bicycles otherwise, which are looked up
 * together. Throws a FleetError of kind `usage` that names the line, and the signal's reason as soon as it is aborted.
 */
export async function* parseRows(
  context: Context,
  naming: Naming,
): AsyncGenerator<TargetRow, void, undefined> {
  const named: (TargetRow & NamedRow)[] = [];
  const words = naming === 'none' ? ['uuid'] : ['uuid', ...NAMING_FIELDS];
  let count = 0;
  const isHeader = (names: readonly string[], line: number) => {
    const found = names.filter((name) => words.includes(name));
    const twice = found.find((name, index) => found.indexOf(name) !== index);
    if (twice !== undefined) throw new Unreadable(`two columns are named "${twice}"`, line);
    return found.length > 0;
  };
  const rows = readRows(readLines(context, '-'), { isHeader, hasComments: true });
  try {
    for await (const { line, value, isRecord = false } of rows) {
      count += 1;
      if (count > MOST_TARGETS) throw new Unreadable(`more than ${MOST_TARGETS} rows`, line);
      const fields = typeof value === 'string' ? { uuid: value } : value;
      const names = naming === 'none' || (fields['uuid'] ?? '') !== '' ? [] : namesOf(fields);
      const [surest] = names;
      const row = { line, fields, isRecord };
      if (surest === undefined)
        yield { ...row, uuid: readUuid(fields['uuid'], line), namedBy: 'uuid' };
      else
        named.push({
          ...row,
          uuid: '',
          namedBy: surest.field,
          names: naming === 'all' ? names : [surest],
        });
    }
  } catch (error) {
    throw error instanceof Unreadable ? badLine(error.line, error.message) : error;
  }
  if (named.length === 0) return;
  const found = await findNamedRows(context, named);
  for (const row of named) yield { ...row, uuid: found.get(row) ?? '' };
}

/** The UUID of a row; behind it may stand a comment. */
function readUuid(written: unknown, line: number): string {
  const [text = ''] = typeof written === 'string' ? written.split(/\s#/, 1) : [];
  const uuid = wholeUuid(text.trim());
  if (uuid !== undefined) return uuid;
  throw badLine(
    line,
    text.trim() === '' ? '"uuid" is missing or not a UUID' : `"${shorten(text)}" is not a UUID`,
  );
}

export function badLine(number: number, what: string): FleetError {
  return usageError(
    `line ${number} of stdin: ${what}; nothing was sent`,
    'stdin takes UUIDs, JSON lines, a JSON array or CSV with a column "uuid" (or "name"); lists write them with -o uuid, jsonl, json or csv',
  );
}
