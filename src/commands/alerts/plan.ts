// What following alerts is asked to do, as values; or the reason why it cannot be done.

import { usageError } from '../../errors.js';
import type { Query } from '../../http/types.js';
import { parseDuration, readTime } from '../../terminal/time.js';
import type { EndPlan } from '../follow/ending.js';

export interface AlertsPlan extends EndPlan {
  readonly form: 'lines' | 'json';
  /** What the list is asked for, besides order and page. */
  readonly query: Query;
  readonly types?: ReadonlySet<string> | undefined;
  readonly states?: ReadonlySet<string> | undefined;
  /** The pause between two readings of the list; undefined: it is never read. */
  readonly everyMs: number | undefined;
  /** The list only brings what no webhook did, at a pace that stays the same when nothing happens. */
  readonly isBackfill: boolean;
  /** What changed since then is shown at the start. */
  readonly sinceMs?: number | undefined;
}

/** Milliseconds since the epoch of a time, or of an age before `wallMs` such as `2h` or `-2h`. Throws a usage error for anything else. */
export function readSince(text: string, wallMs: number): number {
  const at = readTime(text);
  if (at !== undefined) return at;
  if (/^-?\d+(\.\d+)?(ms|s|m|h|d)$/.test(text)) return wallMs - parseDuration(text.replace('-', ''));
  throw usageError(`--since takes a time or an age, not "${text}"`, 'for example 2026-03-01T12:00:00Z, 90s, 2h or 1d');
}
