// Opens the profile's mirror for commands that use it automatically. Such commands use a mirror
// only when it is up to date.

import { promises as files } from 'node:fs';
import type { Bicycle } from '../api/bicycle.js';
import type { Context } from '../context.js';
import type { Client } from '../http/client.js';
import type { MirrorClient } from '../mirror/client.js';
import type { Mirror } from '../mirror/open.js';
import { organizationsOf } from '../settings/token.js';
import { within } from '../system/clock.js';
import { chosenDatabase, type MirrorContext, openChosen, withMirror } from './offline.js';

/** How long to wait for the mirror's database before the service is used instead. */
const PATIENCE_MS = 2_000;

type Opener = MirrorContext &
  Pick<Context, 'clock' | 'signal'> & { readonly flags: { readonly mirror?: boolean } };

/**
 * Opens the profile's mirror; the caller must close it. Returns undefined when `--no-mirror` is
 * set, or when the mirror is missing, unreadable or out of date. Loads no database driver when the
 * file of a SQLite mirror is missing.
 */
async function openCurrentMirror(context: Opener): Promise<Mirror | undefined> {
  if (context.flags.mirror === false) return undefined;
  let mirror: Mirror | undefined;
  const open = async (signal: AbortSignal) => {
    const address = await chosenDatabase(context);
    if (address.kind === 'sqlite') await files.stat(address.path);
    if ((await context.settings()).baseUrl.value === undefined) return undefined;
    mirror = await openChosen({ ...context, signal }, address);
    // A mirror without a base URL is not used, because it may belong to another service.
    return mirror.baseUrl !== undefined && (await mirror.status()).isCurrent;
  };
  // If the mirror fails or takes too long, the command uses the service instead.
  if ((await within(context, PATIENCE_MS, open).catch(() => false)) === true) return mirror;
  await mirror?.close().catch(() => undefined);
  context.signal.throwIfAborted();
  return undefined;
}

/**
 * Calls `use` with an up-to-date mirror and resolves with its result. Resolves with undefined when
 * there is no such mirror, or after a failure.
 */
export async function withCurrentMirror<T>(
  context: Opener,
  use: (mirror: Mirror) => Promise<T | undefined>,
) {
  const mirror = await openCurrentMirror(context);
  if (mirror === undefined) return undefined;
  return withMirror(Promise.resolve(mirror), use).catch(() => {
    context.signal.throwIfAborted();
    return undefined;
  });
}

/**
 * Whether a mirror contains all bicycles among which the service would search. These are the
 * bicycles of one organization, or of all organizations in the token.
 */
export async function holdsAll(
  { organizations }: Mirror,
  one: string | undefined,
  token: () => Promise<string>,
) {
  const wanted = one === undefined ? organizationsOf(await token()) : [one];
  return wanted.length > 0 && wanted.every((each) => organizations.includes(each));
}

/**
 * Returns the mirror that an `--offline` client reads. Returns undefined for a client of the
 * service.
 */
export function mirrorOf(client: Client): Mirror | undefined {
  return 'mirror' in client ? (client as MirrorClient).mirror : undefined;
}

/**
 * Reads all bicycles of the organizations from an up-to-date mirror, least recently modified first.
 * Also returns the time at which the bicycles were read, on the monotonic clock. Returns undefined
 * when no such mirror contains all these organizations, or when there are more than `most`
 * bicycles.
 */
export function rememberFleet(context: Context, organizations: readonly string[], most: number) {
  return withCurrentMirror(context, async ({ database, ...mirror }) => {
    if (
      organizations.length === 0 ||
      !organizations.every((each) => mirror.organizations.includes(each))
    )
      return undefined;
    const fromMs = context.clock.monotonicMs();
    const { parseJson } = await import('../json/parse.js');
    const bicycles: Bicycle[] = [];
    const sql = `SELECT raw FROM bicycles WHERE gone IS NULL AND followed IN (${organizations.map(() => '?').join(', ')}) ORDER BY modified_utc NULLS FIRST`;
    for await (const rows of database.each(sql, organizations)) {
      for (const { raw } of rows) bicycles.push(parseJson(String(raw)) as Bicycle);
      if (bicycles.length > most) return undefined;
    }
    return { bicycles, fromMs };
  });
}

export type States = ReturnType<typeof openStates>;

/**
 * Reads single bicycles from an up-to-date mirror. Opens the mirror when the first bicycle is read.
 * For each bicycle, checks that the mirror is still up to date.
 */
export function openStates(context: Context) {
  let opening: Promise<Mirror | undefined> | undefined;
  return {
    /**
     * Returns a bicycle as JSON text. Returns undefined when the mirror does not contain the
     * bicycle or may be out of date.
     */
    async of(uuid: string): Promise<string | undefined> {
      opening ??= openCurrentMirror(context);
      try {
        const mirror = await opening;
        if (mirror === undefined || !(await mirror.status()).isCurrent) return undefined;
        const [row] = await mirror.database.all(
          'SELECT raw FROM bicycles WHERE uuid = ? AND gone IS NULL',
          [uuid],
        );
        return row && String(row['raw']);
      } catch {
        return undefined;
      }
    },
    close: async () => (await opening?.catch(() => undefined))?.close().catch(() => undefined),
  };
}
