// The lists beside the table: open alerts, and what happened while the page was open.

import { element, pageTime, showAge, showNumber } from './dom.js';
import type { Alerts, FeedEntry, PageAlert } from './payload.js';

const MOST_ALERTS = 500;
const MOST_EVENTS = 300;

/** Draws the open alerts; a press chooses the bicycle. */
export function drawAlerts(
  container: HTMLElement,
  { rows, byType, note }: Alerts,
  nowMs: number,
  onChoose: (uuid: string) => void,
): void {
  const shown = rows.slice(0, MOST_ALERTS);
  const summary = byType.map(({ type, count }) =>
    element(
      'li',
      { 'data-type': type, 'data-count': count },
      element('bdi', {}, type),
      element('span', {}, showNumber(count)),
    ),
  );
  container.replaceChildren(
    ...(note === null ? [] : [element('p', 'note warning', note)]),
    ...(rows.length === 0 && note === null ? [element('p', 'empty', 'No open alerts.')] : []),
    element('ul', { class: 'types', 'aria-label': 'Open alerts by type' }, ...summary),
    element(
      'ol',
      { class: 'items', 'aria-label': 'Open alerts, the newest first' },
      ...shown.map((row) => alertItem(row, nowMs, onChoose)),
    ),
    ...(rows.length > shown.length
      ? [element('p', 'note', `and ${showNumber(rows.length - shown.length)} older ones`)]
      : []),
  );
}

function alertItem(
  { bicycle, bicycleName, type, state, message, createdMs }: PageAlert,
  nowMs: number,
  onChoose: (uuid: string) => void,
): HTMLElement {
  const button = element(
    'button',
    { type: 'button', class: 'item', disabled: bicycle === null },
    element(
      'span',
      'item-head',
      element('bdi', {}, type),
      element('span', { class: `alert-state alert-${state === 'escalated' ? 'escalated' : 'new'}` }, state),
    ),
    element('bdi', 'item-text', message),
    element(
      'span',
      'item-foot',
      element('bdi', {}, bicycleName ?? bicycle?.slice(0, 8) ?? ''),
      createdMs === null ? '' : showAge(createdMs, nowMs),
    ),
  );
  if (bicycle !== null) button.addEventListener('click', () => onChoose(bicycle));
  return element('li', {}, button);
}

/** What happened, the newest first; only so many lines are kept. */
export function openFeedPanel(container: HTMLElement, onChoose: (uuid: string) => void) {
  const list = element('ol', { class: 'items feed', 'aria-label': 'Changes, the newest first' });
  const empty = element('p', 'empty', 'Nothing has changed yet.');
  container.append(list, empty);
  return {
    /** The newest first. */
    add(entries: readonly FeedEntry[]) {
      const made = entries.slice(0, MOST_EVENTS).map(({ kind, atMs, uuid, name, text }) => {
        const parts = [
          element(
            'span',
            'item-head',
            element('bdi', {}, kind === 'gap' ? 'Gap' : (name ?? uuid?.slice(0, 8) ?? '')),
            element('time', {}, pageTime(atMs)),
          ),
          element('bdi', 'item-text', text),
        ];
        if (uuid === null) return element('li', { class: `item item-${kind}` }, ...parts);
        const button = element('button', { type: 'button', class: 'item' }, ...parts);
        button.addEventListener('click', () => onChoose(uuid));
        return element('li', { class: `item-${kind}` }, button);
      });
      list.prepend(...made);
      while (list.childElementCount > MOST_EVENTS) list.lastElementChild?.remove();
      empty.hidden = list.childElementCount > 0;
    },
    clear() {
      list.replaceChildren();
      empty.hidden = false;
    },
  };
}
