// Draws `fleet map` as text or as a picture: on a terminal, in a pipe or in a file.

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

/** The size for a pipe or a file, which have no size of their own. */
const PIPE_SIZE: Size = { width: 80, height: 24 };
/** The rows that stay free below the drawing for the shell's prompt. */
const PROMPT_ROWS = 1;
const PICTURE_SIZE: Size = { width: 1200, height: 800 };
/** A smaller picture has no room for its legend. */
const LEAST_PIXELS = 200;

let world: Pick<MapInput, 'coast' | 'towns'> | undefined;

/** Reads the coastline and the largest towns once. The build has written them. */
export function loadWorld() {
  const read = (name: string) => JSON.parse(readFileSync(distPath(name), 'utf8'));
  world ??= { coast: readCoast(read('coastline.json')), towns: readTowns(read('towns.json')) };
  return world;
}

/** Returns the input of a drawing. */
function mapInputOf({ bicycles, title, takenAtMs, zone }: FleetPicture): MapInput {
  return {
    ...sceneOf(bicycles.map(({ value }) => value)),
    ...loadWorld(),
    title: `${countNoun(bicycles.length, { one: 'bicycle', many: 'bicycles' })}, ${title}`,
    // With minutes: `2026-11-21 14:03`.
    moment: showLocalTime(takenAtMs, zone).slice(0, -3),
  };
}

export function drawPicture(picture: FleetPicture, { width, height }: Size = PICTURE_SIZE): string {
  const [wide, high] = [Math.max(LEAST_PIXELS, width), Math.max(LEAST_PIXELS, height)];
  return drawSvg({ ...mapInputOf(picture), width: wide, height: high });
}

export interface TextOptions {
  size: Size | undefined;
  /** A file is not a terminal that could be asked. */
  isFile: boolean;
}

/**
 * Returns the lines of the drawing: in colour and Braille when the terminal supports them, and in
 * ASCII in a pipe.
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
    // A pipe gets ASCII, which every reader can show.
    hasUnicode: isTerminal && stdout.hasUnicode,
  });
  const lines = canvasLines(canvas, await loadPaint(colorLevel));
  return lines.map((line) => `${line}\n`).join('');
}
