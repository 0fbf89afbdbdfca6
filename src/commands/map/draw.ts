// `fleet map` as text and as a picture: on a terminal, in a pipe, in a file.

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

/** A pipe and a file say nothing of the size they are read in. */
const PIPE_SIZE: Size = { width: 80, height: 24 };
/** What the shell's prompt takes below the drawing. */
const PROMPT_ROWS = 1;
const PICTURE_SIZE: Size = { width: 1200, height: 800 };
/** Below this the legend of a picture has no room. */
const LEAST_PIXELS = 200;

let world: Pick<MapInput, 'coast' | 'towns'> | undefined;

/** The coastline and the largest towns, which the build made; read once. */
export function loadWorld() {
  const read = (name: string) => JSON.parse(readFileSync(distPath(name), 'utf8'));
  world ??= { coast: readCoast(read('coastline.json')), towns: readTowns(read('towns.json')) };
  return world;
}

/** What is drawn of a picture. */
function mapInputOf({ bicycles, title, takenAtMs, zone }: FleetPicture): MapInput {
  return {
    ...sceneOf(bicycles.map(({ value }) => value)),
    ...loadWorld(),
    title: `${countNoun(bicycles.length, { one: 'bicycle', many: 'bicycles' })}, ${title}`,
    // To the minute: `2026-11-21 14:03`.
    moment: showLocalTime(takenAtMs, zone).slice(0, -3),
  };
}

export function drawPicture(picture: FleetPicture, { width, height }: Size = PICTURE_SIZE): string {
  const [wide, high] = [Math.max(LEAST_PIXELS, width), Math.max(LEAST_PIXELS, height)];
  return drawSvg({ ...mapInputOf(picture), width: wide, height: high });
}

export interface TextOptions {
  size: Size | undefined;
  /** In a file there is no terminal to ask. */
  isFile: boolean;
}

/** The drawing as lines: in colour and Braille on a terminal that has both, in ASCII in a pipe. */
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
    // A pipe gets what anything can show.
    hasUnicode: isTerminal && stdout.hasUnicode,
  });
  const lines = canvasLines(canvas, await loadPaint(colorLevel));
  return lines.map((line) => `${line}\n`).join('');
}
