// Shows progress on stderr: one redrawn line on a terminal, occasional lines elsewhere.

import { cut } from './cells.js';
import { clean } from './clean.js';
import type { Io } from './io.js';
import { forScreen } from './marks.js';

/** No progress is shown for work that ends within half a second. */
const FIRST_DRAWN_TICK = 5;

/** Ten drawings a second look smooth and need little computing time. */
const DRAWN_EVERY_MS = 100;

/** The parts of the context that a progress line needs. */
export interface Showing {
  readonly io: Pick<Io, 'stderr' | 'isJson'>;
  readonly flags: {
    readonly quiet?: boolean;
    readonly verbose?: boolean;
    readonly trace?: boolean;
  };
}

export interface ProgressOptions {
  /**
   * Returns the text of the line. `width` is the number of available columns. This function is
   * called each time the line is drawn. Its caller replaces control characters with visible symbols
   * and truncates the text to the width.
   */
  draw(width: number): string;
  /**
   * The time between two lines when stderr is not a terminal. When it is not set, no lines are
   * written.
   */
  lineEveryMs?: number;
}

export interface Progress {
  /** Removes the line. */
  end(): void;
}

/** The maximum width of a line in a file or log. */
const PLAIN_WIDTH_COLUMNS = 120;

/**
 * Opens a progress line. A terminal shows it after half a second and redraws it ten times a second.
 * Elsewhere a line appears every `lineEveryMs`, if set. `--quiet` turns the progress line off. On a
 * terminal, `--verbose` and `--trace` also turn it off, because their lines would interrupt it.
 */
export function openProgress(
  { io, flags }: Showing,
  { draw, lineEveryMs }: ProgressOptions,
): Progress {
  const { stderr } = io;
  const width = stderr.width();
  const isDrawn = stderr.canRedraw && flags.verbose !== true && flags.trace !== true;
  const everyMs = isDrawn ? DRAWN_EVERY_MS : stderr.canRedraw ? undefined : lineEveryMs;
  if (flags.quiet === true || everyMs === undefined) return { end() {} };

  // The last column stays empty, because some terminals start a new line after a character in it.
  const room = (width ?? PLAIN_WIDTH_COLUMNS) - 1;
  let ticks = 0;
  const timer = setInterval(() => {
    ticks += 1;
    if (isDrawn && ticks < FIRST_DRAWN_TICK) return;
    const line = cut(clean(draw(room)), room);
    if (isDrawn) stderr.drawStatus(forScreen(line, stderr));
    else void stderr.write(`${io.isJson ? JSON.stringify({ progress: line }) : line}\n`);
  }, everyMs).unref();
  return {
    end() {
      clearInterval(timer);
      if (isDrawn) stderr.drawStatus('');
    },
  };
}

const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/** Draws a bar for a share from 0 to 1. */
export function drawBar(part: number, columns: number): string {
  const eighths = Math.round(part * columns * 8);
  return '█'.repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? '');
}
