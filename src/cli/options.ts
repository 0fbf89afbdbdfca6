// Parsers of options that several commands share: each turns what was typed into a value, or refuses it with the reason.

import { usageError } from '../errors.js';
import { nearest, unknownWord } from './nearest.js';

/** A parser for commander: accepts one of the words, refuses others with the nearest right one. */
export function oneOf<const Word extends string>(kind: string, words: readonly Word[]): (word: string) => Word {
  return (word) => {
    const found = words.find((known) => known === word);
    if (found !== undefined) return found;
    throw unknownWord(kind, word, words);
  };
}

/** A parser for commander: a whole number from `minimum` on. */
export function wholeNumber(flag: string, minimum: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= minimum) return value;
    throw usageError(`${flag} takes a whole number from ${minimum} on, not "${text}"`);
  };
}

/** The longest time that is taken for meant: 30 days, for a typing error of a few digits more. */
const LONGEST_SECONDS = 30 * 86_400;

/** A parser for commander: seconds above 0, with a fraction or without. */
export function secondsOf(flag: string): (text: string) => number {
  return (text) => {
    const seconds = /^\d*\.?\d+$/.test(text) ? Number(text) : Number.NaN;
    if (seconds > 0 && seconds <= LONGEST_SECONDS) return seconds;
    throw usageError(`${flag} takes a number of seconds above 0, not "${text}"`, 'write it like 300 or 2.5');
  };
}

/** A parser for commander that collects a repeatable flag. */
export function collect(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value];
}

/**
 * A parser for commander: words with commas between, repeatable. A word that is nearly one of the list is refused; any other passes, for
 * a service may know words that the interface does not name.
 */
export function someOf(
  kind: string,
  words: readonly string[],
): (text: string, before: string[] | undefined) => string[] {
  const read = (word: string) => {
    if (words.includes(word)) return word;
    if (word === '' || nearest(word, words) !== undefined) throw unknownWord(kind, word, words);
    return word;
  };
  return (text, before = []) => [...new Set([...before, ...text.split(',').map((word) => read(word.trim()))])];
}
