// `fleet map --serve`: the page of the fleet on this machine, moving as messages come.

import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import type { PageOptions } from './html.js';
import type { MapFilters } from './read.js';

export interface ServeOptions extends PageOptions {
  filters: MapFilters;
  /** 0: any free port. */
  port: number;
}

/** Serves the page until the command is interrupted. */
export async function servePage(_context: Context, _options: ServeOptions): Promise<void> {
  throw usageError('this version serves no page yet', 'use --live');
}
