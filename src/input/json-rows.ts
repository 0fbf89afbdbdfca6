// Reads rows from JSON: an array, lines of objects, indented objects, or a GeoJSON collection.

import { RepeatedKeyError, readExact } from '../json/exact.js';
import { isObject, JsonError, parseJson } from '../json/parse.js';
import { splitArray } from '../json/text.js';
import { clean } from '../terminal/clean.js';
import { type InputRow, type RowFields, type RowPlace, UnreadableInput } from './row.js';

/**
 * Reads an object that may span several lines. Returns undefined when it continues in the next
 * line. Numbers keep their digits. Throws UnreadableInput for broken JSON.
 */
export function readObjectLines(lines: readonly string[], place: RowPlace): RowFields | undefined {
  // Only a line that ends with a bracket can end an object, so other lines need no attempt.
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

/** Yields the elements of an array that begins at `place`: objects, or texts such as UUIDs. */
export function* readArray(text: string, place: RowPlace): Generator<InputRow, void, undefined> {
  try {
    parseJson(text);
  } catch (error) {
    throw error instanceof JsonError ? new UnreadableInput(error.message, place) : error;
  }
  yield* rowsOfArray(text, text.indexOf('['), place);
}

function* rowsOfArray(
  text: string,
  start: number,
  place: RowPlace,
): Generator<InputRow, void, undefined> {
  const items = splitArray(text, start)?.texts ?? [];
  let at = start;
  let number = place.number + countLineEnds(text.slice(0, start));
  for (const item of items) {
    const itemStart = text.indexOf(item, at);
    number += countLineEnds(text.slice(at, itemStart));
    const itemPlace: RowPlace = { unit: 'line', number };
    if (item.startsWith('"'))
      yield { place: itemPlace, kind: 'text', text: JSON.parse(item) as string };
    else yield { place: itemPlace, kind: 'object', fields: fieldsOf(item, itemPlace) };
    number += countLineEnds(item);
    at = itemStart + item.length;
  }
}

function countLineEnds(text: string): number {
  return text.split(/\r\n|\r|\n/).length - 1;
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

/** Yields the properties of each feature. The position is not among them. */
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
