// The filters of the page, which are charts as well: counts by state, charge and silence.

import { BICYCLE_STATES } from '../api/bicycle.js';
import { CHARGE_GROUPS, SILENCE_GROUPS } from '../groups.js';
import { element, showNumber } from './dom.js';
import { EVERYTHING, type Filter, isEverything } from './filter.js';
import { countBy, GROUPS, type Group, type PageBicycle, type PageFleet, UNCHARGED } from './fleet.js';
import { chargeLevel, colourOf, pageState, stateMark } from './looks.js';

export interface FacetsOptions {
  readonly container: HTMLElement;
  nowMs(): number;
  onFilter(filter: Filter): void;
  /** Enter in the search: the first that matches. */
  onEnter(): void;
}

const TEXT_CHARACTERS = 100;

export function openFacets(fleet: PageFleet, { container, nowMs, onFilter, onEnter }: FacetsOptions) {
  let filter: Filter = EVERYTHING;
  // The next press may come before this one is drawn.
  const use = (wanted: Filter) => {
    filter = wanted;
    onFilter(filter);
  };
  const change = (changes: Partial<Filter>) => use({ ...filter, ...changes });
  const toggle = (group: Group, word: string) => {
    const wanted = new Set(filter.words[group]);
    if (!wanted.delete(word)) wanted.add(word);
    const { [group]: _before, ...others } = filter.words;
    change({ words: wanted.size === 0 ? others : { ...others, [group]: wanted } });
  };

  const search = element('input', {
    type: 'search',
    id: 'search',
    placeholder: 'Name, serial number, ID',
    'aria-label': 'Name, serial number, bleid or ID contains',
    maxlength: TEXT_CHARACTERS,
    autocomplete: 'off',
    spellcheck: 'false',
  });
  search.addEventListener('input', () => change({ text: search.value }));
  search.addEventListener('keydown', ({ key }) => {
    if (key === 'Enter') onEnter();
  });
  const reset = element('button', { type: 'button', class: 'reset', hidden: true }, 'Clear filters');
  reset.addEventListener('click', () => {
    search.value = '';
    use(EVERYTHING);
    search.focus();
  });

  const uncharged = element('p', 'note');
  const bars = {
    state: openBars('state', BICYCLE_STATES, toggle),
    charge: openBars('charge', CHARGE_GROUPS, toggle),
    silence: openBars('silence', SILENCE_GROUPS, toggle),
  };
  const section = (title: string, ...children: Node[]) =>
    element('section', { class: 'facet', 'aria-label': title }, element('h2', {}, title), ...children);
  container.append(
    element('div', 'search', search, reset),
    section('State', bars.state.list),
    section(
      'Charge',
      bars.charge.list,
      element('div', { class: 'ticks', 'aria-hidden': 'true' }, ...['0', '20', '50', '80', '100'].map(tick)),
      uncharged,
    ),
    section('Silence', element('p', 'note', 'Last position heard'), bars.silence.list),
  );

  return {
    /** `matching`: what passes the filter. */
    draw(wanted: Filter, matching: readonly PageBicycle[]) {
      filter = wanted;
      reset.hidden = isEverything(filter);
      if (document.activeElement !== search) search.value = filter.text;
      const now = nowMs();
      const countsOf = (group: Group) => [countBy(fleet.all, group, now), countBy(matching, group, now)] as const;
      for (const group of GROUPS) bars[group].draw(...countsOf(group), filter.words[group]);
      const none = countsOf('charge')[0].get(UNCHARGED) ?? 0;
      uncharged.textContent = `${showNumber(none)} without a charge`;
      uncharged.hidden = none === 0;
    },
  };
}

function tick(text: string): HTMLElement {
  const mark = element('span', {}, text);
  mark.style.left = `${Number.parseInt(text, 10)}%`;
  return mark;
}

/** More bars than anybody looks through. */
const MOST_BARS = 100;

/** A bar for each value that occurs or is pressed; in this order, other words behind. Charge has all of its tens, side by side. */
function openBars(group: Group, order: readonly string[], onPress: (group: Group, word: string) => void) {
  const list = element('ul', group === 'charge' ? 'bars columns' : 'bars');
  /** Buttons stay where they are, so that they can be pressed while numbers move. */
  const made = new Map<string, Bar>();
  const barOf = (word: string) => {
    const bar = made.get(word) ?? openBar(group, word, () => onPress(group, word));
    made.set(word, bar);
    return bar;
  };
  const rankOf = (word: string) => (order.includes(word) ? order.indexOf(word) : order.length);
  return {
    list,
    draw(
      all: ReadonlyMap<string, number>,
      shown: ReadonlyMap<string, number>,
      pressed = new Set() as ReadonlySet<string>,
    ) {
      const weightOf = (word: string) => (pressed.has(word) ? Number.POSITIVE_INFINITY : (all.get(word) ?? 0));
      const present = group === 'charge' ? [...order] : [...new Set([...all.keys(), ...pressed])];
      // The most frequent where there are too many.
      if (present.length > MOST_BARS) present.sort((a, b) => weightOf(b) - weightOf(a));
      const words = present.slice(0, MOST_BARS).sort((a, b) => rankOf(a) - rankOf(b));
      const widest = Math.max(1, ...all.values());
      const items = words.map((word) => {
        const [whole, part] = [all.get(word) ?? 0, shown.get(word) ?? 0];
        const bar = barOf(word);
        drawBar(bar, { whole, part, widest, isPressed: pressed.has(word) });
        return bar.item;
      });
      const isSame =
        items.length === list.childElementCount && items.every((item, index) => item === list.children[index]);
      if (!isSame) list.replaceChildren(...items);
    },
  };
}

interface Bar {
  readonly item: HTMLElement;
  readonly button: HTMLElement;
  readonly count: HTMLElement;
}

function openBar(group: Group, word: string, onPress: () => void): Bar {
  const count = element('span', 'bar-count');
  const isState = group === 'state';
  const button = element(
    'button',
    { type: 'button', class: 'bar', 'data-word': word },
    ...(isState ? [stateMark(word)] : []),
    element('bdi', 'bar-word', isState ? pageState(word) : word),
    count,
    element('span', { class: 'bar-track', 'aria-hidden': 'true' }, element('span'), element('span')),
  );
  if (isState) button.style.setProperty('--state', colourOf(word));
  if (group === 'charge') button.classList.add(`bar-${chargeLevel(Number.parseInt(word, 10))}`);
  button.addEventListener('click', onPress);
  return { item: element('li', {}, button), button, count };
}

interface BarNumbers {
  readonly whole: number;
  readonly part: number;
  readonly widest: number;
  readonly isPressed: boolean;
}

function drawBar({ button, count }: Bar, { whole, part, widest, isPressed }: BarNumbers): void {
  button.setAttribute('aria-pressed', String(isPressed));
  button.setAttribute('data-count', String(whole));
  count.textContent = part === whole ? showNumber(whole) : `${showNumber(part)} of ${showNumber(whole)}`;
  button.style.setProperty('--whole', `${((whole / widest) * 100).toFixed(2)}%`);
  button.style.setProperty('--part', `${((part / widest) * 100).toFixed(2)}%`);
}
