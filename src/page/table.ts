// The table beside the map: a window onto as many rows as there are, of which only the visible ones exist.

import { element, oncePerFrame, showAge, showNumber } from './dom.js';
import type { Sort, SortField } from './filter.js';
import type { Fleet } from './fleet.js';
import { chargeLevel, showState, stateMark } from './looks.js';

export interface TableOptions {
  readonly container: HTMLElement;
  nowMs(): number;
  onChoose(place: number): void;
  onSort(sort: Sort): void;
}

export interface Table {
  show(places: Uint32Array): void;
  sorted(sort: Sort): void;
  choose(place: number | undefined, isToBeSeen: boolean): void;
  /** Values or ages have changed. */
  refresh(): void;
}

const ROW_PIXELS = 36;
const SPARE_ROWS = 6;
const COLUMNS: readonly { field: SortField; title: string }[] = [
  { field: 'name', title: 'Name' },
  { field: 'state', title: 'State' },
  { field: 'charge', title: 'Charge' },
  { field: 'seen', title: 'Seen' },
];

export function openTable(fleet: Fleet, { container, nowMs, onChoose, onSort }: TableOptions): Table {
  let places: Uint32Array = new Uint32Array(0);
  let chosen: number | undefined;
  let active = 0;
  let sort: Sort = { field: 'charge', isDescending: false };

  const headers = COLUMNS.map(({ field, title }) => {
    const button = element('button', { type: 'button', class: 'sort' }, title);
    button.addEventListener('click', () => onSort({ field, isDescending: sort.field === field && !sort.isDescending }));
    return element('div', { role: 'columnheader', class: `cell cell-${field}` }, button);
  });
  const head = element('div', { role: 'row', class: 'row row-head', 'aria-rowindex': 1 }, ...headers);
  const rows = element('div', { role: 'rowgroup', class: 'rows' });
  const body = element('div', { class: 'table-body', tabindex: -1 }, rows);
  const grid = element(
    'div',
    { role: 'grid', class: 'table', tabindex: 0, 'aria-label': 'Bicycles', 'aria-colcount': COLUMNS.length },
    element('div', { role: 'rowgroup' }, head),
    body,
  );
  const empty = element('p', { class: 'empty', hidden: true }, 'No bicycles match. ');
  container.append(grid, empty);

  const cellsOf = (place: number): HTMLElement[] => {
    const state = fleet.groups.state.words[fleet.groups.state.places[place] ?? 0] ?? '';
    const percent = fleet.percents[place] ?? Number.NaN;
    const cell = (field: SortField, ...children: (Node | string)[]) =>
      element('div', { role: 'gridcell', class: `cell cell-${field}` }, ...children);
    const name = fleet.names[place] ?? fleet.uuids[place]?.slice(0, 8) ?? '–';
    return [
      cell('name', element('bdi', {}, name)),
      cell('state', stateMark(state), element('bdi', {}, showState(state))),
      cell('charge', Number.isNaN(percent) ? '–' : chargeOf(percent)),
      cell('seen', showAge(fleet.seenMs[place] ?? Number.NaN, nowMs()).replace(/ ago$/, '')),
    ];
  };

  /** Rows that are drawn again stay where they are, so that they can be pressed while values move. */
  const pool: HTMLElement[] = [];
  const drawn = new WeakMap<HTMLElement, string>();
  const drawRow = (row: HTMLElement, index: number) => {
    const place = places[index] ?? 0;
    const { state } = fleet.groups;
    const values = [fleet.names[place], state.places[place], fleet.percents[place], fleet.uuids[place]];
    const looks = [showAge(fleet.seenMs[place] ?? Number.NaN, nowMs()), place === chosen, index === active, index];
    const key = JSON.stringify([...values, ...looks]);
    if (drawn.get(row) === key) return;
    drawn.set(row, key);
    row.id = `row-${index}`;
    row.setAttribute('aria-rowindex', String(index + 2));
    row.setAttribute('aria-selected', String(place === chosen));
    row.classList.toggle('is-active', index === active);
    row.style.transform = `translateY(${index * ROW_PIXELS}px)`;
    row.replaceChildren(...cellsOf(place));
  };
  const draw = () => {
    const first = Math.max(0, Math.floor(body.scrollTop / ROW_PIXELS) - SPARE_ROWS);
    const last = Math.min(places.length, Math.ceil((body.scrollTop + body.clientHeight) / ROW_PIXELS) + SPARE_ROWS);
    rows.style.height = `${places.length * ROW_PIXELS}px`;
    while (pool.length < last - first) pool.push(element('div', { role: 'row', class: 'row' }));
    const used = pool.slice(0, last - first);
    for (const [offset, row] of used.entries()) drawRow(row, first + offset);
    if (rows.childElementCount !== used.length) rows.replaceChildren(...used);
    if (places.length > 0 && active >= first && active < last)
      grid.setAttribute('aria-activedescendant', `row-${active}`);
    else grid.removeAttribute('aria-activedescendant');
  };
  // Where the press was counts: the cells below it may have been drawn anew in between.
  rows.addEventListener('click', ({ clientY }) => {
    const index = Math.floor((clientY - rows.getBoundingClientRect().top) / ROW_PIXELS);
    const place = places[index];
    if (place === undefined) return;
    active = index;
    onChoose(place);
  });
  const drawSoon = oncePerFrame(draw);
  body.addEventListener('scroll', drawSoon, { passive: true });
  new ResizeObserver(drawSoon).observe(body);

  const scrollTo = (index: number) => {
    const top = index * ROW_PIXELS;
    if (top < body.scrollTop) body.scrollTop = top;
    else if (top + ROW_PIXELS > body.scrollTop + body.clientHeight)
      body.scrollTop = top + ROW_PIXELS - body.clientHeight;
  };
  grid.addEventListener('keydown', (event) => {
    if (event.target !== grid) return;
    const page = Math.max(1, Math.floor(body.clientHeight / ROW_PIXELS) - 1);
    const steps: Record<string, number> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -Infinity,
      End: Infinity,
    };
    const step = steps[event.key];
    const place = places[active];
    if (step !== undefined) {
      active = Math.max(0, Math.min(places.length - 1, active + step));
      scrollTo(active);
      draw();
    } else if ((event.key === 'Enter' || event.key === ' ') && place !== undefined) onChoose(place);
    else return;
    event.preventDefault();
  });

  return {
    show(shown) {
      places = shown;
      active = Math.min(active, Math.max(0, places.length - 1));
      grid.setAttribute('aria-rowcount', String(places.length + 1));
      grid.setAttribute('aria-label', `Bicycles: ${showNumber(places.length)}`);
      empty.hidden = places.length > 0;
      drawSoon();
    },
    sorted(wanted) {
      sort = wanted;
      for (const [index, header] of headers.entries()) {
        const isSorted = COLUMNS[index]?.field === sort.field;
        header.setAttribute('aria-sort', !isSorted ? 'none' : sort.isDescending ? 'descending' : 'ascending');
      }
      body.scrollTop = 0;
    },
    choose(place, isToBeSeen) {
      chosen = place;
      const index = place === undefined ? -1 : places.indexOf(place);
      if (index !== -1) {
        active = index;
        if (isToBeSeen) scrollTo(index);
      }
      drawSoon();
    },
    refresh: drawSoon,
  };
}

/** A bar and the number: `57 %`. */
export function chargeOf(percent: number): HTMLElement {
  const bar = element('span', { class: 'charge-bar', 'aria-hidden': 'true' });
  bar.style.setProperty('--percent', String(Math.max(0, Math.min(100, percent))));
  return element('span', { class: `charge charge-${chargeLevel(percent)}` }, bar, `${Math.round(percent)} %`);
}
