// One bicycle, every field of it: what matters first, then what the service sent, then its open alerts.

import { element, showAge, showDate } from './dom.js';
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
  const { container } = options;
  let shown: PageBicycle | undefined;
  let fields: FieldTexts = [];
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

  const draw = (bicycle: PageBicycle) => {
    const { uuid, state } = bicycle;
    const shut = element('button', { type: 'button', class: 'icon', 'aria-label': 'Close the card' }, '✕');
    shut.addEventListener('click', close);
    const words = isPlaced(bicycle) ? 'Show on the map' : 'Not on the map';
    const locate = element('button', { type: 'button', disabled: !isPlaced(bicycle) }, words);
    locate.addEventListener('click', () => options.onLocate(bicycle));
    const others = fields.filter(([name]) => !IN_HEAD.includes(name));
    const isUnset = ([, text]: FieldTexts[number]) => text === null || text === '' || text === '[]';
    const set = others.filter((field) => !isUnset(field));
    const unset = others.filter(isUnset).map(([name]) => name);
    const title = element('h2', { id: 'card-title' }, element('bdi', {}, pageNameOf(bicycle)));
    const mark = element('p', 'state', stateMark(state), element('bdi', {}, pageState(state)));
    container.replaceChildren(
      element('header', {}, element('div', {}, title, mark), shut),
      element('dl', 'facts', ...factsOf(bicycle)),
      element('div', 'actions', locate),
      ...alertsOf(options.alertsOf(uuid), options.nowMs()),
      element('h3', {}, 'As the service sent it'),
      element(
        'dl',
        'fields',
        ...entry('uuid', uuid),
        ...set.flatMap(([name, text]) => entry(element('bdi', {}, name), fieldText(text ?? ''))),
      ),
      ...(unset.length === 0 ? [] : [element('p', 'note', `Not set: ${unset.join(', ')}`)]),
      element('p', 'note', 'In the terminal: ', element('code', {}, `fleet bicycles get ${uuid.slice(0, 8)}`)),
    );
  };
  const factsOf = (bicycle: PageBicycle) => {
    const value = (name: string) => fields.find(([field]) => field === name)?.[1];
    const { position } = bicycle;
    const [east, north] = typeof position === 'string' ? [] : position;
    const place = `${value('latitude') ?? north}, ${value('longitude') ?? east}`;
    return [
      ...entry('Charge', chargeOf(bicycle)),
      ...entry('Seen', showAge(bicycle.seenMs, options.nowMs())),
      ...entry('Position', typeof position === 'string' ? position : place),
    ];
  };
  const load = (bicycle: PageBicycle) => {
    void options.fieldsOf(bicycle).then(
      (found) => {
        if (shown?.uuid !== bicycle.uuid) return;
        fields = found;
        draw(bicycle);
      },
      () => {},
    );
  };

  return {
    show(bicycle: PageBicycle | undefined) {
      if (bicycle !== undefined && shown === undefined) opener = document.activeElement;
      if (bicycle?.uuid !== shown?.uuid) fields = [];
      shown = bicycle;
      container.hidden = bicycle === undefined;
      if (bicycle === undefined) return container.replaceChildren();
      draw(bicycle);
      load(bicycle);
      container.scrollTop = 0;
      container.focus({ preventScroll: true });
    },
    /** The bicycle that is shown, if one is, has changed. */
    refresh(bicycle: PageBicycle) {
      if (shown === undefined) return;
      shown = bicycle;
      draw(bicycle);
      load(bicycle);
    },
  };
}

function entry(name: Node | string, text: Node | string): HTMLElement[] {
  return [element('dt', {}, name), element('dd', {}, text)];
}

/** What a link leads to is named by its UUID, which other commands take, as on the terminal. */
function fieldText(text: string): HTMLElement {
  const [, uuid] = /^https?:.*\/([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\/?$/i.exec(text) ?? [];
  return uuid === undefined ? element('bdi', {}, text) : element('bdi', { title: text }, uuid);
}

function alertsOf(alerts: readonly PageAlert[], nowMs: number): HTMLElement[] {
  if (alerts.length === 0) return [];
  const items = alerts.map(({ type, state, message, createdMs }) => {
    const [age, title] = createdMs === null ? [''] : [`, ${showAge(createdMs, nowMs)}`, showDate(createdMs)];
    const text = element('p', { title }, element('bdi', {}, message));
    return element('li', {}, element('strong', {}, element('bdi', {}, type)), ` ${state}${age}`, text);
  });
  return [
    element('h3', {}, alerts.length === 1 ? 'One open alert' : `${alerts.length} open alerts`),
    element('ul', 'card-alerts', ...items),
  ];
}
