// `fleet config path`: where the settings file is, whether it exists or not.

import type { Context } from '../../context.js';
import { findPlace } from '../../settings/folder.js';
import { clean } from '../../terminal/clean.js';

export async function printPath({ io, flags }: Context): Promise<void> {
  const { configPath, problem } = findPlace(io.env);
  if (problem !== undefined) throw problem;
  // It is made of the environment, which may hold anything.
  await io.stdout.write(`${flags.json === true ? JSON.stringify({ path: configPath }) : clean(configPath)}\n`);
}
