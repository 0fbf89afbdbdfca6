// Prints one UUID per line, for `act -`, xargs and loops.

import { exactValue } from '../../json/exact.js';
import { clean } from '../clean.js';
import { readPath, textOf } from '../values.js';
import { countNoun, type Renderer, type Shape } from './renderer.js';

/** Returns the `uuid` of each resource. Resources without a uuid are counted in a notice. */
export function openUuids<T>(shape: Shape<T>): Renderer<T> {
  let without = 0;
  return {
    rows(rows) {
      let text = '';
      for (const row of rows) {
        // The interface does not allow a number as a uuid. If a service sends one, its digits are
        // printed without rounding.
        const uuid = textOf(readPath(exactValue(row), 'uuid')) ?? '';
        if (uuid === '') without += 1;
        else text += `${clean(uuid)}\n`;
      }
      return text;
    },
    notices: () =>
      without > 0 ? [`${countNoun(without, shape.noun)} without a uuid left out`] : [],
  };
}
