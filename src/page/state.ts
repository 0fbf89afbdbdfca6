// The state of the page. All parts of the page are drawn from it.

import { readFragment } from './address.js';
import type { PageSort } from './filter.js';
import { openFleet, type PageBicycle } from './fleet.js';
import type { Alerts, FeedEntry, Payload } from './payload.js';
import { zoneNames } from './zones.js';

export type PageState = ReturnType<typeof openState>;

export function openState({ title, rows, atMs, note, link, zones }: Payload) {
  return {
    title,
    fleet: openFleet(rows),
    zones,
    zoneNames: zoneNames(zones),
    /**
     * The time of the data. It replaces the current time when the page was opened from disk, or
     * when the page shows a moment in the past.
     */
    atMs,
    note,
    /**
     * Whether fleet keeps the page up to date. False when the page was opened from disk, or when it
     * shows a moment in the past.
     */
    isLive: link !== null,
    /** fleet's connection to the service; null on a page opened from disk. */
    link,
    /** When fleet stopped responding to the page; undefined while fleet responds. */
    lostMs: undefined as number | undefined,
    alerts: { rows: [], byType: [], note: null } as Alerts,
    /** Newest first. */
    events: [] as readonly FeedEntry[],
    filter: readFragment(location.hash),
    sort: { field: 'charge', isDescending: false } as PageSort,
    /** The bicycles that match the filter. */
    matching: [] as readonly PageBicycle[],
    /** The bicycles that match the filter and appear in the table. */
    listed: [] as readonly PageBicycle[],
    chosen: undefined as PageBicycle | undefined,
  };
}

export function nowOf({ isLive, atMs }: PageState): number {
  return isLive ? Date.now() : atMs;
}
