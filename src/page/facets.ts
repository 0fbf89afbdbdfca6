// The filters, which are charts as well: how many have each state, charge and silence, and a press shows only those.

import { BICYCLE_STATES } from '../api/bicycle.js';
import { SILENCE_GROUPS } from '../groups.js';
import { chargeChart } from './charts.js';
import { element, showNumber } from './dom.js';
import { EVERYTHING, type Filter, isEverything, type WordGroup } from './filter.js';
import { type Bicycle, countBy, type Fleet, type Group, UNCHARGED } from './fleet.js';
import { colourOf, showState, stateMark } from './looks.js';

export interface FacetsOptions {
  readonly container: HTMLElement;
  nowMs(): number;
  onFilter(filter: Filter): void;
}

export interface Facets {
  /** `matching`: what passes the filter. */
  draw(filter: Filter, matching: readonly Bicycle[]): void;
  /** The colours are others. */
  paint(): void;
}

const TEXT_CHARACTERS = 100;

export function openFacets(fleet: Fleet, { container, nowMs, onFilter }: FacetsOptions): Facets {
  let filter: Filter = EVERYTHING;
  // The next press may come before this one is drawn.
  const use = (wanted: Filter) => {
    filter = wanted;
    onFilter(filter);
  };
  const change = (changes: Partial<Filter>) => use({ ...filter, ...changes });
  const toggle = (group: WordGroup, word: string) => {
    const wanted = new Set(filter.words[group]);
    if (!wanted.delete(word)) wanted.add(word);
    const { [group]: _before, ...others } = filter.words;
    change({ words: wanted.size === 0 ? others : { ...others, [group]: wanted } });
  };

  const search = element('input', {
    type: 'search',
    id: 'search',
    placeholder: 'Name or ID',
    'aria-label': 'Name or ID contains',
    maxlength: TEXT_CHARACTERS,
    autocomplete: 'off',
    spellcheck: 'false',
  });
  search.addEventListener('input', () => change({ text: search.value }));
  const reset = element('button', { type: 'button', class: 'reset', hidden: true }, 'Clear filters');
  reset.addEventListener('click', () => {
    search.value = '';
    use(EVERYTHING);
    search.focus();
  });

  const least = percentInput('Minimum charge', (value) => change({ leastPercent: value }));
  const most = percentInput('Maximum charge', (value) => change({ mostPercent: value }));
  const chart = chargeChart((from, to) => change({ leastPercent: from, mostPercent: to }));
  const uncharged = element('p', { class: 'note' });
  const bars = {
    state: openBars('state', BICYCLE_STATES, toggle),
    silence: openBars('silence', SILENCE_GROUPS, toggle),
  };
  const section = (title: string, ...children: Node[]) =>
    element('section', { class: 'facet', 'aria-label': title }, element('h2', {}, title), ...children);
  container.append(
    element('div', { class: 'search' }, search, reset),
    section('State', ...bars.state.elements),
    section(
      'Charge',
      chart.element,
      element('div', { class: 'range' }, least, element('span', {}, 'to'), most, element('span', {}, '%')),
      uncharged,
    ),
    section('Silence', element('p', { class: 'note' }, 'Last position heard'), ...bars.silence.elements),
  );

  return {
    draw(wanted, matching) {
      filter = wanted;
      reset.hidden = isEverything(filter);
      if (document.activeElement !== search) search.value = filter.text;
      setPercent(least, filter.leastPercent);
      setPercent(most, filter.mostPercent);
      const now = nowMs();
      const countsOf = (group: Group) => [countBy(fleet.all, group, now), countBy(matching, group, now)] as const;
      for (const group of ['state', 'silence'] as const) bars[group].draw(...countsOf(group), filter.words[group]);
      const [all, shown] = countsOf('charge');
      chart.draw(all, shown, filter);
      const none = all.get(UNCHARGED) ?? 0;
      uncharged.textContent = `${showNumber(none)} without a charge`;
      uncharged.hidden = none === 0;
    },
    paint: chart.paint,
  };
}

/** More bars than anybody looks through. */
const MOST_BARS = 100;

/** A bar for each word that somebody has, or that is pressed; in this order, other words behind. */
function openBars(group: WordGroup, order: readonly string[], onPress: (group: WordGroup, word: string) => void) {
  const list = element('ul', { class: 'bars' });
  const further = element('p', { class: 'note', hidden: true });
  /** Buttons stay where they are, so that they can be pressed while numbers move. */
  const made = new Map<string, Bar>();
  const barOf = (word: string) => {
    const bar = made.get(word) ?? openBar(group, word, () => onPress(group, word));
    made.set(word, bar);
    return bar;
  };
  const rankOf = (word: string) => (order.includes(word) ? order.indexOf(word) : order.length);
  return {
    elements: [list, further],
    draw(
      all: ReadonlyMap<string, number>,
      shown: ReadonlyMap<string, number>,
      pressed = new Set() as ReadonlySet<string>,
    ) {
      const weightOf = (word: string) => (pressed.has(word) ? Number.POSITIVE_INFINITY : (all.get(word) ?? 0));
      const present = [...new Set([...all.keys(), ...pressed])];
      // The most frequent where there are too many.
      if (present.length > MOST_BARS) present.sort((a, b) => weightOf(b) - weightOf(a));
      const words = present.slice(0, MOST_BARS).sort((a, b) => rankOf(a) - rankOf(b));
      const others = present.slice(MOST_BARS);
      const count = others.reduce((sum, word) => sum + (all.get(word) ?? 0), 0);
      further.textContent = `and ${showNumber(count)} in ${showNumber(others.length)} further states`;
      further.hidden = others.length === 0;
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
  readonly fills: readonly [whole: HTMLElement, part: HTMLElement];
}

function openBar(group: WordGroup, word: string, onPress: () => void): Bar {
  const count = element('span', { class: 'bar-count' });
  const fills = [element('span'), element('span')] as const;
  const isState = group === 'state';
  const button = element(
    'button',
    { type: 'button', class: 'bar', 'data-word': word },
    ...(isState ? [stateMark(word)] : []),
    element('bdi', { class: 'bar-word' }, isState ? showState(word) : word),
    count,
    element('span', { class: 'bar-track', 'aria-hidden': 'true' }, ...fills),
  );
  if (isState) button.style.setProperty('--state', colourOf(word));
  button.addEventListener('click', onPress);
  return { item: element('li', {}, button), button, count, fills };
}

interface BarNumbers {
  readonly whole: number;
  readonly part: number;
  readonly widest: number;
  readonly isPressed: boolean;
}

function drawBar({ button, count, fills }: Bar, { whole, part, widest, isPressed }: BarNumbers): void {
  button.setAttribute('aria-pressed', String(isPressed));
  button.setAttribute('data-count', String(whole));
  count.textContent = part === whole ? showNumber(whole) : `${showNumber(part)} of ${showNumber(whole)}`;
  for (const [index, fill] of fills.entries())
    fill.style.width = `${(((index === 0 ? whole : part) / widest) * 100).toFixed(2)}%`;
}

function percentInput(label: string, onChange: (value: number | undefined) => void): HTMLInputElement {
  const input = element('input', {
    type: 'number',
    min: 0,
    max: 100,
    step: 1,
    inputmode: 'numeric',
    'aria-label': `${label} in percent`,
  });
  input.addEventListener('change', () => {
    const value = Number(input.value);
    onChange(input.value === '' || !Number.isFinite(value) ? undefined : value);
  });
  return input;
}

function setPercent(input: HTMLInputElement, value: number | undefined): void {
  if (document.activeElement !== input) input.value = value === undefined ? '' : String(value);
}
