// Parses foreign JSON: invalid or too deeply nested text is a typed error.

import { breaksOff, findExcess } from './text.js';

/** The levels of brackets that are read (cli.md section 4, promise 6). Code that walks through a value may call itself so often. */
export const DEPTH_LIMIT = 500;

/**
 * The values that are read of one text, keys counted: a bicycle has some 40, and 64 MB of bicycles less than 4 million. Empty objects take
 * 20 times the memory of their text.
 */
export const VALUE_LIMIT = 4_000_000;

const MESSAGES = {
  syntax: 'broken JSON',
  depth: `JSON nested deeper than ${DEPTH_LIMIT} levels`,
  values: `JSON of more than ${VALUE_LIMIT / 1e6} million values`,
};

/** Text that is not read as JSON. The message quotes nothing of the text, which may hold a secret. */
export class JsonError extends Error {
  /**
   * @param kind `depth`: brackets nest deeper than DEPTH_LIMIT; `values`: more than VALUE_LIMIT of them; `syntax`: anything else
   * @param isCutOff whether the text just ends before the value does
   */
  constructor(
    readonly kind: keyof typeof MESSAGES,
    readonly isCutOff = false,
  ) {
    super(isCutOff ? 'incomplete JSON' : MESSAGES[kind]);
    this.name = 'JsonError';
  }
}

/** Reads JSON text. Throws a JsonError and nothing else; takes linear time. */
export function parseJson(text: string): unknown {
  const excess = findExcess(text, DEPTH_LIMIT, VALUE_LIMIT);
  if (excess !== undefined) throw new JsonError(excess);
  try {
    return JSON.parse(text);
  } catch {
    // Each engine has words of its own for what is wrong.
    throw new JsonError('syntax', breaksOff(text));
  }
}

/** Whether a value is an object as JSON has them: no array, and not null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A text as JSON has them; null for anything else. */
export function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
