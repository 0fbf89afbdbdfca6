// `fleet map` on a terminal, in a pipe and in a text file.

import type { Context } from '../../context.js';
import { canvasLines } from '../../terminal/canvas.js';
import { loadPaint } from '../../terminal/colour.js';
import type { Look } from '../../views/map/legend.js';
import { drawMap } from '../../views/map/terminal.js';
import type { FleetPicture } from './read.js';
import { mapInputOf } from './scene.js';
import type { Size } from './size.js';

/** A pipe and a file say nothing of the size they are read in. */
const PIPE_SIZE: Size = { width: 80, height: 24 };
/** What the shell's prompt takes below the drawing. */
const PROMPT_ROWS = 1;

export interface TextOptions {
  size: Size | undefined;
  /** In a file there is no terminal to ask. */
  isFile: boolean;
}

/** The drawing as lines: in colour and Braille on a terminal that has both, in ASCII in a pipe. */
export async function drawText(context: Context, picture: FleetPicture, options: TextOptions): Promise<string> {
  const { stdout } = context.io;
  const isTerminal = stdout.isTerminal && !options.isFile;
  const colorLevel = isTerminal || !options.isFile ? stdout.colorLevel : 0;
  const ofTerminal = { width: stdout.width() ?? PIPE_SIZE.width, height: stdout.height() - PROMPT_ROWS };
  const { width, height } = options.size ?? (isTerminal ? ofTerminal : PIPE_SIZE);
  const look: Look = {
    width,
    height: Math.max(1, height),
    hasColor: colorLevel > 0,
    // A pipe gets what anything can show.
    hasUnicode: isTerminal && stdout.hasUnicode,
  };
  const { canvas } = drawMap(mapInputOf(picture), look);
  const lines = canvasLines(canvas, await loadPaint(colorLevel));
  return lines.map((line) => `${line}\n`).join('');
}
