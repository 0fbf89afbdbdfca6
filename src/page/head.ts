// The head of the page: title, number of bicycles, and whether the data is current.

import { type ComponentChild, h, render } from 'preact';
import { byId, pageTime, showDate, showNumber } from './dom.js';
import { isEverything } from './filter.js';
import type { PageState } from './state.js';

export function drawHead(state: PageState): void {
  const { title, fleet, note, link, atMs } = state;
  const { length: total } = fleet.all;
  const gaps = link?.gaps ?? 0;
  const count = h('strong', { id: 'total', 'data-count': total }, showNumber(total));
  const sums = h('span', { id: 'sums', class: 'sums', role: 'status' }, sumsOf(state));
  const children = [
    h(
      'div',
      { class: 'names' },
      h('h1', { id: 'title' }, title),
      h('p', null, count, ' bicycles ', sums),
    ),
    note !== null && h('p', { class: 'warning' }, note),
    h(
      'span',
      { id: 'gaps', class: 'gaps', role: 'status', hidden: gaps === 0 },
      `${showNumber(gaps)} gap${gaps === 1 ? '' : 's'}`,
    ),
    h('div', { id: 'link', role: 'status' }, linkOf(state)),
    h('span', { class: 'at' }, `as of ${showDate(atMs)}`),
  ];
  render(children, byId('head'));
}

function sumsOf({ filter, matching }: PageState): string {
  const reasons = new Map<string, number>();
  for (const { position } of matching)
    if (typeof position === 'string') reasons.set(position, (reasons.get(position) ?? 0) + 1);
  const unplaced = Array.from(reasons, ([reason, count]) => `${showNumber(count)} ${reason}`);
  return [
    ...(isEverything(filter) ? [] : [`${showNumber(matching.length)} match`]),
    ...unplaced,
  ].join(' · ');
}

/** Shows whether fleet is connected to the service, and whether the page is connected to fleet. */
function linkOf({ link, lostMs, fleet }: PageState): ComponentChild {
  if (link === null) return null;
  const { state, sinceMs, message, total } = link;
  const text = {
    open:
      total === null ? 'live' : `reading ${showNumber(fleet.all.length)} of ${showNumber(total)}`,
    connecting: 'connecting',
    lost: `not connected since ${pageTime(sinceMs)}: ${message ?? ''}`,
  }[state];
  const title =
    lostMs === undefined ? text : `not connected since ${pageTime(lostMs)}: fleet does not answer`;
  const look = `link is-${lostMs === undefined ? state : 'lost'}`;
  return h('span', { class: look, title }, h('span', { class: 'link-text' }, title));
}
