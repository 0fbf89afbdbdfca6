// `fleet bicycles list`: the service's own filters as a query, then the pages as they come.

import { BICYCLES_PATH } from '../../api/bicycle.js';
import type { Context } from '../../context.js';
import { BICYCLES } from '../../views/bicycle.js';
import { printList } from '../list.js';
import type { ListOptions } from '../list-words.js';
import { type Box, showBox } from './area.js';

export interface ListBicyclesOptions extends ListOptions {
  bbox?: Box;
  zone?: string;
}

/** Lists bicycles with the parameters of interface.md section 4.1. */
export async function listBicycles(context: Context, options: ListBicyclesOptions): Promise<void> {
  const organization = options.organization ?? (await context.settings()).organization.value;
  const query: [string, string][] = [];
  if (organization !== undefined) query.push(['organization', organization]);
  if (options.bbox !== undefined) query.push(['bbox', showBox(options.bbox)]);
  if (options.zone !== undefined) query.push(['zone', options.zone]);
  if (options.ordering !== undefined) query.push(['ordering', options.ordering]);
  await printList(context, { path: BICYCLES_PATH, query, subject: 'the list of bicycles' }, BICYCLES, options);
}
