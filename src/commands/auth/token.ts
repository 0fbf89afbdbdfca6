// `fleet auth token`: prints the access token in use, for other programs.

import type { Context } from '../../context.js';
import { writeResult } from '../shared/list/target.js';

export async function printToken(context: Context): Promise<void> {
  const source = await context.token();
  await writeResult(context, `${await source.get()}\n`);
}
