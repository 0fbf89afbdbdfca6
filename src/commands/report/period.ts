// Parses --since and --until for commands that compute metrics from the mirror.

import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import { readTimeFlag } from '../../terminal/typed-time.js';
import type { Interval } from './parts.js';

/**
 * Returns the period that --since and --until select. A period whose end is in the future ends now
 * instead.
 */
export function readPeriod(
  context: Context,
  { since, until }: { since?: string | undefined; until?: string | undefined },
  defaultLengthMs: number,
): Interval {
  const now = context.now();
  const askedUntilMs = until === undefined ? now.ms : readTimeFlag('--until', until, now);
  const untilMs = Math.min(askedUntilMs, now.ms);
  const fromMs =
    since === undefined ? untilMs - defaultLengthMs : readTimeFlag('--since', since, now);
  if (until !== undefined && fromMs >= askedUntilMs)
    throw usageError('--until must be after --since', 'pass the earlier time to --since');
  if (fromMs >= now.ms)
    throw usageError('--since must be in the past', 'pass a time in the past to --since');
  return { fromMs, untilMs };
}
