// Draws the tours on a terminal: the map of `fleet map`, with a line for the tour of each van.

import type { Context } from '../../context.js';
import { mercatorY, worldX } from '../../globe/projection.js';
import { canvasLines } from '../../terminal/canvas.js';
import { type Color, loadPaint } from '../../terminal/colour.js';
import { count } from '../../terminal/count.js';
import { sceneOf } from '../../views/map/scene.js';
import { drawMap } from '../../views/map/terminal.js';
import { loadWorld } from '../map/draw.js';
import type { Spot } from './distances.js';
import type { Rounds } from './plan.js';

/** The colours of the vans. With more vans, the colours repeat. */
const VAN_COLORS: readonly Color[] = ['cyan', 'magenta', 'yellow', 'blueBright', 'green', 'red'];
/** The height of the map as a share of the screen. The table follows below the map. */
const SCREEN_SHARE = 0.6;
const LEAST_ROWS = 8;
const DEFAULT_COLUMNS = 80;

export function colorOfVan(van: number): Color {
  return VAN_COLORS[(van - 1) % VAN_COLORS.length] ?? 'cyan';
}

/** Returns the lines of the map, or no lines when the terminal has too few rows. */
export async function drawTours(context: Context, rounds: Rounds): Promise<string> {
  const { stdout } = context.io;
  const height = Math.floor(stdout.height() * SCREEN_SHARE);
  if (height < LEAST_ROWS || rounds.vans.length === 0) return '';
  const bicycles = rounds.vans.flatMap(({ stops }) => stops.map(({ bicycle }) => bicycle));
  const { canvas } = drawMap(
    {
      ...sceneOf(bicycles),
      ...loadWorld(),
      title: `${count(bicycles.length, 'bicycle')}, ${count(rounds.vans.length, 'van')}`,
      moment: '',
      lines: rounds.vans.map(({ van, stops }) => ({
        points: [rounds.depot, ...stops.map(({ spot }) => spot), rounds.end].map(worldPoint),
        ink: colorOfVan(van),
      })),
    },
    {
      width: stdout.width() ?? DEFAULT_COLUMNS,
      height,
      hasColor: stdout.colorLevel > 0,
      hasUnicode: stdout.hasUnicode,
    },
  );
  const lines = canvasLines(canvas, await loadPaint(stdout.colorLevel));
  return `${lines.join('\n')}\n\n`;
}

function worldPoint([longitude, latitude]: Spot) {
  return { x: worldX(longitude), y: mercatorY(latitude) };
}
