// The bicycles of the page and their groups.

import { mercatorY, worldX } from '../globe/projection.js';
import { chargeGroup, silenceGroup } from './groups.js';
import type { PageRow } from './payload.js';

export interface PageBicycle extends PageRow {
  /** The index in the original order. */
  readonly place: number;
  /** The position in Web Mercator, from 0 to 1; NaN without a position. */
  readonly x: number;
  readonly y: number;
  /**
   * The time of the last change by the page's clock, in milliseconds; -Infinity when there is none.
   */
  readonly changedMs: number;
  /** The sort key of the name. It ignores accents, and sorts numbers by their value. */
  readonly nameKey: string | null;
  /** The text that is searched for the user's input. */
  readonly searchText: string;
}

export interface PageFleet {
  all: PageBicycle[];
  byUuid: Map<string, PageBicycle>;
}

/** The groups of `bicycles stats`. */
export const GROUPS = ['state', 'charge', 'silence'] as const;
export type Group = (typeof GROUPS)[number];

/** The group of bicycles without a charge. */
export const UNCHARGED = '(none)';

export function openFleet(rows: readonly PageRow[]): PageFleet {
  const fleet: PageFleet = { all: [], byUuid: new Map() };
  for (const row of rows) add(fleet, row, Number.NEGATIVE_INFINITY);
  return fleet;
}

function add({ all, byUuid }: PageFleet, row: PageRow, changedMs: number): void {
  const bicycle = { ...row, ...drawnOf(row, changedMs), place: all.length };
  all.push(bicycle);
  byUuid.set(row.uuid, bicycle);
}

const NUMBER_DIGITS = 12;

/** Computes from a row of the payload the data for drawing, searching and sorting. */
function drawnOf({ uuid, name, codes, position }: PageRow, changedMs: number) {
  const [x, y] =
    typeof position === 'string' ? [NaN, NaN] : [worldX(position[0]), mercatorY(position[1])];
  const searchText = `${name ?? ''}\n${codes}\n${uuid}`.toLowerCase();
  const lower = name?.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();
  const nameKey =
    lower?.replaceAll(/\d+/g, (digits) => digits.padStart(NUMBER_DIGITS, '0')) ?? null;
  return { x, y, searchText, nameKey, changedMs };
}

/** Adds and updates bicycles, and removes those that are gone. */
export function update(
  fleet: PageFleet,
  rows: readonly PageRow[],
  gone: readonly string[],
  nowMs: number,
): void {
  for (const row of rows) {
    const known = fleet.byUuid.get(row.uuid);
    if (known === undefined) add(fleet, row, nowMs);
    else Object.assign(known, row, drawnOf(row, nowMs));
  }
  if (gone.length === 0) return;
  for (const uuid of gone) fleet.byUuid.delete(uuid);
  fleet.all = [...fleet.byUuid.values()];
}

/** Returns the group to which the bicycle belonged at the given time. */
export function groupOf({ state, percent, seenMs }: PageRow, group: Group, nowMs: number): string {
  if (group === 'state') return state;
  if (group === 'silence') return silenceGroup(seenMs ?? undefined, nowMs);
  return percent === null ? UNCHARGED : chargeGroup(percent);
}

/** Counts the bicycles of each group. Groups without bicycles are omitted. */
export function countBy(
  bicycles: Iterable<PageBicycle>,
  group: Group,
  nowMs: number,
): Map<string, number> {
  const counts = new Map<string, number>();
  for (const bicycle of bicycles) {
    const name = groupOf(bicycle, group, nowMs);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

export function isPlaced({ position }: PageRow): boolean {
  return typeof position !== 'string';
}

/** Returns a bicycle's name, or the start of its UUID when it has no name. */
export function pageNameOf({ name, uuid }: Pick<PageRow, 'name' | 'uuid'>): string {
  return name ?? uuid.slice(0, 8);
}

/** Formats a charge: `57 %`. */
export function pageCharge({ percent }: PageRow): string {
  return percent === null ? '–' : `${Math.round(percent)} %`;
}
