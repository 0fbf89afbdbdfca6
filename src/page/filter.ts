// Filters and sorts the page's bicycles. This is fast enough to filter 100,000 bicycles after every
// keypress.

import type { Bounds } from '../globe/projection.js';
import { GROUPS, type Group, groupOf, type PageBicycle } from './fleet.js';

export interface Filter {
  /** The selected values of each group. A missing group selects all bicycles. */
  readonly words: Readonly<Partial<Record<Group, ReadonlySet<string>>>>;
  /** The text that is searched in name, serial number, bleid or uuid. Case is ignored. */
  readonly text: string;
}

export const EVERYTHING: Filter = { words: {}, text: '' };

/** The sort key of each column. */
const SORT_KEYS = { name: 'nameKey', state: 'state', charge: 'percent', seen: 'seenMs' } as const;

export type SortField = keyof typeof SORT_KEYS;

export interface PageSort {
  readonly field: SortField;
  readonly isDescending: boolean;
}

export function isEverything({ words, text }: Filter): boolean {
  return Object.keys(words).length === 0 && text === '';
}

/** Returns the bicycles that match the filter at this time, without changing their order. */
export function filterFleet(
  bicycles: readonly PageBicycle[],
  filter: Filter,
  nowMs: number,
): PageBicycle[] {
  const text = filter.text.trim().toLowerCase();
  const isPressed = (bicycle: PageBicycle, group: Group) =>
    filter.words[group]?.has(groupOf(bicycle, group, nowMs)) ?? true;
  return bicycles.filter(
    (bicycle) =>
      GROUPS.every((group) => isPressed(bicycle, group)) && bicycle.searchText.includes(text),
  );
}

/**
 * Returns the bicycles in a part of the world. `west` can be below 0 and `east` above 1, where the
 * map repeats the world.
 */
export function inView(
  bicycles: readonly PageBicycle[],
  { west, east, north, south }: Bounds,
): PageBicycle[] {
  return bicycles.filter(({ x, y }) => y >= north && y <= south && x + Math.ceil(west - x) <= east);
}

/**
 * Sorts bicycles. Bicycles without a value come last in both directions. Equal bicycles keep their
 * order.
 */
export function sortBicycles(
  bicycles: readonly PageBicycle[],
  { field, isDescending }: PageSort,
): PageBicycle[] {
  const turn = isDescending ? -1 : 1;
  const key = SORT_KEYS[field];
  return bicycles.toSorted((a, b) => {
    const [one, other] = [a[key], b[key]];
    if (one === null || other === null) return Number(one === null) - Number(other === null);
    return one < other ? -turn : one > other ? turn : 0;
  });
}
