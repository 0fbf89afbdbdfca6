// Checks the fields in conditions against the objects that the service sends.

import { unknownWord } from '../cli/nearest.js';
import { fieldsOf, firstSegment, hasField } from '../terminal/formats/columns.js';
import { type Condition, isDocumented } from './where.js';

/**
 * Throws for a condition on a field that is neither documented nor in the first page. Such a
 * condition would match no object or, with `!=`, every object.
 *
 * @param shown the fields that the error lists before the fields of the page
 */
export function checkFields(
  conditions: readonly Condition[],
  firstPage: readonly unknown[],
  documented: { readonly fields: readonly string[] },
  shown: readonly string[] = documented.fields,
): void {
  for (const condition of conditions) {
    if (isDocumented(condition, documented) || hasField(firstPage, condition.field)) continue;
    const fields = new Set([...shown, ...fieldsOf(firstPage)]);
    throw unknownWord('field', firstSegment(condition.field), [...fields]);
  }
}
