// Parses JSON from the service. Keeps the original text of items. The text is exact even for
// numbers beyond the precision of a double.

import { FleetError } from '../errors.js';
import { JsonError, parseJson } from '../json/parse.js';
import { splitArray, squeeze } from '../json/text.js';
import { describeHtml, foreignText } from './server-text.js';
import type { HttpAnswer, Item } from './types.js';

/**
 * Parses the body of a response, or a part of it. Throws a FleetError of kind `service` that
 * describes the body when it is not valid JSON.
 */
export function readJson(answer: HttpAnswer, text = answer.text): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    const isDeep = error instanceof JsonError && error.kind === 'depth';
    const hint = isDeep ? 'report it to the operator of the service' : undefined;
    throw unexpected(answer, describeBody(answer, error), hint, error);
  }
}

/** Returns the error for a response that does not match the interface. */
export function unexpected(
  { status, trace }: HttpAnswer,
  what: string,
  hint = 'check that the base URL is the address of the service, including a prefix such as /api',
  cause?: unknown,
): FleetError {
  return new FleetError('service', `unexpected answer from the service: ${what}`, {
    status,
    trace,
    hint,
    cause,
  });
}

const EXPECTED = 'where JSON was expected';

/** The number of characters at the start of a body that are used to describe it. */
const BEGINNING_CHARACTERS = 64 * 1024;

function describeBody(answer: HttpAnswer, error: unknown): string {
  if (error instanceof JsonError && error.kind !== 'syntax') return error.message;
  const beginning = answer.text.slice(0, BEGINNING_CHARACTERS).trim();
  // Secrets are hidden before the text is truncated, because a partial secret would not be
  // recognised.
  const text = answer.hide?.(beginning) ?? beginning;
  if (text === '') return `an empty body ${EXPECTED}`;
  if (text.startsWith('<')) return `${describeHtml(text)} ${EXPECTED}`;
  if (!/^[[{"\d\-tfn]/.test(text)) return `text ("${foreignText(text, 60)}") ${EXPECTED}`;
  return error instanceof JsonError ? error.message : 'broken JSON';
}

/**
 * Returns a list's items with their original text. `array` is the parsed list, and its text starts
 * at index `at`.
 */
export function pairItems<T>(array: readonly unknown[], text: string, at: number): Item<T>[] {
  const texts = splitArray(text, at)?.texts ?? [];
  return array.map((value, index) => ({
    json: squeeze(texts[index] ?? JSON.stringify(value)),
    value: value as T,
  }));
}
