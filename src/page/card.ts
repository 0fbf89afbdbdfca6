// One bicycle, every field of it: what matters first, then what the service sent, then its open alerts.

import { type ComponentChild, h, render } from 'preact';
import { showAge, showDate } from './dom.js';
import { isPlaced, type PageBicycle, pageNameOf } from './fleet.js';
import { pageState, stateMark } from './looks.js';
import type { FieldTexts, PageAlert } from './payload.js';
import { chargeOf } from './table.js';

export interface PageCardOptions {
  readonly container: HTMLElement;
  nowMs(): number;
  alertsOf(uuid: string): readonly PageAlert[];
  fieldsOf(bicycle: PageBicycle): Promise<FieldTexts>;
  onClose(): void;
  onLocate(bicycle: PageBicycle): void;
}

/** Shown at the head of the card. */
const IN_HEAD: readonly string[] = ['name', 'state', 'uuid', 'state_of_charge', 'latitude', 'longitude'];

export function openCard(options: PageCardOptions) {
  const { container, onClose, fieldsOf } = options;
  let shown: PageBicycle | undefined;
  let fields: FieldTexts = [];
  let opener: Element | null = null;
  const close = () => {
    onClose();
    if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
  };
  container.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return;
    event.stopPropagation();
    close();
  });
  const draw = (bicycle: PageBicycle) => render(cardOf(bicycle, fields, options, close), container);
  const load = (bicycle: PageBicycle) => {
    draw(bicycle);
    const take = (found: FieldTexts) => {
      if (shown?.uuid !== bicycle.uuid) return;
      fields = found;
      draw(bicycle);
    };
    fieldsOf(bicycle).then(take, () => {});
  };
  return {
    show(bicycle: PageBicycle | undefined) {
      if (bicycle !== undefined && shown === undefined) opener = document.activeElement;
      if (bicycle?.uuid !== shown?.uuid) fields = [];
      shown = bicycle;
      container.hidden = bicycle === undefined;
      if (bicycle === undefined) return;
      load(bicycle);
      container.scrollTop = 0;
      container.focus({ preventScroll: true });
    },
    /** The bicycle that is shown, if one is, has changed. */
    refresh(bicycle: PageBicycle) {
      if (shown === undefined) return;
      shown = bicycle;
      load(bicycle);
    },
  };
}

export type PageCard = ReturnType<typeof openCard>;

function cardOf(
  bicycle: PageBicycle,
  fields: FieldTexts,
  options: PageCardOptions,
  onClick: () => void,
): ComponentChild[] {
  const { uuid, state } = bicycle;
  const others = fields.filter(([name]) => !IN_HEAD.includes(name));
  const isUnset = (text: string | null) => text === null || text === '' || text === '[]';
  const unset = others.filter(([, text]) => isUnset(text)).map(([name]) => name);
  const set = others.filter(([, text]) => !isUnset(text));
  const isOnMap = isPlaced(bicycle);
  const locate = { type: 'button', disabled: !isOnMap, onClick: () => options.onLocate(bicycle) } as const;
  const children = [
    h(
      'header',
      null,
      h(
        'div',
        null,
        h('h2', { id: 'card-title' }, h('bdi', null, pageNameOf(bicycle))),
        h('p', { class: 'state' }, stateMark(state), h('bdi', null, pageState(state))),
      ),
      h('button', { type: 'button', class: 'icon', 'aria-label': 'Close the card', onClick }, '✕'),
    ),
    h('dl', { class: 'facts' }, factsOf(bicycle, fields, options.nowMs())),
    h('div', { class: 'actions' }, h('button', locate, isOnMap ? 'Show on the map' : 'Not on the map')),
    ...alertsOf(options.alertsOf(uuid), options.nowMs()),
    h('h3', null, 'As the service sent it'),
    h(
      'dl',
      { class: 'fields' },
      entry('uuid', uuid),
      set.map(([name, text]) => entry(h('bdi', null, name), fieldText(text ?? ''))),
    ),
    ...(unset.length === 0 ? [] : [h('p', { class: 'note' }, `Not set: ${unset.join(', ')}`)]),
    h('p', { class: 'note' }, 'In the terminal: ', h('code', null, `fleet bicycles get ${uuid.slice(0, 8)}`)),
  ];
  return children;
}

function factsOf(bicycle: PageBicycle, fields: FieldTexts, nowMs: number) {
  const { position } = bicycle;
  const value = (name: string) => fields.find(([field]) => field === name)?.[1];
  const [east, north] = typeof position === 'string' ? [] : position;
  const place = `${value('latitude') ?? north}, ${value('longitude') ?? east}`;
  return [
    entry('Charge', chargeOf(bicycle)),
    entry('Seen', showAge(bicycle.seenMs, nowMs)),
    entry('Position', typeof position === 'string' ? position : place),
  ];
}

function entry(name: ComponentChild, text: ComponentChild): ComponentChild[] {
  return [h('dt', null, name), h('dd', null, text)];
}

/** What a link leads to is named by its UUID, which other commands take, as on the terminal. */
function fieldText(text: string): ComponentChild {
  const [, uuid] = /^https?:.*\/([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\/?$/i.exec(text) ?? [];
  return uuid === undefined ? h('bdi', null, text) : h('bdi', { title: text }, uuid);
}

function alertsOf(alerts: readonly PageAlert[], nowMs: number): ComponentChild[] {
  if (alerts.length === 0) return [];
  const items = alerts.map(({ type, state, message, createdMs }) => {
    const [age, title] = createdMs === null ? [''] : [`, ${showAge(createdMs, nowMs)}`, showDate(createdMs)];
    const text = h('p', { title }, h('bdi', null, message));
    return h('li', null, h('strong', null, h('bdi', null, type)), ` ${state}${age}`, text);
  });
  return [
    h('h3', null, alerts.length === 1 ? 'One open alert' : `${alerts.length} open alerts`),
    h('ul', { class: 'card-alerts' }, items),
  ];
}
