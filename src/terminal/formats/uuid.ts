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
        const uuid = textOf(readPath(row.value, 'uuid'));
        if (uuid === undefined || uuid === '') without += 1;
        // A uuid that is a number is nothing the interface knows; should it come, it is not rounded.
        else
          text += `${clean(typeof uuid === 'string' ? (textOf(readPath(exactValue(row), 'uuid')) ?? uuid) : uuid)}\n`;
      }
      return text;
    },
    notices: () => (without > 0 ? [`${countNoun(without, shape.noun)} without a uuid left out`] : []),
  };
}
