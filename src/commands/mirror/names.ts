// Reads the names of organizations, zones and models into the mirror.

import type { NamedKind } from '../../api/named.js';
import { asFleetError } from '../../errors.js';
import type { Client } from '../../http/client.js';
import { readNames } from '../../list/find-named.js';
import { MIRRORED_NAMES, storeNames } from '../../mirror/names.js';
import { sleep } from '../../system/clock.js';
import type { MirrorSession } from './session.js';

const NAMES_MS = 600_000;

/** Reads the names immediately, and then about every ten minutes. */
export async function mirrorNames(session: MirrorSession, client: Client): Promise<void> {
  const { signal, context } = session;
  while (!signal.aborted) {
    await readNameLists(session, client);
    await sleep(context.clock, NAMES_MS * (0.9 + context.clock.random() / 5), signal).catch(
      () => {},
    );
  }
}

/**
 * Reads the names once. Skips a list that cannot be read, because not every service has these
 * lists. The names are only needed to find an organization with `--offline`.
 */
export async function readNameLists(session: MirrorSession, client: Client): Promise<void> {
  for (const kind of MIRRORED_NAMES) {
    if (session.signal.aborted) return;
    const names = await readNamesOf(client, kind);
    if (names.size > 0) await session.keeper.run((database) => storeNames(database, kind, names));
  }
}

/** Returns the main name for each UUID. Returns no names when the list cannot be read. */
async function readNamesOf(client: Client, kind: NamedKind): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  try {
    for (const [uuid, [name]] of (await readNames(client, kind)) ?? [])
      if (name !== undefined) found.set(uuid, name);
  } catch (thrown) {
    if (asFleetError(thrown).kind === 'internal') throw thrown;
  }
  return found;
}
