// The fields of `fleet api`: NAME=VALUE, typed or as text, put together as a query or as a JSON body.

import { usageError } from '../../errors.js';
import type { Query } from '../../http/types.js';
import { readExact, writeJson, writtenNumber } from '../../json/exact.js';
import { isJsonNumber } from '../../terminal/values.js';

export interface Field {
  /** As it was typed: `name`, `extra[key]`, `list[]`. */
  name: string;
  /** Text, a number with the digits it was typed with, true, false or null. */
  value: unknown;
  /** The same as the text of a query parameter. */
  text: string;
}

/** Takes `NAME=VALUE` apart. Throws a usage error for anything else. */
export function splitField(field: string): readonly [name: string, value: string] {
  const equals = field.indexOf('=');
  if (equals < 1) throw usageError(`a field is NAME=VALUE, not "${field}"`);
  return [field.slice(0, equals), field.slice(equals + 1)];
}

export function textField(name: string, text: string): Field {
  return { name, value: text, text };
}

/** A field whose value is a number, true, false or null where it looks like one, else text. */
export function typedField(name: string, text: string): Field {
  const isWord = text === 'true' || text === 'false' || text === 'null';
  return isWord || isJsonNumber(text) ? { name, value: readExact(text), text } : textField(name, text);
}

/** The fields as query parameters; a name may come more than once. */
export function queryOf(fields: readonly Field[]): Query {
  return fields.map(({ name, text }) => [name, text]);
}

/** A list or an object that is being put together; objects without a prototype, for a field may be called `__proto__`. */
type Place = unknown[] | { [key: string]: unknown };

function isPlace(value: unknown): value is Place {
  return typeof value === 'object' && value !== null && writtenNumber(value) === undefined;
}

/** The fields as the text of a JSON object. Throws a usage error for names that cannot be used together. */
export function bodyOf(fields: readonly Field[]): string {
  const root: Place = Object.create(null);
  for (const field of fields) put(root, keysOf(field.name), field);
  return writeJson(root);
}

/** `extra[location][]` is `extra`, `location`, and `` for the next element of a list. */
function keysOf(name: string): string[] {
  const match = /^([^[\]]+)((?:\[[^[\]]*\])*)$/.exec(name);
  if (match === null) throw usageError(`"${name}" is not a field name`, 'write name, object[key] or list[]');
  const inner = [...(match[2] ?? '').matchAll(/\[([^[\]]*)\]/g)].map(([, key]) => key ?? '');
  return [match[1] ?? '', ...inner];
}

function put(place: unknown, [key = '', ...rest]: readonly string[], field: Field): void {
  if (Array.isArray(place) && key === '') {
    // `list[][a]=1 list[][b]=2` goes on with the last element until a key comes again.
    const last: unknown = place.at(-1);
    const [next = ''] = rest;
    if (isPlace(last) && !Array.isArray(last) && next !== '' && !(next in last)) put(last, rest, field);
    else place.push(fill(rest, field));
  } else if (!isPlace(place) || Array.isArray(place) || key === '' || (key in place && rest.length === 0)) {
    throw usageError(
      `the field "${field.name}" contradicts an earlier one`,
      'for a list write name[]=value for each element',
    );
  } else if (key in place) put(place[key], rest, field);
  else place[key] = fill(rest, field);
}

/** The value of a field, within what the keys that are left name. */
function fill(keys: readonly string[], field: Field): unknown {
  if (keys.length === 0) return field.value;
  const place: Place = keys[0] === '' ? [] : Object.create(null);
  put(place, keys, field);
  return place;
}
