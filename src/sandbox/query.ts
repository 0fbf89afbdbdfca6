// Parses and checks query parameters (interface.md sections 4.1 and 4.5).
import { parseBox, type ServedBox } from './geometry.js';
import { Problem, refuseField, refuseUnknown } from './problem.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The largest page. Observed: "page_size up to 100, clamped silently". */
const LARGEST_PAGE = 100;

/** Assumed: when a parameter with a single value is repeated, the last value is used. */
export function lastOf(query: URLSearchParams, name: string): string | undefined {
  return query.getAll(name).at(-1);
}

/**
 * Returns a uuid in lower case, or undefined when the parameter is missing. Throws a 400 Problem
 * when it is malformed.
 */
export function readUuid(query: URLSearchParams, name: string): string | undefined {
  const text = lastOf(query, name)?.toLowerCase();
  if (text !== undefined && !UUID.test(text))
    throw refuseField(name, 'Enter a valid UUID.', 'invalid');
  return text;
}

/**
 * "The query parameter page takes a single page number", from 1. Throws a 404 Problem for other
 * values (assumed).
 */
export function readPageNumber(query: URLSearchParams, lastPage: number): number {
  const text = lastOf(query, 'page') ?? '1';
  if (!/^[1-9]\d{0,8}$/.test(text) || Number(text) > lastPage) throw refuseUnknown('Invalid page.');
  return Number(text);
}

/**
 * Returns the number of items on a page. Observed: a value is ignored if it is not a number of at
 * least 1.
 */
export function readPageSize(query: URLSearchParams, usual: number, isObserved: boolean): number {
  const text = isObserved ? (lastOf(query, 'page_size') ?? '') : '';
  return /^[1-9]\d{0,8}$/.test(text) ? Math.min(Number(text), LARGEST_PAGE) : usual;
}

/**
 * Returns the bounding box, or undefined when the parameter is missing. Throws a 400 Problem when
 * it is malformed.
 */
export function readBox(query: URLSearchParams, isObserved: boolean): ServedBox | undefined {
  const text = lastOf(query, 'bbox');
  if (text === undefined) return undefined;
  const box = parseBox(text, isObserved);
  if (typeof box === 'string') throw refuseField('bbox', box, 'invalid');
  return box;
}

/** Observed: orderings for which the service returns 500. */
const BROKEN_ORDERINGS = [
  'bleid',
  'device_type',
  'query',
  'bbox',
  'zone',
  'has_lock',
  'created_after',
];

/**
 * "Sort field; a leading - means descending." Observed: several fields separated by commas. Throws
 * a 400 Problem for an unknown field.
 */
export function readOrderings(
  query: URLSearchParams,
  fields: readonly string[],
  areManyAllowed: boolean,
): { name: string; descending: boolean }[] {
  const text = lastOf(query, 'ordering');
  if (text === undefined) return [];
  return (areManyAllowed ? text.split(',') : [text]).map((part) => {
    const name = part.replace(/^-/, '');
    if (areManyAllowed && BROKEN_ORDERINGS.includes(name)) throw new Problem(500, {});
    if (!fields.includes(name)) throw refuseChoice('ordering', text);
    return { name, descending: part !== name };
  });
}

/**
 * Returns the values of a parameter that may be repeated. An empty result means that the parameter
 * does not filter. Throws a 400 Problem for an unknown value.
 */
export function readChoices(
  query: URLSearchParams,
  name: string,
  choices: readonly string[],
): string[] {
  const values = query.getAll(name);
  const unknown = values.find((value) => !choices.includes(value));
  if (unknown !== undefined) throw refuseChoice(name, unknown);
  return values;
}

/**
 * Returns the values of a parameter that may be repeated or contain commas. Empty values are
 * ignored.
 */
export function readQueryWords(query: URLSearchParams, name: string): string[] {
  return query
    .getAll(name)
    .flatMap((value) => value.split(','))
    .filter((value) => value !== '');
}

function refuseChoice(name: string, value: string): Problem {
  return refuseField(
    name,
    `Select a valid choice. ${value} is not one of the available choices.`,
    'invalid_choice',
  );
}
