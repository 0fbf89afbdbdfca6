// The filter of the board: words that a bicycle's name, state or UUID contains, and conditions as `--where` takes them.

import { BICYCLE, type Bicycle } from '../../api/bicycle.js';
import { FleetError } from '../../errors.js';
import { type Condition, matches, parseCondition } from '../shared/list/where.js';

/** Whether a bicycle is shown; `now` is in milliseconds since the epoch. */
export type Keep = (bicycle: Bicycle, now: number) => boolean;

/** Reads what was typed, `charge<20 state=lost emmy`: every part must hold; a condition that is not finished yet holds for all. */
export function readFilter(text: string): Keep {
  const words = text.split(' ').filter(Boolean);
  const conditions = words.filter((word) => /.[=<>~!]/.test(word)).map(readCondition);
  const wanted = words
    .filter((word) => !/.[=<>~!]/.test(word))
    .join(' ')
    .toLowerCase();
  return (bicycle, now) =>
    containsText(bicycle, wanted) &&
    conditions.every((condition) => condition === undefined || matches(condition, bicycle, now));
}

function readCondition(text: string): Condition | undefined {
  try {
    const condition = parseCondition(text, BICYCLE);
    return condition.value === '' ? undefined : condition;
  } catch (thrown) {
    if (thrown instanceof FleetError) return undefined;
    throw thrown;
  }
}

function containsText({ name, state, uuid }: Bicycle, wanted: string): boolean {
  return (
    wanted === '' ||
    [name, state, uuid].some((field) => typeof field === 'string' && field.toLowerCase().includes(wanted))
  );
}
