// Which bicycles are shown, and in which order: pure, and quick enough for 100,000 at every key.

import type { Fleet } from './fleet.js';
import type { GroupName } from './payload.js';

export interface Filter {
  /** The words that are shown, by group; all of them where a group is not named. */
  readonly words: Readonly<Partial<Record<GroupName, ReadonlySet<string>>>>;
  /** Percent, both ends included; bicycles without a charge are left out when either is given. */
  readonly leastPercent: number | undefined;
  readonly mostPercent: number | undefined;
  /** In the name or the uuid, whatever the case. */
  readonly text: string;
}

export const EVERYTHING: Filter = { words: {}, leastPercent: undefined, mostPercent: undefined, text: '' };

export type SortField = 'name' | 'state' | 'charge' | 'seen';

export interface Sort {
  readonly field: SortField;
  readonly isDescending: boolean;
}

/** Part of the world in Web Mercator; `west` may be below 0 and `east` above 1, where the map shows the world again. */
export interface View {
  readonly west: number;
  readonly east: number;
  readonly north: number;
  readonly south: number;
}

export function isEverything({ words, leastPercent, mostPercent, text }: Filter): boolean {
  return Object.keys(words).length === 0 && leastPercent === undefined && mostPercent === undefined && text === '';
}

/** The places of all bicycles that pass, in the order of the columns. */
export function filterFleet(fleet: Fleet, filter: Filter): Uint32Array {
  const groups = (['state', 'charge', 'silence'] as const).flatMap((name) => {
    const wanted = filter.words[name];
    if (wanted === undefined) return [];
    const { words, places } = fleet.groups[name];
    return [{ places, isWanted: words.map((word) => wanted.has(word)) }];
  });
  const { leastPercent = Number.NEGATIVE_INFINITY, mostPercent = Number.POSITIVE_INFINITY } = filter;
  const hasPercent = filter.leastPercent !== undefined || filter.mostPercent !== undefined;
  const text = filter.text.trim().toLowerCase();
  const found = new Uint32Array(fleet.size);
  let count = 0;
  for (let place = 0; place < fleet.size; place++) {
    if (fleet.gone[place] === 1) continue;
    if (groups.some(({ places, isWanted }) => isWanted[places[place] ?? 0] !== true)) continue;
    if (hasPercent) {
      const percent = fleet.percents[place] ?? Number.NaN;
      if (!(percent >= leastPercent && percent <= mostPercent)) continue;
    }
    if (text !== '' && !searchText(fleet, place).includes(text)) continue;
    found[count++] = place;
  }
  return found.subarray(0, count);
}

function searchText(fleet: Fleet, place: number): string {
  fleet.search[place] ??= `${fleet.names[place] ?? ''}\n${fleet.uuids[place] ?? ''}`.toLowerCase();
  return fleet.search[place] ?? '';
}

/** Of these, the ones inside a part of the world. */
export function inView(fleet: Fleet, places: Uint32Array, { west, east, north, south }: View): Uint32Array {
  const found = new Uint32Array(places.length);
  let count = 0;
  for (const place of places) {
    const [x = Number.NaN, y = Number.NaN] = [fleet.xs[place], fleet.ys[place]];
    if (y < north || y > south) continue;
    const turned = x + Math.ceil(west - x);
    if (turned >= west && turned <= east) found[count++] = place;
  }
  return found.subarray(0, count);
}

const COLLATOR = new Intl.Collator('en', { numeric: true });

/** Sorted; what has no value comes last in either direction. */
export function sortPlaces(fleet: Fleet, places: Uint32Array, { field, isDescending }: Sort): Uint32Array {
  const turn = isDescending ? -1 : 1;
  const sorted = places.slice();
  if (field === 'name') return sorted.sort(byName(fleet, turn));
  if (field === 'state') {
    const { words, places: wordPlaces } = fleet.groups.state;
    const ranks = new Map([...words].sort().map((word, rank) => [word, rank]));
    const rankOf = words.map((word) => ranks.get(word) ?? 0);
    return sorted.sort(
      (a, b) => ((rankOf[wordPlaces[a] ?? 0] ?? 0) - (rankOf[wordPlaces[b] ?? 0] ?? 0)) * turn || a - b,
    );
  }
  const values = field === 'charge' ? fleet.percents : fleet.seenMs;
  return sorted.sort((a, b) => compareNumbers(values[a], values[b], turn) || a - b);
}

function compareNumbers(a = Number.NaN, b = Number.NaN, turn: number): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
  return (a - b) * turn;
}

/** The rank of every name; a collator takes most of a second for 100,000, so it is asked again only when a name changed. */
const RANKS = new WeakMap<Fleet, { names: readonly (string | null)[]; ranks: Float64Array }>();

function byName(fleet: Fleet, turn: number): (a: number, b: number) => number {
  const known = RANKS.get(fleet);
  const isCurrent =
    known?.names.length === fleet.size && known.names.every((name, place) => name === fleet.names[place]);
  const ranks = known !== undefined && isCurrent ? known.ranks : rankNames(fleet);
  return (a, b) => compareNumbers(ranks[a], ranks[b], turn) || a - b;
}

function rankNames(fleet: Fleet): Float64Array {
  const names = fleet.names.slice(0, fleet.size);
  const ranks = new Float64Array(fleet.size).fill(Number.NaN);
  const order = [...names.keys()].filter((place) => names[place] !== null);
  order.sort((a, b) => COLLATOR.compare(names[a] ?? '', names[b] ?? ''));
  let rank = 0;
  for (const [index, place] of order.entries()) {
    if (names[place] !== names[order[index - 1] ?? -1]) rank = index;
    ranks[place] = rank;
  }
  RANKS.set(fleet, { names, ranks });
  return ranks;
}
