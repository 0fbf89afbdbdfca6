// Formats the numbers of `fleet report` for people: their names, their values with units, and their
// marks.

import { MISSING } from '../terminal/values.js';

/** The mark that shows that a number is uncertain. */
export const UNCERTAIN = '~';

const LABELS: { readonly [name: string]: string } = {
  fleet_size_mean: 'Mean fleet size',
  available_share: 'Time available',
  in_maintenance_share: 'Time in maintenance',
  lost_share: 'Time lost',
  rentals: 'Rentals',
  rentals_per_bicycle_day: 'Rentals per bicycle and day',
  rental_length_median: 'Rental length, median',
  rental_length_p90: 'Rental length, 90 %',
  time_between_rentals_median: 'Time between rentals, median',
  time_between_rentals_p90: 'Time between rentals, 90 %',
  alerts_opened: 'Alerts opened',
  alerts_resolved: 'Alerts resolved',
  alerts_stopped: 'Alerts stopped',
  alert_resolution_median: 'Time to resolve an alert, median',
  alert_resolution_p90: 'Time to resolve an alert, 90 %',
  idle_longest: 'Longest time idle',
};

export function labelOf(name: string): string {
  return LABELS[name] ?? name;
}

/** Formats a value with its unit: `12.5 %`, `1 h 20 min`; `-` for an unknown value. */
export function showFigure(value: number | null, unit: string, isCertain: boolean): string {
  if (value === null) return MISSING;
  const mark = isCertain ? '' : UNCERTAIN;
  if (unit === 's') return `${mark}${showLength(value)}`;
  if (unit === '%') return `${mark}${value.toFixed(1)} %`;
  if (unit === 'rentals/day') return `${mark}${value.toFixed(2)}`;
  if (unit === 'bicycles') return `${mark}${value.toFixed(1)}`;
  return `${mark}${value}`;
}

const MINUTE_S = 60;
const HOUR_S = 3600;
const DAY_S = 86_400;

/** Formats seconds with at most two units. */
function showLength(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < MINUTE_S) return `${whole} s`;
  if (whole < HOUR_S) return `${Math.round(whole / MINUTE_S)} min`;
  const minutes = Math.round(whole / MINUTE_S);
  if (whole < DAY_S) return joinUnits(Math.floor(minutes / 60), 'h', minutes % 60, 'min');
  const hours = Math.round(whole / HOUR_S);
  return joinUnits(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

function joinUnits(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}
