// `fleet organizations list`, `fleet zones list`, `fleet models list`: one implementation for all
// three commands.

import { NAMED, NAMED_FIELDS, type Named } from '../../api/named.js';
import type { Context } from '../../context.js';
import { FleetError } from '../../errors.js';
import type { ListOptions } from '../../list/flags.js';
import { printList } from '../../list/list.js';
import { NAMED_SHAPES } from '../../views/named.js';

export type NamedListOptions = Pick<ListOptions, 'where' | 'limit' | 'count' | 'param'>;

/**
 * Lists all items of a kind. Throws a FleetError of kind `not-found` when the service does not have
 * this list.
 */
export async function listNamed(
  context: Context,
  kind: keyof typeof NAMED_SHAPES,
  options: NamedListOptions,
): Promise<void> {
  const { path, many } = NAMED[kind];
  const plan = {
    shape: NAMED_SHAPES[kind],
    requests: [{ path, subject: `the list of ${many}` }],
    resource: { ...NAMED_FIELDS, orderings: [] },
  };
  const isAll = options.limit === undefined && options.count !== true;
  try {
    await printList<Named>(context, plan, isAll ? { ...options, all: true } : options);
  } catch (thrown) {
    if (!(thrown instanceof FleetError) || thrown.kind !== 'not-found') throw thrown;
    throw thrown.with({
      message: `this service lists no ${many}`,
      hint: 'they are optional; everything else works by UUID',
    });
  }
}
