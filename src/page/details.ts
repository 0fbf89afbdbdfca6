// Finds the fields of one bicycle in the columns of all.

import type { DetailColumn, Details, Fields } from './payload.js';

/** The fields of the bicycle at a place of the columns. */
export function fieldsAt({ fields }: Details, place: number): Fields {
  return fields.flatMap((column) => {
    const text = textAt(column, place);
    return text === undefined ? [] : [[column.field, text] as const];
  });
}

function textAt({ values, words, prefix, suffix }: DetailColumn, place: number): string | null | undefined {
  const value = values[place];
  const text = typeof value === 'number' ? (words?.[value] ?? null) : value;
  return typeof text === 'string' ? `${prefix}${text}${suffix}` : text;
}
