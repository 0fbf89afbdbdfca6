// Reads the past of the fleet from a mirror, for the time slider of a served page.

import type { Bicycle } from '../../api/bicycle.js';
import type { Context } from '../../context.js';
import { openChosen } from '../../list/offline.js';
import { queue } from '../../mirror/database.js';
import { readTime } from '../../terminal/time.js';

/**
 * Opens the history of a mirror. Returns undefined when there is no mirror of this service, or when
 * the mirror is empty. Without a history, the page has no time slider.
 */
export async function openPast(
  context: Context,
  { organizations, keep }: { organizations: readonly string[]; keep(bicycle: Bicycle): boolean },
) {
  if (context.flags.mirror === false) return undefined;
  const { rangeOf, readPast } = await import('../../mirror/past.js');
  const mirror = await openChosen(context).catch(() => undefined);
  if (mirror === undefined) return undefined;
  const { database } = mirror;
  const close = () => mirror.close().catch(() => undefined);
  const first = await database.all('SELECT min(at) AS first FROM changes').catch(() => []);
  const fromMs = readTime(first[0]?.['first']);
  if (fromMs === undefined) {
    await close();
    return undefined;
  }
  const isOwn = new Set(organizations);
  /** Reads run one at a time, because each one loads the whole fleet into memory. */
  const inTurn = queue();
  const read = async (atMs: number): Promise<Bicycle[]> => {
    const fleet = await readPast(database, rangeOf(atMs));
    return [...fleet.values()].flatMap(({ bicycle, organization, isGone }) =>
      !isGone && isOwn.has(organization) && keep(bicycle) ? [bicycle] : [],
    );
  };
  return {
    /** The earliest recorded time, in milliseconds since the epoch. */
    fromMs,
    close,
    /** Returns the bicycles at this time that match the filters. */
    read: (atMs: number) => inTurn(() => read(atMs)),
  };
}
