// The filters, which are charts as well: how many have each state, charge and silence, and a press shows only those.

import { BICYCLE_STATES } from '../api/bicycle.js';
import { chargeChart } from './charts.js';
import { element, showNumber } from './dom.js';
import { EVERYTHING, type Filter, isEverything } from './filter.js';
import { type Bicycle, countWords, type Fleet } from './fleet.js';
import { colourOf, showState, stateMark } from './looks.js';
import type { GroupName } from './payload.js';

export interface FacetsOptions {
  readonly container: HTMLElement;
  onFilter(filter: Filter): void;
}

export interface Facets {
  /** `matching`: what passes the filter. */
  draw(filter: Filter, matching: readonly Bicycle[]): void;
  /** The colours are others. */
  paint(): void;
}

const TEXT_CHARACTERS = 100;

export function openFacets(fleet: Fleet, { container, onFilter }: FacetsOptions): Facets {
  let filter: Filter = EVERYTHING;
  // The next press may come before this one is drawn.
  const use = (wanted: Filter) => {
    filter = wanted;
    onFilter(filter);
  };
  const change = (changes: Partial<Filter>) => use({ ...filter, ...changes });

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
  const states = element('ul', { class: 'bars' });
  const furtherStates = element('p', { class: 'note', hidden: true });
  const silences = element('ul', { class: 'bars' });
  const section = (title: string, ...children: Node[]) =>
    element('section', { class: 'facet', 'aria-label': title }, element('h2', {}, title), ...children);
  container.append(
    element('div', { class: 'search' }, search, reset),
    section('State', states, furtherStates),
    section(
      'Charge',
      chart.element,
      element('div', { class: 'range' }, least, element('span', {}, 'to'), most, element('span', {}, '%')),
      uncharged,
    ),
    section('Silence', element('p', { class: 'note' }, 'Last position heard'), silences),
  );

  const toggle = (name: GroupName, word: string) => {
    const wanted = new Set(filter.words[name]);
    if (!wanted.delete(word)) wanted.add(word);
    const { [name]: _before, ...others } = filter.words;
    change({ words: wanted.size === 0 ? others : { ...others, [name]: wanted } });
  };
  const countsOf = (name: GroupName, matching: readonly Bicycle[]) => ({
    all: countWords(
      fleet,
      name,
      fleet.all.filter(({ isGone }) => !isGone),
    ),
    shown: countWords(fleet, name, matching),
  });
  /** Buttons stay where they are, so that they can be pressed while numbers move. */
  const made = new Map<string, Bar>();
  const bars = (list: HTMLElement, name: GroupName, matching: readonly Bicycle[]) => {
    const { all, shown } = countsOf(name, matching);
    const widest = Math.max(1, ...all.values());
    const isPressed = (word: string) => filter.words[name]?.has(word) === true;
    const { most, others } = fullest(all, isPressed);
    const order = name === 'state' ? most.sort((a, b) => rankOf(a) - rankOf(b)) : most;
    if (name === 'state') {
      const count = others.reduce((sum, word) => sum + (all.get(word) ?? 0), 0);
      furtherStates.textContent = `and ${showNumber(count)} in ${showNumber(others.length)} further states`;
      furtherStates.hidden = others.length === 0;
    }
    const items = order.map((word) => {
      const key = `${name} ${word}`;
      const bar = made.get(key) ?? openBar(name, word, () => toggle(name, word));
      made.set(key, bar);
      const [whole, part] = [all.get(word) ?? 0, shown.get(word) ?? 0];
      drawBar(bar, { whole, part, widest, isWanted: isPressed(word) });
      return bar.item;
    });
    const isSame =
      items.length === list.childElementCount && items.every((item, index) => item === list.children[index]);
    if (!isSame) list.replaceChildren(...items);
  };

  return {
    draw(wanted, matching) {
      filter = wanted;
      reset.hidden = isEverything(filter);
      if (document.activeElement !== search) search.value = filter.text;
      setPercent(least, filter.leastPercent);
      setPercent(most, filter.mostPercent);
      bars(states, 'state', matching);
      bars(silences, 'silence', matching);
      const { all, shown } = countsOf('charge', matching);
      chart.draw(all, shown, filter);
      const none = [...all].reduce((sum, [word, count]) => (/^\d/.test(word) ? sum : sum + count), 0);
      uncharged.textContent = none === 0 ? '' : `${showNumber(none)} without a charge`;
      uncharged.hidden = none === 0;
    },
    paint: chart.paint,
  };
}

/** More bars than anybody looks through. */
const MOST_BARS = 100;

/** The words that have a bar, in the order they came: those that somebody has, the most frequent where there are too many, and what is pressed. */
function fullest(counts: ReadonlyMap<string, number>, isPressed: (word: string) => boolean) {
  const present = [...counts.keys()].filter((word) => (counts.get(word) ?? 0) > 0 || isPressed(word));
  if (present.length <= MOST_BARS) return { most: present, others: [] };
  const ranked = present.toSorted((a, b) => (counts.get(b) ?? 0) - (counts.get(a) ?? 0));
  const most = new Set(ranked.filter((word, rank) => rank < MOST_BARS || isPressed(word)));
  return { most: present.filter((word) => most.has(word)), others: present.filter((word) => !most.has(word)) };
}

/** States in the order of their life, what the interface does not name after them. */
function rankOf(word: string): number {
  const rank = (BICYCLE_STATES as readonly string[]).indexOf(word);
  return rank === -1 ? BICYCLE_STATES.length : rank;
}

interface Bar {
  readonly item: HTMLElement;
  readonly button: HTMLElement;
  readonly count: HTMLElement;
  readonly fills: readonly [whole: HTMLElement, part: HTMLElement];
}

function openBar(name: GroupName, word: string, onPress: () => void): Bar {
  const count = element('span', { class: 'bar-count' });
  const fills = [element('span'), element('span')] as const;
  const button = element(
    'button',
    { type: 'button', class: 'bar', 'data-word': word },
    ...(name === 'state' ? [stateMark(word)] : []),
    element('bdi', { class: 'bar-word' }, name === 'state' ? showState(word) : word),
    count,
    element('span', { class: 'bar-track', 'aria-hidden': 'true' }, ...fills),
  );
  if (name === 'state') button.style.setProperty('--state', colourOf(word));
  button.addEventListener('click', onPress);
  return { item: element('li', {}, button), button, count, fills };
}

interface BarNumbers {
  readonly whole: number;
  readonly part: number;
  readonly widest: number;
  readonly isWanted: boolean;
}

function drawBar({ button, count, fills }: Bar, { whole, part, widest, isWanted }: BarNumbers): void {
  button.setAttribute('aria-pressed', String(isWanted));
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
