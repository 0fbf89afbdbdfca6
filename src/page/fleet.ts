// The bicycles of the page, and how often each word of a group occurs.

import { LIMIT_DEGREES, worldX, worldY } from '../globe/projection.js';
import type { GroupName, Payload, Row } from './payload.js';

export interface Bicycle extends Row {
  /** Which one it is of all, in the order in which they came. */
  readonly place: number;
  /** Web Mercator from 0 to 1, NaN for what is on no map. */
  readonly x: number;
  readonly y: number;
  /** When it changed last, in milliseconds of the page's own clock; -Infinity for never. */
  readonly changedMs: number;
  /** No longer among those asked for. */
  readonly isGone: boolean;
  /** What the text filter looks at. */
  readonly searchText: string;
}

export interface Fleet {
  readonly all: Bicycle[];
  readonly byUuid: Map<string, Bicycle>;
  /** The words of each group in their order, those that came later behind them. */
  readonly words: Readonly<Record<GroupName, Set<string>>>;
}

const GROUP_NAMES = ['state', 'charge', 'silence'] as const;

/** A point of the world; what is nearer to a pole than Web Mercator reaches stands at its edge. */
export function mercatorY(latitude: number): number {
  return worldY(Math.max(-LIMIT_DEGREES, Math.min(LIMIT_DEGREES, latitude)));
}

export function openFleet({ columns, groups }: Pick<Payload, 'columns' | 'groups'>): Fleet {
  const fleet: Fleet = {
    all: [],
    byUuid: new Map(),
    words: { state: new Set(groups.state), charge: new Set(groups.charge), silence: new Set(groups.silence) },
  };
  const wordOf = (name: GroupName, place: number) => groups[name][columns[name][place] ?? 0] ?? '';
  for (const [place, uuid] of columns.uuid.entries()) {
    const row = {
      uuid,
      name: columns.name[place] ?? null,
      state: wordOf('state', place),
      charge: wordOf('charge', place),
      silence: wordOf('silence', place),
      percent: columns.percent[place] ?? null,
      longitude: columns.longitude[place] ?? null,
      latitude: columns.latitude[place] ?? null,
      seenMs: columns.seenMs[place] ?? null,
    };
    add(fleet, { ...row, ...drawnOf(row, Number.NEGATIVE_INFINITY), place });
  }
  return fleet;
}

function add(fleet: Fleet, bicycle: Bicycle): Bicycle {
  fleet.all.push(bicycle);
  fleet.byUuid.set(bicycle.uuid, bicycle);
  return bicycle;
}

/** What the page makes of a row. */
function drawnOf({ uuid, name, longitude, latitude }: Row, changedMs: number) {
  return {
    x: longitude === null ? Number.NaN : worldX(longitude),
    y: latitude === null ? Number.NaN : mercatorY(latitude),
    searchText: `${name ?? ''}\n${uuid}`.toLowerCase(),
    changedMs,
    isGone: false,
  };
}

/** Takes what is new of one bicycle, known or not. */
export function takeRow(fleet: Fleet, row: Row, nowMs: number): Bicycle {
  for (const name of GROUP_NAMES) fleet.words[name].add(row[name]);
  const known = fleet.byUuid.get(row.uuid);
  const drawn = drawnOf(row, nowMs);
  return known === undefined
    ? add(fleet, { ...row, ...drawn, place: fleet.all.length })
    : Object.assign(known, row, drawn);
}

/** Takes what is new of a bicycle where it is known. */
export function takeFields(fleet: Fleet, uuid: string, fields: Partial<Pick<Bicycle, 'isGone' | 'silence'>>): void {
  const known = fleet.byUuid.get(uuid);
  if (known === undefined) return;
  if (fields.silence !== undefined) fleet.words.silence.add(fields.silence);
  Object.assign(known, fields);
}

/** How many bicycles have each word of a group, of all words that anybody had. */
export function countWords(fleet: Fleet, name: GroupName, bicycles: Iterable<Bicycle>): Map<string, number> {
  const counts = new Map(Array.from(fleet.words[name], (word) => [word, 0]));
  for (const { [name]: word } of bicycles) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

export function isPlaced({ x }: Bicycle): boolean {
  return !Number.isNaN(x);
}

/** What a bicycle is called: its name, else the beginning of its UUID. */
export function nameOf({ name, uuid }: Pick<Row, 'name' | 'uuid'>): string {
  return name ?? uuid.slice(0, 8);
}

/** `57 %`. */
export function showCharge({ percent }: Row): string {
  return percent === null ? '–' : `${Math.round(percent)} %`;
}
