// Parses JSON from outside the program. Invalid or too deeply nested text throws a typed error.

import { breaksOff, findExcess } from './text.js';

/**
 * The maximum depth of brackets (cli.md section 4, promise 6). Recursive code can rely on this
 * limit.
 */
export const DEPTH_LIMIT = 500;

/**
 * The maximum number of values in one text, keys included. A bicycle has about 40 values, so 64 MB
 * of bicycles stay below the limit. The limit exists because an empty object takes 20 times the
 * memory of its text.
 */
export const VALUE_LIMIT = 4_000_000;

const MESSAGES = {
  syntax: 'broken JSON',
  depth: `JSON nested deeper than ${DEPTH_LIMIT} levels`,
  values: `JSON of more than ${VALUE_LIMIT / 1e6} million values`,
};

/** The error for invalid JSON. The message never quotes the text, which may contain a secret. */
export class JsonError extends Error {
  /**
   * @param kind `depth`: nested deeper than DEPTH_LIMIT; `values`: more than VALUE_LIMIT values; `syntax`: any other problem
   * @param isCutOff whether the text ends before its value is complete
   */
  constructor(
    readonly kind: keyof typeof MESSAGES,
    readonly isCutOff = false,
  ) {
    super(isCutOff ? 'incomplete JSON' : MESSAGES[kind]);
    this.name = 'JsonError';
  }
}

/** Reads JSON text in linear time. Throws only JsonError. */
export function parseJson(text: string): unknown {
  const excess = findExcess(text, DEPTH_LIMIT, VALUE_LIMIT);
  if (excess !== undefined) throw new JsonError(excess);
  try {
    return JSON.parse(text);
  } catch {
    // The JavaScript engine's message is dropped, because its wording depends on the engine and it
    // quotes the text.
    throw new JsonError('syntax', breaksOff(text));
  }
}

/** Whether a value is a JSON object: not an array and not null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the value if it is a string, otherwise null. */
export function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
