// The page on paper: the map as a picture, and the table with as many rows as somebody may read.

import { byId, element, showAge, showNumber } from './dom.js';
import type { Fleet } from './fleet.js';
import { showState } from './looks.js';

export interface PrintOptions {
  readonly fleet: Fleet;
  listed(): Uint32Array;
  picture(): string;
  nowMs(): number;
}

const MOST_ROWS = 500;

export function printWith({ fleet, listed, picture, nowMs }: PrintOptions): void {
  const sheet = byId('paper');
  addEventListener('beforeprint', () => {
    const places = listed();
    const rows = [...places.subarray(0, MOST_ROWS)].map((place) => {
      const percent = fleet.percents[place] ?? Number.NaN;
      const cells = [
        fleet.names[place] ?? fleet.uuids[place]?.slice(0, 8) ?? '',
        showState(fleet.groups.state.words[fleet.groups.state.places[place] ?? 0] ?? ''),
        Number.isNaN(percent) ? '–' : `${Math.round(percent)} %`,
        showAge(fleet.seenMs[place] ?? Number.NaN, nowMs()),
        fleet.uuids[place] ?? '',
      ];
      return element('tr', {}, ...cells.map((cell) => element('td', {}, cell)));
    });
    const head = element(
      'tr',
      {},
      ...['Name', 'State', 'Charge', 'Seen', 'ID'].map((title) => element('th', {}, title)),
    );
    const rest = places.length - rows.length;
    const map = picture();
    sheet.replaceChildren(
      ...(map === '' ? [] : [element('img', { src: map, alt: 'The map' })]),
      element('table', {}, element('thead', {}, head), element('tbody', {}, ...rows)),
      ...(rest === 0 ? [] : [element('p', {}, `and ${showNumber(rest)} more, which are not printed`)]),
    );
  });
  addEventListener('afterprint', () => sheet.replaceChildren());
}
