// The entry of the page of `fleet map -o html` and `--serve`: reads the data and starts.

import { goLive } from './current.js';
import { byId, readBlock, sayFailure, useTimeZone } from './dom.js';
import { askFleet } from './live.js';
import { openPage, takeNews } from './page.js';
import type { Payload } from './payload.js';

async function start(): Promise<void> {
  const block = readBlock<Payload>('fleet');
  // A served page does not contain the fleet, so the page requests it.
  const payload = block.link === null ? block : await askFleet<Payload>('fleet');
  const { tiles, link } = payload;
  useTimeZone(payload.timeZone);
  const page = openPage(payload);
  const credits = [
    'Coastlines and towns: Natural Earth',
    ...(tiles === null ? [] : [tiles.attribution]),
  ];
  byId('attribution').textContent = credits.join(' · ');
  takeNews(page, payload);
  page.draw();
  if (link !== null) goLive(page, payload);
}

if (window.trustedTypes !== undefined) {
  // Trusted Types: the browser refuses to use a string of this page as HTML or as a script. The
  // only exception is the URL of the page's own worker.
  window.trustedTypes.createPolicy('default', {
    createScriptURL: (url) => {
      if (url.startsWith('blob:')) return url;
      throw new TypeError(`no script is loaded from ${url}`);
    },
  });
}
// If the script cannot start, shows the error, because the page would otherwise stay empty.
start().catch((error) => {
  sayFailure(byId('map'), 'The page could not start:', error);
  throw error;
});
