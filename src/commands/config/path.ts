// `fleet config path`: where the settings file is, whether it exists or not.

import type { Context } from '../../context.js';
import { findPlace } from '../../settings/folder.js';
import { clean } from '../../terminal/clean.js';
import { writeResult } from '../shared/list/target.js';

export async function printPath(context: Context): Promise<void> {
  const { io, flags } = context;
  const { configPath, problem } = findPlace(io.env);
  if (problem !== undefined) throw problem;
  // It is made of the environment, which may hold anything.
  await writeResult(context, `${flags.json === true ? JSON.stringify({ path: configPath }) : clean(configPath)}\n`);
}
