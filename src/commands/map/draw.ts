// Draws `fleet map` as text or as a picture. The output is a terminal, a pipe or a file.

import { readFileSync } from 'node:fs';
import type { Context } from '../../context.js';
import { readTowns } from '../../globe/towns.js';
import { distPath } from '../../system/program-files.js';
import { showLocalTime } from '../../system/time-zone.js';
import { canvasLines } from '../../terminal/canvas.js';
import { loadPaint } from '../../terminal/colour.js';
import { countNoun } from '../../terminal/formats/renderer.js';
import { readCoast } from '../../views/map/coast.js';
import { type MapInput, sceneOf } from '../../views/map/scene.js';
import { drawSvg } from '../../views/map/svg.js';
import { drawMap } from '../../views/map/terminal.js';
import type { Size } from './flags.js';
import type { FleetPicture } from './read.js';

/** The size of a drawing that is written to a pipe or a file. */
const PIPE_SIZE: Size = { width: 80, height: 24 };
/** The rows below the drawing that stay free for the shell's prompt. */
const PROMPT_ROWS = 1;
const PICTURE_SIZE: Size = { width: 1200, height: 800 };
/** The smallest size of a picture. The legend would not fit into a smaller picture. */
const LEAST_PIXELS = 200;

let world: Pick<MapInput, 'coast' | 'towns'> | undefined;

/** Reads the coastline and the largest towns from the program's files, but only once. */
export function loadWorld() {
  const read = (name: string) => JSON.parse(readFileSync(distPath(name), 'utf8'));
  world ??= { coast: readCoast(read('coastline.json')), towns: readTowns(read('towns.json')) };
  return world;
}

/** Returns the data to draw. */
function mapInputOf({ bicycles, title, takenAtMs, zone }: FleetPicture): MapInput {
  return {
    ...sceneOf(bicycles.map(({ value }) => value)),
    ...loadWorld(),
    title: `${countNoun(bicycles.length, { one: 'bicycle', many: 'bicycles' })}, ${title}`,
    // The time without seconds, such as `2026-11-21 14:03`.
    moment: showLocalTime(takenAtMs, zone).slice(0, -3),
  };
}

export function drawPicture(picture: FleetPicture, { width, height }: Size = PICTURE_SIZE): string {
  const [wide, high] = [Math.max(LEAST_PIXELS, width), Math.max(LEAST_PIXELS, height)];
  return drawSvg({ ...mapInputOf(picture), width: wide, height: high });
}

export interface TextOptions {
  size: Size | undefined;
  /**
   * Whether the drawing is written to a file. If so, the properties of the terminal do not matter.
   */
  isFile: boolean;
}

/**
 * Returns the lines of the drawing. Uses colours and Braille characters when the terminal supports
 * them, and ASCII in a pipe.
 */
export async function drawText(
  context: Context,
  picture: FleetPicture,
  options: TextOptions,
): Promise<string> {
  const { stdout } = context.io;
  const isTerminal = stdout.isTerminal && !options.isFile;
  const colorLevel = options.isFile ? 0 : stdout.colorLevel;
  const ofTerminal = {
    width: stdout.width() ?? PIPE_SIZE.width,
    height: stdout.height() - PROMPT_ROWS,
  };
  const { width, height } = options.size ?? (isTerminal ? ofTerminal : PIPE_SIZE);
  const { canvas } = drawMap(mapInputOf(picture), {
    width,
    height: Math.max(1, height),
    hasColor: colorLevel > 0,
    // A pipe gets ASCII, which every program can display.
    hasUnicode: isTerminal && stdout.hasUnicode,
  });
  const lines = canvasLines(canvas, await loadPaint(colorLevel));
  return lines.map((line) => `${line}\n`).join('');
}
