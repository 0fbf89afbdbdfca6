// The lists next to the table. One shows the open alerts, the other shows the events since the page
// was opened.

import { type ComponentChild, type ComponentChildren, h, render } from 'preact';
import { pageTime, showAge, showNumber } from './dom.js';
import { isEverything } from './filter.js';
import type { Alerts, FeedEntry, PageAlert } from './payload.js';
import type { PageState } from './state.js';

const MOST_ALERTS = 500;
export const MOST_EVENTS = 300;

type OnChoose = (uuid: string) => void;

/** Returns the open alerts of the bicycles that match the filter. */
export function alertsOf({ alerts, filter, matching }: PageState): Alerts {
  if (isEverything(filter)) return alerts;
  const uuids = new Set(matching.map(({ uuid }) => uuid));
  const rows = alerts.rows.filter(({ bicycle }) => bicycle !== null && uuids.has(bicycle));
  const counts = new Map<string, number>();
  for (const { type } of rows) counts.set(type, (counts.get(type) ?? 0) + 1);
  const byType = Array.from(counts, ([type, count]) => ({ type, count })).sort(
    (a, b) => b.count - a.count,
  );
  return { rows, byType, note: alerts.note };
}

/** Draws alerts. A click selects the bicycle. */
export function drawAlerts(
  container: HTMLElement,
  { rows, byType, note }: Alerts,
  nowMs: number,
  onChoose: OnChoose,
): void {
  const older = rows.length - MOST_ALERTS;
  const types = byType.map(({ type, count }) =>
    h(
      'li',
      { 'data-type': type, 'data-count': count },
      h('bdi', null, type),
      h('span', null, showNumber(count)),
    ),
  );
  const items = rows
    .slice(0, MOST_ALERTS)
    .map((row) => h('li', { key: row.uuid }, alertItem(row, nowMs, onChoose)));
  const children = [
    note !== null && h('p', { class: 'note warning' }, note),
    rows.length === 0 && note === null && h('p', { class: 'empty' }, 'No open alerts.'),
    h('ul', { class: 'types', 'aria-label': 'Open alerts by type' }, types),
    h('ol', { class: 'items', 'aria-label': 'Open alerts, the newest first' }, items),
    older > 0 && h('p', { class: 'note' }, `and ${showNumber(older)} older ones`),
  ];
  render(children, container);
}

export function alertItem(
  alert: PageAlert,
  nowMs: number,
  onChoose: OnChoose = () => {},
): ComponentChild {
  const { bicycle, bicycleName, type, state, message, createdMs } = alert;
  const look = `alert-state alert-${state === 'escalated' ? 'escalated' : 'new'}`;
  return listItem(bicycle, onChoose, [
    h('span', { class: 'item-head' }, h('bdi', null, type), h('span', { class: look }, state)),
    h('bdi', { class: 'item-text' }, message),
    h(
      'span',
      { class: 'item-foot' },
      h('bdi', null, bicycleName ?? bicycle?.slice(0, 8)),
      createdMs !== null && showAge(createdMs, nowMs),
    ),
  ]);
}

/**
 * Draws an item of a list as a button. A click selects the bicycle of the item. The button is
 * disabled when the item has no bicycle.
 */
function listItem(
  uuid: string | null,
  onChoose: OnChoose,
  children: ComponentChildren,
): ComponentChild {
  const onClick = () => uuid !== null && onChoose(uuid);
  return h('button', { type: 'button', class: 'item', disabled: uuid === null, onClick }, children);
}

/** Draws the events, newest first. */
export function drawChanges(
  container: HTMLElement,
  events: readonly FeedEntry[],
  onChoose: OnChoose,
): void {
  const items = events.map(({ kind, atMs, uuid, name, text }) => {
    const who = kind === 'gap' ? 'Gap' : (name ?? uuid?.slice(0, 8));
    const head = h(
      'span',
      { class: 'item-head' },
      h('bdi', null, who),
      h('time', null, pageTime(atMs)),
    );
    const item = listItem(uuid, onChoose, [head, h('bdi', { class: 'item-text' }, text)]);
    return h('li', { class: `item-${kind}` }, item);
  });
  const list = h('ol', { class: 'items feed', 'aria-label': 'Changes, the newest first' }, items);
  render(
    [list, items.length === 0 && h('p', { class: 'empty' }, 'Nothing has changed yet.')],
    container,
  );
}
