// Automatic events: rentals, reservations, rides and alerts.
import { ALERT_TYPES } from '../api/alert.js';
import type { Random } from '../system/random.js';
import { changeAlert, raiseAlert } from './alerts.js';
import {
  type BicycleRow,
  changeBicycle,
  runTransition,
  type ServedFleet,
  timeText,
} from './fleet.js';
import { numberFrom, wrapLongitude } from './geometry.js';
import { findFrom, pick, pickWeighted, randomUuid } from './random.js';
import { ALERT_ROLES, findFitting } from './seed.js';
import type { SandboxState, ServedTransition } from './transitions.js';

/** The shortest interval of the timer. At a high rate, one tick triggers several events. */
const SHORTEST_TICK_MS = 5;

/** The distance that a bicycle rides between two messages: about 50 m. */
const RIDE_DEGREES = 0.0005;

/** How much charge a rented bicycle uses between two messages, in percent. */
const RIDE_CHARGE = 0.2;

/**
 * The shares of rented and reserved bicycles. Rentals and reservations begin and end so that these
 * shares stay the same.
 */
const RENTED_SHARE = 0.12;
const RESERVED_SHARE = 0.03;

/**
 * The minimum age at which an alert stops automatically. It ensures that there are always some
 * alerts.
 */
const ALERT_STAYS_MS = 10 * 60 * 1000;

const EVENT_WEIGHTS: readonly [
  ['ride', number],
  ...['ride' | 'trip' | 'reservation' | 'alert' | 'stop', number][],
] = [
  ['ride', 60],
  ['trip', 20],
  ['reservation', 10],
  ['alert', 5],
  ['stop', 5],
];

/** The maximum number of bicycles to try when an event needs a suitable bicycle. */
const TRIES = 50;

/**
 * Starts automatic events at `rate` per second; 0 for no events. Returns a function that stops
 * them.
 */
export function startLife(fleet: ServedFleet, random: Random, rate: number): () => void {
  if (rate <= 0) return () => {};
  const startedAt = performance.now();
  let done = 0;
  const timer = setInterval(
    () => {
      // The number of due events is computed from the start, so that a late tick does not reduce
      // the rate. Events that were missed while the machine slept are skipped.
      const due = Math.floor(((performance.now() - startedAt) / 1000) * rate);
      if (due - done > rate + 1) done = due - 1;
      for (; done < due; done += 1) liveOnce(fleet, random);
    },
    Math.max(SHORTEST_TICK_MS, 1000 / rate),
  );
  return () => clearInterval(timer);
}

/** Runs one event. Does nothing when no bicycle is suitable. */
export function liveOnce(fleet: ServedFleet, random: Random): void {
  const event = pickWeighted(random, EVENT_WEIGHTS);
  const find = (state: SandboxState) =>
    findFrom(fleet.bicycles, random, (row) => row.body.state === state);
  const rider = fleet.users[3 + Math.floor(random() * (fleet.users.length - 3))];
  const run = (row: BicycleRow, transition: ServedTransition) =>
    runTransition(fleet, row, transition, 'service', rider);
  /**
   * Picks a bicycle that is available or in this state. If it is in the state, ends the state.
   * Otherwise, starts the state with the probability `share`. In the long run, about this share of
   * these bicycles is in the state.
   */
  const turn = (
    state: SandboxState,
    share: number,
    end: (row: BicycleRow) => void,
    begin: (row: BicycleRow) => void,
  ) => {
    for (let attempt = 0; attempt < TRIES; attempt += 1) {
      const row = findFrom(
        fleet.bicycles,
        random,
        ({ body }) => body.state === state || body.state === 'available',
      );
      if (row === undefined) return;
      if (row.body.state === state) return end(row);
      if (random() < share) return begin(row);
    }
  };
  if (event === 'ride') ride(fleet, random, find('rented'));
  else if (event === 'trip') {
    const end = (row: BicycleRow) => run(row, random() < 0.9 ? 'return' : 'expire_rental_session');
    turn('rented', RENTED_SHARE, end, (row) => run(row, 'rent'));
  } else if (event === 'reservation') {
    const end = (row: BicycleRow) =>
      run(row, random() < 0.4 ? 'cancel_reservation' : 'expire_reservation');
    turn('reserved', RESERVED_SHARE, end, (row) => run(row, 'reserve'));
  } else if (event === 'alert') {
    const alertType = pick(random, ALERT_TYPES);
    const row = findFitting(fleet, random, alertType);
    const input = {
      uuid: randomUuid(random),
      alert_type: alertType,
      roles: pick(random, ALERT_ROLES),
    };
    if (row !== undefined) raiseAlert(fleet, row, input);
  } else {
    // Section 3.2 of the interface: an alert becomes stopped "automatically only", when "the
    // condition that raised the alert is gone".
    const alert = findFrom(
      fleet.alerts,
      random,
      ({ body }) =>
        body.state === 'new' && Date.parse(body.created ?? '') < fleet.now() - ALERT_STAYS_MS,
    );
    if (alert !== undefined) changeAlert(fleet, alert, { state: 'stopped' });
  }
}

function ride(fleet: ServedFleet, random: Random, row: BicycleRow | undefined): void {
  if (row === undefined) return;
  const { latitude, longitude, state_of_charge: charge } = row.body;
  const north = numberFrom(latitude);
  const east = numberFrom(longitude);
  if (north === null || east === null) return;
  const move = () => (random() - 0.5) * 2 * RIDE_DEGREES;
  const left = numberFrom(charge);
  const seenAt = timeText(fleet, fleet.now() * 1000);
  const charged =
    left === null ? null : Number(Math.max(0, left - random() * RIDE_CHARGE).toFixed(1));
  changeBicycle(fleet, row, {
    latitude: Number((north + move()).toFixed(6)),
    longitude: Number(wrapLongitude(east + move()).toFixed(6)),
    latest_gps_accuracy: Number((2 + random() * 12).toFixed(1)),
    latest_gps_timestamp: seenAt,
    ...(left === null ? {} : { state_of_charge: charged }),
    ...(fleet.isObserved
      ? { last_cellular_update: seenAt, estimated_state_of_charge: left === null ? null : charged }
      : {}),
  });
}
