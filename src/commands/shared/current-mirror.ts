// Opens the profile's mirror for commands that use it automatically: only when it is current.

import { promises as files } from 'node:fs';
import type { Bicycle } from '../../api/bicycle.js';
import type { Context } from '../../context.js';
import type { Client } from '../../http/client.js';
import type { MirrorClient } from '../../mirror/client.js';
import type { Mirror } from '../../mirror/open.js';
import { organizationsOf } from '../../settings/token.js';
import { within } from '../../system/clock.js';
import { chosenDatabase, type MirrorContext, openChosen, withMirror } from './offline.js';

/** A database that does not answer at once is not waited for. */
const PATIENCE_MS = 2_000;

type Opener = MirrorContext &
  Pick<Context, 'clock' | 'signal'> & { readonly flags: { readonly mirror?: boolean } };

/**
 * Opens the mirror of this run, for the caller to close; undefined where there is none that is current, it cannot be read, or
 * `--no-mirror` was given. Where there is none, it costs one look at a path.
 */
async function openCurrentMirror(context: Opener): Promise<Mirror | undefined> {
  if (context.flags.mirror === false) return undefined;
  let mirror: Mirror | undefined;
  const open = async (signal: AbortSignal) => {
    const address = await chosenDatabase(context);
    if (address.kind === 'sqlite') await files.stat(address.path);
    if ((await context.settings()).baseUrl.value === undefined) return undefined;
    mirror = await openChosen({ ...context, signal }, address);
    // One that belongs to nobody yet says nothing of this service.
    return mirror.baseUrl !== undefined && (await mirror.status()).isCurrent;
  };
  // Where it fails the service is asked instead.
  if ((await within(context, PATIENCE_MS, open).catch(() => false)) === true) return mirror;
  await mirror?.close().catch(() => undefined);
  context.signal.throwIfAborted();
  return undefined;
}

/** Hands a current mirror to `use`, and resolves with what that gives; undefined where there is none, or it failed. */
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

/** Whether a mirror holds every bicycle that the service would look among: those of one organization, or of all that the token names. */
export async function holdsAll(
  { organizations }: Mirror,
  one: string | undefined,
  token: () => Promise<string>,
) {
  const wanted = one === undefined ? organizationsOf(await token()) : [one];
  return wanted.length > 0 && wanted.every((each) => organizations.includes(each));
}

/** The mirror behind a client of `--offline`. */
export function mirrorOf(client: Client): Mirror | undefined {
  return 'mirror' in client ? (client as MirrorClient).mirror : undefined;
}

/**
 * Every bicycle of the organizations, the longest unmodified first, and when that was read, on the monotonic clock; undefined without a current
 * mirror that holds them all, or where there are more than `most`.
 */
export function rememberFleet(context: Context, organizations: readonly string[], most: number) {
  return withCurrentMirror(context, async ({ database, ...mirror }) => {
    if (
      organizations.length === 0 ||
      !organizations.every((each) => mirror.organizations.includes(each))
    )
      return undefined;
    const fromMs = context.clock.monotonicMs();
    const { parseJson } = await import('../../json/parse.js');
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

/** States of bicycles as a current mirror has them: opened when the first is asked for, and looked at each time whether it still is current. */
export function openStates(context: Context) {
  let opening: Promise<Mirror | undefined> | undefined;
  return {
    /** The bicycle as JSON; undefined in every doubt. */
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
