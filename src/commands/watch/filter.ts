// The filter of the board: words that a bicycle's name, state or UUID contains, and conditions as `--where` takes them.

import { BICYCLE, type Bicycle } from '../../api/bicycle.js';
import { FleetError } from '../../errors.js';
import { readPath } from '../../terminal/values.js';
import { type Condition, checkCondition, isDocumented, matches, parseCondition } from '../shared/list/where.js';

const CONDITION = /.[=<>~!]/;

/** Reads what was typed, `charge<20 state=lost emmy`: every part must hold; a condition that is wrong, or not finished yet, holds for all. */
export function readFilter(text: string) {
  const words = text.split(' ').filter(Boolean);
  const parts = words.filter((word) => CONDITION.test(word)).map(readCondition);
  const conditions = parts.flatMap(({ condition }) => condition ?? []);
  const unknown = conditions.filter((condition) => !isDocumented(condition, BICYCLE)).map(({ field }) => field);
  const wanted = words
    .filter((word) => !CONDITION.test(word))
    .join(' ')
    .toLowerCase();
  return {
    /** Whether a bicycle is shown; `now` is in milliseconds since the epoch. */
    keep: (bicycle: Bicycle, now: number) =>
      containsText(bicycle, wanted) && conditions.every((condition) => matches(condition, bicycle, now)),
    /** Why a condition is left out, or matches none of these bicycles; undefined where nothing is wrong. */
    findProblem(bicycles: Iterable<Bicycle>): string | undefined {
      const [problem] = parts.flatMap((part) => part.problem ?? []);
      if (problem !== undefined || unknown.length === 0) return problem;
      const missing = new Set(unknown);
      for (const bicycle of bicycles)
        for (const field of missing) if (readPath(bicycle, field) !== undefined) missing.delete(field);
      const [field] = missing;
      return field === undefined ? undefined : `no bicycle has the field "${field}"`;
    },
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
