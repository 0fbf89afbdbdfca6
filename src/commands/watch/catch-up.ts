// Reading the list to find out what a stream did not say: a baseline at the start, and what changed during a gap.

import { BICYCLES_PATH, type Bicycle } from '../../api/bicycle.js';
import type { Client } from '../../http/client.js';
import type { Page, Query } from '../../http/types.js';
import type { Change, Knowledge, Mark } from './knowledge.js';

/** One reading of the list, over as many pages as it takes or is allowed. */
export interface Reading {
  /** When the blindness began; undefined for the baseline. */
  since: number | undefined;
  mark: Mark;
  pages: number;
  /** Pages of the present organization: the bound is for each. */
  pagesHere: number;
  changes: number;
  /** False when the bound was reached before the list reached back to the beginning of the blindness. */
  isComplete: boolean;
  /** The bicycles that are looked for one by one and were not met yet; undefined when all are followed. */
  missing: Set<string> | undefined;
  /** Organizations still to be read, the present one first. */
  organizations: string[];
}

/** A page that came, and what had been heard when it was asked for. */
export interface ReadPage {
  page: Page<Bicycle>;
  heardBefore: number;
}

export function beginReading(
  since: number | undefined,
  mark: Mark,
  organizations: readonly string[],
  bicycles: ReadonlySet<string> | undefined,
): Reading {
  return {
    since,
    mark,
    pages: 0,
    pagesHere: 0,
    changes: 0,
    isComplete: true,
    missing: bicycles === undefined ? undefined : new Set(bicycles),
    organizations: [...organizations],
  };
}

/** Fetches one page of the list in `-modified` order (interface.md section 4.1), the first one without a query. */
export async function fetchPage(client: Client, organization: string, next: Query | undefined): Promise<Page<Bicycle>> {
  const query: Query = next ?? [
    ['ordering', '-modified'],
    ['organization', organization],
  ];
  const request = { path: BICYCLES_PATH, query, subject: 'the list of bicycles' };
  // A limit of one item is met by any page, so that none is fetched ahead: the bound counts every page.
  for await (const page of client.pages<Bicycle>(request, { ahead: 0, limit: 1 })) return page;
  return { count: 0, items: [], next: undefined, trace: {} };
}

export interface TakenPage {
  /** What the list shows to have changed, the newest first. */
  changes: Change[];
  /** The query of the next page to read; undefined when this was the last one of its organization. */
  next: Query | undefined;
}

/** Compares a page with what is known, and decides whether another one is needed. */
export function takePage(
  reading: Reading,
  knowledge: Knowledge,
  { page, heardBefore }: ReadPage,
  mostPages: number,
): TakenPage {
  const { since, mark, missing } = reading;
  const changes: Change[] = [];
  let hasRecent = false;
  reading.pages++;
  reading.pagesHere++;
  for (const { value } of page.items) {
    const uuid = typeof value.uuid === 'string' ? value.uuid.toLowerCase() : undefined;
    const isFollowed = missing === undefined || (uuid !== undefined && missing.delete(uuid));
    if (since === undefined) {
      hasRecent = true;
      if (isFollowed) knowledge.learn(value);
    } else if (isFollowed) {
      const { change, isRecent } = knowledge.compare(value, mark, heardBefore);
      hasRecent ||= isRecent;
      if (change !== undefined) changes.push(change);
    } else {
      // Others only tell how far back the list has come.
      hasRecent ||= knowledge.isRecent(value, mark);
    }
  }
  reading.changes += changes.length;
  const isEnough = page.next === undefined || !hasRecent || missing?.size === 0;
  if (isEnough) return { changes, next: undefined };
  if (reading.pagesHere >= mostPages) {
    reading.isComplete = false;
    return { changes, next: undefined };
  }
  return { changes, next: page.next };
}
