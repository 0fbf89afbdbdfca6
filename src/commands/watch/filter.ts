// The filter of the board: words in the name, state or UUID of a bicycle, and conditions as in
// `--where`.

import { BICYCLE, type Bicycle } from '../../api/bicycle.js';
import { asFleetError } from '../../errors.js';
import { type Condition, checkCondition, matches, parseCondition } from '../../list/where.js';
import type { Now } from '../../terminal/typed-time.js';

const CONDITION = /.[=<>~!]/;
const UNFINISHED = /[=<>~]$/;

/**
 * Parses a typed filter such as `charge<20 state=lost emmy`. A bicycle must match every part.
 * Invalid and incomplete conditions are ignored.
 */
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
    /** Whether the bicycle matches the filter. */
    keep: (bicycle: Bicycle) =>
      containsText(bicycle, wanted.toLowerCase()) &&
      conditions.every((condition) => matches(condition, bicycle, now)),
    /** Why a condition was ignored. Undefined when all conditions are valid. */
    problem,
  };
}

function containsText({ name, state, uuid }: Bicycle, wanted: string): boolean {
  return [name, state, uuid, ''].some(
    (field) => typeof field === 'string' && field.toLowerCase().includes(wanted),
  );
}
