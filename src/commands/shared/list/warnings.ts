// Words that are not known here: sent or compared as they are, for a service may know more, after a warning.

import type { Vocabulary } from '../../../api/resource.js';
import { nearest } from '../../../cli/nearest.js';
import type { Context } from '../../../context.js';
import type { Condition } from './where.js';

/** Warns of each word that is not known, with the nearest that is. `kind` is what it stands for: `state`, `ordering`. */
export async function warnOfWords(
  context: Context,
  kind: string,
  given: readonly string[] = [],
  known: readonly string[] = [],
): Promise<void> {
  for (const word of given) {
    if (known.includes(word)) continue;
    const meant = nearest(word, known);
    const hint = meant === undefined ? '' : `; did you mean "${meant}"?`;
    await context.notice(`warning: "${word}" is not a known ${kind}${hint}`);
  }
}

/** Warns of a condition whose value is a word of a list, and of none that is known. */
export async function warnOfCondition(
  context: Context,
  { field, operator, value }: Condition,
  words: Vocabulary['words'],
): Promise<void> {
  if (!Object.hasOwn(words, field) || (operator !== '=' && operator !== '!=') || value === 'null') return;
  await warnOfWords(context, field, [value], words[field]);
}
