// Web Mercator: places on the globe as points of a square world, and a window on it in dots.

/** The mean radius of the earth (IUGG): the sphere differs from the ellipsoid by half a percent at most. */
export const EARTH_RADIUS_METRES = 6_371_008.8;
/** Beyond this latitude the square world ends, at 85.0511°; what is nearer to a pole has no place on it. */
export const LIMIT_DEGREES = 85.05;
const CIRCUMFERENCE_METRES = 2 * Math.PI * EARTH_RADIUS_METRES;
/** A drawing shows so many metres at least from edge to edge. */
const LEAST_METRES = 400;
/** What a fitted view leaves free at its edges, of the whole. */
const MARGIN = 0.06;

/** A point of the world: 0 to 1 from west to east, from north to south. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** A window on the world around its middle; dots are square. */
export interface View extends Point {
  /** How many dots the world is wide. */
  readonly worldDots: number;
}

/** The extent of a drawing in dots. */
export interface Extent {
  readonly width: number;
  readonly height: number;
}

/** From 0 at 180° west to 1 at 180° east. */
export function worldX(longitude: number): number {
  return (longitude + 180) / 360;
}

/** From 0 in the north to 1 in the south; outside of that beyond LIMIT_DEGREES. */
export function worldY(latitude: number): number {
  return 0.5 - Math.log(Math.tan(Math.PI / 4 + (latitude * Math.PI) / 360)) / (2 * Math.PI);
}

/** Degrees from -180 to 180. */
export function longitudeOf(x: number): number {
  return (x - Math.floor(x)) * 360 - 180;
}

export function latitudeOf(y: number): number {
  return (Math.atan(Math.exp((0.5 - y) * 2 * Math.PI)) * 360) / Math.PI - 90;
}

/** How far east of the middle a point is, the short way round the world: from -0.5 to 0.5. */
export function eastOf(view: View, x: number): number {
  const east = x - view.x;
  return east - Math.round(east);
}

/** Where a point is in a drawing, in dots from the left and the top. */
export function toDots(
  view: View,
  { width, height }: Extent,
  { x, y }: Point,
): [x: number, y: number] {
  return [eastOf(view, x) * view.worldDots + width / 2, (y - view.y) * view.worldDots + height / 2];
}

/** Metres that a dot in the middle of the view is wide. */
export function metresPerDot({ y, worldDots }: View): number {
  return (CIRCUMFERENCE_METRES * Math.cos((latitudeOf(y) * Math.PI) / 180)) / worldDots;
}

/** The view that shows all points, also across the antimeridian; the whole world when there are none. */
export function fitView(points: readonly Point[], extent: Extent): View {
  if (points.length === 0)
    return { x: 0.5, y: 0.5, worldDots: Math.min(extent.width, extent.height) };
  const { west, east, north, south } = boundsOf(points);
  const y = (north + south) / 2;
  const leastWidth =
    LEAST_METRES / (CIRCUMFERENCE_METRES * Math.cos((latitudeOf(y) * Math.PI) / 180));
  const room = 1 - 2 * MARGIN;
  const worldDots = Math.min(
    (extent.width * room) / Math.max(east - west, leastWidth),
    (extent.height * room) / Math.max(south - north, (leastWidth * extent.height) / extent.width),
  );
  return boundView({ x: west + (east - west) / 2, y, worldDots }, extent);
}

/** A part of the world; `east` is above 1 where it lies across the antimeridian. */
export interface Bounds {
  readonly west: number;
  readonly east: number;
  readonly north: number;
  readonly south: number;
}

/** The smallest part that holds all points, of which there are some: from west to east it is what is left without the widest gap. */
export function boundsOf(points: readonly Point[]): Bounds {
  let [north, south] = [1, 0];
  for (const { y } of points) {
    if (y < north) north = y;
    if (y > south) south = y;
  }
  const sorted = Float64Array.from(points, ({ x }) => x).sort();
  const [first = 0] = sorted;
  let before = sorted.at(-1) ?? first;
  let [west, widest] = [first, first + 1 - before];
  for (const x of sorted) {
    if (x - before > widest) {
      west = x;
      widest = x - before;
    }
    before = x;
  }
  return { west, east: west + (1 - widest), north, south };
}

/** A view can be so near that a dot is a few centimetres, and so far that the world fills the drawing. */
const CLOSEST_WORLD_DOTS = CIRCUMFERENCE_METRES / 0.05;

/** The view within what can be drawn: not nearer, not farther, its middle in the world. */
export function boundView({ x, y, worldDots }: View, { width, height }: Extent): View {
  const least = Math.min(width, height);
  return {
    x: x - Math.floor(x),
    y: Math.min(1, Math.max(0, y)),
    worldDots: Math.min(CLOSEST_WORLD_DOTS, Math.max(least, worldDots)),
  };
}
