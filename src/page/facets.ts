// The filters of the page. Each filter is also a chart that counts bicycles by state, by charge, or
// by the time since the last position.

import { type ComponentChild, type ComponentChildren, h, render } from 'preact';
import { BICYCLE_STATES } from '../api/bicycle.js';
import { TEXT_CHARACTERS } from './address.js';
import { byId, showNumber } from './dom.js';
import { EVERYTHING, type Filter, isEverything } from './filter.js';
import { countBy, GROUPS, type Group, UNCHARGED } from './fleet.js';
import { CHARGE_GROUPS, SILENCE_GROUPS } from './groups.js';
import { nowOf, type PageState } from './state.js';
import { chargeLevel, colourOf, pageState, stateMark } from './state-marks.js';

export interface FacetsOptions {
  /** Called after the filter changed. */
  onFilter(): void;
  /** Called when the user presses Enter in the search. Opens the first match. */
  onEnter(): void;
}

/** The maximum number of bars. */
const MOST_BARS = 100;
const ORDERS: Readonly<Record<Group, readonly string[]>> = {
  state: BICYCLE_STATES,
  charge: CHARGE_GROUPS,
  silence: SILENCE_GROUPS,
};

export function drawFacets(container: HTMLElement, state: PageState, options: FacetsOptions): void {
  const [states, charges, silences] = GROUPS.map((group) => bars(group, state, options));
  const ticks = ['0', '20', '50', '80', '100'].map((text) =>
    h('span', { style: { left: `${text}%` } }, text),
  );
  const uncharged = countBy(state.fleet.all, 'charge', 0).get(UNCHARGED) ?? 0;
  const children = [
    search(state, options),
    section('State', states),
    section('Charge', [
      charges,
      h('div', { class: 'ticks', 'aria-hidden': 'true' }, ticks),
      uncharged > 0 && h('p', { class: 'note' }, `${showNumber(uncharged)} without a charge`),
    ]),
    section('Silence', [h('p', { class: 'note' }, 'Last position received'), silences]),
  ];
  render(children, container);
}

function section(title: string, children: ComponentChildren): ComponentChild {
  return h('section', { class: 'facet', 'aria-label': title }, h('h2', null, title), children);
}

function search(state: PageState, { onFilter, onEnter }: FacetsOptions): ComponentChild {
  const field = h('input', {
    type: 'search',
    id: 'search',
    placeholder: 'Name, serial number, ID',
    'aria-label': 'Name, serial number, bleid or ID contains',
    maxlength: TEXT_CHARACTERS,
    autocomplete: 'off',
    spellcheck: false,
    value: state.filter.text,
    onInput({ currentTarget: { value: text } }) {
      state.filter = { ...state.filter, text };
      onFilter();
    },
    onKeyDown: ({ key }) => key === 'Enter' && onEnter(),
  });
  const onClick = () => {
    state.filter = EVERYTHING;
    onFilter();
    byId('search').focus();
  };
  const reset = h(
    'button',
    { type: 'button', class: 'reset', hidden: isEverything(state.filter), onClick },
    'Clear filters',
  );
  return h('div', { class: 'search' }, field, reset);
}

/**
 * Returns a bar for each value that occurs or is selected. Known values come first, in their usual
 * order. The charge chart shows all its values, even those that do not occur.
 */
function bars(group: Group, state: PageState, { onFilter }: FacetsOptions): ComponentChild {
  const nowMs = nowOf(state);
  const [counts, shown] = [
    countBy(state.fleet.all, group, nowMs),
    countBy(state.matching, group, nowMs),
  ];
  const pressed = state.filter.words[group] ?? new Set();
  const present = new Set([...counts.keys(), ...pressed]);
  const known = ORDERS[group].filter((word) => group === 'charge' || present.has(word));
  const others =
    group === 'charge' ? [] : [...present].filter((word) => !ORDERS[group].includes(word));
  const widest = Math.max(1, ...counts.values());
  const items = [...known, ...others].slice(0, MOST_BARS).map((word) => {
    const [whole, part] = [counts.get(word) ?? 0, shown.get(word) ?? 0];
    const attributes = {
      type: 'button',
      'data-word': word,
      'data-count': whole,
      'aria-pressed': pressed.has(word),
      onClick() {
        state.filter = toggled(state.filter, group, word);
        onFilter();
      },
    } as const;
    const level = group === 'charge' ? `bar bar-${chargeLevel(Number.parseInt(word, 10))}` : 'bar';
    const style = {
      '--state': group === 'state' ? colourOf(word) : undefined,
      '--whole': percent(whole, widest),
      '--part': percent(part, widest),
    };
    const children = [
      group === 'state' && stateMark(word),
      h('bdi', { class: 'bar-word' }, group === 'state' ? pageState(word) : word),
      h(
        'span',
        { class: 'bar-count' },
        part === whole ? showNumber(whole) : `${showNumber(part)} of ${showNumber(whole)}`,
      ),
      h('span', { class: 'bar-track', 'aria-hidden': 'true' }, h('span', null), h('span', null)),
    ];
    return h('li', { key: word }, h('button', { ...attributes, class: level, style }, children));
  });
  return h('ul', { class: group === 'charge' ? 'bars columns' : 'bars' }, items);
}

function toggled(filter: Filter, group: Group, word: string): Filter {
  const words = new Set(filter.words[group]);
  if (!words.delete(word)) words.add(word);
  const { [group]: _before, ...others } = filter.words;
  return { ...filter, words: words.size === 0 ? others : { ...others, [group]: words } };
}

function percent(count: number, widest: number): string {
  return `${((count / widest) * 100).toFixed(2)}%`;
}
