// Query parameters: reading and checking each documented one (interface.md sections 4.1 and 4.5).
import { type Box, parseBox } from './geometry.js';
import { refuseField, refuseUnknown } from './problem.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The parameters of a raw request target, which may have none. */
export function readQuery(target: string): URLSearchParams {
  const start = target.indexOf('?');
  return new URLSearchParams(start < 0 ? '' : target.slice(start + 1));
}

/** Assumed: of a single-valued parameter that is repeated the last one counts. */
function lastOf(query: URLSearchParams, name: string): string | undefined {
  return query.getAll(name).at(-1);
}

/** A uuid in lower case, or undefined when the parameter is absent. Throws a 400 Problem when it is malformed. */
export function readUuid(query: URLSearchParams, name: string): string | undefined {
  const text = lastOf(query, name)?.toLowerCase();
  if (text !== undefined && !UUID.test(text)) throw refuseField(name, 'Enter a valid UUID.', 'invalid');
  return text;
}

/** "The query parameter page takes a single page number", from 1. Throws a 404 Problem when it is none (assumed). */
export function readPage(query: URLSearchParams): number {
  const text = lastOf(query, 'page') ?? '1';
  if (!/^[1-9]\d{0,8}$/.test(text)) throw refuseUnknown('Invalid page.');
  return Number(text);
}

/** The bounding box, or undefined when the parameter is absent. Throws a 400 Problem when it is malformed. */
export function readBox(query: URLSearchParams): Box | undefined {
  const text = lastOf(query, 'bbox');
  if (text === undefined) return undefined;
  const box = parseBox(text);
  if (typeof box === 'string') throw refuseField('bbox', box, 'invalid');
  return box;
}

/** "Sort field; a leading - means descending." Throws a 400 Problem when there is no such field. */
export function readOrdering(
  query: URLSearchParams,
  fields: readonly string[],
): { name: string; descending: boolean } | undefined {
  const text = lastOf(query, 'ordering');
  if (text === undefined) return undefined;
  const descending = text.startsWith('-');
  const name = descending ? text.slice(1) : text;
  if (!fields.includes(name)) throw refuseChoice('ordering', text);
  return { name, descending };
}

/** The values of a parameter that may be repeated, none meaning all. Throws a 400 Problem for an unknown value. */
export function readChoices(query: URLSearchParams, name: string, choices: readonly string[]): string[] {
  const values = query.getAll(name);
  const unknown = values.find((value) => !choices.includes(value));
  if (unknown !== undefined) throw refuseChoice(name, unknown);
  return values;
}

function refuseChoice(name: string, value: string): Error {
  return refuseField(name, `Select a valid choice. ${value} is not one of the available choices.`, 'invalid_choice');
}
