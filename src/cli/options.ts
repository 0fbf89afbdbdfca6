// Parsers of options that several commands share: each turns what was typed into a value, or refuses it with the reason, and has the
// words that completion offers.

import { fieldOf, type Resource } from '../api/resource.js';
import { usageError } from '../errors.js';
import { plain, withOffers } from './completions.js';
import { nearest, unknownWord } from './nearest.js';

/** A parser for commander: accepts one of the words, refuses others with the nearest right one. */
export function oneOf<const Word extends string>(
  kind: string,
  words: readonly Word[],
): (word: string) => Word {
  const read = (word: string) => {
    const found = words.find((known) => known === word);
    if (found !== undefined) return found;
    throw unknownWord(kind, word, words);
  };
  return withOffers(read, () => ({ words: plain(words) }));
}

/** A parser for commander: a whole number from `minimum` on, up to `maximum` where there is one. */
export function wholeNumber(
  flag: string,
  minimum: number,
  maximum?: number,
): (text: string) => number {
  const range = maximum === undefined ? `of ${minimum} or more` : `from ${minimum} to ${maximum}`;
  return (text) => {
    const value = Number(text);
    const isWhole = /^\d+$/.test(text) && Number.isSafeInteger(value);
    if (isWhole && value >= minimum && value <= (maximum ?? value)) return value;
    throw usageError(`${flag} takes a whole number ${range}, not "${text}"`);
  };
}

/** The highest port of TCP. */
const HIGHEST_PORT = 65_535;

/** A parser for commander: a port of TCP; 0 is any free one. */
export function portNumber(flag: string): (text: string) => number {
  return wholeNumber(flag, 0, HIGHEST_PORT);
}

/** 30 days: more is taken for a typing error. */
const LONGEST_SECONDS = 30 * 86_400;

/** A parser for commander: seconds above 0, with a fraction or without. */
export function secondsOf(flag: string): (text: string) => number {
  return (text) => {
    const seconds = /^\d*\.?\d+$/.test(text) ? Number(text) : Number.NaN;
    if (seconds > 0 && seconds <= LONGEST_SECONDS) return seconds;
    throw usageError(
      `${flag} takes a number of seconds above 0, not "${text}"`,
      'write it like 300 or 2.5',
    );
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
  const read = (text: string, before: string[] = []) => [
    ...new Set([...before, ...text.split(',').map((word) => refuseSlip(kind, word.trim(), words))]),
  ];
  return withOffers(read, () => ({ words: plain(words), isList: true }));
}

/**
 * A parser for commander: fields to sort by, with commas between, each with a `-` in front when it descends. A slip is refused; any other
 * field passes. A header of the table means its field.
 */
export function ordering(
  resource: Pick<Resource, 'orderings' | 'fields' | 'headers'>,
): (text: string) => string {
  const { orderings: words, fields } = resource;
  const read = (text: string) => {
    const names = text.split(',').map((word) => {
      const [, sign = '', name = ''] = /^(-?)(.*)$/s.exec(word.trim()) ?? [];
      const field = fieldOf(name, resource);
      if (!fields.includes(field)) refuseSlip('ordering', field, words);
      return sign + field;
    });
    return names.join(',');
  };
  return withOffers(read, ({ typed }) => ({
    // Descending ones only where somebody began with the sign: there are many.
    words: typed.startsWith('-')
      ? words.map((field) => ({ value: `-${field}`, description: 'descending' }))
      : plain(words),
    isList: true,
  }));
}

function refuseSlip(kind: string, word: string, words: readonly string[]): string {
  if (words.includes(word)) return word;
  if (word === '' || nearest(word, words) !== undefined) throw unknownWord(kind, word, words);
  return word;
}

/** A parser for commander: a factor above 0, or `max`. */
export function readSpeed(text: string): number {
  if (text === 'max') return Number.POSITIVE_INFINITY;
  const factor = /^\d*\.?\d+x?$/.test(text) ? Number.parseFloat(text) : Number.NaN;
  if (factor > 0) return factor;
  throw usageError(
    `--speed takes a factor above 0, or max, not "${text}"`,
    'for example 1, 60 or 0.5',
  );
}
