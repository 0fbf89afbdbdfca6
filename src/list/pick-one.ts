// Picks the only item that matches a prefix or name. When there are several matches, throws an
// error that lists them.

import type { Resource } from '../api/resource.js';
import { type FleetError, usageError } from '../errors.js';
import { cutTo } from '../http/server-text.js';
import type { Item } from '../http/types.js';
import { clean } from '../terminal/clean.js';

/** The item that the user meant. */
export interface Meant<T> {
  /** The UUID in lower case. */
  uuid: string;
  /**
   * The item as it was found in a list. Undefined when the user typed a complete UUID, which needs
   * no look-up.
   */
  item: Item<T> | undefined;
}

/**
 * The maximum number of items that an error lists, and the maximum number of characters of a name.
 */
const MOST_LISTED = 10;
const LONGEST_NAME_CHARACTERS = 40;

/** The maximum number of characters that an error quotes from the user's text. */
const LONGEST_TEXT_CHARACTERS = 200;

/**
 * Returns the only match. With several matches, throws a FleetError of kind `usage` that lists
 * them. Without a match, throws `missing`.
 */
export function pickOne<T extends { [field: string]: unknown }>(
  text: string,
  matches: ReadonlyMap<string, Item<T>>,
  { many, nameField }: Resource,
  missing: FleetError,
): Meant<T> {
  const [first, ...others] = matches;
  if (first === undefined) throw missing;
  if (others.length === 0) return { uuid: first[0], item: first[1] };
  throw usageError(
    `"${shorten(text)}" matches ${matches.size} ${many}; nothing was sent`,
    `use more of it, or the UUID of one of them: ${listSome([...matches].map(([uuid, { value }]) => [uuid, value[nameField]]))}`,
  );
}

/** Returns one line with the first items and the number of the remaining items. */
export function listSome(things: readonly (readonly [uuid: string, name: unknown])[]): string {
  const shown = things.slice(0, MOST_LISTED).map(([uuid, name]) => describe(uuid, name));
  if (things.length > MOST_LISTED) shown.push(`and ${things.length - MOST_LISTED} more`);
  return shown.join(', ');
}

/**
 * Describes an item as `0b9f2c1e-… (Emmy 0001)`, without control characters. The user can copy the
 * UUID and recognise the name.
 */
export function describe(uuid: unknown, name: unknown): string {
  const id = clean(String(uuid ?? '').slice(0, 36));
  return typeof name === 'string' && name !== ''
    ? `${id} (${clean(name.slice(0, LONGEST_NAME_CHARACTERS))})`
    : id;
}

/** Shortens text that the user typed, so that an error can quote it. */
export function shorten(text: string): string {
  return text.length <= LONGEST_TEXT_CHARACTERS ? text : `${cutTo(text, LONGEST_TEXT_CHARACTERS)}…`;
}
