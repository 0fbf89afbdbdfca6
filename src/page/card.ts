// One bicycle, every field of it: what matters first, then what the service sent, then its open alerts.

import { element, showAge, showDate } from './dom.js';
import type { Fleet } from './fleet.js';
import { showState, stateMark } from './looks.js';
import type { AlertRow, Fields } from './payload.js';
import { chargeOf } from './table.js';

export interface CardOptions {
  readonly container: HTMLElement;
  nowMs(): number;
  alertsOf(uuid: string): readonly AlertRow[];
  fieldsOf(uuid: string, place: number): Promise<Fields>;
  onClose(): void;
  onLocate(place: number): void;
}

export interface Card {
  show(place: number | undefined): void;
  /** The bicycle that is shown has changed. */
  refresh(place: number): void;
}

/** Shown at the head of the card. */
const IN_HEAD: readonly string[] = ['name', 'state', 'uuid', 'state_of_charge', 'latitude', 'longitude'];

export function openCard(fleet: Fleet, options: CardOptions): Card {
  const { container } = options;
  let shown: number | undefined;
  let fields: Fields = [];
  let opener: Element | null = null;

  const close = () => {
    options.onClose();
    if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
  };
  container.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return;
    event.stopPropagation();
    close();
  });

  const draw = (place: number) => {
    const uuid = fleet.uuids[place] ?? '';
    const state = fleet.groups.state.words[fleet.groups.state.places[place] ?? 0] ?? '';
    const percent = fleet.percents[place] ?? Number.NaN;
    const hasPlace = !Number.isNaN(fleet.xs[place] ?? Number.NaN);
    const value = (name: string) => fields.find(([field]) => field === name)?.[1];
    const title = element('h2', { id: 'card-title' }, element('bdi', {}, fleet.names[place] ?? uuid.slice(0, 8)));
    const shut = element('button', { type: 'button', class: 'icon', 'aria-label': 'Close the card' }, '✕');
    shut.addEventListener('click', close);
    const locate = element(
      'button',
      { type: 'button', disabled: !hasPlace },
      hasPlace ? 'Show on the map' : 'No position',
    );
    locate.addEventListener('click', () => options.onLocate(place));
    const position = hasPlace
      ? `${value('latitude') ?? fleet.latitudes[place]}, ${value('longitude') ?? fleet.longitudes[place]}`
      : '–';
    const facts: [string, Node | string][] = [
      ['Charge', Number.isNaN(percent) ? '–' : chargeOf(percent)],
      ['Seen', showAge(fleet.seenMs[place] ?? Number.NaN, options.nowMs())],
      ['Position', position],
    ];
    const set = fields.filter(
      ([name, text]) => !IN_HEAD.includes(name) && text !== null && text !== '' && text !== '[]',
    );
    const unset = fields.filter(
      ([name, text]) => !IN_HEAD.includes(name) && (text === null || text === '' || text === '[]'),
    );
    container.replaceChildren(
      element(
        'header',
        {},
        element(
          'div',
          {},
          title,
          element('p', { class: 'state' }, stateMark(state), element('bdi', {}, showState(state))),
        ),
        shut,
      ),
      element(
        'dl',
        { class: 'facts' },
        ...facts.flatMap(([name, text]) => [element('dt', {}, name), element('dd', {}, text)]),
      ),
      element('div', { class: 'actions' }, locate),
      ...alertsOf(options.alertsOf(uuid), options.nowMs()),
      element('h3', {}, 'As the service sent it'),
      element(
        'dl',
        { class: 'fields' },
        element('dt', {}, 'uuid'),
        element('dd', {}, uuid),
        ...set.flatMap(([name, text]) => [
          element('dt', {}, element('bdi', {}, name)),
          element('dd', {}, fieldText(text ?? '')),
        ]),
      ),
      ...(unset.length === 0
        ? []
        : [element('p', { class: 'note' }, `Not set: ${unset.map(([name]) => name).join(', ')}`)]),
      element(
        'p',
        { class: 'note' },
        'In the terminal: ',
        element('code', {}, `fleet bicycles get ${uuid.slice(0, 8)}`),
      ),
    );
  };
  const load = (place: number) => {
    const uuid = fleet.uuids[place] ?? '';
    void options.fieldsOf(uuid, place).then(
      (found) => {
        if (shown !== place) return;
        fields = found;
        draw(place);
      },
      () => {},
    );
  };

  return {
    show(place) {
      if (place !== undefined && shown === undefined) opener = document.activeElement;
      const isSame = place === shown;
      shown = place;
      container.hidden = place === undefined;
      if (place === undefined) return container.replaceChildren();
      if (!isSame) fields = [];
      draw(place);
      load(place);
      container.scrollTop = 0;
      container.focus({ preventScroll: true });
    },
    refresh(place) {
      if (place !== shown) return;
      draw(place);
      load(place);
    },
  };
}

/** What a link leads to is named by its UUID, which other commands take, as on the terminal. */
function fieldText(text: string): HTMLElement {
  const [, uuid] = /^https?:.*\/([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\/?$/i.exec(text) ?? [];
  return uuid === undefined ? element('bdi', {}, text) : element('bdi', { title: text }, uuid);
}

function alertsOf(alerts: readonly AlertRow[], nowMs: number): HTMLElement[] {
  if (alerts.length === 0) return [];
  const items = alerts.map(({ type, state, message, createdMs }) =>
    element(
      'li',
      {},
      element('strong', {}, element('bdi', {}, type)),
      ` ${state}${createdMs === null ? '' : `, ${showAge(createdMs, nowMs)}`}`,
      element('p', { title: createdMs === null ? undefined : showDate(createdMs) }, element('bdi', {}, message)),
    ),
  );
  return [
    element('h3', {}, alerts.length === 1 ? 'One open alert' : `${alerts.length} open alerts`),
    element('ul', { class: 'card-alerts' }, ...items),
  ];
}
