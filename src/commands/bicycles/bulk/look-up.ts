// What the list of bicycles tells of changes whose answer nobody has: what it holds, and what has changed since.

import { BICYCLES_PATH, type Bicycle } from '../../../api/bicycle.js';
import { FleetError } from '../../../errors.js';
import type { Client } from '../../../http/client.js';
import { readTime } from '../../../terminal/time.js';

/**
 * Pages read at the most to find what is in doubt. "It is not meant for keeping a whole fleet in sync by requesting thousands of
 * bicycles at once" (interface.md section 1), and what changed last, which is what is looked for, comes first.
 */
const MOST_PAGES = 500;

/**
 * The newest `modified` or `created` that the service has, as it writes it; null when it does not tell. By its own clock: that of
 * this machine may be wrong. Assumed: bicycles carry `modified`, since section 4.1 orders by it.
 */
export async function readNewest(client: Client, field: 'modified' | 'created'): Promise<string | null> {
  try {
    for await (const bicycle of newestFirst(client, field, 1)) {
      const moment = bicycle[field];
      return readTime(moment) === undefined ? null : (moment ?? null);
    }
    return null;
  } catch (error) {
    // Who may act but not list goes without; a service that is down is told before anything is sent.
    if (error instanceof FleetError && ['auth', 'not-found', 'rejected'].includes(error.kind)) return null;
    throw error;
  }
}

/** The bicycles, those changed or created last first (section 4.1: `-modified` is the interface's own example). */
export async function* newestFirst(
  client: Client,
  field: 'modified' | 'created',
  mostPages = MOST_PAGES,
): AsyncGenerator<Bicycle, void, undefined> {
  const request = { path: BICYCLES_PATH, query: [['ordering', `-${field}`]] as const, subject: 'the list of bicycles' };
  let pages = 0;
  for await (const page of client.pages<Bicycle>(request, mostPages === 1 ? { ahead: 0 } : {})) {
    for (const { value } of page.items) yield value;
    pages += 1;
    if (pages >= mostPages) return;
  }
}

/** From this many decimals of a second on, the same moment is the same change: no request comes and goes within a millisecond. */
const FINE_DECIMALS = 3;

/**
 * Whether a moment is certainly not later than another; ISO 8601 of any precision, null is never certain. They are compared at the
 * coarser of their precisions: what happened within the same second is in no order when one of them has no decimals.
 */
export function isCertainlyNotLater(moment: unknown, other: string | null): boolean {
  if (typeof moment !== 'string' || other === null) return false;
  const [left, right] = [readTime(moment), readTime(other)];
  if (left === undefined || right === undefined) return false;
  const [leftFraction, rightFraction] = [fractionOf(moment), fractionOf(other)];
  const decimals = Math.min(leftFraction.length, rightFraction.length);
  const [leftSecond, rightSecond] = [Math.floor(left / 1000), Math.floor(right / 1000)];
  if (leftSecond !== rightSecond) return leftSecond < rightSecond;
  const [leftPart, rightPart] = [leftFraction.slice(0, decimals), rightFraction.slice(0, decimals)];
  return leftPart < rightPart || (leftPart === rightPart && decimals >= FINE_DECIMALS);
}

/** The decimals of a second, to be compared as text: a Date holds but three of them. */
function fractionOf(moment: string): string {
  return /[.,](\d+)/.exec(moment)?.[1] ?? '';
}
