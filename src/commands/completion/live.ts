// The bicycles that the shell can offer: from a current mirror, or the service if it answers at once.

import { stat } from 'node:fs/promises';
import { BICYCLE, type Bicycle } from '../../api/bicycle.js';
import { isUuid } from '../../api/links.js';
import { type NamedWord, NOTHING, type Offers } from '../../cli/completions.js';
import type { FollowedLine } from '../../cli/line.js';
import { type Context, openContext } from '../../context.js';
import type { Client } from '../../http/client.js';
import type { Item, Query } from '../../http/types.js';
import type { Stored } from '../../settings/store.js';

/** One who presses a key waits no longer than this for the service. */
const PATIENCE_MS = 800;
/** More is no menu, and at a hundred bash asks whether it shall be shown. */
const MOST_SHOWN = 50;
const PAGES_AHEAD = 2;
const LONGEST_DESCRIPTION_CHARACTERS = 60;

type Known = [uuid: string, name: string, state: string];

/** Bicycles that begin as typed, and whether they are all of them. */
interface Found {
  typed: string;
  bicycles: Known[];
  isWhole: boolean;
}

/**
 * UUIDs of bicycles that begin as typed, or whose name does, with name and state; nothing without a token that is at hand: no command is
 * run for one, and nobody is asked. Where there are more than are offered, or may be, the last one says so.
 * @param values the flags of the line that is being typed
 */
export async function findLiveBicycles(
  context: Context,
  values: FollowedLine['values'],
  typed: string,
): Promise<Offers> {
  return withPatience(context, values, async (patient) => {
    const asked = values.get('--organization')?.at(-1) ?? (await patient.settings()).organization.value;
    return toOffers(await find(patient, asked !== undefined && isUuid(asked) ? asked : undefined, typed), typed);
  });
}

/** UUIDs of organizations, zones or models that begin as typed, or whose name does. */
export async function findLiveNamed(
  context: Context,
  values: FollowedLine['values'],
  kind: NamedWord,
  typed: string,
): Promise<Offers> {
  return withPatience(context, values, async (patient) => {
    const { loadStored } = await import('../../settings/store.js');
    if ((await findCheapToken(patient, await loadStored(patient.io.env))) === undefined) return NOTHING;
    const { readNames } = await import('../named/find.js');
    const { NAMED } = await import('../../api/named.js');
    const names = await readNames(await patient.client({ timeoutMs: PATIENCE_MS, retries: 0 }), NAMED[kind]);
    const bicycles = [...(names ?? [])].map(([uuid, [name = '']]): Known => [uuid, name, '']);
    return toOffers({ typed, bicycles, isWhole: true }, typed);
  });
}

/** Asks with a context that gives up soon. */
async function withPatience(
  { io, clock, signal }: Context,
  values: FollowedLine['values'],
  ask: (context: Context) => Promise<Offers>,
): Promise<Offers> {
  // An address that was typed and not yet confirmed gets no token.
  if (values.has('--base-url')) return NOTHING;
  const late = new AbortController();
  const cancel = clock.after(PATIENCE_MS, () => late.abort(new Error('the shell waits no longer')));
  const both = AbortSignal.any([signal, late.signal]);
  const profile = values.get('--profile')?.at(-1);
  const flags = { quiet: true, mirror: !values.has('--no-mirror'), ...(profile === undefined ? {} : { profile }) };
  const { context, close } = openContext({ clock }, io, flags, { signal: both, urgentSignal: both, stop() {} });
  try {
    return await ask(context);
  } finally {
    cancel();
    await close();
  }
}

async function find(context: Context, organization: string | undefined, typed: string): Promise<Found> {
  const { loadStored } = await import('../../settings/store.js');
  const stored = await loadStored(context.io.env);
  const token = await findCheapToken(context, stored);
  if (token === undefined) return { typed, bicycles: [], isWhole: true };
  const remembered = await searchMirror(context, { organization, token, typed });
  if (remembered !== undefined) return remembered;
  const client = await context.client({ timeoutMs: PATIENCE_MS, retries: 0 });
  return gather(await pagesOf(client, organization, typed), typed);
}

/** A token that costs nothing to get. A pipe is not read: the command that comes next needs what is in it. */
async function findCheapToken({ io, settings, token }: Context, stored: Stored): Promise<string | undefined> {
  const { findTokenPlace } = await import('../../settings/token-place.js');
  const place = await findTokenPlace(io.env, stored, await settings());
  if (place === undefined || place.kind === 'command') return undefined;
  if (place.kind === 'file' && !(await stat(place.text)).isFile()) return undefined;
  return (await token()).get();
}

/** What a current mirror has that begins as typed, without a request; undefined where it is not to be asked. */
async function searchMirror(
  context: Context,
  { organization, token, typed }: { organization: string | undefined; token: string; typed: string },
): Promise<Found | undefined> {
  const { holdsAll, withCurrentMirror } = await import('../shared/current-mirror.js');
  return withCurrentMirror(context, async (mirror) => {
    if (!(await holdsAll(mirror, organization, async () => token))) return undefined;
    const { findBeginning } = await import('../bicycles/remembered.js');
    const scope = mirror.organizations.length === 1 ? undefined : organization;
    return gather([await findBeginning(mirror.database, typed, scope, MOST_SHOWN + 1)], typed);
  });
}

type Pages = AsyncIterable<readonly Item<Bicycle>[]> | Iterable<readonly Item<Bicycle>[]>;

/** Pages of the list with every bicycle that begins as typed, and others; those that changed last when nothing was typed. */
async function pagesOf(client: Client, organization: string | undefined, typed: string): Promise<Pages> {
  if (typed !== '') return (await import('../bicycles/find.js')).candidatesFor(client, typed, organization);
  const { LARGE_PAGE } = await import('../../http/first-page.js');
  const scope: Query = organization === undefined ? [] : [['organization', organization]];
  const query: Query = [...scope, ['ordering', '-modified'], LARGE_PAGE];
  const options = { ahead: PAGES_AHEAD, limit: MOST_SHOWN + 1 };
  return (async function* () {
    for await (const { items } of client.pages<Bicycle>({ path: BICYCLE.listPath, query }, options)) yield items;
  })();
}

/** Those of the pages that begin as typed, until there are enough or the time is over. */
async function gather(pages: Pages, typed: string): Promise<Found> {
  const { clean } = await import('../../terminal/clean.js');
  const bicycles: Known[] = [];
  const textOf = (value: unknown) =>
    typeof value === 'string' ? clean(value.slice(0, 2 * LONGEST_DESCRIPTION_CHARACTERS)) : '';
  try {
    for await (const items of pages) {
      for (const { value } of items) {
        // Whatever is no UUID could mean something to the shell.
        if (typeof value.uuid !== 'string' || !isUuid(value.uuid)) continue;
        const known: Known = [value.uuid.toLowerCase(), textOf(value.name), textOf(value.state)];
        if (!fits(known, typed) || bicycles.some(([uuid]) => uuid === known[0])) continue;
        if (bicycles.length === MOST_SHOWN) return { typed, bicycles, isWhole: false };
        bicycles.push(known);
      }
    }
    return { typed, bicycles, isWhole: true };
  } catch {
    // What came until then has to do.
    return { typed, bicycles, isWhole: false };
  }
}

function fits([uuid, name]: Known, typed: string): boolean {
  const start = typed.toLowerCase();
  return uuid.startsWith(start) || name.toLowerCase().startsWith(start);
}

function toOffers({ bicycles, isWhole }: Found, typed: string): Offers {
  const more = isWhole ? '' : ' … and more: type digits or a name';
  const matching = bicycles.filter((known) => fits(known, typed));
  const words = matching.map(([value, name, state], index) => {
    const description = [name, state].filter((text) => text !== '').join(', ');
    return index < matching.length - 1 || more === ''
      ? { value, description }
      : { value, description: description.slice(0, LONGEST_DESCRIPTION_CHARACTERS - more.length) + more };
  });
  // A shell puts into the line what all offers begin with; what was typed among them keeps the line as it is.
  const isByName = words.some(({ value }) => !value.startsWith(typed.toLowerCase()));
  const asTyped = isByName && words.length > 1 ? [{ value: typed, description: 'as typed' }] : [];
  return { words: [...words, ...asTyped], isMatched: true, isReplacing: isByName };
}
