// Finds the word nearest to a mistyped one, for "did you mean".

import leven from 'leven';
import { type FleetError, usageError } from '../errors.js';

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
    const wanted = candidate.toLowerCase();
    const letters = leven(typed, wanted);
    // Three letters that begin a word mean it; of several such words the shortest.
    const distance =
      wanted.startsWith(typed) && typed.length > 2 ? letters / LONGEST_WORD : letters;
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return bestDistance <= most ? best : undefined;
}

/**
 * The error for a word that is none of a list: names the nearest and all of them. A `grave` word, which has no way back, is the nearest only where
 * one letter is wrong or missing, or two are swapped: who types "restore" does not mean "retire".
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
    `unknown ${kind} "${word}"`,
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
