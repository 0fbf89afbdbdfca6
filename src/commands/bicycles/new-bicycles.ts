// Bicycles to be created, from flags or from a file that is checked as a whole before anything is sent.

import { BICYCLE_FIELDS, NEW_BICYCLE_FIELDS, type NewBicycle } from '../../api/bicycle.js';
import { isLinkField, type LinkField, resourceLink } from '../../api/links.js';
import { nearest } from '../../cli/nearest.js';
import { FleetError, usageError } from '../../errors.js';
import type { Creation } from '../shared/bulk/plan.js';
import { readRows, Unreadable } from '../shared/bulk/rows.js';

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

/** What is wrong, and in which line. */
interface Problem {
  line: number;
  message: string;
}

/** What a linked resource becomes: a URL as it is, a UUID as a URL below the base; undefined for anything else. */
function readLink(baseUrl: URL, field: LinkField, text: string): string | undefined {
  const link = resourceLink(baseUrl, field, text.trim());
  return URL.canParse(link) ? link : undefined;
}

/**
 * The fields that flags give; an empty text is sent as it is, and `null` clears a link of these. Throws a usage error for a link that is neither a
 * URL nor a UUID.
 */
export function readFlags(
  baseUrl: URL,
  { name, organization, model, lock, serialNumber, description }: FieldFlags,
  clearable: readonly string[] = [],
): Partial<NewBicycle> {
  const given = { name, organization, model, lock, serial_number: serialNumber, description };
  const fields = Object.entries(given).flatMap(([field, text]) => {
    if (text === undefined) return [];
    if (text === 'null' && clearable.includes(field)) return [[field, null]];
    const value = isLinkField(field) && text !== '' ? readLink(baseUrl, field, text) : text;
    if (value === undefined) throw usageError(`--${field} takes a URL or a UUID, not "${text}"`);
    return [[field, value]];
  });
  return Object.fromEntries(fields);
}

/** Refuses flags that make no sense here. */
export function refuseFlags<Options>(
  options: Options,
  names: readonly (keyof Options & string)[],
  why: string,
  hint?: string,
) {
  for (const name of names) {
    if (options[name] === undefined || options[name] === false) continue;
    throw usageError(`--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} ${why}`, hint);
  }
}

export interface NewBicyclesInput {
  lines: AsyncIterable<string>;
  /** What messages call it. */
  source: string;
  baseUrl: URL;
  /** Fields that a row does not have. */
  defaults: Partial<NewBicycle>;
  /** Asked for once, where rows name no organization at all. */
  findOrganization(): Promise<Partial<NewBicycle>>;
}

/**
 * Reads bicycles from a JSON array, JSON lines or CSV with a header; all of them are kept. Throws a FleetError of kind `usage` with everything
 * that is wrong and where, as its detail: unreadable text, unknown fields, missing names, bad links, duplicates.
 */
export async function readNewBicycles(input: NewBicyclesInput): Promise<Creation[]> {
  const { lines, source, baseUrl, findOrganization } = input;
  let { defaults } = input;
  let isNamed = defaults.organization !== undefined;
  let characters = 0;
  const creations: Creation[] = [];
  const problems: Problem[] = [];
  const findTwin = openTwins();
  const isHeader = (names: readonly string[], line: number) => {
    checkHeader(names, line);
    isNamed ||= names.includes('organization');
    return true;
  };
  try {
    for await (const { line, value } of readRows(lines, { isHeader, hasComments: false })) {
      if (typeof value === 'string') throw new Unreadable('an object is expected', line);
      isNamed ||= Object.keys(value).some((name) => name.trim().toLowerCase() === 'organization');
      if (!isNamed) {
        defaults = { ...defaults, ...(await findOrganization()) };
        isNamed = true;
      }
      const found = problems.length;
      const body = readRow(value, { line, baseUrl, defaults, problems });
      if (problems.length > MOST_PROBLEMS) break;
      if (problems.length > found) continue;
      const text = JSON.stringify(body);
      characters += text.length;
      if (characters > MOST_CHARACTERS)
        throw usageError(`${source} is larger than 256 MB`, 'nothing was sent; split the file');
      const twin = findTwin(text, body, line);
      if (twin === undefined) creations.push({ row: creations.length + 1, body });
      else problems.push({ line, message: twin });
    }
    if (problems.length === 0 && creations.length === 0) throw new Unreadable('no bicycles found', 1);
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    problems.push(error);
  }
  if (problems.length > 0) throw complain(source, problems);
  return creations;
}

/** What is kept of a file. */
const MOST_CHARACTERS = 256 * 1024 * 1024;

/** A file of which every line is wrong is wrong as a whole. */
const MOST_PROBLEMS = 1000;

/** Throws Unreadable for a header that names what cannot be set, one thing twice, or no name. */
function checkHeader(names: readonly string[], line: number): void {
  for (const [index, name] of names.entries()) {
    if (!isField(name)) throw new Unreadable(unknownField(name), line);
    if (names.indexOf(name) < index) throw new Unreadable(`"${name}" appears twice`, line);
  }
  if (!names.includes('name')) throw new Unreadable('the header has no column "name"', line);
}

interface RowContext {
  line: number;
  baseUrl: URL;
  defaults: Partial<NewBicycle>;
  problems: Problem[];
}

/** What is sent for a row; what is wrong with it is added to the problems. */
function readRow(fields: { [field: string]: unknown }, { line, baseUrl, defaults, problems }: RowContext): NewBicycle {
  const given = new Map<string, string>();
  const wrong = (message: string) => problems.push({ line, message });
  for (const [written, value] of Object.entries(fields)) {
    const name = written.trim().toLowerCase();
    const link = isLinkField(name) && typeof value === 'string' ? readLink(baseUrl, name, value) : undefined;
    if (!isField(name)) wrong(unknownField(written));
    else if (given.has(name)) wrong(`"${name}" appears twice`);
    else if (value === null) continue;
    else if (typeof value !== 'string') wrong(`${name} must be text, not ${JSON.stringify(value).slice(0, 40)}`);
    else if (name === 'name' && value.trim() === '') wrong('the name is empty');
    else if (isLinkField(name) && link === undefined) wrong(`${name} is neither a URL nor a UUID: "${value}"`);
    // Also what is wrong is no longer missing.
    given.set(name, link ?? String(value));
  }
  for (const [name, value] of Object.entries(defaults)) if (!given.has(name)) given.set(name, value);
  const { name, organization, ...rest } = Object.fromEntries(given) as Partial<NewBicycle>;
  if (name === undefined) wrong('the name is missing');
  if (organization === undefined) wrong('no organization: give it in the file, with --organization or in the settings');
  return { name: name ?? '', organization: organization ?? '', ...rest };
}

/** Whether a creation takes the field; an edit may change it, too. */
export function isField(name: string): boolean {
  return (NEW_BICYCLE_FIELDS as readonly string[]).includes(name);
}

function unknownField(name: string): string {
  if ((BICYCLE_FIELDS as readonly string[]).includes(name)) return `"${name}" cannot be set: the service assigns it`;
  const meant = nearest(name.replace(/[\s-]+/g, '_'), NEW_BICYCLE_FIELDS);
  const hint = meant === undefined ? `the fields are ${NEW_BICYCLE_FIELDS.join(', ')}` : `did you mean "${meant}"?`;
  return `unknown field "${name}": ${hint}`;
}

/** Says of a bicycle which earlier one it is the same as, or has something of that no two can have. */
function openTwins(): (text: string, body: NewBicycle, line: number) => string | undefined {
  const firsts = new Map<string, number>();
  return (text, body, line) => {
    const uniques = new Map([[text, 'the same bicycle as in']]);
    for (const field of UNIQUE_FIELDS) {
      const unique = `${field} "${body[field]}"`;
      if (body[field] !== undefined) uniques.set(unique, `${unique} is already that of`);
    }
    for (const [unique, words] of uniques) {
      const first = firsts.get(unique);
      if (first !== undefined) return `${words} line ${first}`;
      firsts.set(unique, line);
    }
    return undefined;
  };
}

function complain(source: string, problems: readonly Problem[]): FleetError {
  const lines = problems.map(({ line, message }) => `${source}:${line}: ${message}`);
  const [first = ''] = lines;
  return new FleetError('usage', lines.length === 1 ? first : `${first} (and ${lines.length - 1} more)`, {
    detail: lines,
    hint: 'nothing was sent; fix the file and run the command again',
  });
}
