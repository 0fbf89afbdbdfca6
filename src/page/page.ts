// The page as one: map, filters, table and card show the same fleet, and what is chosen or filtered in one is so in the others.

import { openCard, type PageCard } from './card.js';
import { pageFields } from './details.js';
import { byId, gently, oncePerFrame, sayFailure, showNumber } from './dom.js';
import { drawFacets } from './facets.js';
import { EVERYTHING, filterFleet, inView, isEverything, sortBicycles } from './filter.js';
import { openFleet, type PageBicycle, type PageFleet } from './fleet.js';
import { drawAlerts, type FeedPanel, openFeedPanel } from './lists.js';
import { type FleetMap, openMap, type PageMapOptions } from './map.js';
import type { Alerts, Payload, Update } from './payload.js';
import { FIRST_SORT, openPageTable, type PageTable } from './table.js';

/** The page: what it shows, and its parts. */
export interface OpenPage {
  readonly shown: Shown;
  readonly map: FleetMap;
  readonly table: PageTable;
  readonly card: PageCard;
  readonly feed: FeedPanel;
  /** All of it, once a frame. */
  draw(): void;
  drawGently(): void;
  /** The table alone: the map shows another part. */
  list(): void;
}

export type Shown = ReturnType<typeof shownOf>;

/** What the page shows at first. */
function shownOf({ rows, atMs, link }: Payload) {
  return {
    fleet: openFleet(rows),
    /** As of when, of a page from a disk and of the past. */
    atMs,
    isLive: link !== null,
    alerts: { rows: [], byType: [], note: null } as Alerts,
    filter: EVERYTHING,
    sort: FIRST_SORT,
    /** What passes the filter. */
    matching: [] as readonly PageBicycle[],
    /** What of that the table has. */
    listed: [] as readonly PageBicycle[],
    chosen: undefined as PageBicycle | undefined,
  };
}

export function openPage(payload: Payload): OpenPage {
  const shown = shownOf(payload);
  const nowMs = () => nowOf(shown);
  const page: OpenPage = {
    shown,
    map: openMapOrSay(shown.fleet, {
      container: byId('map'),
      tiles: payload.tiles,
      onChoose: (bicycle) => choose(page, bicycle),
      onView: () => page.list(),
      onFirstPaint: () => performance.mark('points'),
    }),
    table: openPageTable({
      container: byId('table'),
      nowMs,
      onChoose: (bicycle) => choose(page, bicycle),
      onSort(wanted) {
        shown.sort = wanted;
        page.list();
      },
    }),
    card: openCard({
      container: byId('card'),
      nowMs,
      alertsOf: (uuid) => shown.alerts.rows.filter(({ bicycle }) => bicycle === uuid),
      fieldsOf: (bicycle) => pageFields(bicycle, payload, shown.isLive),
      onClose: () => choose(page, undefined),
      onLocate: (bicycle) => page.map.choose(bicycle, true),
    }),
    feed: openFeedPanel(byId('feed'), (uuid) => chooseUuid(page, uuid)),
    draw: oncePerFrame(() => drawPage(page)),
    drawGently: gently(() => drawPage(page)),
    list: oncePerFrame(() => listNow(page)),
  };
  listen(page);
  return page;
}

function nowOf({ isLive, atMs }: Shown): number {
  return isLive ? Date.now() : atMs;
}

function followsMap(): boolean {
  return (byId('follows') as HTMLInputElement).checked;
}

/** `near`: the map moves to it, else only where it is out of sight. */
function choose({ shown, map, card, table }: OpenPage, bicycle: PageBicycle | undefined, near = false): void {
  shown.chosen = bicycle;
  map.choose(bicycle, near);
  card.show(bicycle);
  // The card takes room from the table: the row is looked for after it.
  table.choose(bicycle, true);
}

function chooseUuid(page: OpenPage, uuid: string): void {
  const bicycle = page.shown.fleet.byUuid.get(uuid);
  if (bicycle !== undefined) choose(page, bicycle, true);
}

function listNow({ shown, map, table }: OpenPage): void {
  const { matching, filter, sort } = shown;
  const seen = inView(matching, map.view());
  // Who looks for a bicycle is to find it, wherever it is.
  const isSearch = filter.text.trim() !== '';
  shown.listed = sortBicycles(followsMap() && !isSearch ? seen : matching, sort);
  const away = matching.length - seen.length;
  const where = `${showNumber(away)} ${away === 1 ? 'is' : 'are'} not on the map`;
  byId('away').textContent = isSearch && away > 0 ? where : '';
  table.show(shown.listed, matching.length === 0 ? 'No bicycles match.' : `${where}.`);
  if (shown.chosen !== undefined) table.choose(shown.chosen, false);
  drawSums(shown);
}

function drawPage(page: OpenPage): void {
  const { shown, map } = page;
  const nowMs = nowOf(shown);
  shown.matching = filterFleet(shown.fleet.all, shown.filter, nowMs);
  map.show(shown.matching, shown.chosen);
  drawFacets(byId('facets'), {
    all: shown.fleet.all,
    matching: shown.matching,
    filter: shown.filter,
    nowMs,
    onFilter(change) {
      shown.filter = change(shown.filter);
      page.draw();
    },
    onEnter() {
      drawPage(page);
      listNow(page);
      const [first] = shown.listed;
      if (first !== undefined && shown.filter.text !== '') choose(page, first, true);
    },
  });
  page.list();
}

function drawSums({ fleet, filter, matching, listed }: Shown): void {
  byId('total').textContent = showNumber(fleet.all.length);
  byId('total').setAttribute('data-count', String(fleet.all.length));
  const unplaced = matching.flatMap(({ position }) => (typeof position === 'string' ? [position] : []));
  const countOf = (reason: string) => showNumber(unplaced.filter((each) => each === reason).length);
  const parts = [
    ...(isEverything(filter) ? [] : [`${showNumber(matching.length)} match`]),
    ...Array.from(new Set(unplaced), (reason) => `${countOf(reason)} ${reason}`),
  ];
  byId('sums').textContent = parts.join(' · ');
  byId('count-bicycles').textContent = showNumber(listed.length);
}

/** Takes what is beside the bicycles. */
export function takeNews(page: OpenPage, { atMs, note, alerts, events }: Update): void {
  const { shown, feed } = page;
  shown.atMs = atMs;
  byId('note').textContent = note;
  byId('note').hidden = note === null;
  if (alerts !== null) {
    shown.alerts = alerts;
    byId('count-alerts').textContent = showNumber(alerts.rows.length);
    drawAlerts(byId('alerts'), alerts, nowOf(shown), (uuid) => chooseUuid(page, uuid));
  }
  feed.add(events);
}

/** The chosen bicycle may be another, or gone. */
export function rechoose({ shown, card }: OpenPage): void {
  if (shown.chosen === undefined) return;
  shown.chosen = shown.fleet.byUuid.get(shown.chosen.uuid);
  if (shown.chosen === undefined) card.show(undefined);
  else card.refresh(shown.chosen);
}

/** The buttons of the template, and the keys. */
function listen(page: OpenPage): void {
  const { shown, map } = page;
  byId('follows').addEventListener('change', page.list);
  byId('fit').addEventListener('click', () => map.fit(shown.matching));
  byId('nearer').addEventListener('click', () => map.zoom(1));
  byId('farther').addEventListener('click', () => map.zoom(-1));
  // The map reads its colours when it is made.
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', map.paint);
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && shown.chosen !== undefined) choose(page, undefined);
    if (event.key !== '/' || event.target === byId('search')) return;
    event.preventDefault();
    // A tab where there is no room for them beside the map.
    if (byId('tab-filters').offsetParent !== null) byId('tab-filters').click();
    byId('search').focus();
  });
}

/** Where the browser can draw no map, the table, the filters and the cards are still there. */
function openMapOrSay(fleet: PageFleet, options: PageMapOptions): FleetMap {
  try {
    return openMap(fleet, options);
  } catch (error) {
    sayFailure(options.container, 'This browser draws no map: it needs WebGL 2.', error);
    options.onFirstPaint();
    const nothing = () => {};
    const view = () => ({ west: 0, east: 1, north: 0, south: 1 });
    return { show: nothing, choose: nothing, paint: nothing, fit: nothing, zoom: nothing, view };
  }
}
