// Parses the values of a bicycle's fields from flags and file rows, compares them, and formats a
// change.

import { NEW_BICYCLE_FIELDS } from '../../api/bicycle.js';
import { isLinkField, wholeUuid } from '../../api/links.js';
import { compareStored, type StoredForm } from '../../bulk/outcome.js';
import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import { removeFormulaGuard } from '../../input/csv.js';
import { isScientificNumber, TEXT_FORMAT_HINT } from '../../input/rows-by-name.js';
import { readExact, spellingOf, toNumber, writeJson, writtenNumber } from '../../json/exact.js';
import { isObject, JsonError, parseJson } from '../../json/parse.js';
import { clean, escapeJson, isClean } from '../../terminal/clean.js';
import { isExportOf, isSameNumber } from '../../terminal/formats/cell-text.js';
import { isJsonNumber, textOf } from '../../terminal/values.js';
import { typedField } from '../api/fields.js';
import { readLink } from './fields.js';

/** Fields that contain text. The type of any other field is taken from its current value. */
export const TEXT_FIELDS: readonly string[] = [...NEW_BICYCLE_FIELDS, 'note'];

/** Fields that people use to identify a bicycle. */
const NAME_FIELDS: readonly string[] = ['name', 'serial_number', 'bleid'];

/** Observed: the service refuses null for these fields, but accepts an empty string. */
const CLEARED_BY_EMPTY_TEXT: readonly string[] = ['name', 'description', 'serial_number'];

/**
 * Whether two values of a field are equal. Numbers are compared as numbers. Links are compared by
 * their UUID, because a proxy can change their host.
 */
export function isSameValue(field: string, one: unknown, other: unknown): boolean {
  if (isLinkField(field) && typeof one === 'string' && typeof other === 'string') {
    const uuid = wholeUuid(one);
    if (uuid !== undefined && uuid === wholeUuid(other)) return true;
  }
  return isEqual(one, other);
}

/** Compares a sent value with the value that the service stored. */
export function compareValue(field: string, sent: unknown, stored: unknown): StoredForm {
  if (isSameValue(field, sent, stored)) return 'same';
  if (isEmpty(sent) && isEmpty(stored)) return 'normalised';
  if (Array.isArray(sent) && Array.isArray(stored)) return compareLists(field, sent, stored);
  if (typeof sent !== 'string') return 'other';
  if (typeof stored !== 'string') return sent === textOf(stored) ? 'normalised' : 'other';
  if (!isLinkField(field)) return compareStored(sent, stored);
  return pathEnd(sent) !== undefined && pathEnd(sent) === pathEnd(stored) ? 'same' : 'other';
}

function isEmpty(value: unknown): boolean {
  return (
    value === null || value === undefined || (typeof value === 'string' && value.trim() === '')
  );
}

/**
 * Compares lists such as tags. Lists that differ only in their order are `normalised`, because the
 * service may change the order.
 */
function compareLists(field: string, sent: unknown[], stored: unknown[]): StoredForm {
  const isIn = (value: unknown, list: unknown[]) =>
    list.some((other) => ['same', 'normalised'].includes(compareValue(field, value, other)));
  const isNormalised =
    sent.every((value) => isIn(value, stored)) &&
    stored.every((value) => sent.some((other) => isIn(other, [value])));
  return isNormalised ? 'normalised' : 'other';
}

/**
 * Returns the collection and the identifier at the end of a link. A proxy can change the rest of
 * the link.
 */
function pathEnd(link: string): string | undefined {
  return /\/([^/?#]+\/[^/?#]+)\/?$/.exec(link)?.[1];
}

function isEqual(one: unknown, other: unknown): boolean {
  const [number, otherNumber] = [numberText(one), numberText(other)];
  if (number !== undefined && otherNumber !== undefined) return isSameNumber(number, otherNumber);
  if (number !== undefined || otherNumber !== undefined) return false;
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((item, index) => isEqual(item, other[index]));
  if (Array.isArray(one) || Array.isArray(other)) return false;
  if (isObject(one) && isObject(other)) {
    const names = Object.keys(one);
    if (names.length !== Object.keys(other).length) return false;
    return names.every((name) => Object.hasOwn(other, name) && isEqual(one[name], other[name]));
  }
  return one === other;
}

/** Returns the digits of a number, or undefined for any other value. */
function numberText(value: unknown): string | undefined {
  return typeof value === 'number' ? writeJson(value) : writtenNumber(value);
}

/**
 * Returns a field's new value from a flag's text. `null` clears the field. Looks up the name of a
 * linked resource. If the current value of the field is not a string, the text determines the type
 * of the new value.
 */
export async function readFlagValue(
  context: Context,
  field: string,
  text: string,
  before: unknown,
): Promise<unknown> {
  if (text === 'null') return null;
  return readText(context, field, text, before);
}

/**
 * Returns the new value that a cell of a CSV file or workbook sets. If the cell equals the current
 * value as fleet exports it, with or without a leading apostrophe, the field is not changed.
 *
 * With `hasGuards`, the apostrophe before a formula is removed from a changed cell. `delimiter` is
 * the character between the columns of CSV.
 *
 * Throws a FleetError of kind `usage` for a number that Excel shortened, and for a cell whose type
 * differs from the current value.
 */
export async function readCellValue(
  context: Context,
  field: string,
  cell: string,
  before: unknown,
  { hasGuards, delimiter }: { hasGuards: boolean; delimiter?: string | undefined },
): Promise<unknown> {
  const text = hasGuards ? removeFormulaGuard(cell) : cell;
  if (!TEXT_FIELDS.includes(field)) {
    if (typeof before === 'boolean') return readBooleanCell(field, text);
    if (numberText(before) !== undefined) return readNumberCell(field, text, before, delimiter);
  }
  if (isExportOf(cell, before)) return before;
  if (isExportOf(text, before)) return before;
  refuseScientificNumber(field, text);
  return readText(context, field, text, before);
}

/** The words that Excel writes for true and false in several languages. */
const BOOLEAN_WORDS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['wahr', true],
  ['vrai', true],
  ['vero', true],
  ['verdadero', true],
  ['false', false],
  ['falsch', false],
  ['faux', false],
  ['falso', false],
]);

function readBooleanCell(field: string, cell: string): boolean {
  const value = BOOLEAN_WORDS.get(cell.trim().toLowerCase());
  if (value !== undefined) return value;
  throw usageError(`${field} must be true or false, not "${clean(cell.slice(0, 40))}"`);
}

/** Matches a number with a decimal point or comma. */
const DECIMAL = /^(?<whole>-?\d+)(?:(?<sign>[.,])(?<fraction>\d+))?(?<exponent>e[+-]?\d+)?$/i;

/**
 * Parses the cell of a number field. The decimal separator is a comma in files with semicolons, and
 * a point in other files. The other character of the two is also accepted as a decimal separator,
 * unless it could be a thousands separator.
 */
function readNumberCell(
  field: string,
  cell: string,
  before: unknown,
  delimiter: string | undefined,
): unknown {
  const text = cell.trim();
  const present = numberText(before) ?? '';
  if (text === present) return before;
  const { whole = '', sign, fraction = '', exponent = '' } = DECIMAL.exec(text)?.groups ?? {};
  const decimalSign = delimiter === ';' ? ',' : '.';
  const canBeGrouped = /^-?[1-9]\d{0,2}$/.test(whole) && fraction.length === 3 && exponent === '';
  if (sign !== undefined && sign !== decimalSign && canBeGrouped)
    throw usageError(
      `${field} "${text}" is ambiguous: the ${sign === ',' ? 'comma' : 'point'} can separate thousands or decimals`,
      `write ${whole}${fraction} or ${whole}${decimalSign}${fraction}0`,
    );
  const number = `${whole}${sign === undefined ? '' : '.'}${fraction}${exponent}`;
  if (!isJsonNumber(number))
    throw usageError(
      `${field} must be a number, not "${clean(cell.slice(0, 40))}"`,
      'write the number without thousands separators or a unit',
    );
  if (isSameNumber(number, present)) return before;
  if (isScientificNumber(text)) throw shortenedNumber(field, text);
  return toNumber(number);
}

/** Returns the error for a number that lost digits in Excel. */
function shortenedNumber(field: string, text: string) {
  return usageError(
    `${field} "${text}" is a shortened number: some digits are missing`,
    TEXT_FORMAT_HINT,
  );
}

/**
 * Refuses a number in scientific notation, because Excel may have used it to shorten a longer
 * number.
 */
export function refuseScientificNumber(field: string, text: string): void {
  if (NAME_FIELDS.includes(field) && isScientificNumber(text))
    throw shortenedNumber(field, text.trim());
}

/** Returns the new value that a JSON or YAML object sets. */
export async function readObjectValue(
  context: Context,
  field: string,
  value: unknown,
  before: unknown,
): Promise<unknown> {
  if (isSameValue(field, value, before)) return before;
  const text = readObjectText(field, value, before);
  if (text === before) return before;
  return typeof text === 'string' && isLinkField(field) ? readLink(context, field, text) : text;
}

/**
 * Returns the value for an object's field. In a text field, a number keeps its spelling from the
 * file, with all its digits.
 */
function readObjectText(field: string, value: unknown, before: unknown): unknown {
  const spelling = spellingOf(value);
  if (spelling !== undefined && typeof before === 'string') return spelling;
  return TEXT_FIELDS.includes(field) ? (spelling ?? numberText(value) ?? value) : value;
}

async function readText(
  context: Context,
  field: string,
  text: string,
  before: unknown,
): Promise<unknown> {
  if (text === before) return text;
  if (isLinkField(field)) return readLink(context, field, text);
  if (TEXT_FIELDS.includes(field) || typeof before === 'string') return text;
  if (LIST_FIELDS.includes(field) || isCollection(before)) return readCollection(field, text);
  return typedField(field, text).value;
}

/** Observed: fields that contain lists. Other list fields are recognised by their current value. */
const LIST_FIELDS: readonly string[] = ['tags'];

function isCollection(value: unknown): boolean {
  return Array.isArray(value) || (isObject(value) && writtenNumber(value) === undefined);
}

/**
 * Parses a list or an object, such as `tags`. In a CSV cell, the list or object is written as JSON.
 * Throws a FleetError of kind `usage` for any other value.
 */
function readCollection(field: string, text: string): unknown {
  const example = `write the value as JSON, for example ${field} = ["a","b"]`;
  try {
    parseJson(text);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw usageError(`${field} is not valid JSON: ${error.message}`, example);
  }
  const value = readExact(text);
  if (isCollection(value)) return value;
  throw usageError(
    `${field} must be a list or an object, not ${clean(text.slice(0, 40))}`,
    example,
  );
}

/**
 * Returns the value that clears a field. For a field for which the service refuses null, this value
 * is an empty string.
 */
export function clearedValue(field: string, before: unknown): unknown {
  if (before === null || before === undefined || before === '') return before;
  return CLEARED_BY_EMPTY_TEXT.includes(field) ? '' : null;
}

/**
 * Throws a FleetError of kind `usage` when a new name contains control characters. Line breaks and
 * tabs are allowed, because files can contain them.
 */
export function refuseControlCharacters(field: string, value: unknown): void {
  if (!NAME_FIELDS.includes(field) || typeof value !== 'string') return;
  const [found] = /[^\P{Cc}\t\n\r]/u.exec(value) ?? [];
  if (found === undefined) return;
  const code = (found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  throw usageError(
    `${field} must not contain control characters: ${escapeJson(JSON.stringify(value.slice(0, 100)))} has U+${code}`,
    'remove the character; a terminal or a spreadsheet can add it when text is pasted',
  );
}

/** Values that are longer than this are cut in the preview of a change. */
const LONGEST_VALUE_CHARACTERS = 200;

/** When two long values have a common prefix, this many characters of the prefix are shown. */
const CONTEXT_CHARACTERS = 20;

/**
 * Returns `old -> new` for a preview. Both values are shown as JSON when they have hidden
 * characters or would look the same.
 */
export function showDifference(before: unknown, after: unknown): string {
  const plain = [showPlain(before), showPlain(after)] as const;
  const isPlain = isShownPlainly(before) && isShownPlainly(after) && plain[0] !== plain[1];
  const [old, now] = isPlain ? plain : ([showAsJson(before), showAsJson(after)] as const);
  return cutAtDifference(old, now).join(' -> ');
}

function showPlain(value: unknown): string {
  const text = textOf(value);
  if (text === '') return '(empty)';
  return text === undefined ? '(none)' : clean(text);
}

/**
 * Whether the plain text of a value can be shown without quotes. The text is ambiguous when the
 * value is the string `null`, or when it has hidden characters or spaces at its start or end.
 */
function isShownPlainly(value: unknown): boolean {
  const text = textOf(value);
  return text === undefined || (isClean(text) && text === text.trim() && text !== 'null');
}

function showAsJson(value: unknown): string {
  return value === undefined ? '(none)' : escapeJson(writeJson(value));
}

/** Truncates two long strings so that their first difference stays visible. */
function cutAtDifference(one: string, other: string): [string, string] {
  const isLong = Math.max(one.length, other.length) > LONGEST_VALUE_CHARACTERS;
  if (!isLong) return [one, other];
  let common = 0;
  while (common < one.length && one[common] === other[common]) common += 1;
  const start = Math.max(0, common - CONTEXT_CHARACTERS);
  const cut = (text: string) => {
    const end = start + LONGEST_VALUE_CHARACTERS;
    return `${start > 0 ? '…' : ''}${text.slice(start, end)}${text.length > end ? '…' : ''}`;
  };
  return [cut(one), cut(other)];
}

/**
 * Prints one notice that lists the read-only columns of an input. Prints nothing when these columns
 * only identify rows.
 */
export async function reportReadOnlyColumns(
  context: Context,
  columns: Iterable<string>,
): Promise<void> {
  const ignored = [...columns].filter((column) => column !== 'uuid' && column !== 'id');
  if (ignored.length === 0) return;
  const hint = ignored.includes('state')
    ? '; to change a state, use: fleet bicycles act - TRANSITION'
    : '';
  await context.notice(`ignored read-only columns: ${clean(ignored.join(', '))}${hint}`);
}
