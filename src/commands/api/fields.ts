// The fields of `fleet api`, NAME=VALUE, typed or as text, put together as a query or as a JSON body; and its headers.

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
  return isWord || isJsonNumber(text)
    ? { name, value: readExact(text), text }
    : textField(name, text);
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

/** Headers that are not the operator's to give: the token's and the address's, and those of the connection. */
const OURS =
  /^(?:authorization|proxy-authorization|cookie|host|accept-encoding|content-length|transfer-encoding|connection|keep-alive|upgrade|expect|te|trailer)$/;

/** RFC 9110, 5.5: no control characters. Node refuses a bad name, and NUL. */
const VALUE = /^[\t\x20-\x7E\x80-\xFF]*$/;

/** Reads `Name: value`, each; names in lower case, a name that comes twice with both values. Throws a usage error. */
export function readHeaders(lines: readonly string[]): Record<string, string> {
  const headers = new Headers();
  for (const line of lines) {
    const [name = '', value = '\0'] = line.split(/:(.*)/s);
    try {
      headers.append(name.trim(), VALUE.test(value) ? value : '\0');
    } catch {
      throw usageError(`a header must have the form "Name: value", not "${line}"`);
    }
    if (OURS.test(name.trim().toLowerCase()))
      throw usageError(
        `the header ${name.trim()} cannot be set`,
        'fleet sets it; the token comes from the settings',
      );
  }
  return Object.fromEntries(headers);
}
