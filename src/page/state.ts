// What the page shows: one state, which all of its parts are drawn from.

import { EVERYTHING, type PageSort } from './filter.js';
import { openFleet, type PageBicycle } from './fleet.js';
import type { Alerts, FeedEntry, Payload } from './payload.js';

export type PageState = ReturnType<typeof openState>;

export function openState({ title, rows, atMs, note, link }: Payload) {
  return {
    title,
    fleet: openFleet(rows),
    /** As of when, of a page from a disk and of the past. */
    atMs,
    note,
    /** False on a page from a disk, and in the past. */
    isLive: link !== null,
    /** Of fleet to the service; null on a page from a disk. */
    link,
    /** Since when fleet itself does not answer. */
    lostMs: undefined as number | undefined,
    alerts: { rows: [], byType: [], note: null } as Alerts,
    /** The newest first. */
    events: [] as readonly FeedEntry[],
    filter: EVERYTHING,
    sort: { field: 'charge', isDescending: false } as PageSort,
    /** What passes the filter. */
    matching: [] as readonly PageBicycle[],
    /** What of that the table has. */
    listed: [] as readonly PageBicycle[],
    chosen: undefined as PageBicycle | undefined,
  };
}

export function nowOf({ isLive, atMs }: PageState): number {
  return isLive ? Date.now() : atMs;
}
