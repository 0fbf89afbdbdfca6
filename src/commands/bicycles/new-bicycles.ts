// Bicycles to be created, from flags or from a file that is checked as a whole before anything is sent.

import { createHash } from 'node:crypto';
import { BICYCLE_FIELDS, NEW_BICYCLE_FIELDS, type NewBicycle } from '../../api/bicycle.js';
import { isLinkField, type LinkField, resourceLink } from '../../api/links.js';
import { nearest } from '../../cli/nearest.js';
import { FleetError } from '../../errors.js';
import { type PlacedField, type PlacedRow, readCsvRows, readJsonRows, type Spot, Unreadable } from '../bulk/placed.js';
import type { Creation } from '../bulk/plan.js';

type Field = (typeof NEW_BICYCLE_FIELDS)[number];

/** Fields that no two bicycles share. */
const UNIQUE_FIELDS = ['serial_number', 'lock'] as const;

/** How many of the things that are wrong are shown. */
const PROBLEMS_SHOWN = 10;

/** What is wrong, and where. */
interface Problem {
  spot: Spot;
  message: string;
}

/** What a linked resource becomes: a URL as it is, a UUID as a URL below the base; undefined for anything else. */
export function readLink(baseUrl: URL, field: LinkField, text: string): string | undefined {
  const link = resourceLink(baseUrl, field, text.trim());
  return URL.canParse(link) ? link : undefined;
}

/** The identity of a row in a journal: its number and a hash of what is sent. */
export function keyOfRow({ row, body }: Creation): string {
  return `${row}:${createHash('sha256').update(JSON.stringify(body)).digest('hex').slice(0, 16)}`;
}

/**
 * Reads bicycles from a JSON array, JSON lines or CSV with a header, UTF-8 with or without a byte order mark. Fields that a row does
 * not have come from `defaults`. Throws a FleetError of kind `usage` with everything that is wrong and where, as its detail:
 * unreadable text, unknown fields, missing names, bad links, duplicates.
 */
export function readNewBicycles(
  bytes: Uint8Array,
  source: string,
  baseUrl: URL,
  defaults: Partial<Record<Field, string>>,
): { rows: Creation[]; warnings: string[] } {
  const problems: Problem[] = [];
  let placed: PlacedRow[] = [];
  try {
    placed = readRows(bytes, problems);
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    problems.push({ spot: error.spot, message: error.message });
  }
  const rows = problems.length > 0 ? [] : placed.map((row, index) => readRow(row, index + 1));
  if (problems.length === 0) checkDuplicates(rows, placed, problems);
  if (problems.length > 0) throw complain(source, problems);
  return { rows, warnings: findSameNames(rows, placed) };

  function readRow({ spot, fields }: PlacedRow, row: number): Creation {
    const given = new Map<Field, string>();
    for (const field of fields) {
      const name = NEW_BICYCLE_FIELDS.find((known) => known === field.name.trim().toLowerCase());
      if (name === undefined) problems.push({ spot: field.nameSpot, message: unknownField(field.name) });
      else if (given.has(name)) problems.push({ spot: field.nameSpot, message: `"${name}" appears twice` });
      else if (field.value !== null) readField(name, field, given);
    }
    for (const name of NEW_BICYCLE_FIELDS) {
      const fallback = defaults[name];
      if (fallback !== undefined && !given.has(name)) given.set(name, fallback);
    }
    const { name, organization, ...rest } = Object.fromEntries(given) as Partial<NewBicycle>;
    const isWrongAlready = (wanted: string) => fields.some((field) => field.name === wanted && field.value !== null);
    if (name === undefined && !isWrongAlready('name')) problems.push({ spot, message: 'the name is missing' });
    if (organization === undefined && !isWrongAlready('organization')) {
      problems.push({ spot, message: 'no organization: give it in the file, with --organization or in the settings' });
    }
    return { row, body: { name: name ?? '', organization: organization ?? '', ...rest } };
  }

  function readField(name: Field, { value, valueSpot }: PlacedField, given: Map<Field, string>): void {
    const wrong = (message: string) => problems.push({ spot: valueSpot, message });
    if (typeof value !== 'string') wrong(`${name} must be text, not ${JSON.stringify(value).slice(0, 40)}`);
    else if (name === 'name' && value.trim() === '') wrong('the name is empty');
    else if (isLinkField(name)) {
      const link = readLink(baseUrl, name, value);
      if (link === undefined) wrong(`${name} is neither a URL nor a UUID: "${value}"`);
      else given.set(name, link);
    } else given.set(name, value);
  }
}

function readRows(bytes: Uint8Array, problems: Problem[]): PlacedRow[] {
  const text = decode(bytes);
  if (/^\s*[[{]/.test(text)) {
    const rows = readJsonRows(text);
    if (rows.length === 0) problems.push({ spot: { line: 1, column: 1 }, message: 'no bicycles found' });
    return rows;
  }
  const { header, rows } = readCsvRows(text);
  // Once for the header, not once for every row.
  const names = header.map((cell) => cell.text);
  for (const [index, { text: name, spot }] of header.entries()) {
    if (!(NEW_BICYCLE_FIELDS as readonly string[]).includes(name)) problems.push({ spot, message: unknownField(name) });
    else if (names.indexOf(name) < index) problems.push({ spot, message: `"${name}" appears twice` });
  }
  if (problems.length === 0 && !names.includes('name')) {
    problems.push({ spot: { line: 1, column: 1 }, message: 'the header has no column "name"' });
  }
  if (problems.length === 0 && rows.length === 0) {
    problems.push({ spot: { line: 1, column: 1 }, message: 'no bicycles found' });
  }
  return rows;
}

/** UTF-8 without its byte order mark. Throws Unreadable with the first line that is none: a spreadsheet may write another encoding. */
function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    const lines = Buffer.from(bytes).toString('utf8').split('\n');
    const index = lines.findIndex((line) => line.includes('\uFFFD'));
    const column = (lines[index]?.indexOf('\uFFFD') ?? 0) + 1;
    throw new Unreadable('this is not UTF-8: save the file as UTF-8', { line: index + 1, column });
  }
}

function unknownField(name: string): string {
  if ((BICYCLE_FIELDS as readonly string[]).includes(name)) return `"${name}" cannot be set: the service assigns it`;
  const meant = nearest(name.replace(/[\s-]+/g, '_'), NEW_BICYCLE_FIELDS);
  const hint = meant === undefined ? `the fields are ${NEW_BICYCLE_FIELDS.join(', ')}` : `did you mean "${meant}"?`;
  return `unknown field "${name}": ${hint}`;
}

function checkDuplicates(rows: readonly Creation[], placed: readonly PlacedRow[], problems: Problem[]): void {
  const spotOf = (index: number, field?: string): Spot => {
    const row = placed[index];
    return row?.fields.find(({ name }) => name === field)?.valueSpot ?? row?.spot ?? { line: 1, column: 1 };
  };
  const first = new Map<string, number>();
  const isFirst = (key: string, index: number): number | undefined => {
    const before = first.get(key);
    if (before === undefined) first.set(key, index);
    return before;
  };
  for (const [index, { body }] of rows.entries()) {
    const same = isFirst(JSON.stringify(body), index);
    if (same !== undefined) {
      problems.push({ spot: spotOf(index), message: `the same bicycle as in line ${spotOf(same).line}` });
      continue;
    }
    for (const field of UNIQUE_FIELDS) {
      const value = body[field];
      const before = value === undefined ? undefined : isFirst(`${field} ${value}`, index);
      if (before === undefined) continue;
      const message = `${field} "${value}" is already that of line ${spotOf(before, field).line}`;
      problems.push({ spot: spotOf(index, field), message });
    }
  }
}

/** Two bicycles may have one name; that it was meant is not certain. */
function findSameNames(rows: readonly Creation[], placed: readonly PlacedRow[]): string[] {
  const lines = new Map<string, number[]>();
  for (const [index, { body }] of rows.entries()) {
    lines.set(body.name, [...(lines.get(body.name) ?? []), placed[index]?.spot.line ?? 0]);
  }
  return [...lines]
    .filter(([, where]) => where.length > 1)
    .slice(0, PROBLEMS_SHOWN)
    .map(
      ([name, where]) =>
        `the name "${name}" stands in lines ${where.slice(0, 5).join(', ')}${where.length > 5 ? ', …' : ''}`,
    );
}

function complain(source: string, problems: readonly Problem[]): FleetError {
  const inOrder = [...problems].sort((a, b) => a.spot.line - b.spot.line || a.spot.column - b.spot.column);
  const lines = inOrder.map(({ spot, message }) => `${source}:${spot.line}:${spot.column}: ${message}`);
  const [first = ''] = lines;
  return new FleetError('usage', lines.length === 1 ? first : `${first} (and ${lines.length - 1} more)`, {
    detail: lines,
    hint: 'nothing was sent; fix the file and run the command again',
  });
}

/** The lines of such an error beyond the first, as many as help. */
export function furtherProblems(error: FleetError): string[] {
  const lines = Array.isArray(error.detail) ? error.detail.map(String) : [];
  const more = lines.length > PROBLEMS_SHOWN ? [`and ${lines.length - PROBLEMS_SHOWN} more`] : [];
  return lines.length < 2 ? [] : [...lines.slice(0, PROBLEMS_SHOWN), ...more];
}
