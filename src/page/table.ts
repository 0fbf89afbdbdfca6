// The table beside the map: only the visible rows exist as elements.

import { element, oncePerFrame, showAge, showNumber } from './dom.js';
import type { PageSort, SortField } from './filter.js';
import { type PageBicycle, pageCharge, pageNameOf } from './fleet.js';
import { chargeLevel, pageState, stateMark } from './looks.js';

export interface TableOptions {
  readonly container: HTMLElement;
  nowMs(): number;
  onChoose(bicycle: PageBicycle): void;
  onSort(sort: PageSort): void;
}

const ROW_PIXELS = 36;
const HEAD_PIXELS = 30;
/** A longer state is cut. */
const LONGEST_STATE_CHARACTERS = 14;
const SPARE_ROWS = 6;
const COLUMNS: readonly { field: SortField; title: string }[] = [
  { field: 'name', title: 'Name' },
  { field: 'state', title: 'State' },
  { field: 'charge', title: 'Charge' },
  { field: 'seen', title: 'Seen' },
];

export function openPageTable({ container, nowMs, onChoose, onSort }: TableOptions) {
  let bicycles: readonly PageBicycle[] = [];
  let chosen: PageBicycle | undefined;
  let active = 0;
  let sort: PageSort = { field: 'charge', isDescending: false };

  const headers = COLUMNS.map(({ field, title }) => {
    const button = element('button', { type: 'button', class: 'sort' }, title);
    button.addEventListener('click', () => onSort({ field, isDescending: sort.field === field && !sort.isDescending }));
    return element('div', { role: 'columnheader', class: `cell cell-${field}` }, button);
  });
  const head = element('div', { role: 'row', class: 'row row-head', 'aria-rowindex': 1 }, ...headers);
  const rows = element('div', { role: 'rowgroup', class: 'rows' });
  // The grid itself scrolls, so it takes the keyboard focus.
  const grid = element(
    'div',
    { role: 'grid', class: 'table', tabindex: 0, 'aria-label': 'Bicycles', 'aria-colcount': COLUMNS.length },
    element('div', { role: 'rowgroup', class: 'table-head' }, head),
    rows,
  );
  const empty = element('p', { class: 'empty', role: 'status', hidden: true });
  container.append(grid, empty);

  const cellsOf = (bicycle: PageBicycle): HTMLElement[] => {
    const cell = (field: SortField, ...children: (Node | string)[]) =>
      element('div', { role: 'gridcell', class: `cell cell-${field}` }, ...children);
    return [
      cell('name', element('bdi', { title: pageNameOf(bicycle) }, pageNameOf(bicycle))),
      cell('state', stateMark(bicycle.state), element('bdi', {}, pageState(bicycle.state))),
      cell('charge', chargeOf(bicycle)),
      cell('seen', showAge(bicycle.seenMs, nowMs()).replace(/ ago$/, '')),
    ];
  };

  const roomPixels = () => grid.clientHeight - HEAD_PIXELS;
  /** Rows that are drawn again stay where they are, so that they can be pressed while values move. */
  const pool: HTMLElement[] = [];
  const drawn = new WeakMap<HTMLElement, string>();
  const drawRow = (row: HTMLElement, index: number) => {
    const bicycle = bicycles[index];
    if (bicycle === undefined) return;
    const { name, state, percent, uuid, seenMs } = bicycle;
    const looks = [showAge(seenMs, nowMs()), bicycle === chosen, index === active, index];
    const key = JSON.stringify([name, state, percent, uuid, ...looks]);
    if (drawn.get(row) === key) return;
    drawn.set(row, key);
    row.id = `row-${index}`;
    row.setAttribute('aria-rowindex', String(index + 2));
    row.setAttribute('aria-selected', String(bicycle === chosen));
    row.classList.toggle('is-active', index === active);
    row.style.transform = `translateY(${index * ROW_PIXELS}px)`;
    row.replaceChildren(...cellsOf(bicycle));
  };
  const draw = () => {
    const first = Math.max(0, Math.floor(grid.scrollTop / ROW_PIXELS) - SPARE_ROWS);
    const last = Math.min(bicycles.length, Math.ceil((grid.scrollTop + roomPixels()) / ROW_PIXELS) + SPARE_ROWS);
    rows.style.height = `${bicycles.length * ROW_PIXELS}px`;
    while (pool.length < last - first) pool.push(element('div', { role: 'row', class: 'row' }));
    const used = pool.slice(0, last - first);
    for (const [offset, row] of used.entries()) drawRow(row, first + offset);
    if (rows.childElementCount !== used.length) rows.replaceChildren(...used);
    if (bicycles.length > 0 && active >= first && active < last)
      grid.setAttribute('aria-activedescendant', `row-${active}`);
    else grid.removeAttribute('aria-activedescendant');
  };
  // Where the press was counts: the cells below it may have been drawn anew in between.
  rows.addEventListener('click', ({ clientY }) => {
    const index = Math.floor((clientY - rows.getBoundingClientRect().top) / ROW_PIXELS);
    const bicycle = bicycles[index];
    if (bicycle === undefined) return;
    active = index;
    onChoose(bicycle);
  });
  const drawSoon = oncePerFrame(draw);
  grid.addEventListener('scroll', drawSoon, { passive: true });
  new ResizeObserver(drawSoon).observe(grid);

  const scrollTo = (index: number) => {
    const top = index * ROW_PIXELS;
    if (top < grid.scrollTop) grid.scrollTop = top;
    else if (top + ROW_PIXELS > grid.scrollTop + roomPixels()) grid.scrollTop = top + ROW_PIXELS - roomPixels();
  };
  grid.addEventListener('keydown', (event) => {
    if (event.target !== grid) return;
    const page = Math.max(1, Math.floor(roomPixels() / ROW_PIXELS) - 1);
    const steps: Record<string, number> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -Infinity,
      End: Infinity,
    };
    const step = steps[event.key];
    const bicycle = bicycles[active];
    if (step !== undefined) {
      active = Math.max(0, Math.min(bicycles.length - 1, active + step));
      scrollTo(active);
      draw();
    } else if ((event.key === 'Enter' || event.key === ' ') && bicycle !== undefined) onChoose(bicycle);
    else return;
    event.preventDefault();
  });

  return {
    /** `nothing`: the text of an empty list. */
    show(shown: readonly PageBicycle[], nothing: string) {
      bicycles = shown;
      const longest = Math.max(...Array.from(new Set(shown.map(({ state }) => state)), (state) => state.length), 5);
      grid.style.setProperty('--state-characters', String(Math.min(longest, LONGEST_STATE_CHARACTERS)));
      empty.textContent = nothing;
      active = Math.min(active, Math.max(0, bicycles.length - 1));
      grid.setAttribute('aria-rowcount', String(bicycles.length + 1));
      grid.setAttribute('aria-label', `Bicycles: ${showNumber(bicycles.length)}`);
      empty.hidden = bicycles.length > 0;
      drawSoon();
    },
    sorted(wanted: PageSort) {
      sort = wanted;
      for (const [index, header] of headers.entries()) {
        const isSorted = COLUMNS[index]?.field === sort.field;
        header.setAttribute('aria-sort', !isSorted ? 'none' : sort.isDescending ? 'descending' : 'ascending');
      }
      grid.scrollTop = 0;
    },
    choose(bicycle: PageBicycle | undefined, isToBeSeen: boolean) {
      chosen = bicycle;
      const index = bicycle === undefined ? -1 : bicycles.indexOf(bicycle);
      if (index !== -1) {
        active = index;
        if (isToBeSeen) scrollTo(index);
      }
      drawSoon();
    },
  };
}

/** A bar and the number: `57 %`. */
export function chargeOf(bicycle: PageBicycle): HTMLElement | string {
  const { percent } = bicycle;
  if (percent === null) return pageCharge(bicycle);
  const bar = element('span', { class: 'charge-bar', 'aria-hidden': 'true' });
  bar.style.setProperty('--percent', String(Math.max(0, Math.min(100, percent))));
  return element('span', { class: `charge charge-${chargeLevel(percent)}` }, bar, pageCharge(bicycle));
}
