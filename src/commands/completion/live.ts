// Offers completions from the service, such as UUIDs with names, if the service answers quickly.

import { stat } from 'node:fs/promises';
import { BICYCLE, type Bicycle } from '../../api/bicycle.js';
import { isUuid } from '../../api/links.js';
import { NAMED } from '../../api/named.js';
import { type NamedWord, NOTHING, type Offer, type Offers } from '../../cli/completions.js';
import type { FollowedLine } from '../../cli/line.js';
import { type Context, openContext } from '../../context.js';
import { LARGE_PAGE } from '../../http/first-page.js';
import type { Item, Query } from '../../http/types.js';

/** The maximum time that Tab waits for completions. */
const PATIENCE_MS = 800;
/**
 * The maximum number of completions. A longer menu is not useful, and bash asks for confirmation
 * before it shows 100 or more.
 */
const MOST_SHOWN = 50;

/**
 * Offers bicycles whose UUID begins with the typed text, with their names and states. Without a
 * typed text, offers the bicycles that changed most recently. When no UUID matches, offers names,
 * serial numbers and bleids that begin with the text.
 *
 * Offers nothing unless a token is immediately available. Does not run a token command or prompt
 * the user.
 *
 * @param values the flags of the typed line
 */
export function findLiveBicycles(
  context: Context,
  values: FollowedLine['values'],
  typed: string,
): Promise<Offers> {
  const start = typed.toLowerCase();
  return withPatience(context, values, async (patient) => {
    const asked =
      values.get('--organization')?.at(-1) ?? (await patient.settings()).organization.value;
    const organization = asked !== undefined && isUuid(asked) ? asked : undefined;
    const words: Offer[] = [];
    const takeNames = (bicycles: readonly Bicycle[]) => {
      for (const bicycle of bicycles) words.push(...offerBicycleName(bicycle, typed));
    };
    for await (const items of searchList(patient, organization, start)) {
      for (const { uuid, name, state } of items.map(({ value }) => value)) {
        // Completions must be complete UUIDs. Any other string is skipped, because it could contain
        // characters that the shell interprets.
        if (typeof uuid !== 'string' || !isUuid(uuid) || !uuid.toLowerCase().startsWith(start))
          continue;
        const description = [name, state]
          .filter((text) => typeof text === 'string' && text !== '')
          .join(', ');
        words.push({ value: uuid.toLowerCase(), description });
      }
      if (words.length >= MOST_SHOWN) break;
    }
    if (words.length > 0 || typed.trim() === '') return { words: words.slice(0, MOST_SHOWN) };
    for await (const items of searchNames(patient, organization, typed)) {
      takeNames(items.map(({ value }) => value));
      if (words.length >= MOST_SHOWN) break;
    }
    return { words: withoutRepeated(words).slice(0, MOST_SHOWN) };
  });
}

/**
 * Matches names that are safe in a shell. A space is allowed, because the completion scripts quote
 * it.
 */
const SAFE_NAME = /^[\p{L}\p{N}][\p{L}\p{N} _.+-]*$/u;

/**
 * Offers a name that begins with the typed text, ignoring case. When the shell could interpret the
 * name, offers the UUID instead.
 */
function offerName(
  names: readonly unknown[],
  uuid: unknown,
  typed: string,
  description: string,
): Offer[] {
  const start = typed.toLowerCase();
  const name = names.find(
    (each): each is string => typeof each === 'string' && each.toLowerCase().startsWith(start),
  );
  if (name === undefined || typeof uuid !== 'string' || !isUuid(uuid)) return [];
  if (SAFE_NAME.test(name)) return [{ value: name, description, replaces: true }];
  return [{ value: uuid.toLowerCase(), description: name, replaces: true }];
}

function offerBicycleName(bicycle: Bicycle, typed: string): Offer[] {
  const { uuid, name, serial_number, bleid, state } = bicycle;
  const names = [name, serial_number, bleid];
  return offerName(names, uuid, typed, typeof state === 'string' ? state : '');
}

/**
 * Removes duplicate completions. If all completions had the same text, bash would insert this text
 * together with the description.
 */
function withoutRepeated(words: readonly Offer[]): Offer[] {
  return [...new Map(words.map((word) => [word.value, word])).values()];
}

/**
 * The maximum number of pages to search. A service that ignores the search text would otherwise
 * send its whole list.
 */
const MOST_PAGES_SEARCHED = 5;

/**
 * Yields bicycles that contain the text. Observed: `query` searches names, serial numbers and
 * bleids.
 */
async function* searchNames(
  context: Context,
  organization: string | undefined,
  text: string,
): AsyncGenerator<readonly Item<Bicycle>[], void, undefined> {
  const client = await context.client({ retries: 0 });
  const scope: Query = organization === undefined ? [] : [['organization', organization]];
  const query: Query = [...scope, ['query', text.trim()], LARGE_PAGE];
  const request = { path: BICYCLE.listPath, subject: 'the list of bicycles', query };
  let pages = 0;
  for await (const { items } of client.pages<Bicycle>(request, { ahead: 0 })) {
    yield items;
    pages += 1;
    if (pages >= MOST_PAGES_SEARCHED) return;
  }
}

async function* searchList(
  context: Context,
  organization: string | undefined,
  start: string,
): AsyncGenerator<readonly Item<Bicycle>[], void, undefined> {
  const { isBeginning, pagesAround } = await import('../../list/uuid-prefix.js');
  const client = await context.client({ retries: 0 });
  const scope: Query = organization === undefined ? [] : [['organization', organization]];
  const list = { path: BICYCLE.listPath, subject: 'the list of bicycles' };
  if (isBeginning(start))
    return yield* pagesAround<Bicycle>(client, { ...list, query: scope }, start);
  if (start !== '') return;
  const query: Query = [...scope, ['ordering', '-modified'], LARGE_PAGE];
  for await (const { items } of client.pages<Bicycle>({ ...list, query })) yield items;
}

/**
 * Offers organizations, zones or models by UUID, with their names. If the user typed text, also
 * offers the names that begin with it.
 */
export function findLiveNamed(
  context: Context,
  values: FollowedLine['values'],
  kind: NamedWord,
  typed: string,
): Promise<Offers> {
  return withPatience(context, values, async (patient) => {
    const { readNames } = await import('../../list/find-named.js');
    const names = await readNames(await patient.client({ retries: 0 }), NAMED[kind]);
    const all = [...(names ?? [])];
    const start = typed.toLowerCase();
    const uuids = all
      .filter(([uuid]) => uuid.startsWith(start))
      .map(([value, [description = '']]) => ({ value, description }));
    if (typed.trim() === '') return { words: uuids };
    const named = all.flatMap(([uuid, own]) => offerName(own, uuid, typed, kind));
    return { words: withoutRepeated([...uuids, ...named]) };
  });
}

/**
 * Sends requests with a short time limit. Sends nothing unless a token is immediately available.
 */
async function withPatience(
  { io, clock, signal }: Context,
  values: FollowedLine['values'],
  ask: (context: Context) => Promise<Offers>,
): Promise<Offers> {
  // The token must not be sent to an address that the user is still typing.
  if (values.has('--base-url')) return NOTHING;
  const late = new AbortController();
  const cancel = clock.after(PATIENCE_MS, () => late.abort(new Error('the shell waits no longer')));
  const both = AbortSignal.any([signal, late.signal]);
  const profile = values.get('--profile')?.at(-1);
  const flags = { quiet: true, ...(profile === undefined ? {} : { profile }) };
  const { context, close } = openContext({ clock }, io, flags, {
    signal: both,
    urgentSignal: both,
    leaveSignals() {},
  });
  try {
    return (await hasCheapToken(context)) ? await ask(context) : NOTHING;
  } finally {
    cancel();
    await close();
  }
}

/**
 * Whether a token is available without running a command. A named pipe is not read, because the
 * next command needs its content.
 */
async function hasCheapToken({ io, settings }: Context): Promise<boolean> {
  const { loadStored } = await import('../../settings/store.js');
  const { findTokenPlace } = await import('../../settings/token-place.js');
  const place = await findTokenPlace(io.env, await loadStored(io.env), await settings());
  if (place === undefined || place.kind === 'command') return false;
  return place.kind !== 'file' || (await stat(place.text)).isFile();
}
