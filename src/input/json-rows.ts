// Reads rows from JSON: an array, JSON lines, objects that span several lines, or a GeoJSON
// collection.

import { RepeatedKeyError, readExact } from '../json/exact.js';
import { isObject, JsonError, parseJson } from '../json/parse.js';
import { arrayRanges } from '../json/text.js';
import { clean } from '../terminal/clean.js';
import { type InputRow, type RowFields, type RowPlace, UnreadableInput } from './row.js';

/**
 * Parses an object that may span several lines. Returns undefined when the object is not complete
 * yet. Numbers keep their digits. Throws UnreadableInput for invalid JSON.
 */
export function readObjectLines(lines: readonly string[], place: RowPlace): RowFields | undefined {
  // The last line of a complete object ends with `}`. If this line does not end with `}`, parsing
  // is pointless.
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
 * Yields the elements of an array: objects, or strings such as UUIDs. `place` is the line where the
 * array begins. Parses one element at a time, because parsed values take many times the memory of
 * their text.
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
      // The array is incomplete or other text follows it. Parsing the whole text reports the exact
      // error.
      if (!isComplete) refuseInvalidJson(text, place, true);
      return;
    }
    const range = next.value;
    number += countLineEnds(text.slice(counted, range.start));
    counted = range.start;
    const item = text.slice(range.start, range.end);
    // An incomplete array is reported at its first line.
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
 * Throws UnreadableInput for invalid JSON. `isKnown` says that the text is already known to be
 * invalid; it is then refused even if the parser accepts it.
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

/** Whether an object is a GeoJSON FeatureCollection, as `-o geojson` writes it. */
export function isFeatureCollection(fields: RowFields): boolean {
  return fields['type'] === 'FeatureCollection' && Array.isArray(fields['features']);
}

/** Yields the properties of each GeoJSON feature. Ignores the positions. */
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
