// JSON from the service, kept as the text it came in: numbers that a double cannot hold stay exact.

import { FleetError } from '../errors.js';
import { JsonError, parseJson } from '../json/parse.js';
import { elementTexts } from '../json/text.js';
import { titleOf } from './failure.js';
import type { HttpAnswer, Item } from './types.js';

/** Reads the answer's body as JSON. Throws a FleetError of kind `service` that says what came instead. */
export function readJson(answer: HttpAnswer): unknown {
  try {
    return parseJson(answer.text);
  } catch (error) {
    const cameInstead = describeBody(answer, error);
    throw new FleetError(
      'service',
      `the answer is not what the interface says: ${cameInstead} where JSON was expected`,
      {
        status: answer.status,
        trace: answer.trace,
        cause: error,
        hint: 'check that the base URL is that of the service, prefix such as /api included',
      },
    );
  }
}

function describeBody(answer: HttpAnswer, error: unknown): string {
  const text = answer.text.trim();
  if (text === '') return 'an empty body';
  if (/^</.test(text)) {
    const title = titleOf(text)?.trim();
    return title === undefined ? 'an HTML page' : `an HTML page ("${title.slice(0, 100)}")`;
  }
  if (!/^[[{"\d\-tfn]/.test(text)) return `text ("${text.slice(0, 60)}")`;
  return error instanceof JsonError ? error.message : 'broken JSON';
}

/** The items of a list: their values and, beside each, the text it came in. `array` is what was read from it. */
export function pairItems<T>(array: readonly unknown[], text: string, at: number): Item<T>[] {
  const texts = elementTexts(text, at);
  return array.map((value, index) => ({ json: texts[index] ?? JSON.stringify(value), value: value as T }));
}
