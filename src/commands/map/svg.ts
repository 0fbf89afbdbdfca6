// `fleet map -o svg`: the fleet as a picture.

import { drawSvg } from '../../views/map/svg.js';
import type { FleetPicture } from './read.js';
import { mapInputOf } from './scene.js';
import type { Size } from './size.js';

const DEFAULT_SIZE: Size = { width: 1200, height: 800 };
/** Below this the legend has no room. */
const SMALLEST: Size = { width: 200, height: 200 };

export function drawPicture(picture: FleetPicture, { width, height }: Size = DEFAULT_SIZE): string {
  return drawSvg({
    ...mapInputOf(picture),
    width: Math.max(SMALLEST.width, width),
    height: Math.max(SMALLEST.height, height),
  });
}
