// The nearest right word to a mistyped one, for the errors of every room above this one.

import leven from 'leven';
import { usageError } from '../errors.js';

/** More letters than any word has: makes a word that begins as typed nearer than one that is misspelled. */
const LONGEST_WORD = 1000;

/** The nearest of the words when it is near enough to have been meant: `most` letters wrong, by default a third of them, two at least. */
export function nearest(
  word: string,
  words: readonly string[],
  most = Math.max(2, Math.floor(word.length / 3)),
): string | undefined {
  const typed = word.toLowerCase();
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of words) {
    const letters = leven(typed, candidate.toLowerCase());
    // Three letters that begin a word mean it; of several such words the shortest.
    const distance = candidate.startsWith(typed) && typed.length > 2 ? letters / LONGEST_WORD : letters;
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return bestDistance <= most ? best : undefined;
}

/** The error for a word that is none of a list: names the nearest and all of them. */
export function unknownWord(kind: string, word: string, words: readonly string[]): Error {
  const meant = nearest(word, words);
  return usageError(
    `unknown ${kind} "${word}"`,
    `${meant === undefined ? '' : `did you mean "${meant}"? `}${kind}s: ${words.join(', ')}`,
  );
}
