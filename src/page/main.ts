// The page of `fleet map -o html` and `--serve`: reads what fleet put into it, and keeps map, filters, table and card together.

import { openCard } from './card.js';
import { fieldsAt } from './details.js';
import { byId, element, gently, oncePerFrame, showDate, showNumber, showTime } from './dom.js';
import { openFacets } from './facets.js';
import { EVERYTHING, type Filter, filterFleet, inView, isEverything, type Sort, sortBicycles } from './filter.js';
import { type Bicycle, type Fleet, isPlaced, openFleet, takeFields, takeRow } from './fleet.js';
import { drawAlerts, openFeed } from './lists.js';
import { askForFields, followFleet } from './live.js';
import { type FleetMap, type MapOptions, openMap } from './map.js';
import { openPast } from './past.js';
import type { Alerts, Details, Link, Payload, Update } from './payload.js';
import { printWith } from './print.js';
import { openTable } from './table.js';
import { openTabs } from './tabs.js';
import { openTheme } from './theme.js';

function start(): void {
  const payload = JSON.parse(byId('fleet').textContent ?? '') as Payload;
  const fleet = openFleet(payload);
  let { alerts, atMs } = payload;
  /** What is shown is a moment of the past. */
  let isPast = false;
  let filter: Filter = EVERYTHING;
  let sort: Sort = { field: 'charge', isDescending: false };
  let matching: readonly Bicycle[] = [];
  let listed: readonly Bicycle[] = [];
  let chosen: Bicycle | undefined;
  /** Of a page from a disk and of the past, ages are those of the moment when the fleet was read. */
  const nowMs = () => (payload.live === null || isPast ? atMs : Date.now());

  const onTheme = openTheme(byId('theme'));
  const tabs = openTabs(byId('tabs'));
  const follows = byId('follows') as HTMLInputElement;

  /** `near`: the map moves to it, else only where it is out of sight. */
  const choose = (bicycle: Bicycle | undefined, near = false) => {
    chosen = bicycle;
    map.choose(bicycle, near);
    card.show(bicycle);
    // The card takes room from the table: the row is looked for after it.
    table.choose(bicycle, true);
  };
  const chooseUuid = (uuid: string) => {
    const bicycle = fleet.byUuid.get(uuid);
    if (bicycle !== undefined) choose(bicycle, true);
  };

  const table = openTable({
    container: byId('table'),
    nowMs,
    onChoose: choose,
    onSort(wanted) {
      sort = wanted;
      table.sorted(sort);
      list();
    },
  });
  const card = openCard({
    container: byId('card'),
    nowMs,
    alertsOf: (uuid) => alerts.rows.filter(({ bicycle }) => bicycle === uuid),
    fieldsOf: async ({ uuid, place }) => {
      if (payload.live === null) return fieldsAt(readDetails(), place);
      // Of the past the page knows what it draws.
      return isPast ? [] : askForFields(uuid);
    },
    onClose: () => choose(undefined),
    onLocate: (bicycle) => map.choose(bicycle, true),
  });
  const facets = openFacets(fleet, {
    container: byId('facets'),
    onFilter(wanted) {
      filter = wanted;
      apply();
    },
  });
  const feed = openFeed(byId('feed'), chooseUuid);
  const map = openMapOrSay(fleet, {
    container: byId('map'),
    tiles: payload.tiles,
    onChoose: choose,
    onView: () => list(),
    onFirstPaint: () => performance.mark('points'),
  });
  onTheme(() => {
    map.paint();
    facets.paint();
  });

  /** What the table shows: what passes the filter, and what of that the map shows. */
  const list = oncePerFrame(() => {
    const view = follows.checked ? inView(matching, map.view()) : matching;
    listed = sortBicycles(fleet, view, sort);
    table.show(listed);
    if (chosen !== undefined) table.choose(chosen, false);
    drawSums();
  });
  const applyNow = () => {
    matching = filterFleet(fleet.all, filter);
    map.show(matching);
    facets.draw(filter, matching);
    list();
  };
  const apply = oncePerFrame(applyNow);
  const applyGently = gently(applyNow);
  const drawSums = () => {
    const whole = fleet.all.filter(({ isGone }) => !isGone).length;
    byId('total').textContent = showNumber(whole);
    byId('total').setAttribute('data-count', String(whole));
    const unplaced = matching.filter((bicycle) => !isPlaced(bicycle)).length;
    const parts = [
      ...(isEverything(filter) ? [] : [`${showNumber(matching.length)} match`]),
      ...(unplaced === 0 ? [] : [`${showNumber(unplaced)} without a position`]),
    ];
    byId('sums').textContent = parts.join(' · ');
    byId('count-bicycles').textContent = showNumber(listed.length);
  };
  const showAlerts = (news: Alerts) => {
    alerts = news;
    byId('count-alerts').textContent = showNumber(alerts.rows.length);
    drawAlerts(byId('alerts'), alerts, nowMs(), chooseUuid);
  };

  follows.addEventListener('change', () => list());
  byId('fit').addEventListener('click', () => map.fit(matching));
  byId('nearer').addEventListener('click', () => map.zoom(1));
  byId('farther').addEventListener('click', () => map.zoom(-1));
  byId('attribution').textContent = attributionOf(payload);
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && chosen !== undefined) choose(undefined);
    if (event.key !== '/' || event.target instanceof HTMLInputElement) return;
    event.preventDefault();
    tabs.show('filters');
    byId('search').focus();
  });
  printWith({ listed: () => listed, picture: () => map.picture(), nowMs });

  byId('title').textContent = payload.title;
  byId('note').textContent = payload.note ?? '';
  byId('note').hidden = payload.note === null;
  byId('at').textContent = `as of ${showDate(atMs)}`;
  table.sorted(sort);
  showAlerts(alerts);
  apply();

  if (payload.live === null) return;
  document.documentElement.classList.add('is-live');
  const link = openLinkSign();
  const takeSums = ({ gaps, total, link: state }: Pick<Update, 'gaps' | 'total' | 'link'>) => {
    if (state !== undefined) link.service(state);
    if (gaps !== undefined) link.gaps(gaps);
    if (total !== undefined)
      link.reading(total === null ? undefined : `reading ${showNumber(fleet.all.length)} of ${showNumber(total)}`);
  };
  feed.add(payload.live.events);
  takeSums(payload.live);
  setInterval(table.refresh, 5_000);
  /** Puts another fleet in the place of this one. */
  const replace = (news: Payload) => {
    atMs = news.atMs;
    Object.assign(fleet, openFleet(news));
    if (chosen !== undefined) choose(fleet.byUuid.get(chosen.uuid));
    showAlerts(news.alerts);
    apply();
  };
  const following = followFleet({
    sequence: payload.live.sequence,
    onConnection: link.fleet,
    onUpdate(update) {
      const now = performance.now();
      atMs = update.atMs;
      for (const uuid of update.gone ?? []) takeFields(fleet, uuid, { isGone: true });
      for (const [uuid, silence] of update.silences ?? []) takeFields(fleet, uuid, { silence });
      for (const row of update.rows ?? []) card.refresh(takeRow(fleet, row, now));
      if (update.events !== undefined) feed.add(update.events);
      if (update.alerts !== undefined) showAlerts(update.alerts);
      takeSums(update);
      if (update.rows !== undefined || update.gone !== undefined || update.silences !== undefined) applyGently();
    },
    onSnapshot(snapshot) {
      isPast = false;
      replace(snapshot);
      feed.clear();
      if (snapshot.live === null) return;
      feed.add(snapshot.live.events);
      takeSums(snapshot.live);
    },
  });
  if (payload.live.pastFromMs === null) return;
  openPast({
    fromMs: payload.live.pastFromMs,
    following,
    onPast(past) {
      isPast = true;
      replace(past);
    },
  });
}

/** Where the browser can draw no map, the table, the filters and the cards are still there. */
function openMapOrSay(fleet: Fleet, options: MapOptions): FleetMap {
  try {
    return openMap(fleet, options);
  } catch (error) {
    sayFailure(options.container, `This browser draws no map: it needs WebGL 2. ${messageOf(error)}`);
    options.onFirstPaint();
    const nothing = () => {};
    const view = () => ({ west: 0, east: 1, north: 0, south: 1 });
    return { show: nothing, choose: nothing, paint: nothing, fit: nothing, zoom: nothing, view, picture: () => '' };
  }
}

/** Says in the head of the page whether it is current. */
function openLinkSign() {
  const sign = byId('link');
  const gapSign = byId('gaps');
  let service: Link = { state: 'connecting', sinceMs: Date.now(), message: null };
  let isFleetThere = true;
  let reading: string | undefined;
  let lostMs = 0;
  const draw = () => {
    const isGood = isFleetThere && service.state === 'open';
    sign.className = `link ${isGood ? 'is-open' : isFleetThere && service.state === 'connecting' ? 'is-connecting' : 'is-lost'}`;
    const text = !isFleetThere
      ? `fleet does not answer since ${showTime(lostMs)}`
      : service.state === 'open'
        ? (reading ?? 'live')
        : service.state === 'connecting'
          ? 'connecting'
          : `blind since ${showTime(service.sinceMs)}: ${service.message ?? ''}`;
    if (sign.textContent === text) return;
    sign.textContent = text;
    sign.title = text;
  };
  return {
    service(link: Link) {
      service = link;
      draw();
    },
    fleet(isThere: boolean) {
      if (isFleetThere && !isThere) lostMs = Date.now();
      isFleetThere = isThere;
      draw();
    },
    reading(text: string | undefined) {
      reading = text;
      draw();
    },
    gaps(count: number) {
      gapSign.hidden = count === 0;
      gapSign.textContent = count === 1 ? '1 gap' : `${showNumber(count)} gaps`;
    },
  };
}

let details: Details | undefined;

/** The block of all fields stands behind the script, and is read when the first card is opened. */
function readDetails(): Details {
  if (details === undefined) details = JSON.parse(byId('details').textContent ?? '') as Details;
  return details;
}

function attributionOf({ tiles }: Payload): string {
  return ['Coastlines: Natural Earth', ...(tiles === null ? [] : [tiles.attribution])].join(' · ');
}

/** A page without its script would be an empty frame: what went wrong is said in it. */
function startOrSay(): void {
  try {
    start();
  } catch (error) {
    sayFailure(byId('map'), `The page could not start: ${messageOf(error)}`);
    throw error;
  }
}

function sayFailure(container: HTMLElement, text: string): void {
  container.replaceChildren(element('p', { class: 'failure', role: 'alert' }, text));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

if (window.trustedTypes !== undefined) {
  // Nothing in this page may become HTML or script, but the worker that stands in it.
  window.trustedTypes.createPolicy('default', {
    createScriptURL: (url) => {
      if (url.startsWith('blob:')) return url;
      throw new TypeError(`no script is loaded from ${url}`);
    },
  });
}
startOrSay();
