// The card of one bicycle: the most important fields, all other fields, and its open alerts.

import { type ComponentChild, h, render } from 'preact';
import { pageFields } from './details.js';
import { showAge } from './dom.js';
import { type PageBicycle, pageNameOf } from './fleet.js';
import { alertItem } from './lists.js';
import type { FieldTexts } from './payload.js';
import { nowOf, type PageState } from './state.js';
import { pageState, stateMark } from './state-marks.js';
import { chargeOf } from './table.js';

export interface PageCardOptions {
  readonly container: HTMLElement;
  onClose(): void;
  onLocate(): void;
}

/** The fields that are shown at the top of the card. */
const IN_HEAD: readonly string[] = ['name', 'state', 'uuid', 'state_of_charge'];

export function openCard(state: PageState, options: PageCardOptions) {
  const { container, onClose } = options;
  let shown: string | undefined;
  /** All fields of the bicycle; undefined until they have been read. */
  let fields: FieldTexts | undefined;
  let opener: Element | null = null;
  const close = () => {
    const isInside = container.contains(document.activeElement);
    onClose();
    if (isInside && opener instanceof HTMLElement) opener.focus();
  };
  const draw = (bicycle: PageBicycle) =>
    render(cardOf(bicycle, fields, state, { ...options, onClose: close }), container);
  return {
    close,
    /** Redraws the selected bicycle after a change. */
    show() {
      const { chosen } = state;
      container.hidden = chosen === undefined;
      if (chosen?.uuid !== shown) fields = undefined;
      if (chosen !== undefined && chosen.uuid !== shown) {
        if (shown === undefined) opener = document.activeElement;
        container.scrollTop = 0;
        container.focus({ preventScroll: true });
      }
      shown = chosen?.uuid;
      if (chosen === undefined) return;
      draw(chosen);
      const take = (found: FieldTexts) => {
        if (shown !== chosen.uuid) return;
        fields = found;
        draw(chosen);
      };
      pageFields(chosen, state).then(take, () => take([]));
    },
  };
}

export type PageCard = ReturnType<typeof openCard>;

function cardOf(
  bicycle: PageBicycle,
  fields: FieldTexts | undefined,
  state: PageState,
  { onClose, onLocate }: PageCardOptions,
): ComponentChild[] {
  const { uuid } = bicycle;
  const nowMs = nowOf(state);
  const own = state.alerts.rows.filter((alert) => alert.bicycle === uuid);
  // The alerts on the card are not buttons, because all of them belong to the bicycle that is
  // already selected.
  const alerts = own.map((alert) =>
    h('li', null, alertItem({ ...alert, bicycle: null, bicycleName: null }, nowMs)),
  );
  const others = (fields ?? []).filter(([name]) => !IN_HEAD.includes(name));
  const isUnset = (text: string | null) => text === null || text === '' || text === '[]';
  const unset = others.filter(([, text]) => isUnset(text)).map(([name]) => name);
  const set = others.filter(([, text]) => !isUnset(text));
  const isOnMap = typeof bicycle.position !== 'string';
  const locate = { type: 'button', disabled: !isOnMap, onClick: onLocate } as const;
  const close = {
    type: 'button',
    class: 'icon',
    'aria-label': 'Close the card',
    onClick: onClose,
  } as const;
  const title = h('h2', { id: 'card-title' }, h('bdi', null, pageNameOf(bicycle)));
  const look = h(
    'span',
    { class: 'state' },
    stateMark(bicycle.state),
    h('bdi', null, pageState(bicycle.state)),
  );
  return [
    h('header', null, h('div', null, title), h('button', close, '✕')),
    h(
      'dl',
      { class: 'facts' },
      entry('State', look),
      entry('Charge', chargeOf(bicycle)),
      entry('Seen', showAge(bicycle.seenMs, nowMs)),
      entry('Place', placeOf(bicycle)),
      entry('Lock', lockOf(fields)),
      entry('Alerts', alertsLine(own.length, state.alerts.note)),
    ),
    h('ul', { class: 'card-alerts' }, alerts),
    h(
      'div',
      { class: 'actions' },
      h('button', locate, isOnMap ? 'Show on the map' : 'Not on the map'),
    ),
    h('h3', null, 'As the service sent it'),
    h(
      'dl',
      { class: 'fields' },
      entry('uuid', uuid),
      set.map(([name, text]) => entry(h('bdi', null, name), fieldText(text ?? ''))),
    ),
    unset.length > 0 && h('p', { class: 'note' }, `Not set: ${unset.join(', ')}`),
    h(
      'p',
      { class: 'note' },
      'In the terminal: ',
      h('code', null, `fleet bicycles get ${uuid.slice(0, 8)}`),
    ),
  ];
}

/** Returns the position, or the reason why the bicycle has no position. */
function placeOf({ position }: PageBicycle): string {
  if (typeof position === 'string') return position;
  const [longitude, latitude] = position;
  return `${latitude}, ${longitude}`;
}

/**
 * Returns the text that describes the lock. `fields` is undefined until the fields have been read,
 * and empty while the page shows a moment of the past.
 */
function lockOf(fields: FieldTexts | undefined): ComponentChild {
  if (fields === undefined) return '…';
  if (fields.length === 0) return 'not known';
  const lock = fields.find(([name]) => name === 'lock')?.[1] ?? '';
  return lock === '' ? 'none' : fieldText(lock);
}

function alertsLine(count: number, note: string | null): string {
  if (count > 0) return `${count} open`;
  return note === null ? 'none open' : note;
}

function entry(name: ComponentChild, text: ComponentChild): ComponentChild[] {
  return [h('dt', null, name), h('dd', null, text)];
}

/**
 * For a link, shows only the UUID in the link, as on the terminal. The user can copy it, because
 * other commands accept a UUID as an argument.
 */
function fieldText(text: string): ComponentChild {
  const [, uuid] =
    /^https?:.*\/([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\/?$/i.exec(text) ??
    [];
  return uuid === undefined ? h('bdi', null, text) : h('bdi', { title: text }, uuid);
}
