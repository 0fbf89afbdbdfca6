// The bicycles of the page in columns that can grow, and how often each word of a group occurs.

import type { Columns, GroupName, Groups, Payload, Row } from './payload.js';

export interface Group {
  readonly words: string[];
  /** The place of each bicycle's word. */
  places: Uint32Array;
}

export interface Fleet {
  size: number;
  readonly uuids: string[];
  readonly names: (string | null)[];
  readonly groups: Readonly<Record<GroupName, Group>>;
  /** NaN for none. */
  percents: Float32Array;
  longitudes: Float64Array;
  latitudes: Float64Array;
  /** Web Mercator from 0 to 1, NaN for what is on no map. */
  xs: Float64Array;
  ys: Float64Array;
  seenMs: Float64Array;
  /** When it changed last, in milliseconds of the page's own clock; -Infinity for never. */
  changedMs: Float64Array;
  /** 1 for bicycles that are no longer among those asked for. */
  gone: Uint8Array;
  readonly places: Map<string, number>;
  /** What the text filter looks at, in lower case. */
  readonly search: (string | undefined)[];
}

const GROUP_NAMES = ['state', 'charge', 'silence'] as const;
const LATITUDE_LIMIT = 85.051129;

export function mercatorX(longitude: number): number {
  return (longitude + 180) / 360;
}

/** What is nearer to a pole than Web Mercator reaches stands at its edge. */
export function mercatorY(latitude: number): number {
  const bounded = Math.max(-LATITUDE_LIMIT, Math.min(LATITUDE_LIMIT, latitude));
  return 0.5 - Math.log(Math.tan(Math.PI / 4 + (bounded * Math.PI) / 360)) / (2 * Math.PI);
}

export function openFleet({ columns, groups }: Pick<Payload, 'columns' | 'groups'>): Fleet {
  const size = columns.uuid.length;
  const fleet: Fleet = {
    size,
    uuids: [...columns.uuid],
    names: [...columns.name],
    groups: {
      state: openGroup('state', groups, columns),
      charge: openGroup('charge', groups, columns),
      silence: openGroup('silence', groups, columns),
    },
    percents: Float32Array.from(columns.percent, numberOr),
    longitudes: Float64Array.from(columns.longitude, numberOr),
    latitudes: Float64Array.from(columns.latitude, numberOr),
    xs: new Float64Array(size),
    ys: new Float64Array(size),
    seenMs: Float64Array.from(columns.seenMs, numberOr),
    changedMs: new Float64Array(size).fill(Number.NEGATIVE_INFINITY),
    gone: new Uint8Array(size),
    places: new Map(),
    search: [],
  };
  for (let place = 0; place < size; place++) {
    fleet.places.set(fleet.uuids[place] ?? '', place);
    project(fleet, place);
  }
  return fleet;
}

function numberOr(value: number | null): number {
  return value ?? Number.NaN;
}

function openGroup(name: GroupName, groups: Groups, columns: Columns): Group {
  return { words: [...groups[name]], places: Uint32Array.from(columns[name]) };
}

function project(fleet: Fleet, place: number): void {
  fleet.xs[place] = mercatorX(fleet.longitudes[place] ?? Number.NaN);
  fleet.ys[place] = mercatorY(fleet.latitudes[place] ?? Number.NaN);
}

/** Takes what is new of one bicycle, known or not. Returns its place. */
export function takeRow(fleet: Fleet, row: Row, nowMs: number): number {
  let place = fleet.places.get(row.uuid);
  if (place === undefined) {
    place = fleet.size++;
    fleet.uuids[place] = row.uuid;
    fleet.places.set(row.uuid, place);
    if (place >= fleet.xs.length) grow(fleet);
  }
  fleet.names[place] = row.name;
  fleet.search[place] = undefined;
  fleet.gone[place] = 0;
  fleet.percents[place] = numberOr(row.percent);
  fleet.longitudes[place] = numberOr(row.longitude);
  fleet.latitudes[place] = numberOr(row.latitude);
  fleet.seenMs[place] = numberOr(row.seenMs);
  fleet.changedMs[place] = nowMs;
  for (const name of GROUP_NAMES) takeWord(fleet, name, place, row[name]);
  project(fleet, place);
  return place;
}

/** Puts a bicycle into a group, one that was not there before included. */
export function takeWord(fleet: Fleet, name: GroupName, place: number, word: string): void {
  const { words, places } = fleet.groups[name];
  const known = words.indexOf(word);
  places[place] = known === -1 ? words.push(word) - 1 : known;
}

function grow(fleet: Fleet): void {
  const length = Math.max(64, fleet.xs.length * 2);
  const larger = <T extends Float64Array | Float32Array | Uint32Array | Uint8Array>(old: T, made: T): T => {
    made.set(old);
    return made;
  };
  fleet.percents = larger(fleet.percents, new Float32Array(length));
  fleet.longitudes = larger(fleet.longitudes, new Float64Array(length));
  fleet.latitudes = larger(fleet.latitudes, new Float64Array(length));
  fleet.xs = larger(fleet.xs, new Float64Array(length));
  fleet.ys = larger(fleet.ys, new Float64Array(length));
  fleet.seenMs = larger(fleet.seenMs, new Float64Array(length));
  fleet.changedMs = larger(fleet.changedMs, new Float64Array(length).fill(Number.NEGATIVE_INFINITY));
  fleet.gone = larger(fleet.gone, new Uint8Array(length));
  for (const name of GROUP_NAMES) {
    fleet.groups[name].places = larger(fleet.groups[name].places, new Uint32Array(length));
  }
}

/** How many bicycles have each word of a group: of all of them, or of those at `places`. */
export function countWords(fleet: Fleet, name: GroupName, places?: Uint32Array): number[] {
  const { words, places: wordPlaces } = fleet.groups[name];
  const counts = new Array<number>(words.length).fill(0);
  const add = (place: number) => {
    const word = wordPlaces[place] ?? 0;
    counts[word] = (counts[word] ?? 0) + 1;
  };
  if (places === undefined) {
    for (let place = 0; place < fleet.size; place++) if (fleet.gone[place] === 0) add(place);
  } else for (const place of places) add(place);
  return counts;
}
