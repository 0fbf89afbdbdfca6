// The fields of `fleet api`: NAME=VALUE, typed or as text, put together as a query or as a JSON body.

import { usageError } from '../../errors.js';
import type { Query } from '../../http/types.js';
import { readExact, writeJson } from '../../json/exact.js';
import { isJsonNumber } from '../../terminal/values.js';

export interface Field {
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

/** The fields as the text of a JSON object. Throws a usage error for a name that comes twice, and for one that means a part of a value. */
export function bodyOf(fields: readonly Field[]): string {
  const body = new Map<string, unknown>();
  for (const { name, value } of fields) {
    if (body.has(name)) throw usageError(`the field "${name}" is given twice`);
    if (/[[\]]/.test(name))
      throw usageError(`"${name}" is not a field name`, 'write lists and objects as JSON: --input');
    body.set(name, value);
  }
  return writeJson(Object.fromEntries(body));
}
