// Parses the fields (NAME=VALUE) and headers of `fleet api`, and builds a query or a JSON body from
// the fields.

import { notText } from '../../cli/options.js';
import { usageError } from '../../errors.js';
import type { Query } from '../../http/types.js';
import { readExact, writeJson } from '../../json/exact.js';
import { isJsonNumber } from '../../terminal/values.js';

export interface Field {
  name: string;
  /** A string, a number, true, false or null. A number keeps all its typed digits. */
  value: unknown;
  /** The value as a string, for a query parameter. */
  text: string;
}

/** Splits `NAME=VALUE`. Throws a usage error for text that does not have this form. */
export function splitField(field: string): readonly [name: string, value: string] {
  const equals = field.indexOf('=');
  if (equals < 1) throw usageError(`a field must be NAME=VALUE${notText(field)}`);
  return [field.slice(0, equals), field.slice(equals + 1)];
}

export function textField(name: string, text: string): Field {
  return { name, value: text, text };
}

/**
 * Converts text that looks like a number, true, false or null into the corresponding JSON value.
 */
export function typedField(name: string, text: string): Field {
  const isWord = text === 'true' || text === 'false' || text === 'null';
  return isWord || isJsonNumber(text)
    ? { name, value: readExact(text), text }
    : textField(name, text);
}

/** Returns the fields as query parameters. A name may be repeated. */
export function queryOf(fields: readonly Field[]): Query {
  return fields.map(({ name, text }) => [name, text]);
}

/**
 * Serializes the fields as a JSON object. Throws a usage error for a repeated name or a name with
 * brackets.
 */
export function bodyOf(fields: readonly Field[]): string {
  const body = new Map<string, unknown>();
  for (const { name, value } of fields) {
    if (body.has(name)) throw usageError(`the field "${name}" is given twice`);
    if (/[[\]]/.test(name))
      throw usageError(
        `"${name}" is not a field name`,
        'to send lists or objects, pass JSON with --input',
      );
    body.set(name, value);
  }
  return writeJson(Object.fromEntries(body));
}

/**
 * Headers that the operator cannot set, because fleet sets the token, the address and the
 * connection.
 */
const OURS =
  /^(?:authorization|proxy-authorization|cookie|host|accept-encoding|content-length|transfer-encoding|connection|keep-alive|upgrade|expect|te|trailer)$/;

/**
 * A header value without control characters (RFC 9110, 5.5). `Headers()` itself already refuses
 * invalid names and NUL characters.
 */
const VALUE = /^[\t\x20-\x7E\x80-\xFF]*$/;

/**
 * Parses lines of the form `Name: value`. Returns the names in lower case. When a name is repeated,
 * all its values are kept. Throws a usage error for other lines.
 */
export function readHeaders(lines: readonly string[]): Record<string, string> {
  const headers = new Headers();
  for (const line of lines) {
    const [name = '', value = '\0'] = line.split(/:(.*)/s);
    try {
      headers.append(name.trim(), VALUE.test(value) ? value : '\0');
    } catch {
      throw usageError(`a header must have the form "Name: value"${notText(line)}`);
    }
    if (OURS.test(name.trim().toLowerCase()))
      throw usageError(
        `the header ${name.trim()} cannot be set`,
        'fleet sets this header; the token comes from the settings',
      );
  }
  return Object.fromEntries(headers);
}
