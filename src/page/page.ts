// Connects the parts of the page. The map, filters, table and card then show the same fleet,
// selection and filter.

import { readFragment, showFilter } from './address.js';
import { openCard, type PageCard } from './card.js';
import { byId, gently, oncePerFrame, sayFailure, showNumber } from './dom.js';
import { drawFacets } from './facets.js';
import { filterFleet, inView, sortBicycles } from './filter.js';
import type { PageBicycle } from './fleet.js';
import { drawHead } from './head.js';
import { alertsOf, drawAlerts, drawChanges, MOST_EVENTS } from './lists.js';
import { type FleetMap, openMap } from './map.js';
import type { Payload, Update } from './payload.js';
import { nowOf, openState, type PageState } from './state.js';
import { openPageTable, type PageTable } from './table.js';

export interface OpenPage {
  readonly state: PageState;
  /** The map; undefined when the browser cannot draw a map. */
  readonly map: FleetMap | undefined;
  readonly table: PageTable;
  readonly card: PageCard;
  /** Requests a redraw of everything, at most once per frame. */
  draw(): void;
  drawGently(): void;
  /** Requests a redraw of the table only. The table must be redrawn after the map has moved. */
  list(): void;
}

const NO_MAP =
  'This browser draws no map, because it does not offer WebGL 2. The table and the filters work without it.';

function hasWebGl(): boolean {
  return document.createElement('canvas').getContext('webgl2') !== null;
}

const WHOLE_WORLD = { west: 0, east: 1, north: 0, south: 1 };

export function openPage(payload: Payload): OpenPage {
  const state = openState(payload);
  const onChoose = (bicycle: PageBicycle | undefined) => choose(page, bicycle);
  const page: OpenPage = {
    state,
    map: openMapOrSay(payload, state, { onChoose, onView: () => page.list() }),
    table: openPageTable(state, { container: byId('table'), onChoose, onSort: () => page.list() }),
    card: openCard(state, {
      container: byId('card'),
      onClose: () => choose(page, undefined),
      onLocate: () => page.map?.choose(true),
    }),
    draw: oncePerFrame(() => drawPage(page)),
    drawGently: gently(() => drawPage(page)),
    list: oncePerFrame(() => listNow(page)),
  };
  listen(page);
  return page;
}

/** Opens the map. If the browser cannot draw the map, the table, filters and cards still work. */
function openMapOrSay(
  { tiles }: Payload,
  state: PageState,
  on: { onChoose(bicycle: PageBicycle | undefined): void; onView(): void },
): FleetMap | undefined {
  const onFirstPaint = () => performance.mark('points');
  const container = byId('map');
  try {
    return openMap(state, { container, tiles, onFirstPaint, ...on });
  } catch (error) {
    document.documentElement.classList.add('has-no-map');
    // Removes everything from the element, because MapLibre may have left its own message there.
    container.replaceChildren();
    sayFailure(container, NO_MAP, hasWebGl() ? error : undefined);
    onFirstPaint();
    return undefined;
  }
}

/**
 * Selects a bicycle. With `near`, the map always moves to the bicycle. Otherwise, the map moves
 * only if the bicycle is not visible.
 */
function choose(
  { state, map, card, table }: OpenPage,
  bicycle: PageBicycle | undefined,
  near = false,
): void {
  state.chosen = bicycle;
  map?.choose(near);
  card.show();
  // The table scrolls to the row only now, because opening the card has made the table smaller.
  table.choose(true);
}

function listNow({ state, map, table }: OpenPage): void {
  const { matching, filter, sort } = state;
  const seen = inView(matching, map?.view() ?? WHOLE_WORLD);
  // Search also finds bicycles outside the visible area.
  const isSearch = filter.text.trim() !== '';
  const followsMap = (byId('follows') as HTMLInputElement).checked && !isSearch;
  const hasMap = map !== undefined;
  state.listed = sortBicycles(followsMap && hasMap ? seen : matching, sort);
  const away = hasMap ? matching.length - seen.length : 0;
  const where = `${showNumber(away)} ${away === 1 ? 'is' : 'are'} not on the map`;
  byId('away').textContent = isSearch && away > 0 ? where : '';
  byId('count-bicycles').textContent = showNumber(state.listed.length);
  table.show(matching.length === 0 ? 'No bicycles match.' : `${where}.`);
  drawHead(state);
}

function drawPage(page: OpenPage): void {
  const { state, map } = page;
  state.matching = filterFleet(state.fleet.all, state.filter, nowOf(state));
  showFilter(state.filter);
  map?.show();
  showAlerts(page);
  drawFacets(byId('facets'), state, {
    onFilter: page.draw,
    onEnter() {
      drawPage(page);
      listNow(page);
      const [first] = state.listed;
      if (first !== undefined && state.filter.text !== '') choose(page, first, true);
    },
  });
  page.list();
}

/** Draws the alerts of the bicycles that match the filter. */
function showAlerts(page: OpenPage): void {
  const { state } = page;
  const shown = alertsOf(state);
  byId('count-alerts').textContent = showNumber(shown.rows.length);
  drawAlerts(byId('alerts'), shown, nowOf(state), (uuid) => chooseUuid(page, uuid));
}

function chooseUuid(page: OpenPage, uuid: string): void {
  const bicycle = page.state.fleet.byUuid.get(uuid);
  if (bicycle !== undefined) choose(page, bicycle, true);
}

/**
 * Applies the parts of an update other than the bicycles: the connection, the changes and the
 * alerts.
 */
export function takeNews(page: OpenPage, { atMs, note, link, alerts, events }: Update): void {
  const { state } = page;
  Object.assign(state, { atMs, note, link: link ?? state.link });
  state.events = [...events, ...state.events].slice(0, MOST_EVENTS);
  drawChanges(byId('feed'), state.events, (uuid) => chooseUuid(page, uuid));
  if (alerts !== null) {
    state.alerts = alerts;
    showAlerts(page);
  }
  drawHead(state);
}

/** Updates the selected bicycle, which may have changed or disappeared. */
export function rechoose({ state, card }: OpenPage): void {
  state.chosen = state.fleet.byUuid.get(state.chosen?.uuid ?? '');
  card.show();
}

/** Connects the keys, and the buttons in the template, to their actions. */
function listen({ state, map, card, list, draw }: OpenPage): void {
  window.addEventListener('hashchange', () => {
    state.filter = readFragment(location.hash);
    draw();
  });
  byId('follows').addEventListener('change', list);
  byId('fit').addEventListener('click', () => map?.fit());
  byId('nearer').addEventListener('click', () => map?.zoom(1));
  byId('farther').addEventListener('click', () => map?.zoom(-1));
  // The map must be painted again when the colour scheme changes. Otherwise it reads its colours
  // only once, when it is created.
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => map?.paint());
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && state.chosen !== undefined) card.close();
    if (event.key !== '/' || event.target === byId('search')) return;
    event.preventDefault();
    // On a narrow screen, the search field is in a tab with the filters. The tab must be opened
    // first.
    if (byId('tab-filters').offsetParent !== null) byId('tab-filters').click();
    byId('search').focus();
  });
}
