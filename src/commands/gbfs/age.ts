// Reads the age of a published feed, for `fleet gbfs --check`.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Context } from '../../context.js';
import { FleetError } from '../../errors.js';
import { isObject, parseJson } from '../../json/parse.js';
import { readTime, showDuration } from '../../terminal/time.js';

export interface Age {
  readonly updatedMs: number;
  readonly ttlMs: number;
}

/** What a reading may take beyond its time before the feed counts as too old. */
const LATE_MS = 10_000;

export function isOld({ clock }: Context, { updatedMs, ttlMs }: Age): boolean {
  return clock.wallMs() - updatedMs > ttlMs + LATE_MS;
}

export function describeAge({ clock }: Context, { updatedMs, ttlMs }: Age): string {
  return `${showDuration(clock.wallMs() - updatedMs)} old (ttl ${showDuration(ttlMs)})`;
}

/** What the feed of a folder says of itself; undefined where there is none. */
export async function readAge(folder: string | undefined): Promise<Age | undefined> {
  if (folder === undefined) return undefined;
  const text = await readFile(join(folder, 'gbfs.json'), 'utf8').catch(() => '{}');
  let document: unknown;
  try {
    document = parseJson(text);
  } catch {}
  const { last_updated: updated, ttl } = isObject(document) ? document : {};
  const updatedMs = typeof updated === 'number' ? updated * 1000 : readTime(updated);
  return updatedMs === undefined ? undefined : { updatedMs, ttlMs: Number(ttl) * 1000 };
}

/** Throws a FleetError of kind `partial` where the feed of a folder is older than its ttl. */
export async function checkAge(context: Context, folder: string): Promise<void> {
  const age = await readAge(folder);
  if (age === undefined) throw new FleetError('partial', `there is no feed in ${folder}`);
  const line = `the feed in ${folder} is ${describeAge(context, age)}`;
  if (isOld(context, age)) throw new FleetError('partial', line, { hint: 'see what "fleet gbfs" says where it runs' });
  await context.notice(`✓ ${line}`);
}
