// `fleet mirror upgrade`: brings a mirror of an older fleet up to the tables of this one.

import type { Context } from '../../context.js';
import { configError } from '../../errors.js';
import { type MirrorAddress, showMirrorAddress } from '../../mirror/address.js';
import { openDatabase } from '../../mirror/database.js';
import { openOwn } from '../../mirror/open.js';
import { migrate, readSchema, SCHEMA_NUMBER } from '../../mirror/schema.js';
import { requireBaseUrl } from '../../settings/resolve.js';
import { chosenDatabase } from '../shared/mirror-address.js';

/** Throws a FleetError of kind `config` where there is no mirror. */
export async function upgradeMirror(context: Context, { to }: { to?: MirrorAddress }): Promise<void> {
  const address = await chosenDatabase(context, to);
  const baseUrl = requireBaseUrl(await context.settings());
  const options = { signal: context.signal, env: context.io.env };
  const shown = showMirrorAddress(address);
  const found = await openDatabase(address, { ...options, access: 'look' });
  const before = await readSchema(found).finally(found.close);
  if (before === undefined) throw configError(`there is no mirror in ${shown}`, 'start one: fleet mirror run');
  const database = await openOwn(address, baseUrl, options);
  try {
    await migrate(database);
    const done = before === SCHEMA_NUMBER ? 'is up to date' : `is upgraded from schema ${before} to ${SCHEMA_NUMBER}`;
    await context.notice(`the mirror in ${shown} ${done}`);
  } finally {
    await database.close();
  }
}
