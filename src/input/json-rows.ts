// Reads rows from JSON: an array, lines of objects, indented objects, or a GeoJSON collection.

import { RepeatedKeyError, readExact } from '../json/exact.js';
import { isObject, JsonError, parseJson } from '../json/parse.js';
import { arrayRanges } from '../json/text.js';
import { clean } from '../terminal/clean.js';
import { type InputRow, type RowFields, type RowPlace, UnreadableInput } from './row.js';

/**
 * Reads an object that may span several lines. Returns undefined when it continues in the next
 * line. Numbers keep their digits. Throws UnreadableInput for broken JSON.
 */
export function readObjectLines(lines: readonly string[], place: RowPlace): RowFields | undefined {
  // Only a line that ends with a bracket can end an object, so the object is parsed only after such
  // a line.
  if (lines.length > 1 && !lines.at(-1)?.trimEnd().endsWith('}')) return undefined;
  const text = lines.join('\n');
  try {
    parseJson(text);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    if (error.isCutOff) return undefined;
    throw new UnreadableInput(error.message, place);
  }
  return fieldsOf(text, place);
}

/**
 * Yields the elements of an array that begins at `place`: objects, or texts such as UUIDs. The
 * elements are parsed one by one, because parsed values take many times the memory of their text.
 */
export function* readArray(text: string, place: RowPlace): Generator<InputRow, void, undefined> {
  const start = text.indexOf('[');
  const ranges = arrayRanges(text, start);
  let counted = 0;
  let { number } = place;
  for (;;) {
    const next = ranges.next();
    if (next.done === true) {
      const isComplete = next.value !== undefined && text.slice(next.value).trim() === '';
      // Parsing the whole text shows whether it is broken or incomplete.
      if (!isComplete) refuseInvalidJson(text, place, true);
      return;
    }
    const range = next.value;
    number += countLineEnds(text.slice(counted, range.start));
    counted = range.start;
    const item = text.slice(range.start, range.end);
    // An array that ends too early is reported at its first line.
    const isLast = range.end >= text.length;
    if (isLast) refuseInvalidJson(text, place, true);
    yield readElement(item, { unit: 'line', number });
  }
}

function readElement(item: string, place: RowPlace): InputRow {
  refuseInvalidJson(item, place);
  if (item.startsWith('"')) return { place, kind: 'text', text: JSON.parse(item) as string };
  return { place, kind: 'object', fields: fieldsOf(item, place) };
}

/**
 * Throws UnreadableInput for JSON that is not valid. With `isKnown` the text is known to be wrong,
 * and is refused even when the parser accepts it.
 */
function refuseInvalidJson(text: string, place: RowPlace, isKnown = false): void {
  try {
    parseJson(text);
  } catch (error) {
    throw error instanceof JsonError ? new UnreadableInput(error.message, place) : error;
  }
  if (isKnown) throw new UnreadableInput('broken JSON', place);
}

function countLineEnds(text: string): number {
  if (text.includes('\r')) return text.split(/\r\n|\r|\n/).length - 1;
  let count = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}

function fieldsOf(text: string, place: RowPlace): RowFields {
  const value = readWithoutRepeatedKeys(text, place);
  if (!isObject(value)) throw new UnreadableInput('an object is expected', place);
  return value;
}

function readWithoutRepeatedKeys(text: string, place: RowPlace): unknown {
  try {
    return readExact(text, true);
  } catch (error) {
    if (!(error instanceof RepeatedKeyError)) throw error;
    throw new UnreadableInput(`the key "${clean(error.key.slice(0, 100))}" appears twice`, place);
  }
}

/** Whether an object is a GeoJSON collection, as `-o geojson` writes it. */
export function isFeatureCollection(fields: RowFields): boolean {
  return fields['type'] === 'FeatureCollection' && Array.isArray(fields['features']);
}

/** Yields the properties of each feature, without its position. */
export function* readFeatures(
  fields: RowFields,
  place: RowPlace,
): Generator<InputRow, void, undefined> {
  for (const feature of fields['features'] as unknown[]) {
    const properties = isObject(feature) ? feature['properties'] : undefined;
    if (!isObject(properties))
      throw new UnreadableInput('a GeoJSON feature has no properties', place);
    yield { place, kind: 'object', fields: properties };
  }
}
