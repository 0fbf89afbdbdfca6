// Conditions on this side: FIELD=VALUE and FIELD!=VALUE. A placeholder until the conditions of lists are there.

import { usageError } from '../errors.js';
import { readPath, textOf } from '../terminal/values.js';

export interface Condition {
  text: string;
  field: string;
  isEqual: boolean;
  value: string;
}

/** Reads a condition; throws a usage error for anything else. */
export function parseCondition(text: string): Condition {
  const [, field, operator, value] = /^([^=!]+?)\s*(!?=)\s*(.*)$/s.exec(text) ?? [];
  if (field === undefined || value === undefined) throw usageError(`a condition is FIELD=VALUE, not "${text}"`);
  return { text, field, isEqual: operator === '=', value };
}

/** Whether a value meets the condition. */
export function matches(condition: Condition, value: unknown, _now: number): boolean {
  return ((textOf(readPath(value, condition.field)) ?? '') === condition.value) === condition.isEqual;
}
