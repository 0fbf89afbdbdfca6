// What every drawing of a fleet is made from: its bicycles and open alerts as sent, and the counts of `bicycles stats`.

import type { Alert } from '../../api/alert.js';
import type { Bicycle } from '../../api/bicycle.js';
import type { Row } from '../../terminal/formats.js';
import { countAlerts, DEFAULT_GROUPS, openCounter } from '../counts.js';
import type { StatsRow } from '../stats.js';

export interface FleetPicture {
  /** Whose fleet it is and what was left of it, in the words of the command line; text that nobody has cleaned. */
  readonly title: string;
  /** When it was read, by the machine's date in milliseconds since the epoch, and how many minutes local time is ahead of UTC. */
  readonly takenAtMs: number;
  readonly offsetMinutes: number;
  /** Every bicycle, also those without a position; `json` is the object as sent, its numbers exact. */
  readonly bicycles: readonly Row<Bicycle>[];
  /** New and escalated alerts of these bicycles; undefined where they could not be read. */
  readonly alerts: readonly Row<Alert>[] | undefined;
  /** States, charge, silence and open alerts, as `bicycles stats` prints them. */
  readonly counts: readonly StatsRow[];
  /** How many bicycles the service counts that did not come. */
  readonly missing: number;
}

/** A picture with its counts. */
export function makePicture(taken: Omit<FleetPicture, 'counts'>): FleetPicture {
  const counter = openCounter(DEFAULT_GROUPS, taken.takenAtMs);
  for (const { value } of taken.bicycles) counter.add(value);
  const alerts = countAlerts((taken.alerts ?? []).map(({ value }) => value));
  return { ...taken, counts: [...counter.rows(), ...alerts] };
}
