// `fleet mirror upgrade`: converts the tables of a mirror from an older version of fleet.

import type { Context } from '../../context.js';
import { chosenDatabase } from '../../list/offline.js';
import { type MirrorAddress, showMirrorAddress } from '../../mirror/address.js';
import { openOwn } from '../../mirror/open.js';
import { migrate, SCHEMA_NUMBER } from '../../mirror/schema.js';
import { requireBaseUrl } from '../../settings/resolve.js';

/** Upgrades the mirror. Throws a FleetError of kind `config` when the mirror does not exist. */
export async function upgradeMirror(
  context: Context,
  { to }: { to?: MirrorAddress },
): Promise<void> {
  const address = await chosenDatabase(context, to);
  const baseUrl = requireBaseUrl(await context.settings());
  const options = { signal: context.signal, env: context.io.env };
  const database = await openOwn(address, baseUrl, options, false);
  try {
    const before = await migrate(database);
    const done =
      before === SCHEMA_NUMBER
        ? 'is up to date'
        : `was upgraded from schema ${before} to ${SCHEMA_NUMBER}`;
    await context.notice(`the mirror in ${showMirrorAddress(address)} ${done}`);
  } finally {
    await database.close();
  }
}
