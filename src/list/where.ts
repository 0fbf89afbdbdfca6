// Parses and evaluates conditions (FIELD OPERATOR VALUE) in fleet itself. A condition is parsed
// once and then tested on many values.

import { fieldOf, type Vocabulary } from '../api/resource.js';
import { nearest, unknownWord } from '../cli/nearest.js';
import { usageError } from '../errors.js';
import type { TimeZone } from '../system/time-zone.js';
import { firstSegment } from '../terminal/formats/columns.js';
import { readTime } from '../terminal/time.js';
import { type Now, parseTypedTime } from '../terminal/typed-time.js';
import { isJsonNumber, numberOf, readPath, textOf } from '../terminal/values.js';

export const OPERATORS = ['=', '!=', '<', '<=', '>', '>=', '~'] as const;
export type Operator = (typeof OPERATORS)[number];

export interface Condition {
  /** The condition as the user typed it, without white space at the ends. */
  readonly text: string;
  /** The path of the field, with dots: `state`, `extra.location.type`, `roles.0`. */
  readonly field: string;
  readonly operator: Operator;
  /** The text after the operator, without white space at the ends. */
  readonly value: string;
}

const CONDITION = /^\s*([^=!<>~]*[^=!<>~\s])\s*(!=|<=|>=|=|<|>|~)((?![=<>~]).*)$/s;
const FORM = 'FIELD, then one of = != < <= > >= ~ (contains), then VALUE';
const EXAMPLES = `for example state=lost, 'state_of_charge<20' or 'latest_gps_timestamp<-2h', in quotes because of < and >; a value that begins with an operator has a space before it`;

/** The names of the documented fields. */
type FieldWords = Pick<Vocabulary, 'fields' | 'headers'>;

/**
 * Parses a condition. Ignores spaces around its three parts. Throws a usage error for invalid text.
 * Also throws for two consecutive operators such as `==`, because the second one could be a part of
 * the value.
 */
export function parseCondition(text: string, vocabulary: FieldWords = { fields: [] }): Condition {
  const [, word = '', operator = '', right = ''] = CONDITION.exec(text) ?? [];
  const value = right.trim();
  if (word === '' || (value === '' && /[<>]/.test(operator)))
    throw usageError(`a condition must be ${FORM}, not "${text.trim()}"`, EXAMPLES);
  return {
    text: text.trim(),
    field: fieldOf(word, vocabulary),
    operator: operator as Operator,
    value,
  };
}

function isEquality(operator: Operator): boolean {
  return operator === '=' || operator === '!=';
}

/** Whether the interface documents the field of a condition. */
export function isDocumented({ field }: Condition, { fields }: FieldWords): boolean {
  return fields.includes(field) || fields.includes(firstSegment(field));
}

/**
 * Returns a command line for a hint. The command selects the objects whose field has any of several
 * values. Returns undefined when no such command exists.
 */
export type ShowAnyOf = (field: string, values: readonly string[]) => string | undefined;

/**
 * Matches a second condition in the typed text, such as ` or state=` in `state=lost or
 * state=retired`.
 */
const JOINED = /\s(?:or|and|\|\||&&)\s+([\w.]+)\s*[=!<>~]=?/i;

/**
 * Throws when the text contains several values or conditions. As a single condition, such text
 * would match nothing.
 */
function refuseSeveral(
  { text, field, operator, value }: Condition,
  vocabulary: Vocabulary,
  showAnyOf: ShowAnyOf,
): void {
  const words = vocabulary.words[field];
  const joined = JOINED.exec(value)?.[1];
  const isJoined =
    joined !== undefined && (words !== undefined || fieldOf(joined, vocabulary) === field);
  const values = isJoined
    ? value.split(/\s(?:or|and|\|\||&&)\s+/i).map((part) => part.replace(/^.*[=!<>~]\s*/, ''))
    : value.split(/\s*,\s*/);
  const isList = words !== undefined && isEquality(operator) && values.length > 1;
  if (!isJoined && !isList) return;
  const trimmed = values.map((each) => each.trim()).filter(Boolean);
  const line = operator === '=' ? showAnyOf(field, trimmed) : undefined;
  const each = trimmed.map((one) => `--where ${field}${operator}${one}`).join(' ');
  throw usageError(
    `"${text}" has several values, but a condition compares with one value`,
    line ?? (operator === '!=' ? `repeat the flag: ${each}` : 'put one condition in each flag'),
  );
}

/**
 * Throws a usage error for likely mistakes: several values in one condition, a field or word that
 * resembles a documented one, or a comparison of a number or time with other text. Accepts other
 * unknown fields and words, because the service may support more than the interface documents.
 */
export function checkCondition(
  condition: Condition,
  vocabulary: Vocabulary,
  showAnyOf: ShowAnyOf = () => undefined,
): void {
  const { text, field, operator, value } = condition;
  refuseSeveral(condition, vocabulary, showAnyOf);
  if (!isDocumented(condition, vocabulary)) {
    const first = firstSegment(field);
    const words = [...vocabulary.fields, ...Object.keys(vocabulary.headers ?? {})];
    if (nearest(first, words) !== undefined) throw unknownWord('field', first, words);
    return;
  }
  const words = vocabulary.words[field];
  const isOther =
    words !== undefined && isEquality(operator) && value !== 'null' && !words.includes(value);
  if (isOther && (value === '' || nearest(value, words) !== undefined))
    throw unknownWord(field, value, words);
  if (!/[<>]/.test(operator)) return;
  const refuse = (kind: string, hint: string) =>
    usageError(`"${text}" compares ${field}, which is a ${kind}, with "${value}"`, hint);
  if (vocabulary.numbers.includes(field) && numberOf(value) === undefined)
    throw refuse('number', `write a plain number: "${field}${operator}20"`);
  if (vocabulary.times.includes(field) && parseTypedTime(value) === undefined)
    throw refuse(
      'time',
      `write an age ("${field}<-2h" is older than two hours) or a time such as yesterday, monday, "2026-11-23 08:00", 23.11.2026 or 2026-03-01T12:00:00Z`,
    );
}

/**
 * Whether an object meets the condition. `=null` matches a missing or null field. `!=` with a value
 * other than null matches such a field too. A list matches when one of its elements matches.
 * Numbers (also in strings) are compared as numbers, times as times, and everything else as text.
 * `~` ignores case.
 *
 * @param now the current time and time zone, for ages such as `-2h` and words such as `yesterday`
 */
export function matches(condition: Condition, value: unknown, now: Now): boolean {
  const { operator } = condition;
  const found = readPath(value, condition.field);
  if (condition.value === 'null' && isEquality(operator))
    return (found === undefined || found === null) === (operator === '=');
  const isMet = (Array.isArray(found) ? found : [found]).some((element) =>
    meets(condition, element, now),
  );
  return isMet !== (operator === '!=');
}

/**
 * Tests one element of a field. An element of a `!=` condition is tested with `=`, and the caller
 * negates the result.
 */
function meets({ operator, value }: Condition, found: unknown, now: Now): boolean {
  if (found === undefined || found === null) return false;
  if (operator === '~') return fold(textOf(found) ?? '').includes(fold(value));
  // `"null"` in quotes means the text "null". Without quotes it means a missing value.
  if (isEquality(operator)) return isEqual(value === '"null"' ? 'null' : value, found, now);
  const order = compare(found, value, now);
  if (order === undefined) return false;
  return order === 0 ? operator.endsWith('=') : order < 0 === operator.startsWith('<');
}

/**
 * Longer strings are not normalized, because `normalize` takes quadratic time for consecutive
 * accents. A name with 160,000 accents would block the program for 10 s.
 */
const NORMALIZED_CHARACTERS = 2_000;

/**
 * Returns the text in lower case and in the Unicode form NFC. The operator `~` compares texts in
 * this form.
 */
function fold(text: string): string {
  return (text.length <= NORMALIZED_CHARACTERS ? text.normalize('NFC') : text).toLowerCase();
}

/**
 * Whether two values are equal. Different spellings of a number are equal, such as `7` and `7.0`. A
 * string such as `007` equals only itself.
 */
function isEqual(wanted: string, found: unknown, now: Now): boolean {
  const text = (textOf(found) ?? '').trim();
  const isLiteral =
    typeof found === 'string' &&
    numberOf(text) !== undefined &&
    !(isJsonNumber(text) && isJsonNumber(wanted));
  return text === wanted || (!isLiteral && compare(found, wanted, now) === 0);
}

/**
 * Compares the found value with the wanted one. Returns a negative number when the found value is
 * less, and a positive number when it is greater. Returns undefined when the values cannot be
 * compared.
 */
function compare(found: unknown, wanted: string, now: Now): number | undefined {
  if (numberOf(wanted) !== undefined) {
    const value = numberOf(found);
    return value === undefined ? undefined : value - Number(numberOf(wanted));
  }
  const limit = momentOf(wanted, now);
  const value = limit === undefined ? undefined : readTime(found);
  if (limit !== undefined && value !== undefined) return value - limit;
  // A word such as `monday` may be ordinary text, so it is compared as text when the value is not a
  // time. An ISO 8601 time or an age such as `-2h` is never compared as text.
  if (typeof found !== 'string' || (limit !== undefined && FORMAL_TIME.test(wanted)))
    return undefined;
  return found === wanted ? 0 : found < wanted ? -1 : 1;
}

const FORMAL_TIME = /^(?:\d{4}-\d\d-\d\d|-\d)/;

/**
 * A cache of parsed times. It helps because all items of a list are compared with the same few
 * times. The cache is emptied when the current time or the zone changes.
 */
let readTimes: { ms: number; zone: TimeZone; times: Map<string, number | undefined> } | undefined;
const MOST_REMEMBERED_TIMES = 100;

/**
 * Returns the time that the text describes, in milliseconds since the epoch, or undefined for other
 * text.
 */
function momentOf(text: string, now: Now): number | undefined {
  const isSame = readTimes?.ms === now.ms && readTimes.zone === now.zone;
  if (readTimes === undefined || !isSame || readTimes.times.size > MOST_REMEMBERED_TIMES)
    readTimes = { ...now, times: new Map() };
  const { times } = readTimes;
  if (!times.has(text)) times.set(text, parseTypedTime(text)?.(now));
  return times.get(text);
}
