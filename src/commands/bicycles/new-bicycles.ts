// Bicycles to be created, from flags or from a file that is checked as a whole before anything is sent.

import { createHash } from 'node:crypto';
import { BICYCLE_FIELDS, NEW_BICYCLE_FIELDS, type NewBicycle } from '../../api/bicycle.js';
import { isLinkField, type LinkField, resourceLink } from '../../api/links.js';
import { nearest } from '../../cli/nearest.js';
import { FleetError, usageError } from '../../errors.js';
import { type PlacedRow, readCsvRows, readJsonRows, type Spot, Unreadable } from '../bulk/placed.js';
import type { Creation } from '../bulk/plan.js';

/** The flags that give the fields of a bicycle. */
export interface FieldFlags {
  name?: string;
  organization?: string;
  model?: string;
  lock?: string;
  serialNumber?: string;
  description?: string;
}

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
function readLink(baseUrl: URL, field: LinkField, text: string): string | undefined {
  const link = resourceLink(baseUrl, field, text.trim());
  return URL.canParse(link) ? link : undefined;
}

/** The fields that flags give; an empty text is sent as it is. Throws a usage error for a link that is neither a URL nor a UUID. */
export function readFlags(
  baseUrl: URL,
  { name, organization, model, lock, serialNumber, description }: FieldFlags,
): Partial<NewBicycle> {
  const given = { name, organization, model, lock, serial_number: serialNumber, description };
  const fields = Object.entries(given).flatMap(([field, text]) => {
    if (text === undefined) return [];
    const value = isLinkField(field) && text !== '' ? readLink(baseUrl, field, text) : text;
    if (value === undefined) throw usageError(`--${field} takes a URL or a UUID, not "${text}"`);
    return [[field, value]];
  });
  return Object.fromEntries(fields);
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
  defaults: Partial<NewBicycle>,
): Creation[] {
  const problems: Problem[] = [];
  try {
    const placed = readRows(bytes, problems);
    const rows = placed.map((row, index) => ({ row: index + 1, body: readRow(row, baseUrl, defaults, problems) }));
    if (problems.length === 0) checkDuplicates(rows, placed, problems);
    if (problems.length === 0) return rows;
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    problems.push(error);
  }
  throw complain(source, problems);
}

const TOP: Spot = { line: 1, column: 1 };

/** The rows of a file; none where its header is wrong. */
function readRows(bytes: Uint8Array, problems: Problem[]): PlacedRow[] {
  const text = decode(bytes);
  const isJson = /^\s*[[{]/.test(text);
  const { header, rows } = isJson ? { header: undefined, rows: readJsonRows(text) } : readCsvRows(text);
  // Once for the header, not once for every row.
  const names = header?.map((cell) => cell.text) ?? ['name'];
  for (const [index, { text: name, spot }] of header?.entries() ?? []) {
    if (!isField(name)) problems.push({ spot, message: unknownField(name) });
    else if (names.indexOf(name) < index) problems.push({ spot, message: `"${name}" appears twice` });
  }
  if (problems.length > 0) return [];
  if (!names.includes('name')) throw new Unreadable('the header has no column "name"', TOP);
  if (rows.length === 0) throw new Unreadable('no bicycles found', TOP);
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

/** What is sent for a row; what is wrong with it is added to the problems. */
function readRow(
  { spot, fields }: PlacedRow,
  baseUrl: URL,
  defaults: Partial<NewBicycle>,
  problems: Problem[],
): NewBicycle {
  const given = new Map<string, string>();
  for (const { name: written, value, nameSpot, valueSpot } of fields) {
    const name = written.trim().toLowerCase();
    const link = isLinkField(name) && typeof value === 'string' ? readLink(baseUrl, name, value) : undefined;
    const wrong = (message: string, at: Spot) => problems.push({ spot: at, message });
    if (!isField(name)) wrong(unknownField(written), nameSpot);
    else if (given.has(name)) wrong(`"${name}" appears twice`, nameSpot);
    else if (value === null) continue;
    else if (typeof value !== 'string')
      wrong(`${name} must be text, not ${JSON.stringify(value).slice(0, 40)}`, valueSpot);
    else if (name === 'name' && value.trim() === '') wrong('the name is empty', valueSpot);
    else if (isLinkField(name) && link === undefined)
      wrong(`${name} is neither a URL nor a UUID: "${value}"`, valueSpot);
    // Also what is wrong is no longer missing.
    given.set(name, link ?? String(value));
  }
  for (const [name, value] of Object.entries(defaults)) if (!given.has(name)) given.set(name, value);
  const { name, organization, ...rest } = Object.fromEntries(given) as Partial<NewBicycle>;
  if (name === undefined) problems.push({ spot, message: 'the name is missing' });
  if (organization === undefined)
    problems.push({ spot, message: 'no organization: give it in the file, with --organization or in the settings' });
  return { name: name ?? '', organization: organization ?? '', ...rest };
}

function isField(name: string): boolean {
  return (NEW_BICYCLE_FIELDS as readonly string[]).includes(name);
}

function unknownField(name: string): string {
  if ((BICYCLE_FIELDS as readonly string[]).includes(name)) return `"${name}" cannot be set: the service assigns it`;
  const meant = nearest(name.replace(/[\s-]+/g, '_'), NEW_BICYCLE_FIELDS);
  const hint = meant === undefined ? `the fields are ${NEW_BICYCLE_FIELDS.join(', ')}` : `did you mean "${meant}"?`;
  return `unknown field "${name}": ${hint}`;
}

function checkDuplicates(rows: readonly Creation[], placed: readonly PlacedRow[], problems: Problem[]): void {
  const lines = new Map<string, number>();
  /** The line in which it stood first; undefined for the first. */
  const lineBefore = (key: string, { line }: Spot): number | undefined => {
    const before = lines.get(key);
    if (before === undefined) lines.set(key, line);
    return before;
  };
  for (const [index, { body }] of rows.entries()) {
    const { spot, fields } = placed[index] ?? { spot: TOP, fields: [] };
    const same = lineBefore(JSON.stringify(body), spot);
    if (same !== undefined) problems.push({ spot, message: `the same bicycle as in line ${same}` });
    for (const field of same === undefined ? UNIQUE_FIELDS : []) {
      const value = body[field];
      const at = fields.find(({ name }) => name === field)?.valueSpot ?? spot;
      const before = value === undefined ? undefined : lineBefore(`${field} ${value}`, at);
      if (before !== undefined)
        problems.push({ spot: at, message: `${field} "${value}" is already that of line ${before}` });
    }
  }
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
