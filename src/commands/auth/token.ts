// `fleet auth token`: prints the access token in use, for other programs.

import type { Context } from '../../context.js';

export async function printToken(context: Context): Promise<void> {
  const source = await context.token();
  await context.io.stdout.write(`${await source.get()}\n`);
}
