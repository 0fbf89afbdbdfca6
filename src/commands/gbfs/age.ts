// Computes the age of a published feed, for `fleet gbfs --check`.

import { join } from 'node:path';
import type { Context } from '../../context.js';
import { FleetError } from '../../errors.js';
import { parseJson } from '../../json/parse.js';
import { readInput } from '../../terminal/stdin.js';
import { readTime, showDuration } from '../../terminal/time.js';

export interface Age {
  readonly updatedMs: number;
  readonly ttlMs: number;
}

/**
 * How late a new feed may be published. The old feed counts as too old only when this time has
 * passed after its ttl.
 */
const LATE_MS = 10_000;
/**
 * The tolerance for a feed with a date in the future. A larger difference means that the clock was
 * wrong when the feed was created. Such a feed is treated as too old.
 */
const AHEAD_MS = 60_000;

export function isOld({ clock }: Context, { updatedMs, ttlMs }: Age): boolean {
  const ageMs = clock.wallMs() - updatedMs;
  return ageMs > ttlMs + LATE_MS || ageMs < -AHEAD_MS;
}

export function describeFeedAge({ clock }: Context, { updatedMs, ttlMs }: Age): string {
  const ageMs = clock.wallMs() - updatedMs;
  const age =
    ageMs < 0 ? `${showDuration(-ageMs)} ahead of the clock` : `${showDuration(ageMs)} old`;
  return `${age} (ttl ${showDuration(ttlMs)})`;
}

/**
 * Reads the age of the feed in a folder. Returns undefined when the folder contains no feed, or
 * when the feed lacks a valid update time or ttl.
 */
export async function readAge(
  context: Context,
  folder: string | undefined,
): Promise<Age | undefined> {
  if (folder === undefined) return undefined;
  try {
    const bytes = await readInput(context, join(folder, 'gbfs.json'));
    const { last_updated: updated, ttl } = parseJson(bytes.toString('utf8')) as {
      [field: string]: unknown;
    };
    const updatedMs =
      typeof updated === 'number' ? updated * 1000 : (readTime(updated) ?? Number.NaN);
    const ttlMs = typeof ttl === 'number' ? ttl * 1000 : Number.NaN;
    return Number.isFinite(updatedMs) && Number.isFinite(ttlMs) ? { updatedMs, ttlMs } : undefined;
  } catch {
    context.signal.throwIfAborted();
    return undefined;
  }
}

/** Throws a FleetError of kind `partial` when the feed in a folder is older than its ttl. */
export async function checkAge(context: Context, folder: string): Promise<void> {
  const age = await readAge(context, folder);
  if (age === undefined)
    throw new FleetError('partial', `no feed with a valid age found in ${folder}`);
  const line = `the feed in ${folder} is ${describeFeedAge(context, age)}`;
  if (isOld(context, age))
    throw new FleetError('partial', line, {
      hint: 'check the output of the "fleet gbfs" process that publishes the feed',
    });
  await context.notice(`✓ ${line}`);
}
