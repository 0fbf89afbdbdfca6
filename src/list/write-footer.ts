// Prints the closing lines of a result on stderr: how much was shown, and how to see more.

import type { Context } from '../context.js';
import { wrap } from '../terminal/cells.js';
import { clean } from '../terminal/clean.js';
import { loadPaint } from '../terminal/colour.js';
import { forScreen, splitMark } from '../terminal/marks.js';

/**
 * Prints lines on stderr, unless `--quiet` is set. `isBelow` means that the result was printed on
 * the same terminal. In this case, an empty line is printed first. Lines that begin with a mark
 * such as `!` are not dimmed.
 */
export async function writeFooter(
  { io, flags, notice }: Context,
  lines: readonly string[],
  isBelow: boolean,
): Promise<void> {
  const { stderr } = io;
  if (lines.length === 0 || flags.quiet === true) return;
  const isScreen = stderr.isTerminal && !io.isJson;
  const paint = await loadPaint(isScreen ? stderr.colorLevel : 0);
  if (isScreen && isBelow) await stderr.write('\n');
  for (const line of lines) {
    if (isScreen && splitMark(line).mark === undefined) {
      const drawn = wrap(forScreen(clean(line), stderr), stderr.width()).map(
        (part) => `${paint.dim(part)}\n`,
      );
      await stderr.write(drawn.join(''));
    } else await notice(line);
  }
}
