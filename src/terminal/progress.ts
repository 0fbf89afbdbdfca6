// Shows progress on stderr: one line that redraws itself on a terminal, a line now and then elsewhere.

import { cut } from './cells.js';
import { clean } from './clean.js';
import type { Io } from './io.js';
import { forScreen } from './marks.js';

/** What is over sooner, in half a second, needs no progress. */
const FIRST_DRAWN_TICK = 5;

/** Ten times a second looks smooth, and costs nothing. */
const DRAWN_EVERY_MS = 100;

/** What a progress line needs of the context. */
export interface Showing {
  readonly io: Pick<Io, 'stderr' | 'isJson'>;
  readonly flags: {
    readonly quiet?: boolean;
    readonly verbose?: boolean;
    readonly trace?: boolean;
  };
}

export interface ProgressOptions {
  /** The line as it is now, for a terminal of that many columns. Asked when it is drawn; cleaned and cut here. */
  draw(width: number): string;
  /** Where stderr is no terminal: a line of `draw` every so many milliseconds. Nothing there when absent. */
  lineEveryMs?: number;
}

export interface Progress {
  /** Ends it and leaves nothing on the screen. */
  end(): void;
}

/** The columns that a line for a file or a log may have. */
const PLAIN_WIDTH_COLUMNS = 120;

/**
 * Opens the progress of something under way: on a terminal one line, drawn half a second after the start and then ten times a second;
 * elsewhere nothing, or a line every `lineEveryMs`. Nothing at all with `--quiet`, and on a terminal nothing with `--verbose` and
 * `--trace`, whose lines would run through it.
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

  // The last column stays free: some terminals wrap when it is written.
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

/** A bar that fills the part, from 0 to 1, of so many columns. */
export function drawBar(part: number, columns: number): string {
  const eighths = Math.round(part * columns * 8);
  return '█'.repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? '');
}
