// The periods for which a mirror has no data: its gaps, and the time before its history begins.

import type { Database } from '../../mirror/database.js';
import { readTime } from '../../terminal/time.js';
import type { Interval } from './parts.js';

/** Reports the periods for which the mirror has data. */
export interface Sight {
  /** The start of the mirror's history. Undefined for a mirror without bicycles. */
  readonly beginMs: number | undefined;
  /** Whether the mirror has data for the whole time from `fromMs` to `untilMs`. */
  sawWhole(fromMs: number, untilMs: number): boolean;
  /** Returns the share of the interval for which the mirror has data, from 0 to 1. */
  shareOf(interval: Interval): number;
  /** Returns the parts of the interval for which the mirror has no data, in order of time. */
  unseenIn(interval: Interval): Interval[];
}

/**
 * Reads the periods for which the mirror has data. For an open gap, there is no end time. The
 * mirror has no data after `seenUntilMs`.
 */
export async function readSight(
  database: Database,
  keptSince: string | undefined,
  seenUntilMs = Number.POSITIVE_INFINITY,
): Promise<Sight> {
  const [row] = await database.all('SELECT min(first_seen) AS first FROM bicycles');
  const firstMs = readTime(row?.['first']);
  const keptMs = readTime(keptSince);
  const beginMs =
    firstMs === undefined ? undefined : Math.max(firstMs, keptMs ?? Number.NEGATIVE_INFINITY);
  const rows = await database.all('SELECT started, ended FROM gaps ORDER BY started');
  const gaps = rows.map(({ started, ended }) => ({
    fromMs: readTime(started) ?? Number.NEGATIVE_INFINITY,
    untilMs: readTime(ended) ?? Number.POSITIVE_INFINITY,
  }));
  const after = { fromMs: seenUntilMs, untilMs: Number.POSITIVE_INFINITY };
  return sightOf(
    beginMs,
    [...gaps, after].sort((one, other) => one.fromMs - other.fromMs),
  );
}

/**
 * Derives the periods with data from the gaps. The gaps are sorted by their start and may overlap.
 */
export function sightOf(beginMs: number | undefined, gaps: readonly Interval[]): Sight {
  const unseen: { fromMs: number; untilMs: number }[] = [
    { fromMs: Number.NEGATIVE_INFINITY, untilMs: beginMs ?? Number.POSITIVE_INFINITY },
  ];
  for (const gap of gaps) {
    const last = unseen.at(-1);
    if (last !== undefined && gap.fromMs <= last.untilMs)
      last.untilMs = Math.max(last.untilMs, gap.untilMs);
    else unseen.push({ ...gap });
  }
  /** Returns the index of the first span in `unseen` that ends after `ms`. */
  const firstAfter = (ms: number) => {
    let [low, high] = [0, unseen.length];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if ((unseen[middle]?.untilMs ?? 0) > ms) high = middle;
      else low = middle + 1;
    }
    return low;
  };
  const unseenIn = ({ fromMs, untilMs }: Interval) => {
    const found: Interval[] = [];
    for (let at = firstAfter(fromMs); at < unseen.length; at += 1) {
      const { fromMs: start = 0, untilMs: end = 0 } = unseen[at] ?? {};
      if (start >= untilMs) break;
      found.push({ fromMs: Math.max(start, fromMs), untilMs: Math.min(end, untilMs) });
    }
    return found;
  };
  return {
    beginMs,
    sawWhole(fromMs, untilMs) {
      const next = unseen[firstAfter(fromMs)];
      return next === undefined || next.fromMs >= untilMs;
    },
    shareOf(interval) {
      const { fromMs, untilMs } = interval;
      if (untilMs <= fromMs) return 0;
      const unseenMs = unseenIn(interval).reduce(
        (sum, each) => sum + each.untilMs - each.fromMs,
        0,
      );
      return 1 - unseenMs / (untilMs - fromMs);
    },
    unseenIn,
  };
}
