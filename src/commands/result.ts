// The way from a command's result to stdout: the format asked for, rendered and written, its notices told.

import type { Context } from '../context.js';
import { openRenderer, type Row, type Shape } from '../terminal/formats.js';

export interface Result<T> {
  /** Writes some rows; waits until the reader has room. */
  write(rows: readonly Row<T>[]): Promise<void>;
  end(): Promise<void>;
}

/** Opens the result of a command in the format of `--json`, `-o` or the settings. */
export async function openResult<T>(context: Context, shape: Shape<T>): Promise<Result<T>> {
  const { io, flags } = context;
  const settings = await context.settings();
  const renderer = await openRenderer(settings.output.value, shape, {
    ...(flags.columns === undefined ? {} : { columns: flags.columns }),
    terminal: io.stdout.isTerminal,
    width: io.stdout.width(),
    colorLevel: io.stdout.colorLevel,
    now: context.now(),
  });
  let isBegun = false;
  const begin = () => {
    const text = isBegun ? '' : renderer.begin();
    isBegun = true;
    return text;
  };
  return {
    async write(rows) {
      await io.stdout.write(begin() + renderer.rows(rows));
    },
    async end() {
      await io.stdout.write(begin() + renderer.end());
      for (const notice of renderer.notices()) await context.notice(notice);
    },
  };
}
