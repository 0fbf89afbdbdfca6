// The bicycles that the shell can offer: from a short-lived cache, else from the service if it answers at once.

import { createHash } from 'node:crypto';
import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BICYCLES_PATH, type Bicycle } from '../../api/bicycle.js';
import { isUuid } from '../../api/links.js';
import type { FollowedLine } from '../../cli/line.js';
import { NOTHING, type Offer, type Offers } from '../../cli/offers.js';
import type { Context } from '../../context.js';
import { makeFolder, OWN_FOLDER_MODE } from '../../folder.js';
import type { Client } from '../../http/client.js';
import type { Item } from '../../http/types.js';
import { parseJson } from '../../json/parse.js';
import type { Settings } from '../../settings/resolve.js';

/** How long the bicycles of one key press are good for the next. */
const CACHE_LIFE_MS = 60_000;
/** One who presses a key waits no longer than this for the service. */
const PATIENCE_MS = 800;
/** More is no menu, and at a hundred bash asks whether it shall be shown. */
const MOST_SHOWN = 50;
/** What is kept for the next key press, and what is asked of one page; a service may give fewer. */
const MOST_KEPT = 100;
const PAGES_AHEAD = 2;
const LONGEST_DESCRIPTION_CHARACTERS = 60;
const OWNER_ONLY_MODE = 0o600;

interface Line extends Pick<Context, 'io' | 'clock' | 'signal'> {
  /** The flags of the line that is being typed. */
  values: FollowedLine['values'];
}

type Known = [uuid: string, name: string, state: string];

/** Some bicycles, and whether they are all there are. */
interface Fleet {
  bicycles: Known[];
  isWhole: boolean;
}

interface Cache extends Fleet {
  /** Whose view it is: address, organization and token, hashed. */
  key: string;
  /** Milliseconds since the epoch. */
  at: number;
}

/**
 * UUIDs of bicycles that begin as typed, or whose name does, with name and state; nothing without a token that is at hand: no command is
 * run for one, and nobody is asked. Where there are more than are offered, or may be, the last one says so.
 */
export async function findLiveBicycles(line: Line, typed: string): Promise<Offers> {
  // An address that was typed and not yet confirmed gets no token.
  if (line.values.has('--base-url')) return NOTHING;
  const { loadStored } = await import('../../settings/store.js');
  const { requireBaseUrl, resolveSettings } = await import('../../settings/resolve.js');
  const { io, clock } = line;
  const stored = await loadStored(io.env);
  const profile = line.values.get('--profile')?.at(-1);
  const settings = resolveSettings(profile === undefined ? {} : { profile }, io.env, stored);
  const token = await findCheapToken(io.env, stored, settings.profile.value, settings.tokenCommand.value);
  if (token === undefined) return NOTHING;
  const asked = line.values.get('--organization')?.at(-1) ?? settings.organization.value;
  const organization = asked !== undefined && isUuid(asked) ? asked : undefined;
  const remembered = await searchMirror(line, settings, { organization, token, typed });
  if (remembered !== undefined) return toOffers(remembered, typed);
  const baseUrl = requireBaseUrl(settings);

  const key = createHash('sha256').update([baseUrl.href, organization, token].join('\n')).digest('hex');
  const folder = join(stored.folder, 'cache');
  const path = join(folder, `bicycles-${encodeURIComponent(settings.profile.value)}.json`);
  const kept = await readCache(path);
  const age = clock.wallMs() - (kept?.at ?? 0);
  const fresh = kept?.key === key && age >= 0 && age < CACHE_LIFE_MS ? kept : undefined;
  const isEnough = (fleet: Fleet) => fleet.isWhole || typed === '';
  if (fresh !== undefined && isEnough(fresh)) return toOffers(fresh, typed);
  return withClient(line, { baseUrl, token, apiVersion: settings.apiVersion.value }, async (client) => {
    const fleet = fresh ?? (await readNewest(client, organization));
    if (fleet !== fresh && fleet.bicycles.length > 0)
      await writeCache(folder, path, { key, at: clock.wallMs(), ...fleet }).catch(() => {});
    if (isEnough(fleet)) return toOffers(fleet, typed);
    const found = await search(client, organization, typed);
    return toOffers({ ...found, bicycles: [...found.bicycles, ...fleet.bicycles] }, typed);
  });
}

/** What a current mirror has that begins as typed, without a request; undefined where it is not to be asked. */
async function searchMirror(
  line: Line,
  settings: Settings,
  { organization, token, typed }: { organization: string | undefined; token: string; typed: string },
): Promise<Fleet | undefined> {
  const { holdsAll, withCurrentMirror } = await import('../current.js');
  const flags = line.values.has('--no-mirror') ? { mirror: false } : {};
  return withCurrentMirror({ ...line, flags, settings: async () => settings }, async (mirror) => {
    if (!(await holdsAll(mirror, organization, async () => token))) return undefined;
    const { findBeginning } = await import('../bicycles/remembered.js');
    const scope = mirror.organizations.length === 1 ? undefined : organization;
    const items = await findBeginning(mirror.database, typed, scope, MOST_SHOWN + 1);
    const pages = (async function* () {
      yield items;
    })();
    return gather(pages, MOST_SHOWN, (known) => fits(known, typed));
  });
}

function fits([uuid, name]: Known, typed: string): boolean {
  const start = typed.toLowerCase();
  return uuid.startsWith(start) || name.toLowerCase().startsWith(start);
}

function toOffers({ bicycles, isWhole }: Fleet, typed: string): Offers {
  const matches = new Map<string, Offer>();
  for (const known of bicycles) {
    const [uuid, name, state] = known;
    const description = [name, state].filter((text) => text !== '').join(', ');
    if (fits(known, typed)) matches.set(uuid, { value: uuid, description });
  }
  const words = [...matches.values()];
  const shown = words.slice(0, MOST_SHOWN);
  const last = shown.at(-1);
  if (last !== undefined && (!isWhole || shown.length < words.length)) {
    const more = ' … and more: type digits or a name';
    const room = LONGEST_DESCRIPTION_CHARACTERS - more.length;
    shown.splice(-1, 1, { ...last, description: (last.description ?? '').slice(0, room) + more });
  }
  // A shell puts into the line what all offers begin with; what was typed among them keeps the line as it is.
  const isByName = shown.some(({ value }) => !value.startsWith(typed.toLowerCase()));
  const asTyped = isByName && shown.length > 1 ? [{ value: typed, description: 'as typed' }] : [];
  return { words: [...shown, ...asTyped], isMatched: true, isReplacing: isByName };
}

/** A token that costs nothing to get. A pipe is not read: the command that comes next needs what is in it. */
async function findCheapToken(
  env: NodeJS.ProcessEnv,
  stored: Awaited<ReturnType<typeof import('../../settings/store.js')['loadStored']>>,
  profile: string,
  tokenCommand: string | undefined,
): Promise<string | undefined> {
  const { parseToken } = await import('../../settings/token.js');
  const { findTokenPlace } = await import('../../settings/token-place.js');
  const { loadTokens } = await import('../../settings/store.js');
  const place = await findTokenPlace(env, stored, profile, tokenCommand);
  let text: string | undefined;
  if (place?.kind === 'variable') text = place.token;
  else if (place?.kind === 'stored') text = (await loadTokens(stored)).get(profile);
  else if (place?.kind === 'file' && (await stat(place.path)).isFile()) text = await readFile(place.path, 'utf8');
  const parsed = parseToken(text ?? '');
  return 'value' in parsed ? parsed.value : undefined;
}

async function withClient<T>(
  { io, clock, signal }: Line,
  { baseUrl, token, apiVersion }: { baseUrl: URL; token: string; apiVersion: string },
  use: (client: Client) => Promise<T>,
): Promise<T> {
  const { openNetwork } = await import('../../http/network.js');
  const { openClient } = await import('../../http/client.js');
  const network = await openNetwork(io.env, PATIENCE_MS);
  const over = new AbortController();
  const cancel = clock.after(PATIENCE_MS, () => over.abort(new Error('the shell waits no longer')));
  const client = openClient({
    baseUrl,
    apiVersion,
    timeoutMs: PATIENCE_MS,
    retries: 0,
    network,
    token: { get: async () => token, renew: async () => undefined },
    log: { request() {}, response() {}, retry() {} },
    secrets: io.secrets,
    clock,
    signal: AbortSignal.any([signal, over.signal]),
  });
  try {
    return await use(client);
  } finally {
    cancel();
    await network.close();
  }
}

/** The bicycles that changed last, as many as come in time. */
function readNewest(client: Client, organization: string | undefined): Promise<Fleet> {
  const query: [string, string][] = [
    ...(organization === undefined ? [] : ([['organization', organization]] as [string, string][])),
    ['ordering', '-modified'],
    ['page_size', String(MOST_KEPT)],
  ];
  const pages = client.pages<Bicycle>({ path: BICYCLES_PATH, query }, { ahead: PAGES_AHEAD, limit: MOST_KEPT + 1 });
  return gather(itemsOf(pages), MOST_KEPT, () => true);
}

async function* itemsOf(pages: AsyncIterable<{ items: Item<Bicycle>[] }>) {
  for await (const { items } of pages) yield items;
}

async function search(client: Client, organization: string | undefined, typed: string): Promise<Fleet> {
  const { candidatesFor } = await import('../bicycles/find.js');
  return gather(candidatesFor(client, typed, organization), MOST_SHOWN, (known) => fits(known, typed));
}

/** What is wanted of the pages, until there are enough or the time is over. */
async function gather(
  pages: AsyncIterable<readonly Item<Bicycle>[]>,
  most: number,
  isWanted: (known: Known) => boolean,
): Promise<Fleet> {
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
        if (!isWanted(known)) continue;
        if (bicycles.length === most) return { bicycles, isWhole: false };
        bicycles.push(known);
      }
    }
    return { bicycles, isWhole: true };
  } catch {
    // What came until then has to do.
    return { bicycles, isWhole: false };
  }
}

async function readCache(path: string): Promise<Cache | undefined> {
  try {
    const cache = parseJson(await readFile(path, 'utf8')) as Cache;
    const isText = (text: unknown) => typeof text === 'string';
    const isSound =
      Array.isArray(cache.bicycles) &&
      cache.bicycles.every(([uuid, name, state]) => isText(uuid) && isUuid(uuid) && isText(name) && isText(state));
    return isSound ? cache : undefined;
  } catch {
    return undefined;
  }
}

/** Written beside and moved: two shells may write at once, and a reader sees one of them whole. */
async function writeCache(folder: string, path: string, cache: Cache): Promise<void> {
  await makeFolder(folder, OWN_FOLDER_MODE);
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, JSON.stringify(cache), { mode: OWNER_ONLY_MODE });
  await rename(draft, path);
}
