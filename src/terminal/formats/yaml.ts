// Writes YAML 1.2: a sequence of mappings that grows item by item, or one mapping.

import {
  exactValue,
  toNumber,
  toSpelledNumber,
  writeJson,
  writtenNumber,
} from '../../json/exact.js';
import { escapeHidden, isClean } from '../clean.js';
import { isJsonNumber } from '../values.js';
import type { Renderer, Shape } from './renderer.js';

/**
 * Returns the escape sequence for a character in a double-quoted YAML string. For a character above
 * U+FFFF, YAML has a single escape sequence, whereas JSON needs two (YAML 1.2, 5.7).
 */
function yamlEscape(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16);
  return code.length > 4 ? `\\U${code.padStart(8, '0')}` : `\\u${code.padStart(4, '0')}`;
}

/**
 * The number of rows that are converted at once. It is small because the library needs thirty times
 * as much memory as the rows themselves.
 */
const ROWS_AT_ONCE = 20;

/**
 * Writes values as the service sent them: numbers keep their digits, and hidden characters are
 * escaped. A string is quoted when YAML 1.1 would not read it as a string. Examples are `no` and a
 * time.
 */
export async function openYaml<T>(shape: Shape<T>): Promise<Renderer<T>> {
  const { stringify } = await import('yaml');
  const isList = shape.single !== true;
  let count = 0;
  const write = (values: readonly T[]) =>
    stringify(isList ? values : values[0], {
      version: '1.2',
      compat: 'yaml-1.1',
      // Long strings are not split into several lines, and repeated objects are not written as
      // aliases. Each item can therefore be read separately.
      lineWidth: 0,
      aliasDuplicateObjects: false,
      customTags: (tags) => [
        {
          tag: 'tag:yaml.org,2002:float',
          default: true,
          identify: (value) => writtenNumber(value) !== undefined,
          resolve: (text: string) => text,
          stringify: ({ value }) => writtenNumber(value) ?? '',
        },
        {
          tag: 'tag:yaml.org,2002:str',
          default: true,
          // The string `=` must be quoted, because YAML 1.1 reads it as a special type.
          identify: (value) => typeof value === 'string' && (value === '=' || !isClean(value)),
          resolve: (text: string) => text,
          // Control characters, quotes and backslashes can be escaped as in JSON, because these
          // escapes are also valid in YAML.
          stringify: ({ value }) => escapeHidden(JSON.stringify(value), yamlEscape),
        },
        ...tags,
      ],
    });
  return {
    rows(rows) {
      if (rows.length === 0) return '';
      count += rows.length;
      const texts: string[] = [];
      for (let at = 0; at < rows.length; at += ROWS_AT_ONCE)
        texts.push(write(rows.slice(at, at + ROWS_AT_ONCE).map(exactValue)));
      return texts.join('');
    },
    end: () => (count === 0 && isList ? '[]\n' : ''),
  };
}

/**
 * A value of a YAML document, with its line number, counted from 1. Maps and lists contain these
 * values.
 */
export interface LinedValue {
  readonly value: string | number | boolean | null | LinedMap | readonly LinedValue[];
  readonly line: number;
}
export type LinedMap = ReadonlyMap<string, LinedValue>;

/**
 * Reads one YAML 1.2 document, or JSON, with the line of each value. Throws an Error with the line
 * number for invalid YAML and for aliases.
 */
export async function readYamlWithLines(text: string): Promise<LinedValue> {
  const { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } = await import('yaml');
  const lineCounter = new LineCounter();
  const options = { version: '1.2', prettyErrors: false, uniqueKeys: true, lineCounter } as const;
  const document = parseDocument(text, options);
  const lineAt = (offset = 0) => lineCounter.linePos(offset).line;
  const [error] = document.errors;
  if (error !== undefined) throw new Error(`line ${lineAt(error.pos[0])}: ${error.message}`);
  const read = (node: unknown, depth: number): LinedValue => {
    const { range } = (node ?? {}) as { range?: readonly number[] | null };
    const line = lineAt(range?.[0]);
    if (depth > DEPTH_LIMIT) throw new Error(`line ${line}: nested too deep`);
    if (isAlias(node)) throw new Error(`line ${line}: aliases are not supported`);
    if (isSeq(node)) return { line, value: node.items.map((item) => read(item, depth + 1)) };
    if (isMap(node)) {
      const entries = node.items.map(
        ({ key, value }) => [String(read(key, depth + 1).value), read(value, depth + 1)] as const,
      );
      return { line, value: new Map(entries) };
    }
    const { value = null } = (isScalar(node) ? node : {}) as { value?: LinedValue['value'] };
    return { line, value };
  };
  return read(document.contents, 0);
}

/**
 * The maximum nesting of collections. More deeply nested collections are refused, as in JSON
 * (promise 6).
 */
const DEPTH_LIMIT = 500;

/**
 * Returns the value of a number in a notation that only YAML allows: `007`, `0x1F`, `+5`, `.5`.
 * Infinity and NaN, which JSON does not support, become strings.
 */
function readSpelledNumber(source: string, value: number): unknown {
  if (!Number.isFinite(value)) return source;
  const isInteger = /^[-+]?\d+$|^0[xo]/.test(source);
  // A double does not hold all digits of a long integer.
  const written =
    isInteger && !Number.isSafeInteger(value) ? String(BigInt(source)) : writeJson(value);
  return toSpelledNumber(written, source);
}

/**
 * Reads a YAML 1.2 sequence. Numbers keep their digits, as in `readExact`, and their notation
 * (`spellingOf`). Strings that fleet quoted are restored exactly. Throws an Error with the reason
 * for invalid YAML, for aliases, and for a value that is not a sequence.
 */
export async function readYamlSequence(text: string): Promise<unknown[]> {
  const { isAlias, isMap, isScalar, isSeq, parseDocument } = await import('yaml');
  const document = parseDocument(text, { version: '1.2', prettyErrors: false, uniqueKeys: true });
  const [error] = document.errors;
  if (error !== undefined) throw error;
  const read = (node: unknown, depth: number): unknown => {
    if (depth > DEPTH_LIMIT) throw new Error(`nested deeper than ${DEPTH_LIMIT} levels`);
    if (isAlias(node)) throw new Error('aliases are not supported');
    if (isSeq(node)) return node.items.map((item) => read(item, depth + 1));
    if (isMap(node))
      return Object.fromEntries(
        node.items.map(({ key, value }) => [readKey(key, depth + 1), read(value, depth + 1)]),
      );
    if (!isScalar(node)) return null;
    const { value, source } = node;
    if (typeof value !== 'number') return value ?? null;
    if (source === undefined) return value;
    return isJsonNumber(source) ? toNumber(source) : readSpelledNumber(source, value);
  };
  const readKey = (node: unknown, depth: number): string => {
    const isNumber = isScalar(node) && typeof node.value === 'number';
    return isNumber && node.source !== undefined ? node.source : String(read(node, depth));
  };
  const value = read(document.contents, 0);
  if (!Array.isArray(value)) throw new Error('a list is expected');
  return value;
}
