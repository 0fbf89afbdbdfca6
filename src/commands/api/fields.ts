// The fields of `fleet api`: NAME=VALUE, typed or as text, put together as a query or as a JSON body.

import { usageError } from '../../errors.js';
import type { Query } from '../../http/types.js';
import { isJsonNumber } from '../list/decimals.js';

export interface Field {
  /** As it was typed: `name`, `extra[key]`, `list[]`. */
  name: string;
  /** Its value as JSON text, numbers with the digits they were typed with. */
  json: string;
  /** Its value as the text of a query parameter. */
  text: string;
}

/** Takes `NAME=VALUE` apart. Throws a usage error for anything else. */
export function splitField(field: string): readonly [name: string, value: string] {
  const equals = field.indexOf('=');
  if (equals < 1) throw usageError(`a field is NAME=VALUE, not "${field}"`);
  return [field.slice(0, equals), field.slice(equals + 1)];
}

export function textField(name: string, value: string): Field {
  return { name, json: JSON.stringify(value), text: value };
}

/** A field whose value is a number, true, false or null where it looks like one, else text. */
export function typedField(name: string, value: string): Field {
  const isWord = value === 'true' || value === 'false' || value === 'null';
  return isWord || isJsonNumber(value) ? { name, json: value, text: value } : textField(name, value);
}

/** The fields as query parameters; a name may come more than once. */
export function queryOf(fields: readonly Field[]): Query {
  return fields.map(({ name, text }) => [name, text]);
}

/** A place in the body that is being put together. */
type Place = { json: string } | { members: Map<string, Place> } | { elements: Place[] };

/** The fields as the text of a JSON object. Throws a usage error for names that cannot be used together. */
export function bodyOf(fields: readonly Field[]): string {
  const root = { members: new Map<string, Place>() };
  for (const field of fields) put(root, keysOf(field.name), field);
  return write(root);
}

/** `extra[location][]` is `extra`, `location`, and `` for the next element of a list. */
function keysOf(name: string): string[] {
  const match = /^([^[\]]+)((?:\[[^[\]]*\])*)$/.exec(name);
  if (match === null) throw usageError(`"${name}" is not a field name`, 'write name, object[key] or list[]');
  const inner = [...(match[2] ?? '').matchAll(/\[([^[\]]*)\]/g)].map(([, key]) => key ?? '');
  return [match[1] ?? '', ...inner];
}

function put(place: Place, keys: readonly string[], field: Field): void {
  const [key = '', ...rest] = keys;
  const contradiction = () =>
    usageError(
      `the field "${field.name}" contradicts an earlier one`,
      'for a list write name[]=value for each element',
    );
  if ('elements' in place) {
    if (key !== '') throw contradiction();
    // `list[][a]=1 list[][b]=2` goes on with the last element until a key comes again.
    const last = place.elements.at(-1);
    const [next = ''] = rest;
    if (last !== undefined && 'members' in last && next !== '' && !last.members.has(next)) put(last, rest, field);
    else place.elements.push(fill(rest, field));
    return;
  }
  if (!('members' in place) || key === '') throw contradiction();
  const there = place.members.get(key);
  if (there === undefined) place.members.set(key, fill(rest, field));
  else if (rest.length === 0) throw contradiction();
  else put(there, rest, field);
}

/** A new place that holds the field under the keys that are left. */
function fill(keys: readonly string[], field: Field): Place {
  if (keys.length === 0) return { json: field.json };
  const place: Place = keys[0] === '' ? { elements: [] } : { members: new Map() };
  put(place, keys, field);
  return place;
}

function write(place: Place): string {
  if ('json' in place) return place.json;
  if ('elements' in place) return `[${place.elements.map(write).join(',')}]`;
  return `{${[...place.members].map(([key, inner]) => `${JSON.stringify(key)}:${write(inner)}`).join(',')}}`;
}
