// The filter of the board: words that a bicycle's name, state or UUID contains, and conditions as `--where` takes them.

import { BICYCLE, type Bicycle } from '../../api/bicycle.js';
import { FleetError } from '../../errors.js';
import { type Condition, checkCondition, matches, parseCondition } from '../shared/list/where.js';

const CONDITION = /.[=<>~!]/;

/** Reads what was typed, `charge<20 state=lost emmy`: every part must hold; a condition that is wrong, or not finished yet, holds for all. `nowMs` is in milliseconds since the epoch. */
export function readFilter(text: string, nowMs: number) {
  const words = text.split(' ').filter(Boolean);
  const parts = words.filter((word) => CONDITION.test(word)).map(readCondition);
  const conditions = parts.flatMap(({ condition }) => condition ?? []);
  const wanted = words
    .filter((word) => !CONDITION.test(word))
    .join(' ')
    .toLowerCase();
  return {
    /** Whether a bicycle is shown. */
    keep: (bicycle: Bicycle) =>
      containsText(bicycle, wanted) && conditions.every((condition) => matches(condition, bicycle, nowMs)),
    /** Why a condition is left out; undefined where nothing is wrong. */
    problem: parts.find(({ problem }) => problem !== undefined)?.problem,
  };
}

function readCondition(text: string): { condition?: Condition; problem?: string } {
  // Not finished yet.
  if (/[=<>~]$/.test(text)) return {};
  try {
    const condition = parseCondition(text, BICYCLE);
    checkCondition(condition, BICYCLE);
    return { condition };
  } catch (thrown) {
    if (!(thrown instanceof FleetError)) throw thrown;
    const [nearest] = /^did you mean [^?]*\?/.exec(thrown.hint ?? '') ?? [];
    return { problem: nearest === undefined ? thrown.message : `${thrown.message}, ${nearest}` };
  }
}

function containsText({ name, state, uuid }: Bicycle, wanted: string): boolean {
  return (
    wanted === '' ||
    [name, state, uuid].some((field) => typeof field === 'string' && field.toLowerCase().includes(wanted))
  );
}
