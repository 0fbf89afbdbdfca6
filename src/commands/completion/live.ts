// The bicycles that the shell can offer: from a short-lived cache, else from the service if it answers at once.

import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BICYCLES_PATH, type Bicycle } from '../../api/bicycle.js';
import { isUuid } from '../../api/links.js';
import type { FollowedLine } from '../../cli/line.js';
import type { Context } from '../../context.js';
import type { Offer } from './words.js';

/** How long the bicycles of one key press are good for the next. */
const CACHE_LIFE_MS = 60_000;
/** One who presses a key waits no longer than this for the service. */
const PATIENCE_MS = 300;
/** More is no menu, and at a hundred bash asks whether it shall be shown. */
const MOST_BICYCLES = 50;
const PAGES_AHEAD = 2;
const OWNER_ONLY_MODE = 0o600;
const OWNER_ONLY_FOLDER_MODE = 0o700;

interface Facts extends Pick<Context, 'io' | 'clock' | 'signal'> {
  /** The flags of the line that is being typed. */
  values: FollowedLine['values'];
}

interface Cache {
  /** Whose view it is: address, organization and token, hashed. */
  key: string;
  /** Milliseconds since the epoch. */
  at: number;
  bicycles: [uuid: string, description: string][];
}

/** Bicycles with name and state; nothing without a token that is at hand: no command is run for one, and nobody is asked. */
export async function findLiveBicycles(facts: Facts): Promise<Offer[]> {
  // An address that was typed and not yet confirmed gets no token.
  if (facts.values.has('--base-url')) return [];
  const { loadStored } = await import('../../settings/store.js');
  const { requireBaseUrl, resolveSettings } = await import('../../settings/resolve.js');
  const { io, clock } = facts;
  const now = clock.wallMs;
  const stored = await loadStored(io.env);
  const profile = facts.values.get('--profile')?.at(-1);
  const settings = resolveSettings(profile === undefined ? {} : { profile }, io.env, stored);
  const baseUrl = requireBaseUrl(settings);
  const organization = facts.values.get('--organization')?.at(-1) ?? settings.organization.value;
  const token = await findCheapToken(io.env, stored, settings.profile.value, settings.tokenCommand.value);
  if (token === undefined) return [];

  const key = createHash('sha256').update([baseUrl.href, organization, token].join('\n')).digest('hex');
  const folder = join(stored.folder, 'cache');
  const path = join(folder, `bicycles-${encodeURIComponent(settings.profile.value)}.json`);
  const kept = await readCache(path);
  if (kept?.key === key && now() - kept.at < CACHE_LIFE_MS && kept.at <= now()) return kept.bicycles.map(toOffer);

  const bicycles = await fetchBicycles(facts, {
    baseUrl,
    organization: organization !== undefined && isUuid(organization) ? organization : undefined,
    token,
    apiVersion: settings.apiVersion.value,
  });
  if (bicycles.length > 0) await writeCache(folder, path, { key, at: now(), bicycles }).catch(() => {});
  return bicycles.map(toOffer);
}

function toOffer([value, description]: Cache['bicycles'][number]): Offer {
  return { value, description };
}

/** A token that costs nothing to get. A pipe is not read: the command that comes next needs what is in it. */
async function findCheapToken(
  env: NodeJS.ProcessEnv,
  stored: Awaited<ReturnType<typeof import('../../settings/store.js')['loadStored']>>,
  profile: string,
  tokenCommand: string | undefined,
): Promise<string | undefined> {
  const { findTokenPlace, parseToken } = await import('../../settings/token.js');
  const { loadTokens } = await import('../../settings/store.js');
  const place = await findTokenPlace(env, stored, profile, tokenCommand);
  let text: string | undefined;
  if (place?.kind === 'variable') text = place.token;
  else if (place?.kind === 'stored') text = (await loadTokens(stored)).get(profile);
  else if (place?.kind === 'file' && (await stat(place.path)).isFile()) text = await readFile(place.path, 'utf8');
  const parsed = parseToken(text ?? '');
  return 'value' in parsed ? parsed.value : undefined;
}

/** The bicycles that changed last, as many as come in time. */
async function fetchBicycles(
  { io, clock, signal }: Facts,
  where: { baseUrl: URL; organization: string | undefined; token: string; apiVersion: string },
): Promise<Cache['bicycles']> {
  const { openNetwork } = await import('../../http/network.js');
  const { openClient } = await import('../../http/client.js');
  const { clean } = await import('../../terminal/clean.js');
  const network = await openNetwork(io.env, PATIENCE_MS);
  const client = openClient({
    baseUrl: where.baseUrl,
    apiVersion: where.apiVersion,
    timeoutMs: PATIENCE_MS,
    retries: 0,
    network,
    token: { get: async () => where.token, renew: async () => undefined },
    log: { request() {}, response() {}, retry() {} },
    secrets: io.secrets,
    clock,
    signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]),
  });
  const bicycles: Cache['bicycles'] = [];
  try {
    const { organization } = where;
    const query: [string, string][] = [
      ...(organization === undefined ? [] : ([['organization', organization]] as [string, string][])),
      ['ordering', '-modified'],
    ];
    const limits = { ahead: PAGES_AHEAD, limit: MOST_BICYCLES };
    for await (const { items } of client.pages<Bicycle>({ path: BICYCLES_PATH, query }, limits)) {
      for (const { value } of items.slice(0, MOST_BICYCLES - bicycles.length)) {
        // Whatever is no UUID could mean something to the shell.
        if (typeof value.uuid !== 'string' || !isUuid(value.uuid)) continue;
        const told = [value.name, value.state].filter((text) => typeof text === 'string' && text !== '').join(', ');
        bicycles.push([value.uuid, clean(told)]);
      }
    }
  } catch {
    // What came until then has to do.
  } finally {
    await network.close();
  }
  return bicycles;
}

async function readCache(path: string): Promise<Cache | undefined> {
  try {
    const cache = JSON.parse(await readFile(path, 'utf8')) as Cache;
    const isSound =
      Array.isArray(cache.bicycles) && cache.bicycles.every(([uuid, text]) => isUuid(uuid) && typeof text === 'string');
    return isSound ? cache : undefined;
  } catch {
    return undefined;
  }
}

/** Written beside and moved: two shells may write at once, and a reader sees one of them whole. */
async function writeCache(folder: string, path: string, cache: Cache): Promise<void> {
  await mkdir(folder, { recursive: true, mode: OWNER_ONLY_FOLDER_MODE });
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, JSON.stringify(cache), { mode: OWNER_ONLY_MODE });
  await rename(draft, path);
}
