// Refuses the address of one kind of resource where another kind is needed.

import { otherResource } from '../../api/links.js';
import { articleOf, type NamedKind } from '../../api/named.js';
import { usageError } from '../../errors.js';

/**
 * Throws a FleetError of kind `usage` when a text is the link of another kind of resource. `shown`
 * is the text in the message.
 */
export function refuseOtherKind(
  { one, path }: Pick<NamedKind, 'one' | 'path'>,
  text: string,
  shown = text,
): void {
  const other = otherResource(text, path.replaceAll('/', ''));
  if (other === undefined) return;
  throw usageError(`"${shown}" is the address of ${other}, not of ${articleOf(one)}`);
}
