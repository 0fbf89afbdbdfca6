// The page of `fleet map -o html` and `--serve`: reads what fleet put into it, and keeps map, filters, table and card together.

import { openCard } from './card.js';
import { fieldsAt, unpackDetails } from './details.js';
import { byId, element, gently, oncePerFrame, pageTime, showDate, showNumber } from './dom.js';
import { openFacets } from './facets.js';
import { EVERYTHING, type Filter, filterFleet, inView, isEverything, type PageSort, sortBicycles } from './filter.js';
import { openFleet, type PageBicycle, type PageFleet, update } from './fleet.js';
import { drawAlerts, openFeedPanel } from './lists.js';
import { askForFields, askForFleet, followFleet } from './live.js';
import { type FleetMap, openMap, type PageMapOptions } from './map.js';
import { openSlider } from './past.js';
import type { Alerts, Details, FieldTexts, Link, Payload, Update } from './payload.js';
import { openPageTable } from './table.js';
import { openTabs } from './tabs.js';

/** What the page shows. */
interface Shown {
  readonly fleet: PageFleet;
  /** As of when, of a page from a disk and of the past. */
  atMs: number;
  isLive: boolean;
  alerts: Alerts;
  filter: Filter;
  sort: PageSort;
  /** What passes the filter. */
  matching: readonly PageBicycle[];
  /** What of that the table has. */
  listed: readonly PageBicycle[];
  chosen: PageBicycle | undefined;
}

async function start(): Promise<void> {
  const block = readBlock<Payload>('fleet');
  // A page that is served has the fleet not in it.
  const payload = block.link === null ? block : await askForFleet();
  const shown: Shown = {
    fleet: openFleet(payload.rows),
    atMs: payload.atMs,
    isLive: payload.link !== null,
    alerts: { rows: [], byType: [], note: null },
    filter: EVERYTHING,
    sort: { field: 'charge', isDescending: false },
    matching: [],
    listed: [],
    chosen: undefined,
  };
  const page = openPage(shown, payload);
  byId('title').textContent = payload.title;
  byId('attribution').textContent = attributionOf(payload);
  byId('at').textContent = `as of ${showDate(payload.atMs)}`;
  page.take(payload);
  page.draw();
  if (payload.link !== null) goLive(shown, payload, page);
}

/** Draws all of it, and joins its parts: what is chosen or filtered in one is so in the others. */
function openPage(shown: Shown, payload: Payload) {
  const { fleet } = shown;
  const nowMs = () => (shown.isLive ? Date.now() : shown.atMs);
  const follows = byId('follows') as HTMLInputElement;
  const tabs = openTabs(byId('tabs'));
  // The map reads its colours when it is made.
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => map.paint());

  /** `near`: the map moves to it, else only where it is out of sight. */
  const choose = (bicycle: PageBicycle | undefined, near = false) => {
    shown.chosen = bicycle;
    map.choose(bicycle, near);
    card.show(bicycle);
    // The card takes room from the table: the row is looked for after it.
    table.choose(bicycle, true);
  };
  const chooseUuid = (uuid: string) => {
    const bicycle = fleet.byUuid.get(uuid);
    if (bicycle !== undefined) choose(bicycle, true);
  };
  const table = openPageTable({
    container: byId('table'),
    nowMs,
    onChoose: choose,
    onSort(wanted) {
      shown.sort = wanted;
      table.sorted(wanted);
      list();
    },
  });
  const card = openCard({
    container: byId('card'),
    nowMs,
    alertsOf: (uuid) => shown.alerts.rows.filter(({ bicycle }) => bicycle === uuid),
    fieldsOf: (bicycle) => fieldsOf(bicycle, payload, shown.isLive),
    onClose: () => choose(undefined),
    onLocate: (bicycle) => map.choose(bicycle, true),
  });
  const facets = openFacets(fleet, {
    container: byId('facets'),
    nowMs,
    onFilter(wanted) {
      shown.filter = wanted;
      apply();
    },
    onEnter() {
      draw();
      listNow();
      const [first] = shown.listed;
      if (first !== undefined && shown.filter.text !== '') choose(first, true);
    },
  });
  const feed = openFeedPanel(byId('feed'), chooseUuid);
  const map = openMapOrSay(fleet, {
    container: byId('map'),
    tiles: payload.tiles,
    onChoose: choose,
    onView: () => list(),
    onFirstPaint: () => performance.mark('points'),
  });

  const listNow = () => {
    const seen = inView(shown.matching, map.view());
    // Who looks for a bicycle is to find it, wherever it is.
    const isSearch = shown.filter.text.trim() !== '';
    shown.listed = sortBicycles(fleet, follows.checked && !isSearch ? seen : shown.matching, shown.sort);
    const away = shown.matching.length - seen.length;
    const where = `${showNumber(away)} ${away === 1 ? 'is' : 'are'} not on the map`;
    byId('away').textContent = isSearch && away > 0 ? where : '';
    table.show(shown.listed, shown.matching.length === 0 ? 'No bicycles match.' : `${where}.`);
    if (shown.chosen !== undefined) table.choose(shown.chosen, false);
    drawSums(shown);
  };
  const list = oncePerFrame(listNow);
  const draw = () => {
    shown.matching = filterFleet(fleet.all, shown.filter, nowMs());
    map.show(shown.matching, shown.chosen);
    facets.draw(shown.filter, shown.matching);
    list();
  };
  const apply = oncePerFrame(draw);

  follows.addEventListener('change', list);
  byId('fit').addEventListener('click', () => map.fit(shown.matching));
  byId('nearer').addEventListener('click', () => map.zoom(1));
  byId('farther').addEventListener('click', () => map.zoom(-1));
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && shown.chosen !== undefined) choose(undefined);
    if (event.key !== '/' || event.target instanceof HTMLInputElement) return;
    event.preventDefault();
    tabs.show('filters');
    byId('search').focus();
  });
  table.sorted(shown.sort);

  return {
    /** Takes what is beside the bicycles. */
    take({ atMs, note, alerts, events }: Update) {
      shown.atMs = atMs;
      byId('note').textContent = note;
      byId('note').hidden = note === null;
      if (alerts !== null) {
        shown.alerts = alerts;
        byId('count-alerts').textContent = showNumber(alerts.rows.length);
        drawAlerts(byId('alerts'), alerts, nowMs(), chooseUuid);
      }
      feed.add(events);
    },
    draw: apply,
    drawGently: gently(draw),
    clearFeed: feed.clear,
    /** The chosen bicycle may be another, or gone. */
    rechoose() {
      if (shown.chosen === undefined) return;
      shown.chosen = fleet.byUuid.get(shown.chosen.uuid);
      if (shown.chosen === undefined) card.show(undefined);
      else card.refresh(shown.chosen);
    },
  };
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

/** How often the ages in the table and the groups of silence are brought up to date. */
const AGE_PAUSE_MS = 5_000;

/** Keeps the page up to date, or at a moment of the past. */
function goLive(shown: Shown, { sequence, link, pastFromMs }: Payload, page: ReturnType<typeof openPage>): void {
  const { fleet } = shown;
  const sign = openLinkSign();
  const takeLink = (news: Link | null) => {
    if (news !== null) sign.service(news, fleet.all.length);
  };
  /** Puts another fleet in the place of this one. */
  const replace = (news: Payload) => {
    shown.isLive = news.link !== null;
    Object.assign(fleet, openFleet(news.rows));
    if (shown.isLive) page.clearFeed();
    page.rechoose();
    page.take(news);
    page.draw();
    takeLink(news.link);
  };
  document.documentElement.classList.add('is-live');
  takeLink(link);
  setInterval(page.drawGently, AGE_PAUSE_MS);
  const following = followFleet({
    sequence,
    onConnection: sign.fleet,
    onUpdate(news) {
      const { rows, gone } = news;
      update(fleet, rows, gone, performance.now());
      if (rows.some(({ uuid }) => uuid === shown.chosen?.uuid) || gone.includes(shown.chosen?.uuid ?? ''))
        page.rechoose();
      page.take(news);
      takeLink(news.link);
      if (rows.length + gone.length > 0) page.drawGently();
    },
    onFleet: replace,
  });
  if (pastFromMs !== null) openSlider({ fromMs: pastFromMs, following, onPast: replace });
}

/** Says in the head of the page whether it is current. */
function openLinkSign() {
  const sign = byId('link');
  const gapSign = byId('gaps');
  let text = '';
  let look = '';
  /** Since when fleet itself does not answer. */
  let lostMs: number | undefined;
  const draw = () => {
    const [shownLook, shownText] =
      lostMs === undefined ? [look, text] : ['lost', `not connected since ${pageTime(lostMs)}: fleet does not answer`];
    sign.className = `link is-${shownLook}`;
    if (sign.textContent === shownText) return;
    sign.textContent = shownText;
    sign.title = shownText;
  };
  return {
    /** What fleet says of the service; `known`: how many bicycles the page has. */
    service({ state, sinceMs, message, gaps, total }: Link, known: number) {
      look = state;
      text = {
        open: total === null ? 'live' : `reading ${showNumber(known)} of ${showNumber(total)}`,
        connecting: 'connecting',
        lost: `not connected since ${pageTime(sinceMs)}: ${message ?? ''}`,
      }[state];
      gapSign.hidden = gaps === 0;
      gapSign.textContent = gaps === 1 ? '1 gap' : `${showNumber(gaps)} gaps`;
      draw();
    },
    fleet(isThere: boolean) {
      lostMs = isThere ? undefined : (lostMs ?? Date.now());
      draw();
    },
  };
}

/** Where the browser can draw no map, the table, the filters and the cards are still there. */
function openMapOrSay(fleet: PageFleet, options: PageMapOptions): FleetMap {
  try {
    return openMap(fleet, options);
  } catch (error) {
    sayFailure(options.container, `This browser draws no map: it needs WebGL 2. ${messageOf(error)}`);
    options.onFirstPaint();
    const nothing = () => {};
    const view = () => ({ west: 0, east: 1, north: 0, south: 1 });
    return { show: nothing, choose: nothing, paint: nothing, fit: nothing, zoom: nothing, view };
  }
}

function readBlock<T>(id: string): T {
  return JSON.parse(byId(id).textContent ?? '') as T;
}

/** The block of all fields follows the script, and is read when the first card is opened. */
let details: ReturnType<typeof unpackDetails> | undefined;

async function fieldsOf({ uuid, place }: PageBicycle, { link }: Payload, isLive: boolean): Promise<FieldTexts> {
  if (isLive) return askForFields(uuid);
  // Of the past the page knows what it draws.
  if (link !== null) return [];
  details ??= unpackDetails(readBlock<Details>('details'));
  return fieldsAt(await details, place);
}

function attributionOf({ tiles }: Payload): string {
  return ['Coastlines and towns: Natural Earth', ...(tiles === null ? [] : [tiles.attribution])].join(' · ');
}

/** Without its script the page would be empty: it shows the error instead. */
function startOrSay(): void {
  start().catch((error) => {
    sayFailure(byId('map'), `The page could not start: ${messageOf(error)}`);
    throw error;
  });
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
