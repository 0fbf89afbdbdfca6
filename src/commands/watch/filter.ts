// The filter of the board: words that a bicycle's name, state or UUID contains, and conditions as `--where` takes them.

import { BICYCLE, type Bicycle } from '../../api/bicycle.js';
import { asFleetError } from '../../errors.js';
import type { Now } from '../../terminal/typed-time.js';
import { type Condition, checkCondition, matches, parseCondition } from '../shared/list/where.js';

const CONDITION = /.[=<>~!]/;
const UNFINISHED = /[=<>~]$/;

/** Reads what was typed, `charge<20 state=lost emmy`: every part must hold; a condition that is wrong, or not finished yet, holds for all. */
export function readFilter(text: string, now: Now) {
  const parts = text.split(' ').filter(Boolean);
  const wanted = parts.filter((part) => !CONDITION.test(part)).join(' ');
  const conditions: Condition[] = [];
  let problem: string | undefined;
  for (const part of parts.filter((each) => CONDITION.test(each) && !UNFINISHED.test(each))) {
    try {
      const condition = parseCondition(part, BICYCLE);
      checkCondition(condition, BICYCLE);
      conditions.push(condition);
    } catch (thrown) {
      const { message, hint = '' } = asFleetError(thrown);
      problem ??= [message, ...(/^did you mean [^?]*\?/.exec(hint) ?? [])].join(', ');
    }
  }
  return {
    /** Whether a bicycle is shown. */
    keep: (bicycle: Bicycle) =>
      containsText(bicycle, wanted.toLowerCase()) &&
      conditions.every((condition) => matches(condition, bicycle, now)),
    /** Why a condition is left out; undefined where nothing is wrong. */
    problem,
  };
}

function containsText({ name, state, uuid }: Bicycle, wanted: string): boolean {
  return [name, state, uuid, ''].some(
    (field) => typeof field === 'string' && field.toLowerCase().includes(wanted),
  );
}
