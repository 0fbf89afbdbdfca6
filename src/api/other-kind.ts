// Refuses the address of one kind of resource where another kind is needed.

import { usageError } from '../errors.js';
import { otherResource } from './links.js';
import { articleOf, type NamedKind } from './named.js';

/**
 * Throws a FleetError of kind `usage` when a value is the link of another kind of resource. `shown`
 * is the value as it appears in the message.
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
