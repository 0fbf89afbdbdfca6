// Builds the documents of a GBFS feed from bicycles, zones and facts about the rental system. All
// functions are pure. Text from the service is never published.

import { type Bicycle, bicycleUuid } from '../../api/bicycle.js';
import { wholeUuid } from '../../api/links.js';
import type { Named } from '../../api/named.js';
import { wholePolygonsOf } from '../../globe/rings.js';
import { readTime } from '../../terminal/time.js';
import { numberOf, pointOf } from '../../terminal/values.js';
import { sentOutline } from '../../views/named.js';
import type { FeedVersion, System } from './system-fields.js';

/** The options that determine which bicycles are published. */
export interface FeedSelection {
  readonly organization: string;
  readonly nowMs: number;
  readonly maxAgeMs: number | undefined;
  /** Whether the feed also contains bicycles in maintenance, marked as disabled. */
  readonly withDisabled: boolean;
  /**
   * Returns the range in metres with a full battery, or undefined for a bicycle without a motor.
   */
  rangeOf(bicycle: Bicycle): number | undefined;
}

interface Vehicle {
  readonly lon: number;
  readonly lat: number;
  readonly is_reserved: boolean;
  readonly is_disabled: boolean;
  readonly current_range_meters: number | undefined;
  readonly maxRangeMetres: number | undefined;
  readonly reportedMs: number | undefined;
}

/** The number of excluded bicycles, by reason. */
export type LeftOut = { [reason: string]: number };

/** The vehicles of a feed while it is being built. */
export interface Vehicles {
  /** The vehicles of the feed by ID. */
  readonly all: Map<string, Vehicle>;
  readonly leftOut: LeftOut;
}

/**
 * Bicycles in these states are excluded. `in_maintenance` can be included on request. Bicycles in
 * unknown states are also excluded, and the names of these states are not published.
 */
const STATES_LEFT_OUT = ['rented', 'lost', 'unrecoverable', 'retired', 'in_maintenance'];
/**
 * The fields with the time of a bicycle's last message. The service sets both fields to the same
 * time, although the interface does not promise it.
 */
const REPORTS = ['latest_gps_timestamp', 'last_cellular_update'] as const;
/** The earliest time that GBFS allows: 15 December 2015. */
const FIRST_MS = 1_450_155_600_000;
/** The precision of published positions. Six decimals are 11 cm. */
const POSITION_DECIMALS = 6;

/** The last rental of a bicycle. */
export interface LastRental {
  /** Returns a vehicle ID that changes after every rental and does not reveal the bicycle. */
  idOf(uuid: string): string;
  /**
   * The earliest time at which the last rental may have ended. Reports from before this time are
   * not published: such a report would show that the old ID and the new ID belong to the same
   * bicycle. Reports from the same second are not published either, because the times in the feed
   * are in whole seconds.
   */
  readonly sinceMs: number | undefined;
}

/** Adds a bicycle to the feed, or counts it as excluded with the reason. */
export function addVehicle(
  { all, leftOut }: Vehicles,
  bicycle: Bicycle,
  selection: FeedSelection,
  { idOf, sinceMs = 0 }: LastRental,
): void {
  const leave = (reason: string) => {
    leftOut[reason] = (leftOut[reason] ?? 0) + 1;
  };
  const vehicle = vehicleOf(bicycle, selection);
  const uuid = bicycleUuid(bicycle);
  const id = uuid === undefined ? '' : idOf(uuid);
  if (typeof vehicle === 'string') leave(vehicle);
  else if (uuid === undefined) leave('without a uuid');
  else if (all.has(id)) leave('twice in the list');
  else if (secondOf(vehicle.reportedMs ?? 0) > secondOf(sinceMs)) all.set(id, vehicle);
  else all.set(id, { ...vehicle, reportedMs: undefined });
}

function secondOf(ms: number): number {
  return Math.floor(ms / 1000);
}

/** Returns a bicycle as a feed vehicle, or the reason why it is excluded. */
function vehicleOf(bicycle: Bicycle, selection: FeedSelection): Vehicle | string {
  const { state } = bicycle;
  const is_disabled = state === 'in_maintenance';
  const owner = wholeUuid(String(bicycle['organization'] ?? ''));
  const point = pointOf(bicycle.longitude, bicycle.latitude) ?? [];
  if (state !== 'available' && state !== 'reserved' && !(is_disabled && selection.withDisabled))
    return STATES_LEFT_OUT.find((known) => known === state) ?? 'in a state that is not known';
  if (owner !== undefined && owner !== selection.organization) return 'of another organization';
  const place = point.map((degrees) => numberOf(degrees) ?? 0);
  // A tracker that does not know its position reports 0, 0.
  if (place.every((degrees) => degrees === 0)) return 'without a position';
  const [lon = 0, lat = 0] = place.map((degrees) => Number(degrees.toFixed(POSITION_DECIMALS)));
  const { nowMs, maxAgeMs = Number.POSITIVE_INFINITY } = selection;
  const reports = REPORTS.map((field) => readTime(bicycle[field]) ?? 0).filter(
    (atMs) => atMs >= FIRST_MS,
  );
  // When a report has a future time, the clock of its sender is ahead. The current time is used
  // instead.
  const reportedMs = reports.length === 0 ? undefined : Math.min(nowMs, Math.max(...reports));
  if (Number.isFinite(maxAgeMs) && nowMs - (reportedMs ?? 0) > maxAgeMs)
    return 'silent for longer than --max-age';
  const maxRangeMetres = selection.rangeOf(bicycle);
  const charge = numberOf(bicycle.state_of_charge);
  if (maxRangeMetres !== undefined && charge === undefined) return 'without a charge';
  const current_range_meters =
    maxRangeMetres && Math.round((maxRangeMetres * Math.min(100, Math.max(0, charge ?? 0))) / 100);
  const is_reserved = state === 'reserved';
  return { lon, lat, is_reserved, is_disabled, current_range_meters, maxRangeMetres, reportedMs };
}

/** The outline of a published zone. */
export type FeedArea = number[][][][];

/**
 * Returns the service areas of an organization. When part of an outline cannot be read, returns no
 * areas. An incomplete area would forbid rides in the missing part.
 *
 * Zones of other types are counted as excluded, because their rules are unknown. Assumed: the type
 * of a service area contains the word "service".
 */
export function areasOf(
  zones: readonly Named[],
  organization: string,
): { areas: FeedArea[]; leftOut: number } {
  const own = zones.filter(
    (zone) => (wholeUuid(String(zone['organization'] ?? '')) ?? organization) === organization,
  );
  const service = own.filter((zone) => /service/i.test(String(zone['type'] ?? '')));
  const outlines = service.map((zone) => wholePolygonsOf(sentOutline(zone)));
  const readable = outlines.filter((polygons) => polygons !== undefined);
  const areas = readable.length === outlines.length ? readable : [];
  return { areas, leftOut: own.length - areas.length };
}

export interface GbfsFeed {
  readonly version: FeedVersion;
  readonly system: System;
  /** The vehicles by ID. */
  readonly vehicles: readonly (readonly [id: string, vehicle: Vehicle])[];
  /** The ranges of all vehicle types, including types that no vehicle currently has. */
  readonly ranges: readonly (number | undefined)[];
  /** The service areas of the whole fleet, including areas without a published vehicle. */
  readonly areas: readonly FeedArea[];
  readonly updatedMs: number;
  readonly ttlMs: number;
}

/**
 * Returns the files by name. `gbfs.json` comes last, because the files that it lists must be
 * written before it.
 */
export function drawFeed(feed: GbfsFeed): [name: string, document: object][] {
  const { version, system, vehicles, ranges, areas, updatedMs, ttlMs } = feed;
  const ttl = Math.ceil(ttlMs / 1000);
  const isOld = version === '2.3';
  const { language = '', feed_url: base = '' } = system;
  const timeOf = (ms: number) =>
    isOld ? secondOf(ms) : new Date(ms).toISOString().replace(/\.\d+/, '');
  const data: [name: string, data: object][] = [
    ['system_information', isOld ? oldSystem(system) : newSystem(system)],
    ['vehicle_types', { vehicle_types: ranges.map(drawType) }],
    [
      isOld ? 'free_bike_status' : 'vehicle_status',
      {
        [isOld ? 'bikes' : 'vehicles']: drawVehicles(
          vehicles,
          isOld ? 'bike_id' : 'vehicle_id',
          timeOf,
        ),
      },
    ],
    ...(areas.length === 0
      ? []
      : [['geofencing_zones', drawZones(areas, isOld)] as [string, object]]),
  ];
  const feeds = data.map(([name]) => ({ name, url: `${base.replace(/\/?$/, '/')}${name}.json` }));
  const all = [...data, ['gbfs', isOld ? { [language]: { feeds } } : { feeds }] as const];
  return all.map(([name, inner]) => [
    `${name}.json`,
    { last_updated: timeOf(updatedMs), ttl, version, data: inner },
  ]);
}

function oldSystem({ feed_url: _ours, opening_hours: _newer, ...system }: System): object {
  return system;
}

/** Returns the system information for version 3.0 and later, in which each text has a language. */
function newSystem({ feed_url: _ours, language = '', name, operator, ...system }: System): object {
  const translated = (text: string | undefined) => text && [{ text, language }];
  return {
    ...system,
    languages: [language],
    name: translated(name),
    operator: translated(operator),
  };
}

/**
 * Returns the ID of a vehicle type. The ID depends only on the range and reveals no data of the
 * service.
 */
function typeId(maxRangeMetres: number | undefined): string {
  return maxRangeMetres === undefined ? 'bicycle' : `ebike-${maxRangeMetres}`;
}

function drawType(range: number | undefined): object {
  const motor = range === undefined ? 'human' : 'electric_assist';
  return {
    vehicle_type_id: typeId(range),
    form_factor: 'bicycle',
    propulsion_type: motor,
    max_range_meters: range,
  };
}

/**
 * Returns the vehicles sorted by ID. Any other order could reveal which bicycle returned from a
 * ride.
 */
function drawVehicles(
  vehicles: GbfsFeed['vehicles'],
  idField: string,
  timeOf: (ms: number) => unknown,
): object[] {
  const sorted = [...vehicles].sort(([a], [b]) => (a < b ? -1 : 1));
  return sorted.map(([id, { maxRangeMetres, reportedMs, ...vehicle }]) => ({
    [idField]: id,
    ...vehicle,
    vehicle_type_id: typeId(maxRangeMetres),
    last_reported: reportedMs && timeOf(reportedMs),
  }));
}

/**
 * Returns the zones of the feed. If there are service areas, each ride must begin and end in a
 * service area. Assumed: riding through other areas is allowed.
 */
function drawZones(areas: readonly FeedArea[], isOld: boolean): object {
  const ruleOf = (isInside: boolean) =>
    isOld
      ? { ride_allowed: isInside, ride_through_allowed: true }
      : { ride_start_allowed: isInside, ride_end_allowed: isInside, ride_through_allowed: true };
  const features = areas.map((coordinates) => ({
    type: 'Feature',
    geometry: { type: 'MultiPolygon', coordinates },
    properties: { rules: [ruleOf(true)] },
  }));
  const zones = { geofencing_zones: { type: 'FeatureCollection', features } };
  return isOld ? zones : { ...zones, global_rules: [ruleOf(false)] };
}
