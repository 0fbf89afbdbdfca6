// Resolves a prefix or name to one item; else an error lists what it matches.

import type { Resource } from '../../../api/resource.js';
import { type FleetError, usageError } from '../../../errors.js';
import { cutTo } from '../../../http/server-text.js';
import type { Item } from '../../../http/types.js';
import { clean } from '../../../terminal/clean.js';

/** What was meant. */
export interface Meant<T> {
  /** In lower case. */
  uuid: string;
  /** As the list has it; undefined for a whole UUID, which is taken as it is and not looked up. */
  item: Item<T> | undefined;
}

/** How many things a line lists, and the longest name of one in it. */
const MOST_LISTED = 10;
const LONGEST_NAME_CHARACTERS = 40;

/** Longer texts are cut in an error. */
const LONGEST_TEXT_CHARACTERS = 200;

/** The only match. Throws a FleetError of kind `usage` that lists several; `missing` when there is none. */
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
    `give more digits or the UUID of one: ${listSome([...matches].map(([uuid, { value }]) => [uuid, value[nameField]]))}`,
  );
}

/** The first of many, on one line. */
export function listSome(things: readonly (readonly [uuid: string, name: unknown])[]): string {
  const shown = things.slice(0, MOST_LISTED).map(([uuid, name]) => describe(uuid, name));
  if (things.length > MOST_LISTED) shown.push(`and ${things.length - MOST_LISTED} more`);
  return shown.join(', ');
}

/** `0b9f2c1e-… (Emmy 0001)`: what to paste, and what people call it; cleaned. */
export function describe(uuid: unknown, name: unknown): string {
  const id = clean(String(uuid ?? '').slice(0, 36));
  return typeof name === 'string' && name !== ''
    ? `${id} (${clean(name.slice(0, LONGEST_NAME_CHARACTERS))})`
    : id;
}

/** The typed text, for an error. */
export function shorten(text: string): string {
  return text.length <= LONGEST_TEXT_CHARACTERS ? text : `${cutTo(text, LONGEST_TEXT_CHARACTERS)}…`;
}
