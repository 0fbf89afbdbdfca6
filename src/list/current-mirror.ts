// Opens the profile's mirror for commands that use it automatically, but only when it is current.

import { promises as files } from 'node:fs';
import type { Bicycle } from '../api/bicycle.js';
import type { Context } from '../context.js';
import type { Client } from '../http/client.js';
import type { MirrorClient } from '../mirror/client.js';
import type { Mirror } from '../mirror/open.js';
import { organizationsOf } from '../settings/token.js';
import { within } from '../system/clock.js';
import { chosenDatabase, type MirrorContext, openChosen, withMirror } from './offline.js';

/** How long to wait for a database. After this time the service is used instead. */
const PATIENCE_MS = 2_000;

type Opener = MirrorContext &
  Pick<Context, 'clock' | 'signal'> & { readonly flags: { readonly mirror?: boolean } };

/**
 * Opens the mirror of this run; the caller closes it. Returns undefined when the mirror is missing,
 * not current or unreadable, and with `--no-mirror`. When there is no mirror, it only checks
 * whether a file exists.
 */
async function openCurrentMirror(context: Opener): Promise<Mirror | undefined> {
  if (context.flags.mirror === false) return undefined;
  let mirror: Mirror | undefined;
  const open = async (signal: AbortSignal) => {
    const address = await chosenDatabase(context);
    if (address.kind === 'sqlite') await files.stat(address.path);
    if ((await context.settings()).baseUrl.value === undefined) return undefined;
    mirror = await openChosen({ ...context, signal }, address);
    // A mirror without a base URL cannot be used in place of this service.
    return mirror.baseUrl !== undefined && (await mirror.status()).isCurrent;
  };
  // After a failure, the service is asked instead.
  if ((await within(context, PATIENCE_MS, open).catch(() => false)) === true) return mirror;
  await mirror?.close().catch(() => undefined);
  context.signal.throwIfAborted();
  return undefined;
}

/**
 * Passes a current mirror to `use` and resolves with its result. Resolves with undefined without a
 * current mirror or after a failure.
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
 * Whether a mirror contains all bicycles that the service would search. These are the bicycles of
 * one organization, or of all organizations in the token.
 */
export async function holdsAll(
  { organizations }: Mirror,
  one: string | undefined,
  token: () => Promise<string>,
) {
  const wanted = one === undefined ? organizationsOf(await token()) : [one];
  return wanted.length > 0 && wanted.every((each) => organizations.includes(each));
}

/** Returns the mirror of a client for `--offline`. */
export function mirrorOf(client: Client): Mirror | undefined {
  return 'mirror' in client ? (client as MirrorClient).mirror : undefined;
}

/**
 * Reads all bicycles of the organizations, least recently modified first, with the time of the
 * reading on the monotonic clock. Returns undefined without a current mirror of all these
 * organizations, or when there are more than `most` bicycles.
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
 * Reads states of bicycles from a current mirror. Opens the mirror for the first bicycle, and
 * checks for each bicycle whether the mirror is still current.
 */
export function openStates(context: Context) {
  let opening: Promise<Mirror | undefined> | undefined;
  return {
    /** Returns the bicycle as JSON, or undefined when the mirror may be wrong. */
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
