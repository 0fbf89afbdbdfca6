// Finds the closest word to a mistyped word, for "did you mean".

import leven from 'leven';
import { type FleetError, usageError } from '../errors.js';
import { hideLikelyTokens } from '../system/secrets.js';

/**
 * When a word starts with the typed text, its distance is divided by this number. The number is
 * larger than any word's length. Such a word is therefore closer than any word that needs a
 * correction.
 */
const LONGEST_WORD = 1000;

/**
 * Returns the closest word. Returns undefined when every word differs in more than `most` letters.
 * By default, `most` is a third of the letters, but at least two.
 */
export function nearest(
  word: string,
  words: readonly string[],
  most = Math.max(2, Math.floor(word.length / 3)),
): string | undefined {
  const typed = word.toLowerCase();
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of words) {
    const wanted = candidate.toLowerCase();
    const letters = leven(typed, wanted);
    // When three or more letters are typed, the shortest word that begins with them is the closest.
    const distance =
      wanted.startsWith(typed) && typed.length > 2 ? letters / LONGEST_WORD : letters;
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return bestDistance <= most ? best : undefined;
}

/**
 * Returns the error for a word that is not in the list. It suggests the closest word and lists all
 * words.
 *
 * The words in `grave` are changes that cannot be undone. They are suggested only when one letter
 * is wrong or missing, or two letters are swapped. For example, "restore" must not suggest
 * "retire".
 */
export function unknownWord(
  kind: string,
  word: string,
  words: readonly string[],
  grave: readonly string[] = [],
): FleetError {
  const near = nearest(word, words);
  const meant =
    near !== undefined && grave.includes(near) && !isSlip(word.toLowerCase(), near)
      ? undefined
      : near;
  return usageError(
    `unknown ${kind} "${hideLikelyTokens(word)}"`,
    `${meant === undefined ? '' : `did you mean "${meant}"? `}${kind}s: ${[...new Set(words)].join(', ')}`,
  );
}

function isSlip(typed: string, word: string): boolean {
  const sorted = (text: string) => [...text].sort().join('');
  return (
    leven(typed, word) <= 1 ||
    sorted(typed) === sorted(word) ||
    (typed.length > 2 && word.startsWith(typed))
  );
}
