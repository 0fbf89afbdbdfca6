// Option parsers that several commands share. A parser returns the value or throws the reason, and
// has the completions of the option.

import { fieldOf, type Resource } from '../api/resource.js';
import { usageError } from '../errors.js';
import { plain, withOffers } from './completions.js';
import { nearest, unknownWord } from './nearest.js';

/**
 * Creates a parser that accepts one of the words, and suggests the closest one for any other text.
 */
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

/** Creates a parser for a whole number of at least `minimum` and at most `maximum`. */
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
    throw usageError(`${flag} must be a whole number ${range}, not "${text}"`);
  };
}

/**
 * Returns the end of an error message that quotes the typed text. Only a word that consists of
 * letters is quoted. Other text may be a secret: a key, or a name and its key with the `:` or `=`
 * missing between them.
 */
export function notText(text: string): string {
  return /^[a-z-]{1,20}$/i.test(text) ? `, not "${text}"` : '';
}

/** The highest TCP port. */
const HIGHEST_PORT = 65_535;

/** Creates a parser for a TCP port; 0 selects a free port. */
export function portNumber(flag: string): (text: string) => number {
  return wholeNumber(flag, 0, HIGHEST_PORT);
}

/** 30 days. A larger value is probably a typing error. */
const LONGEST_SECONDS = 30 * 86_400;

/** Creates a parser for a number of seconds above 0. Fractions are allowed. */
export function secondsOf(flag: string): (text: string) => number {
  return (text) => {
    const seconds = /^\d*\.?\d+$/.test(text) ? Number(text) : Number.NaN;
    if (seconds > 0 && seconds <= LONGEST_SECONDS) return seconds;
    throw usageError(
      `${flag} must be a number of seconds above 0, not "${text}"`,
      'write a number such as 300 or 2.5',
    );
  };
}

/** Collects the values of a repeatable flag. */
export function collect(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value];
}

/**
 * Creates a parser for comma-separated words. The flag can be repeated.
 *
 * Rejects misspelled words and words that only other tools use. `foreign` maps the words of other
 * tools to fleet's words. Accepts any other word, because a service may support words that fleet
 * does not know.
 */
export function someOf(
  kind: string,
  words: readonly string[],
  foreign: Readonly<Record<string, string>> = {},
): (text: string, before: string[] | undefined) => string[] {
  const readWord = (word: string) => {
    const meant = Object.hasOwn(foreign, word) ? foreign[word] : undefined;
    if (meant !== undefined)
      throw usageError(`unknown ${kind} "${word}"`, `did you mean "${meant}"?`);
    return refuseSlip(kind, word, words);
  };
  const read = (text: string, before: string[] = []) => [
    ...new Set([...before, ...text.split(',').map((word) => readWord(word.trim()))]),
  ];
  return withOffers(read, () => ({ words: plain(words), isList: true }));
}

/**
 * Creates a parser for comma-separated sort fields. A `-` before a field means descending order.
 * The column headers of tables can be used as fields. Misspelled fields are refused, and unknown
 * fields are accepted.
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
    // There are many sort fields. Fields in descending order are therefore offered only after the
    // user typed `-`.
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

/** Parses a factor above 0, or `max`. */
export function readSpeed(text: string): number {
  if (text === 'max') return Number.POSITIVE_INFINITY;
  const factor = /^\d*\.?\d+x?$/.test(text) ? Number.parseFloat(text) : Number.NaN;
  if (factor > 0) return factor;
  throw usageError(
    `--speed must be max or a number above 0, not "${text}"`,
    'for example 1, 60 or 0.5',
  );
}
