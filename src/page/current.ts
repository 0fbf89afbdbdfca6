// Keeps a served page up to date, or at a moment of the past, and says whether it is current.

import { h, render } from 'preact';
import { byId, pageTime, showNumber } from './dom.js';
import { openFleet, update } from './fleet.js';
import { followFleet } from './live.js';
import { type OpenPage, rechoose, takeNews } from './page.js';
import { openSlider } from './past.js';
import type { Link, Payload } from './payload.js';

/** How often the ages in the table and the groups of silence are brought up to date. */
const AGE_PAUSE_MS = 5_000;

/** Keeps the page up to date, or at a moment of the past. */
export function goLive(page: OpenPage, { sequence, link, pastFromMs }: Payload): void {
  const { shown } = page;
  const { fleet } = shown;
  const sign = openLinkSign();
  const takeLink = (news: Link | null) => {
    if (news !== null) sign.service(news, fleet.all.length);
  };
  /** Puts another fleet in the place of this one. */
  const replace = (news: Payload) => {
    shown.isLive = news.link !== null;
    Object.assign(fleet, openFleet(news.rows));
    if (shown.isLive) page.feed.clear();
    rechoose(page);
    takeNews(page, news);
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
        rechoose(page);
      takeNews(page, news);
      takeLink(news.link);
      if (rows.length + gone.length > 0) page.drawGently();
    },
    onFleet: replace,
  });
  if (pastFromMs !== null) openSlider({ fromMs: pastFromMs, following, onPast: replace });
}

/** Says in the head of the page whether it is current. */
function openLinkSign() {
  let [look, text] = ['', ''];
  /** Since when fleet itself does not answer. */
  let lostMs: number | undefined;
  const draw = () => {
    const lost = lostMs && `not connected since ${pageTime(lostMs)}: fleet does not answer`;
    const title = lost || text;
    render(h('span', { class: `link is-${lost ? 'lost' : look}`, title }, title), byId('link'));
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
      byId('gaps').hidden = gaps === 0;
      byId('gaps').textContent = gaps === 1 ? '1 gap' : `${showNumber(gaps)} gaps`;
      draw();
    },
    fleet(isThere: boolean) {
      lostMs = isThere ? undefined : (lostMs ?? Date.now());
      draw();
    },
  };
}
