// The page on paper: the map as a picture, and the table with as many rows as somebody may read.

import { byId, element, showAge, showNumber } from './dom.js';
import { type Bicycle, nameOf, showCharge } from './fleet.js';
import { showState } from './looks.js';

export interface PrintOptions {
  listed(): readonly Bicycle[];
  picture(): string;
  nowMs(): number;
}

const MOST_ROWS = 500;

export function printWith({ listed, picture, nowMs }: PrintOptions): void {
  const sheet = byId('paper');
  addEventListener('beforeprint', () => {
    const bicycles = listed();
    const rows = bicycles.slice(0, MOST_ROWS).map((bicycle) => {
      const { state, seenMs, uuid } = bicycle;
      const cells = [nameOf(bicycle), showState(state), showCharge(bicycle), showAge(seenMs, nowMs()), uuid];
      return element('tr', {}, ...cells.map((cell) => element('td', {}, cell)));
    });
    const head = element(
      'tr',
      {},
      ...['Name', 'State', 'Charge', 'Seen', 'ID'].map((title) => element('th', {}, title)),
    );
    const rest = bicycles.length - rows.length;
    const map = picture();
    sheet.replaceChildren(
      ...(map === '' ? [] : [element('img', { src: map, alt: 'The map' })]),
      element('table', {}, element('thead', {}, head), element('tbody', {}, ...rows)),
      ...(rest === 0 ? [] : [element('p', {}, `and ${showNumber(rest)} more, which are not printed`)]),
    );
  });
  addEventListener('afterprint', () => sheet.replaceChildren());
}
