// Keeps a served page up to date, or shows a moment of the past.

import { openFleet, update } from './fleet.js';
import { drawHead } from './head.js';
import { followFleet } from './live.js';
import { type OpenPage, rechoose, takeNews } from './page.js';
import { openSlider } from './past.js';
import type { Payload } from './payload.js';

/** The interval at which the page updates ages, and the groups that depend on an age. */
const AGE_PAUSE_MS = 5_000;

export function goLive(page: OpenPage, { sequence, pastFromMs }: Payload): void {
  const { state } = page;
  /** Replaces the fleet. */
  const replace = (news: Payload) => {
    state.isLive = news.link !== null;
    state.fleet = openFleet(news.rows);
    if (state.isLive) state.events = [];
    rechoose(page);
    takeNews(page, news);
    page.draw();
  };
  document.documentElement.classList.add('is-live');
  setInterval(page.drawGently, AGE_PAUSE_MS);
  const following = followFleet({
    sequence,
    onConnection(isOpen) {
      state.lostMs = isOpen ? undefined : (state.lostMs ?? Date.now());
      drawHead(state);
    },
    onUpdate(news) {
      const { rows, gone } = news;
      update(state.fleet, rows, gone, performance.now());
      if ([...gone, ...rows.map(({ uuid }) => uuid)].includes(state.chosen?.uuid ?? ''))
        rechoose(page);
      takeNews(page, news);
      if (rows.length + gone.length > 0) page.drawGently();
    },
    onFleet: replace,
  });
  if (pastFromMs !== null) openSlider({ fromMs: pastFromMs, following, onPast: replace });
}
