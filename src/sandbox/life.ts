// What happens by itself: riders ride, rent, return and reserve, reservations expire, alerts appear and stop.
import { ALERT_TYPES } from '../api/alert.js';
import {
  type BicycleRow,
  changeAlert,
  changeBicycle,
  type Fleet,
  raiseAlert,
  runTransition,
  type SandboxState,
} from './fleet.js';
import { numberOf, wrapLongitude } from './geometry.js';
import { findFrom, pick, pickWeighted, type Random, randomUuid } from './random.js';
import { ALERT_ROLES, findFitting } from './seed.js';

/** At high rates several events share a tick, since timers are not finer than this. */
const SHORTEST_TICK_MS = 5;

/** About 50 m: as far as a bicycle rides between two of its messages. */
const RIDE_DEGREES = 0.0005;

/** What a rented bicycle uses up between two messages, in percent of its charge. */
const RIDE_CHARGE = 0.2;

type Event =
  | 'ride'
  | 'rent'
  | 'return'
  | 'expire-rental'
  | 'reserve'
  | 'cancel'
  | 'expire-reservation'
  | 'alert'
  | 'stop';

const EVENT_WEIGHTS: readonly [[Event, number], ...[Event, number][]] = [
  ['ride', 62],
  ['rent', 9],
  ['return', 9],
  ['expire-rental', 1],
  ['reserve', 5],
  ['cancel', 1],
  ['expire-reservation', 3],
  ['alert', 5],
  ['stop', 5],
];

/** Starts life at `rate` events a second; 0 is still. Returns what ends it. */
export function startLife(fleet: Fleet, random: Random, rate: number): () => void {
  if (rate <= 0) return () => {};
  const startedAt = performance.now();
  let done = 0;
  const timer = setInterval(
    () => {
      // Counting from the start makes up for late ticks; a machine that slept does not catch up on hours at once.
      const due = Math.floor(((performance.now() - startedAt) / 1000) * rate);
      if (due - done > rate + 1) done = due - 1;
      for (; done < due; done += 1) liveOnce(fleet, random);
    },
    Math.max(SHORTEST_TICK_MS, 1000 / rate),
  );
  return () => clearInterval(timer);
}

/** Lets one thing happen; when there is no bicycle for it, nothing does. */
export function liveOnce(fleet: Fleet, random: Random): void {
  const event = pickWeighted(random, EVENT_WEIGHTS);
  const find = (state: SandboxState) => findFrom(fleet.bicycles, random, (row) => row.body.state === state);
  const rider = fleet.users[3 + Math.floor(random() * (fleet.users.length - 3))];
  const run = (row: BicycleRow | undefined, transition: Parameters<typeof runTransition>[2], by = rider) => {
    if (row !== undefined) runTransition(fleet, row, transition, 'service', by);
  };
  if (event === 'ride') ride(fleet, random, find('rented'));
  else if (event === 'rent') {
    // Now and then the one who reserved comes to ride.
    const reserved = random() < 0.3 ? find('reserved') : undefined;
    run(reserved ?? find('available'), 'rent', reserved?.rider ?? rider);
  } else if (event === 'return') run(find('rented'), 'return');
  else if (event === 'expire-rental') run(find('rented'), 'expire_rental_session');
  else if (event === 'reserve') run(find('available'), 'reserve');
  else if (event === 'cancel') run(find('reserved'), 'cancel_reservation');
  else if (event === 'expire-reservation') run(find('reserved'), 'expire_reservation');
  else if (event === 'alert') {
    const alertType = pick(random, ALERT_TYPES);
    const row = findFitting(fleet, random, alertType);
    const facts = { uuid: randomUuid(random), alertType, roles: pick(random, ALERT_ROLES) };
    if (row !== undefined) raiseAlert(fleet, row, facts);
  } else {
    // Section 3.2: stopped is reached "automatically only", when "the condition that raised the alert is gone".
    const alert = findFrom(fleet.alerts, random, ({ body }) => body.state === 'new');
    if (alert !== undefined) changeAlert(fleet, alert, { state: 'stopped' });
  }
}

function ride(fleet: Fleet, random: Random, row: BicycleRow | undefined): void {
  if (row === undefined) return;
  const { latitude, longitude, state_of_charge: charge } = row.body;
  const north = numberOf(latitude);
  const east = numberOf(longitude);
  if (north === null || east === null) return;
  const move = () => (random() - 0.5) * 2 * RIDE_DEGREES;
  const left = numberOf(charge);
  changeBicycle(fleet, row, {
    latitude: Number((north + move()).toFixed(6)),
    longitude: Number(wrapLongitude(east + move()).toFixed(6)),
    latest_gps_accuracy: Number((2 + random() * 12).toFixed(1)),
    latest_gps_timestamp: new Date(fleet.now()).toISOString(),
    ...(left === null ? {} : { state_of_charge: Number(Math.max(0, left - random() * RIDE_CHARGE).toFixed(1)) }),
  });
}
