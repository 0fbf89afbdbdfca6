// The table next to the map. Only the visible rows exist as elements.

import { type ComponentChild, type ComponentChildren, h, render } from 'preact';
import { oncePerFrame, showAge, showNumber } from './dom.js';
import type { SortField } from './filter.js';
import { type PageBicycle, pageCharge, pageNameOf } from './fleet.js';
import { nowOf, type PageState } from './state.js';
import { chargeLevel, pageState, stateMark } from './state-marks.js';

export interface TableOptions {
  readonly container: HTMLElement;
  onChoose(bicycle: PageBicycle): void;
  /** Called after the order changed. */
  onSort(): void;
}

const ROW_PIXELS = 36;
const HEAD_PIXELS = 30;
const SPARE_ROWS = 6;
const COLUMNS: readonly { field: SortField; title: string }[] = [
  { field: 'name', title: 'Name' },
  { field: 'state', title: 'State' },
  { field: 'charge', title: 'Charge' },
  { field: 'seen', title: 'Seen' },
];

interface Table extends TableOptions {
  readonly state: PageState;
  /** The row with the keyboard focus. */
  active: number;
  /** The text of an empty table. */
  nothing: string;
}

export function openPageTable(state: PageState, options: TableOptions) {
  const table: Table = { ...options, state, active: 0, nothing: '' };
  const draw = oncePerFrame(() => drawTable(table));
  drawTable(table);
  const grid = gridOf(table);
  grid.addEventListener('scroll', draw, { passive: true });
  grid.addEventListener('keydown', (event) => {
    if (event.target === grid) takeKey(table, event);
  });
  const observer = new ResizeObserver(draw);
  observer.observe(options.container);
  // An empty table is only as high as its header.
  observer.observe(grid);
  /** Moves the keyboard focus to the selection. */
  const choose = (isToBeSeen: boolean) => {
    const index = state.chosen === undefined ? -1 : state.listed.indexOf(state.chosen);
    if (index !== -1) table.active = index;
    if (index !== -1 && isToBeSeen) scrollTo(table, index);
    draw();
  };
  return {
    show(nothing: string) {
      table.nothing = nothing;
      table.active = Math.min(table.active, Math.max(0, state.listed.length - 1));
      choose(false);
    },
    choose,
  };
}

export type PageTable = ReturnType<typeof openPageTable>;

function gridOf({ container }: Table): HTMLElement {
  return container.firstElementChild as HTMLElement;
}

function roomPixels(table: Table): number {
  return gridOf(table).clientHeight - HEAD_PIXELS;
}

function scrollTo(table: Table, index: number): void {
  const grid = gridOf(table);
  const top = index * ROW_PIXELS;
  if (top < grid.scrollTop) grid.scrollTop = top;
  else if (top + ROW_PIXELS > grid.scrollTop + roomPixels(table))
    grid.scrollTop = top + ROW_PIXELS - roomPixels(table);
}

function takeKey(table: Table, event: KeyboardEvent): void {
  const { state, active, onChoose } = table;
  const { listed } = state;
  const page = Math.max(1, Math.floor(roomPixels(table) / ROW_PIXELS) - 1);
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: 1,
    ArrowUp: -1,
    PageDown: page,
    PageUp: -page,
    Home: -Infinity,
    End: Infinity,
  };
  const step = steps[event.key];
  const bicycle = listed[active];
  if (step !== undefined) {
    table.active = Math.max(0, Math.min(listed.length - 1, active + step));
    scrollTo(table, table.active);
    drawTable(table);
  } else if ((event.key === 'Enter' || event.key === ' ') && bicycle !== undefined)
    onChoose(bicycle);
  else return;
  event.preventDefault();
}

function drawTable(table: Table): void {
  const { container, state, onChoose, active, nothing } = table;
  const { listed } = state;
  const { scrollTop = 0, clientHeight = 0 } = container.firstElementChild ?? {};
  const first = Math.max(0, Math.floor(scrollTop / ROW_PIXELS) - SPARE_ROWS);
  const last = Math.min(
    listed.length,
    Math.ceil((scrollTop + clientHeight) / ROW_PIXELS) + SPARE_ROWS,
  );
  const rows = listed
    .slice(first, last)
    .map((bicycle, offset) => rowOf(table, bicycle, first + offset));
  // Finds the row by the position of the click and not by the clicked cell, because cells may have
  // been redrawn in the meantime.
  const onClick = ({ clientY, currentTarget }: MouseEvent) => {
    const { top } = (currentTarget as HTMLElement).getBoundingClientRect();
    const bicycle = state.listed[Math.floor((clientY - top) / ROW_PIXELS)];
    if (bicycle !== undefined) onChoose(bicycle);
  };
  // The grid scrolls, so the grid has the keyboard focus and not one of its rows.
  const attributes = {
    role: 'grid',
    class: 'table',
    tabIndex: 0,
    'aria-label': `Bicycles: ${showNumber(listed.length)}`,
    'aria-colcount': COLUMNS.length,
    'aria-rowcount': listed.length + 1,
    'aria-activedescendant': active >= first && active < last ? `row-${active}` : undefined,
  } as const;
  const height = `${listed.length * ROW_PIXELS}px`;
  const grid = h(
    'div',
    attributes,
    h('div', { role: 'rowgroup', class: 'table-head' }, headOf(table)),
    h('div', { role: 'rowgroup', class: 'rows', style: { height }, onClick }, rows),
  );
  const empty = h('p', { class: 'empty', role: 'status', hidden: listed.length > 0 }, nothing);
  render([grid, empty], container);
}

function headOf(table: Table): ComponentChild {
  const { state } = table;
  const headers = COLUMNS.map(({ field, title }) => {
    const isSorted = field === state.sort.field;
    const order = !isSorted ? 'none' : state.sort.isDescending ? 'descending' : 'ascending';
    const onClick = () => {
      state.sort = { field, isDescending: isSorted && !state.sort.isDescending };
      gridOf(table).scrollTop = 0;
      table.onSort();
    };
    const button = h('button', { type: 'button', class: 'sort', onClick }, title);
    return h(
      'div',
      { role: 'columnheader', class: `cell cell-${field}`, 'aria-sort': order },
      button,
    );
  });
  return h('div', { role: 'row', class: 'row row-head', 'aria-rowindex': 1 }, headers);
}

/**
 * Draws a row. A row's element stays in place when values change, so that the user can click it.
 */
function rowOf(
  { state: page, active }: Table,
  bicycle: PageBicycle,
  index: number,
): ComponentChild {
  const { state, seenMs } = bicycle;
  const name = pageNameOf(bicycle);
  const cell = (field: SortField, ...children: ComponentChildren[]) =>
    h('div', { role: 'gridcell', class: `cell cell-${field}` }, children);
  const attributes = {
    key: index,
    role: 'row',
    id: `row-${index}`,
    class: index === active ? 'row is-active' : 'row',
    'aria-rowindex': index + 2,
    'aria-selected': bicycle === page.chosen,
    style: { transform: `translateY(${index * ROW_PIXELS}px)` },
  } as const;
  return h(
    'div',
    attributes,
    cell('name', h('bdi', { title: name }, name)),
    cell('state', stateMark(state), h('bdi', null, pageState(state))),
    cell('charge', chargeOf(bicycle)),
    cell('seen', showAge(seenMs, nowOf(page)).replace(/ ago$/, '')),
  );
}

/** Draws a bar and the number: `57 %`. */
export function chargeOf(bicycle: PageBicycle): ComponentChild | string {
  const { percent } = bicycle;
  if (percent === null) return pageCharge(bicycle);
  const style = { '--percent': String(Math.max(0, Math.min(100, percent))) };
  const bar = h('span', { class: 'charge-bar', 'aria-hidden': 'true', style });
  return h('span', { class: `charge charge-${chargeLevel(percent)}` }, bar, pageCharge(bicycle));
}
