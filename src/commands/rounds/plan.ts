// The planned tours, with functions that convert them to table rows and JSON.

import type { Bicycle } from '../../api/bicycle.js';
import { mapLink } from '../../globe/map-link.js';
import { localTimeAt, showClock, type TimeZone } from '../../system/time-zone.js';
import { count } from '../../terminal/count.js';
import type { ListedItem, Shape } from '../../terminal/formats.js';
import type { Column } from '../../terminal/table.js';
import { MISSING, numberOf, textOf } from '../../terminal/values.js';
import { showCharge, showPosition, showState, showText } from '../../views/bicycle.js';
import { showDistance } from '../../views/distance.js';
import type { Spot } from './distances.js';

export interface TourStop {
  readonly bicycle: Bicycle;
  readonly spot: Spot;
  /** The distance from the previous place in metres. */
  readonly legM: number;
  /** The arrival time in seconds after departure. */
  readonly arrivalS: number;
}

export interface VanTour {
  /** The number of the van, counted from 1. */
  readonly van: number;
  readonly distanceM: number;
  readonly durationS: number;
  readonly stops: readonly TourStop[];
}

export interface LeftOutBicycle {
  readonly bicycle: Bicycle;
  /** The position of the bicycle, or undefined when it has none. */
  readonly spot: Spot | undefined;
  readonly reason: string;
}

export interface Rounds {
  readonly depot: Spot;
  readonly end: Spot;
  /** The time of departure in milliseconds since the epoch. Undefined without `--start`. */
  readonly startMs: number | undefined;
  readonly zone: TimeZone;
  readonly vans: readonly VanTour[];
  readonly leftOut: readonly LeftOutBicycle[];
}

/** An output row for a stop or for an omitted bicycle. */
export interface RoundRow {
  /** The number of the van, or null for an omitted bicycle. */
  van: number | null;
  stop: number | null;
  uuid: unknown;
  name: unknown;
  serial_number: unknown;
  state: unknown;
  state_of_charge: unknown;
  latitude: number | null;
  longitude: number | null;
  map: string | null;
  leg_m: number | null;
  arrival_s: number | null;
  /** The local arrival time or, without `--start`, the time since departure. */
  arrival: string | null;
  left_out: string | null;
}

/**
 * Formats a time of arrival. With `--start` the result is the local time, such as `08:05`.
 * Otherwise it is the time since the departure, such as `0:35`.
 */
export function showArrival({ startMs, zone }: Rounds, seconds: number): string {
  const rounded = Math.round(seconds / 60) * 60;
  if (startMs === undefined) {
    const minutes = rounded / 60;
    return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}`;
  }
  const atMs = startMs + rounded * 1000;
  const clock = showClock(atMs, zone).slice(0, -3);
  const [first, then] = [localTimeAt(startMs, zone), localTimeAt(atMs, zone)];
  const dayOf = ({ year, month, day }: typeof first) => Date.UTC(year, month - 1, day) / 86_400_000;
  const days = dayOf(then) - dayOf(first);
  return days === 0 ? clock : `${clock} +${days} d`;
}

/** Returns the summary of a tour, such as `Van 1: 12 stops, 14.2 km, 2:05 h`. */
export function describeVan({ van, stops, distanceM, durationS }: VanTour): string {
  const minutes = Math.round(durationS / 60);
  const time = `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')} h`;
  return `Van ${van}: ${count(stops.length, 'stop')}, ${showDistance(distanceM)}, ${time}`;
}

/** Returns the stops in order, followed by the omitted bicycles. */
export function rowsOf(rounds: Rounds): RoundRow[] {
  const stops = rounds.vans.flatMap(({ van, stops: each }) =>
    each.map((stop, index) => ({
      van,
      stop: index + 1,
      ...bicycleFields(stop.bicycle, stop.spot),
      leg_m: stop.legM,
      arrival_s: stop.arrivalS,
      arrival: showArrival(rounds, stop.arrivalS),
      left_out: null,
    })),
  );
  const others = rounds.leftOut.map(({ bicycle, spot, reason }) => ({
    van: null,
    stop: null,
    ...bicycleFields(bicycle, spot),
    leg_m: null,
    arrival_s: null,
    arrival: null,
    left_out: reason,
  }));
  return [...stops, ...others];
}

function bicycleFields(bicycle: Bicycle, spot: Spot | undefined) {
  const { uuid, name, state } = bicycle;
  return {
    uuid: uuid ?? null,
    name: name ?? null,
    serial_number: bicycle['serial_number'] ?? null,
    state: state ?? null,
    state_of_charge: bicycle.state_of_charge ?? null,
    latitude: spot?.[1] ?? null,
    longitude: spot?.[0] ?? null,
    map: spot === undefined ? null : mapLink(spot),
  };
}

export function listed<T>(value: T): ListedItem<T> {
  return { json: JSON.stringify(value), value };
}

/** Returns all tours as one object for JSON. */
export function jsonOf(rounds: Rounds): object {
  const rows = rowsOf(rounds);
  return {
    vans: rounds.vans.map(({ van, distanceM, durationS }) => ({
      van,
      distance_m: distanceM,
      duration_s: durationS,
      stops: rows
        .filter((row) => row.van === van)
        .map(({ van: _van, left_out: _reason, arrival, ...stop }) => ({
          ...stop,
          ...arrivalTime(rounds, stop.arrival_s),
          arrival,
        })),
    })),
    left_out: rows
      .filter(({ left_out }) => left_out !== null)
      .map(({ uuid, name, left_out: reason }) => ({ uuid, name, reason })),
  };
}

/** Returns the arrival time in UTC, for machine-readable output. Only possible with `--start`. */
function arrivalTime({ startMs }: Rounds, seconds: number | null) {
  if (startMs === undefined || seconds === null) return {};
  return { arrival_at: new Date(startMs + seconds * 1000).toISOString() };
}

export const JSON_SHAPE: Shape<object> = {
  noun: { one: 'plan', many: 'plans' },
  columns: [],
  fields: ['vans', 'left_out'],
  single: true,
};

const NOTE: Column<RoundRow> = { header: 'LEFT OUT', field: 'left_out', keep: 8, minimum: 12 };

/**
 * Returns the output table of the rows. The table has a column for reasons only if a bicycle was
 * omitted.
 */
export function rowShape({ leftOut }: Rounds, hasLeftOut: boolean): Shape<RoundRow> {
  return {
    noun: { one: 'stop', many: 'stops' },
    fields: FIELDS,
    columns: hasLeftOut && leftOut.length > 0 ? [...COLUMNS, NOTE] : COLUMNS,
    position: ({ latitude, longitude }) =>
      latitude === null || longitude === null ? undefined : [longitude, latitude],
  };
}

const FIELDS: readonly (keyof RoundRow)[] = [
  'van',
  'stop',
  'uuid',
  'name',
  'serial_number',
  'state',
  'state_of_charge',
  'latitude',
  'longitude',
  'map',
  'leg_m',
  'arrival_s',
  'arrival',
  'left_out',
];

const COLUMNS: readonly Column<RoundRow>[] = [
  { header: 'VAN', field: 'van', keep: 10, align: 'right' },
  { header: 'STOP', field: 'stop', keep: 10, align: 'right' },
  { header: 'NAME', field: 'name', keep: 9, minimum: 12, maximum: 40 },
  { header: 'SERIAL', field: 'serial_number', keep: 3, minimum: 8, maximum: 24 },
  { header: 'STATE', field: 'state', keep: 5, maximum: 24, cell: ({ state }) => showState(state) },
  {
    header: 'CHARGE',
    field: 'state_of_charge',
    keep: 4,
    align: 'right',
    cell: ({ state_of_charge }, at) => showCharge(state_of_charge, at),
  },
  {
    header: 'LEG',
    field: 'leg_m',
    keep: 6,
    align: 'right',
    cell({ leg_m }, at) {
      const metres = numberOf(leg_m);
      if (metres === undefined) return { text: MISSING };
      return at.terminal ? { text: showDistance(metres) } : showText(metres);
    },
  },
  { header: 'ARRIVAL', field: 'arrival', keep: 7, align: 'right' },
  {
    header: 'POSITION',
    field: 'position',
    keep: 2,
    minimum: 20,
    cell: ({ latitude, longitude }, at) => showPosition(latitude, longitude, at),
  },
  { header: 'MAP', field: 'map', keep: 1, minimum: 40 },
];

/** Returns the name of a bicycle, or its UUID. */
export function nameOfStop({ bicycle }: { bicycle: Bicycle }): string {
  return textOf(bicycle.name) || (textOf(bicycle.uuid) ?? '');
}
