// `fleet config path`: where the settings file is, whether it exists or not.

import type { Context } from '../../context.js';
import { findPlace } from '../../settings/place.js';

export async function printPath({ io }: Context): Promise<void> {
  const { configPath, problem } = findPlace(io.env);
  if (problem !== undefined) throw problem;
  await io.stdout.write(`${configPath}\n`);
}
