// Finds the bicycle that an operator means: a UUID, the beginning of one, or an exact name, serial number or bleid.

import { BICYCLES_PATH, type Bicycle } from '../../api/bicycle.js';
import { wholeUuid } from '../../api/links.js';
import type { Context } from '../../context.js';
import { FleetError, usageError } from '../../errors.js';
import type { Client } from '../../http/client.js';
import type { Item, Page, Query } from '../../http/types.js';
import { clean } from '../../terminal/clean.js';

export interface FoundBicycle {
  /** In lower case. */
  uuid: string;
  /** As the list has it; undefined for a whole UUID, which is taken as it is and not looked up. */
  item: Item<Bicycle> | undefined;
}

/** What is asked of each page of a look-up; observed: up to 100 are given, and a service without the parameter ignores it. */
const PAGE_SIZE = '100';
/** Fewer digits than this would often match by accident. */
const SHORTEST_PREFIX_DIGITS = 4;
/** What begins with so many digits is hardly called so by accident. */
const CERTAIN_PREFIX_DIGITS = 8;
/** How many matches an error lists. */
const MOST_LISTED = 10;

/** The beginning of a UUID: hexadecimal digits, with dashes where a UUID has them. */
const BEGINNING = /^[0-9a-f]{1,8}$|^[0-9a-f]{8}-[0-9a-f-]{0,27}$/i;

/**
 * Finds one bicycle, among those of the organization of `scope`, else of the settings. A whole UUID or a link costs no request. Throws a FleetError of kind `usage` when several match, of kind
 * `not-found` when none does.
 */
export async function findBicycle(context: Context, text: string, scope?: string): Promise<FoundBicycle> {
  const uuid = wholeUuid(text);
  if (uuid !== undefined) return { uuid, item: undefined };
  if (text.trim() === '') throw usageError('an empty text names no bicycle', 'give a UUID, its beginning, or a name');
  const client = await context.client();
  const organization = scope ?? (await context.settings()).organization.value;
  const matches = await lookUp(client, text, organization);
  const [only] = matches.values();
  if (only === undefined) throw notFound(text, organization);
  if (matches.size > 1) throw ambiguous(text, [...matches.values()]);
  return { uuid: only.value.uuid?.toLowerCase() ?? '', item: only };
}

/** Every bicycle that the text may mean, by its UUID in lower case. */
async function lookUp(
  client: Client,
  text: string,
  organization: string | undefined,
): Promise<Map<string, Item<Bicycle>>> {
  const matches = new Map<string, Item<Bicycle>>();
  // Fewer digits may also be the number that somebody gave another bicycle.
  const isFound = () => matches.size > 0 && text.length >= CERTAIN_PREFIX_DIGITS;
  for await (const items of candidatesFor(client, text, organization, isFound)) {
    for (const item of items) {
      const { uuid } = item.value;
      if (typeof uuid === 'string' && isMeant(item.value, text)) matches.set(uuid.toLowerCase(), item);
    }
  }
  return matches;
}

/**
 * Pages of the list that hold every bicycle whose UUID begins like the text, or whose name, serial number or bleid has it within; and
 * others. `isFound` is asked between UUIDs and names. Observed: `query` finds a text in these three. A service that ignores it sends every
 * bicycle, which is as good.
 */
export async function* candidatesFor(
  client: Client,
  text: string,
  organization: string | undefined,
  isFound = () => false,
): AsyncGenerator<readonly Item<Bicycle>[], void, undefined> {
  const scope: Query = organization === undefined ? [] : [['organization', organization]];
  if (BEGINNING.test(text)) yield* pagesAround(client, scope, text.toLowerCase());
  if (!isFound()) yield* everyPage(client, [...scope, ['query', text], ['page_size', PAGE_SIZE]]);
}

const SUBJECT = 'the list of bicycles';

function isMeant({ uuid, name, serial_number, bleid }: Bicycle, text: string): boolean {
  if (name === text || serial_number === text || bleid === text) return true;
  return (
    typeof uuid === 'string' &&
    text.length >= SHORTEST_PREFIX_DIGITS &&
    BEGINNING.test(text) &&
    uuid.toLowerCase().startsWith(text.toLowerCase())
  );
}

/**
 * The bicycles whose UUIDs begin like this, with some around them: found by halving a list ordered by UUID, so that a large fleet
 * costs about ten requests. Where pages are not numbered or not in order, all pages are read instead.
 */
async function* pagesAround(
  client: Client,
  scope: Query,
  prefix: string,
): AsyncGenerator<readonly Item<Bicycle>[], void, undefined> {
  const base: Query = [...scope, ['ordering', 'uuid'], ['page_size', PAGE_SIZE]];
  const read = async (page: number): Promise<Page<Bicycle> | undefined> => {
    const query: Query = [...base, ['page', String(page)]];
    const first = await client.pages<Bicycle>({ path: BICYCLES_PATH, query, subject: SUBJECT }, { ahead: 0 }).next();
    return first.done === true ? undefined : first.value;
  };
  const first = await read(1);
  const pages = Math.ceil((first?.count ?? 0) / Math.max(1, first?.items.length ?? 1));
  let [low, high] = [1, Math.max(1, pages)];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const end = compareEnd(middle === 1 ? first : await read(middle), prefix);
    if (end === undefined) return yield* everyPage(client, base);
    if (end < 0) low = middle + 1;
    else high = middle;
  }
  for (let number = low; ; number += 1) {
    const page = number === 1 ? first : await read(number);
    if (page === undefined) return;
    const end = compareEnd(page, prefix);
    if (end === undefined && page.next !== undefined) return yield* everyPage(client, base);
    yield page.items;
    if (page.next === undefined || end === undefined || end > 0) return;
  }
}

async function* everyPage(client: Client, query: Query): AsyncGenerator<readonly Item<Bicycle>[], void, undefined> {
  for await (const { items } of client.pages<Bicycle>({ path: BICYCLES_PATH, query, subject: SUBJECT })) yield items;
}

/**
 * Whether a page ends before what begins with the prefix (below 0), within it (0) or behind it (above 0); undefined where the page is
 * empty or not in the order of UUIDs.
 */
function compareEnd(page: Page<Bicycle> | undefined, prefix: string): number | undefined {
  const uuids = page?.items.map(({ value }) => String(value.uuid ?? '').toLowerCase()) ?? [];
  const last = uuids.at(-1);
  if (last === undefined || uuids.some((uuid, index) => (uuids[index - 1] ?? '') > uuid)) return undefined;
  const end = last.slice(0, prefix.length);
  return end === prefix ? 0 : end < prefix ? -1 : 1;
}

/** The bicycle of a whole UUID as the list has it; undefined where the list does not. */
export async function findByUuid(context: Context, client: Client, uuid: string): Promise<Item<Bicycle> | undefined> {
  const organization = (await context.settings()).organization.value;
  return (await lookUp(client, uuid, organization)).get(uuid);
}

function notFound(text: string, organization: string | undefined): FleetError {
  const where = organization === undefined ? '' : ` in organization ${organization}`;
  return new FleetError('not-found', `no bicycle${where} is named "${text}"`, {
    hint: 'a bicycle is named by its UUID, the first four digits of it or more, or its exact name, serial number or bleid',
  });
}

function ambiguous(text: string, items: readonly Item<Bicycle>[]): FleetError {
  const shown = items.slice(0, MOST_LISTED).map(({ value }) => describe(value));
  const more = items.length > MOST_LISTED ? `, and ${items.length - MOST_LISTED} more` : '';
  return usageError(
    `"${text}" matches ${items.length} bicycles; nothing was sent`,
    `give more digits or the UUID of one: ${shown.join(', ')}${more}`,
  );
}

/** The longest name that a line with several of them shows. */
const LONGEST_NAME_CHARACTERS = 40;

/** `0b9f2c1e (Emmy 0001)`: enough digits to paste, and what people call it. */
export function describe({ uuid, name }: Bicycle): string {
  const id = clean(String(uuid ?? '')).slice(0, 36);
  return typeof name === 'string' && name !== '' ? `${id} (${clean(name.slice(0, LONGEST_NAME_CHARACTERS))})` : id;
}
