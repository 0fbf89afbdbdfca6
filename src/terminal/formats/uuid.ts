// UUIDs, one a line, for `act -`, xargs and loops.

import { exactValue } from '../../json/exact.js';
import { clean } from '../clean.js';
import { readPath, textOf } from '../values.js';
import { countNoun, type Renderer, type Shape } from './renderer.js';

/** The `uuid` of each resource; those without one are counted in a notice. */
export function openUuids<T>(shape: Shape<T>): Renderer<T> {
  let without = 0;
  return {
    rows(rows) {
      let text = '';
      for (const row of rows) {
        // A uuid that is a number is nothing the interface knows; should it come, it is not rounded.
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
