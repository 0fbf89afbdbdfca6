// Counts bicycles and alerts by group. Only this file decides which value a bicycle has in a group.

import type { Alert } from '../api/alert.js';
import type { Bicycle } from '../api/bicycle.js';
import { wholeUuid } from '../api/links.js';
import {
  CHARGE_GROUPS,
  chargeGroup,
  NEVER_HEARD,
  SILENCE_GROUPS,
  silenceGroup,
} from '../page/groups.js';
import { readTime } from '../terminal/time.js';
import { numberOf, readPath, textOf } from '../terminal/values.js';
import type { StatsRow } from './stats.js';

/** How many bicycles have each value. */
type Counts = Map<string, number>;

const NONE = '(none)';

/**
 * For each group that fleet defines, a function that returns a bicycle's value. All other groups
 * are field names.
 */
const GROUPS: { readonly [group: string]: (bicycle: Bicycle, now: number) => string } = {
  state: ({ state }) => nameOf(state),
  charge: ({ state_of_charge }) => {
    const percent = numberOf(state_of_charge);
    return percent === undefined ? NONE : chargeGroup(percent);
  },
  silence: ({ latest_gps_timestamp }, now) => silenceGroup(readTime(latest_gps_timestamp), now),
  model: (bicycle) => nameOf(bicycle['bicycle_model_name'] ?? uuidIn(bicycle.model)),
  organization: (bicycle) => nameOf(uuidIn(bicycle['organization'])),
};

/** The groups that are counted by default. */
export const DEFAULT_GROUPS = ['state', 'charge', 'silence'] as const;

/**
 * The groups whose values have a fixed order. The values of other groups are ordered by their
 * count.
 */
const ORDERS: ReadonlyMap<string, readonly string[]> = new Map([
  ['charge', [...CHARGE_GROUPS, NONE]],
  ['silence', SILENCE_GROUPS],
]);

/**
 * Creates a counter that counts bicycles by each of the groups. The group `silence` needs `now`,
 * the current time in milliseconds since the epoch.
 */
export function openCounter(groups: readonly string[], now: number) {
  const counts = groups.map((group) => ({ group, values: new Map<string, number>() }));
  let total = 0;
  return {
    add(bicycle: Bicycle) {
      total += 1;
      for (const { group, values } of counts) count(values, valueIn(group, bicycle, now));
    },
    /** Returns the groups in order, each with its values in order. */
    rows: (): StatsRow[] => counts.flatMap(({ group, values }) => rowsOf(group, values)),
    /** Returns the number of counted bicycles. */
    total: () => total,
  };
}

/** Counts open alerts by type. */
export function countAlerts(alerts: Iterable<Alert>): StatsRow[] {
  const counts: Counts = new Map();
  for (const { alert_type } of alerts) count(counts, nameOf(alert_type));
  return rowsOf('open alerts by type', counts);
}

/** Whether fleet defines the group, such as `charge`. Any other group name is a field name. */
export function isNamedGroup(group: string): boolean {
  return Object.hasOwn(GROUPS, group);
}

/**
 * Returns the value by which a bicycle is counted in a group, such as `rented` in the group
 * `state`.
 */
export function valueIn(group: string, bicycle: Bicycle, now: number): string {
  const find = Object.hasOwn(GROUPS, group) ? GROUPS[group] : undefined;
  return find === undefined ? nameOf(readPath(bicycle, group)) : find(bicycle, now);
}

/**
 * Values are truncated to this many characters. Longer values are counted together when they begin
 * with the same characters.
 */
const LONGEST_NAME_CHARACTERS = 200;

function nameOf(value: unknown): string {
  const text = textOf(value);
  return text === undefined || text === '' ? NONE : text.slice(0, LONGEST_NAME_CHARACTERS);
}

function uuidIn(link: unknown): unknown {
  return typeof link === 'string' ? (wholeUuid(link) ?? link) : link;
}

function count(counts: Counts, value: string): void {
  counts.set(value, (counts.get(value) ?? 0) + 1);
}

function rowsOf(group: string, counts: Counts): StatsRow[] {
  const total = [...counts.values()].reduce((sum, number) => sum + number, 0);
  const order =
    ORDERS.get(group) ??
    [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)).map(([value]) => value);
  return order.flatMap((value) => {
    const found = counts.get(value) ?? 0;
    // Ranges of the battery charge are listed even when no bicycle is in them. The values `(none)`
    // and `never` are listed only when a bicycle has this value.
    if (found === 0 && (value === NONE || value === NEVER_HEARD)) return [];
    return [
      {
        group,
        value,
        count: found,
        percent: total === 0 ? 0 : Math.round((found / total) * 1000) / 10,
      },
    ];
  });
}
