// Looks up the names of bicycles in a mirror, if there is one.

import { wholeUuid } from '../api/links.js';
import type { Context } from '../context.js';
import type { Mirror } from '../mirror/open.js';
import { within } from '../system/clock.js';
import { openChosen, withMirror } from './offline.js';

/** Returns the name of the bicycle that a link refers to, or undefined when unknown. */
export type NameOf = (link: unknown) => string | undefined;

/** How long to wait for the names. */
const WAIT_LIMIT_MS = 2_000;

/**
 * Reads the names of all bicycles from the mirror. Returns no names when the mirror cannot be read.
 */
export async function readBicycleNames(context: Context): Promise<NameOf> {
  const names = new Map<string, string>();
  const read = async (mirror: Mirror) => {
    for (const { uuid, name } of await mirror.database.all('SELECT uuid, name FROM bicycles'))
      if (typeof name === 'string' && name !== '') names.set(String(uuid), name);
  };
  const look = (signal: AbortSignal) => withMirror(openChosen({ ...context, signal }), read);
  if (context.flags.mirror !== false)
    await within(context, WAIT_LIMIT_MS, look).catch(() => undefined);
  return (link) => (typeof link === 'string' ? names.get(wholeUuid(link) ?? '') : undefined);
}
