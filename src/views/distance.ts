// How far away something is: a column that a table gets when it was asked for by place.

import type { Shape } from '../terminal/formats.js';
import { MISSING } from '../terminal/values.js';

const KILOMETRE_METRES = 1000;
/** From here on a tenth of a kilometre is more than anybody wants to know. */
const WHOLE_KILOMETRES_FROM_METRES = 99_950;

/** Metres for people: `430 m`, `1.2 km`, `250 km`. */
export function showDistance(metres: number): string {
  if (Math.round(metres) < KILOMETRE_METRES) return `${Math.round(metres)} m`;
  const kilometres = metres / KILOMETRE_METRES;
  return `${metres < WHOLE_KILOMETRES_FROM_METRES ? kilometres.toFixed(1) : Math.round(kilometres)} km`;
}

/**
 * The shape with a DISTANCE column behind the first two: `1.2 km` for people, whole metres without a unit for programs. It is no field
 * of the service's, so the JSON formats do not have it; csv and tsv have it by `--columns`.
 */
export function withDistance<T>(shape: Shape<T>, distanceMetres: (value: T) => number | undefined): Shape<T> {
  const [first, second, ...rest] = shape.columns;
  const most = Math.max(...shape.columns.map(({ keep }) => keep));
  const distance: Shape<T>['columns'][number] = {
    header: 'DISTANCE',
    field: 'distance',
    // Who asks for what is near wants to see how near; the name alone is of more use.
    keep: most - 0.5,
    minimum: 8,
    align: 'right',
    cell(value, at) {
      const metres = distanceMetres(value);
      if (metres === undefined) return { text: MISSING };
      return { text: at.terminal ? showDistance(metres) : String(Math.round(metres)) };
    },
  };
  return { ...shape, columns: [first, second, distance, ...rest].filter((column) => column !== undefined) };
}
