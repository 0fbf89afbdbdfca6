// `fleet map -o html`: the fleet as one self-contained page.

import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import type { FleetPicture } from '../../views/map/picture.js';

export interface PageOptions {
  /** The template of a tile server's addresses; nothing is loaded from elsewhere without it. */
  tiles: string | undefined;
}

/** Writes the page through `write`, a piece at a time. */
export async function writePage(
  _context: Context,
  _picture: FleetPicture,
  _options: PageOptions,
  _write: (text: string) => Promise<void>,
): Promise<void> {
  throw usageError('this version draws no page yet', 'use -o svg');
}
