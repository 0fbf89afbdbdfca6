// Generates the initial fleet. The same seed and number of bicycles produce the same fleet,
// including uuids.
import { ALERT_STATES, ALERT_TYPES } from '../api/alert.js';
import { createRandom, type Random } from '../system/random.js';
import { makeAlert } from './alerts.js';
import {
  type AlertRow,
  addBicycle,
  addObservedFields,
  type BicycleRow,
  type FleetService,
  linkTo,
  type Model,
  makeRow,
  type Organization,
  type ServedBicycle,
  type ServedFleet,
  timeText,
  type Zone,
} from './fleet.js';
import { numberFrom, wrapLongitude } from './geometry.js';
import type { City } from './names.js';
import {
  CITIES,
  DESCRIPTIONS,
  GIVEN_NAMES,
  MODEL_NAMES,
  ORGANIZATION_NAMES,
  UNUSUAL_NAMES,
} from './names.js';
import {
  findFrom,
  pick,
  pickWeighted,
  randomAround,
  randomHex,
  randomInteger,
  randomUuid,
} from './random.js';
import type { SandboxState } from './transitions.js';

const DAY_MICROSECONDS = 86_400_000_000;
const MINUTE_MICROSECONDS = 60_000_000;

/** About 5 km: the radius around a city's centre that contains nearly all bicycles. */
const CITY_RADIUS_DEGREES = 0.045;

/** Slightly less than the radius, so that a few bicycles are outside the zone of their city. */
const ZONE_RADIUS_DEGREES = 0.04;

/** The states of the first bicycles, so that even a small fleet has a bicycle in every state. */
const FIRST_STATES: readonly SandboxState[] = [
  'available',
  'rented',
  'in_maintenance',
  'lost',
  'available',
  'reserved',
  'unrecoverable',
  'retired',
];

const STATE_WEIGHTS: readonly [[SandboxState, number], ...[SandboxState, number][]] = [
  ['available', 58],
  ['rented', 18],
  ['in_maintenance', 12],
  ['lost', 4],
  ['reserved', 3],
  ['unrecoverable', 2],
  ['retired', 3],
];

/**
 * The maximum number of alerts. They fill many pages, and a very large fleet would otherwise need
 * more memory.
 */
const MOST_ALERTS = 10_000;

/** The roles that may see an alert; section 2.2 names three roles as examples. */
export const ALERT_ROLES: readonly string[][] = [
  ['fleet_operator', 'admin'],
  ['fleet_operator', 'admin', 'renter'],
  ['fleet_operator'],
  ['admin'],
];

/**
 * Generates a fleet. All its times are before `now()`, at random intervals that `seed` determines.
 */
export function seedFleet(
  { seed, bicycles }: { seed: number; bicycles: number },
  service: FleetService,
): ServedFleet {
  const random = createRandom(seed);
  const organizations: Organization[] = [];
  for (const name of ORGANIZATION_NAMES)
    organizations.push({ uuid: randomUuid(random), name, parent: organizations[0]?.uuid });
  const models: Model[] = MODEL_NAMES.map((name) => {
    const uuid = randomUuid(random);
    return { uuid, name, url: linkTo(service, 'bicycle_models', uuid) };
  });
  const users = Array.from({ length: 24 }, () => randomUuid(random));
  const start = Math.floor(service.now() * 1000);
  const fleet: ServedFleet = {
    ...service,
    organizations,
    models,
    users,
    zones: CITIES.map((city) => seedZone(random, organizations, city)),
    bicycles: [],
    bicyclesByUuid: new Map(),
    alerts: [],
    version: 0,
    lastChange: start,
  };
  for (let index = 0; index < bicycles; index += 1) {
    const row = seedBicycle(random, fleet, index, start);
    addObservedFields(fleet, row);
    addBicycle(fleet, row);
  }
  if (bicycles > 0) {
    const alerts = Math.min(Math.max(LEAST_ALERTS, Math.round(bicycles * 0.2)), MOST_ALERTS);
    for (let index = 0; index < alerts; index += 1)
      fleet.alerts.push(seedAlert(random, fleet, index, start));
  }
  return fleet;
}

function seedZone(random: Random, organizations: readonly Organization[], city: City): Zone {
  const wide = ZONE_RADIUS_DEGREES / Math.cos((city.latitude * Math.PI) / 180);
  const box = {
    north: round(city.latitude + ZONE_RADIUS_DEGREES, 6),
    east: round(wrapLongitude(city.longitude + wide), 6),
    south: round(city.latitude - ZONE_RADIUS_DEGREES, 6),
    west: round(wrapLongitude(city.longitude - wide), 6),
  };
  return {
    uuid: randomUuid(random),
    name: city.name,
    organization: organizations[city.organization]?.uuid ?? '',
    box,
  };
}

function seedBicycle(random: Random, fleet: ServedFleet, index: number, start: number): BicycleRow {
  // One in twenty bicycles belongs to the second organization.
  const owner = index % 20 === 13 ? 1 : 0;
  const city = pick(random, (owner === 1 ? SECOND_CITIES : MAIN_CITIES) ?? CITIES);
  const uuid = randomUuid(random);
  const state = FIRST_STATES[index] ?? pickWeighted(random, STATE_WEIGHTS);
  const deviceType = random() < 0.6 ? 'lock' : 'tracker';
  const createdAt = start - randomInteger(random, 2 * DAY_MICROSECONDS, 700 * DAY_MICROSECONDS);
  const modifiedAt = start - randomInteger(random, 1, 2 * DAY_MICROSECONDS - 1);
  const silentFor =
    state === 'lost' ? randomInteger(random, DAY_MICROSECONDS, 30 * DAY_MICROSECONDS) : 0;
  const seenAt =
    start -
    silentFor -
    Math.floor(random() ** 3 * 600) * MINUTE_MICROSECONDS -
    randomInteger(random, 0, 59e6);
  // Some bicycles have never sent a position: 40 % of the lost ones, 3 % of the others, and always
  // the bicycle with index 10.
  const hasPosition = random() >= (state === 'lost' ? 0.4 : 0.03) && index !== 10;
  const hasCharge = random() >= 0.04 && index !== 11;
  const model = pick(random, fleet.models).url;
  const body: ServedBicycle = {
    uuid,
    created: timeText(fleet, createdAt),
    latitude: round(randomAround(random, city.latitude, CITY_RADIUS_DEGREES), 6),
    longitude: round(
      wrapLongitude(
        randomAround(
          random,
          city.longitude,
          CITY_RADIUS_DEGREES / Math.cos((city.latitude * Math.PI) / 180),
        ),
      ),
      6,
    ),
    latest_gps_accuracy: round(1 + random() ** 2 * 40, 1),
    latest_gps_timestamp: timeText(fleet, seenAt),
    state_of_charge: round(100 * random() ** 0.6, 1),
    name: nameOf(random, index),
    description: random() < 0.15 ? pick(random, DESCRIPTIONS) : '',
    model,
    bleid: `AXA:${randomHex(random, 20).toUpperCase()}`,
    device_type: deviceType,
    lock: linkTo(fleet, 'locks', randomUuid(random)),
    image_url: random() < 0.7 ? `${fleet.baseUrl}/media/bicycles/${uuid}.jpg` : null,
    serial_number: `SN${randomHex(random, 10).toUpperCase()}`,
    state,
    modified: timeText(fleet, modifiedAt),
  };
  if (!hasPosition) {
    Object.assign(body, {
      latitude: null,
      longitude: null,
      latest_gps_accuracy: null,
      latest_gps_timestamp: null,
    });
  }
  if (!hasCharge) body.state_of_charge = null;
  // The interface says that a "decimal number" may also be sent as a string. One number in fifty is
  // sent as a string.
  else if (index % 50 === 17) body.state_of_charge = Number(body.state_of_charge).toFixed(2);
  const rider =
    state === 'rented' || state === 'reserved' ? riderOf(random, fleet, index) : undefined;
  const organization = fleet.organizations[owner]?.uuid ?? '';
  return makeRow(body, { index, organization, moment: modifiedAt, rider });
}

const [MAIN_CITIES, SECOND_CITIES] = [0, 1].map((owner) =>
  CITIES.filter(({ organization }) => organization === owner),
);

/** The default renter (see `token`) is assigned the first rented and the first reserved bicycle. */
function riderOf(random: Random, fleet: ServedFleet, index: number): string {
  const renters = fleet.users.slice(2);
  return index < FIRST_STATES.length ? (renters[0] ?? '') : pick(random, renters);
}

function nameOf(random: Random, index: number): string {
  // Every twelfth bicycle has an unusual name. These names are used in turn.
  if (index % 12 === 6) {
    const name = UNUSUAL_NAMES[Math.floor(index / 12) % UNUSUAL_NAMES.length] ?? '';
    return index < 12 * UNUSUAL_NAMES.length ? name : `${name} ${index + 1}`;
  }
  return `${pick(random, GIVEN_NAMES)} ${String(index + 1).padStart(4, '0')}`;
}

/**
 * Maps each alert type to the condition that a bicycle must meet. An alert whose type is not listed
 * here can belong to any bicycle.
 */
const FITTING: { [alertType: string]: (row: BicycleRow) => boolean } = {
  'lock.bat.low': ({ body }) => (numberFrom(body.state_of_charge) ?? 100) < 20,
  'bicycle.ride_outside': ({ body }) => body.state === 'rented',
  'bicycle.return_outside': ({ body }) => body.state === 'available',
  'bicycle.lost_reported': ({ body }) => body.state === 'lost',
  'bicycle.too_long_idle': ({ body }) => body.state === 'available',
};

/**
 * Finds a bicycle for an alert of this type. If possible, the bicycle meets the type's condition.
 */
export function findFitting(
  fleet: ServedFleet,
  random: Random,
  alertType: string,
): BicycleRow | undefined {
  const fits = FITTING[alertType];
  const fitting = fits && findFrom(fleet.bicycles, random, fits);
  return fitting ?? findFrom(fleet.bicycles, random, () => true);
}

/**
 * The number of combinations of an alert type and an alert state. The first alerts use each
 * combination once.
 */
const LEAST_ALERTS = ALERT_TYPES.length * ALERT_STATES.length;

function seedAlert(random: Random, fleet: ServedFleet, index: number, start: number): AlertRow {
  const isInTurn = index < LEAST_ALERTS;
  const alertType =
    (isInTurn ? ALERT_TYPES[index % ALERT_TYPES.length] : pick(random, ALERT_TYPES)) ?? '';
  const state = isInTurn
    ? ALERT_STATES[Math.floor(index / ALERT_TYPES.length)]
    : pick(random, ALERT_STATES);
  const row = findFitting(fleet, random, alertType);
  if (row === undefined) throw new Error('an alert needs a bicycle');
  const createdAt = start - randomInteger(random, DAY_MICROSECONDS, 60 * DAY_MICROSECONDS);
  const modifiedAt =
    state === 'new' ? createdAt : start - randomInteger(random, 1, DAY_MICROSECONDS);
  const input = {
    uuid: randomUuid(random),
    alert_type: alertType,
    state: state ?? ALERT_STATES[0],
    roles: ALERT_ROLES[index % ALERT_ROLES.length] ?? [],
    created: timeText(fleet, createdAt),
    modified: timeText(fleet, modifiedAt),
  };
  return makeAlert(fleet, row, input, { index, modifiedAt });
}

function round(number: number, digits: number): number {
  const factor = 10 ** digits;
  return Math.round(number * factor) / factor;
}
