// The graticule (lines of latitude and longitude with labels) and the scale bar of a map.

import {
  type Extent,
  latitudeOf,
  longitudeOf,
  metresPerDot,
  toDots,
  type View,
  worldX,
  worldY,
} from './projection.js';

const STEPS_DEGREES = [
  60, 30, 20, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002,
  0.0001, 0.00005, 0.00002, 0.00001,
];

export interface Tick {
  /** The position of the line, in dots from the left or the top. */
  readonly at: number;
  readonly label: string;
}

export type Graticule = ReturnType<typeof graticule>;

/** The minimum distance between two neighbouring meridians or parallels of the grid, in dots. */
const MERIDIAN_DOTS = 32;
const PARALLEL_DOTS = 24;

/** Returns the meridians and parallels to draw in a view, at round numbers of degrees. */
export function graticule(view: View, extent: Extent, hasDegreeSign: boolean) {
  const { width, height } = extent;
  const dotsPerDegree = view.worldDots / 360;
  const meridianStep = smallestStep(MERIDIAN_DOTS / dotsPerDegree);
  const cos = Math.cos((latitudeOf(view.y) * Math.PI) / 180);
  const parallelStep = smallestStep((PARALLEL_DOTS / dotsPerDegree) * cos);
  const meridians: Tick[] = [];
  // A drawing that is wider than the world is empty on both sides. No meridians are drawn there.
  const across = Math.min(width, view.worldDots);
  const west = longitudeOf(view.x) - (across / 2 / view.worldDots) * 360;
  const last = Math.floor((west + (across / view.worldDots) * 360) / meridianStep);
  for (let index = Math.ceil(west / meridianStep); index <= last; index++) {
    const degrees = longitudeOf(worldX(index * meridianStep));
    const [at] = toDots(view, extent, { x: worldX(degrees), y: 0 });
    if (at < 0 || at >= width || meridians.some((tick) => Math.abs(tick.at - at) < 1)) continue;
    meridians.push({ at, label: showDegrees(degrees, 'EW', meridianStep, hasDegreeSign) });
  }
  const parallels: Tick[] = [];
  const south = latitudeOf(Math.min(1, view.y + height / 2 / view.worldDots));
  const north = latitudeOf(Math.max(0, view.y - height / 2 / view.worldDots));
  for (
    let index = Math.ceil(south / parallelStep);
    index <= Math.floor(north / parallelStep);
    index++
  ) {
    const degrees = index * parallelStep;
    const [, at] = toDots(view, extent, { x: 0, y: worldY(degrees) });
    if (at >= 0 && at < height)
      parallels.push({ at, label: showDegrees(degrees, 'NS', parallelStep, hasDegreeSign) });
  }
  return { meridians, parallels };
}

/** Returns the smallest round step that is at least this many degrees. */
function smallestStep(least: number): number {
  return STEPS_DEGREES.filter((step) => step >= least).at(-1) ?? 60;
}

/** Formats degrees as `13.4°E`, with as many decimals as the step needs. */
function showDegrees(
  degrees: number,
  [plus, minus]: string,
  step: number,
  hasDegreeSign: boolean,
): string {
  const decimals = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  const text = Math.abs(degrees).toFixed(decimals);
  const isZero = Number(text) === 0 || (plus === 'E' && Number(text) === 180);
  return `${text}${hasDegreeSign ? '°' : ''}${isZero ? '' : degrees > 0 ? plus : minus}`;
}

/**
 * Returns a scale bar of at most this many dots, and its label, such as `500 m` or `20 km`. The
 * scale is exact in the middle of the view.
 */
export function scaleBar(view: View, mostDots: number) {
  const metres = metresPerDot(view) * mostDots;
  const power = 10 ** Math.floor(Math.log10(metres));
  const round =
    [5, 2, 1].map((factor) => factor * power).find((length) => length <= metres) ?? power;
  const label =
    round >= 1000
      ? `${round / 1000} km`
      : round >= 1
        ? `${round} m`
        : `${Math.round(round * 100)} cm`;
  return { dots: round / metresPerDot(view), label };
}
