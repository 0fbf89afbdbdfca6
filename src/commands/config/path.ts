// `fleet config path`: where the settings file is, whether it exists or not.

import type { Context } from '../../context.js';
import { findPlace } from '../../settings/store.js';

export async function printPath({ io }: Context): Promise<void> {
  await io.stdout.write(`${(await findPlace(io.env)).configPath}\n`);
}
