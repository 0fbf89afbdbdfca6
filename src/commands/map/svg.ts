// `fleet map -o svg`: the fleet as a picture.

import { countNoun } from '../../terminal/formats/renderer.js';
import type { FleetPicture } from '../../views/map/picture.js';
import { drawSvg } from '../../views/map/svg.js';
import { sceneOf, showMoment } from './scene.js';
import type { Size } from './size.js';

const DEFAULT_SIZE: Size = { width: 1200, height: 800 };
/** Below this the legend has no room. */
const SMALLEST: Size = { width: 200, height: 200 };

export function drawPicture(picture: FleetPicture, size: Size = DEFAULT_SIZE): string {
  const { bicycles, title } = picture;
  return drawSvg({
    ...sceneOf(picture),
    title: `${countNoun(bicycles.length, { one: 'bicycle', many: 'bicycles' })}, ${title}`,
    moment: showMoment(picture),
    width: Math.max(SMALLEST.width, size.width),
    height: Math.max(SMALLEST.height, size.height),
  });
}
