// Web Mercator: maps places to points in a square world, and views of that world to dots. Also
// computes the distance between two places.

/**
 * The mean radius of the earth (IUGG). Distances on this sphere are within 0.5 % of the ellipsoid.
 */
export const EARTH_RADIUS_METRES = 6_371_008.8;
/**
 * The northern and southern limit of the map. Web Mercator ends at 85.0511°, so places that are
 * nearer to a pole are not drawn.
 */
export const LIMIT_DEGREES = 85.05;
const CIRCUMFERENCE_METRES = 2 * Math.PI * EARTH_RADIUS_METRES;
/** The smallest width of a fitted view. */
const LEAST_METRES = 400;
/** The empty margin at each edge of a view that shows all points, as a share of the view's size. */
const MARGIN = 0.06;

/**
 * A point of the world. Both coordinates are from 0 to 1: from west to east, and from north to
 * south.
 */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/**
 * The visible part of the world: the point in its middle, and the scale. The scale is the same in
 * both directions, because the dots of a drawing are square.
 */
export interface View extends Point {
  /** The width of the whole world in dots. */
  readonly worldDots: number;
}

/** The extent of a drawing in dots. */
export interface Extent {
  readonly width: number;
  readonly height: number;
}

/** Maps a longitude to 0 (180° west) … 1 (180° east). */
export function worldX(longitude: number): number {
  return (longitude + 180) / 360;
}

/**
 * Maps a latitude to 0 (north) … 1 (south). The result is outside this range when the latitude is
 * beyond LIMIT_DEGREES.
 */
export function worldY(latitude: number): number {
  return 0.5 - Math.log(Math.tan(Math.PI / 4 + (latitude * Math.PI) / 360)) / (2 * Math.PI);
}

/** Returns the distance between two places on a great circle in metres (haversine formula). */
export function greatCircleMetres(
  [startEast, startNorth]: readonly [longitude: number, latitude: number],
  [endEast, endNorth]: readonly [longitude: number, latitude: number],
): number {
  const half = (degrees: number) => Math.sin((degrees * Math.PI) / 360) ** 2;
  const shrink = (degrees: number) => Math.cos((degrees * Math.PI) / 180);
  const chord =
    half(endNorth - startNorth) + shrink(startNorth) * shrink(endNorth) * half(endEast - startEast);
  return 2 * EARTH_RADIUS_METRES * Math.asin(Math.min(1, Math.sqrt(chord)));
}

/**
 * Returns the y coordinate of a latitude. Latitudes beyond the limit of Web Mercator get the
 * coordinate of the edge.
 */
export function mercatorY(latitude: number): number {
  return worldY(Math.max(-LIMIT_DEGREES, Math.min(LIMIT_DEGREES, latitude)));
}

/** Returns the longitude of a point, from -180 to 180. */
export function longitudeOf(x: number): number {
  return (x - Math.floor(x)) * 360 - 180;
}

export function latitudeOf(y: number): number {
  return (Math.atan(Math.exp((0.5 - y) * 2 * Math.PI)) * 360) / Math.PI - 90;
}

/**
 * Returns how far east of the middle of the view a point is, from -0.5 to 0.5. Measures the shorter
 * way around the world. The value is negative when this way leads west.
 */
export function eastOf(view: View, x: number): number {
  const east = x - view.x;
  return east - Math.round(east);
}

/** Returns the position of a point in a drawing, in dots from the left and the top. */
export function toDots(
  view: View,
  { width, height }: Extent,
  { x, y }: Point,
): [x: number, y: number] {
  return [eastOf(view, x) * view.worldDots + width / 2, (y - view.y) * view.worldDots + height / 2];
}

/** Returns how many metres a dot covers in the middle of the view. */
export function metresPerDot({ y, worldDots }: View): number {
  return (CIRCUMFERENCE_METRES * Math.cos((latitudeOf(y) * Math.PI) / 180)) / worldDots;
}

/**
 * Returns the view that shows all points, even when they lie on both sides of the antimeridian.
 * Without points, the view shows the whole world.
 */
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

/** A part of the world. `east` is above 1 when the part crosses the antimeridian. */
export interface Bounds {
  readonly west: number;
  readonly east: number;
  readonly north: number;
  readonly south: number;
}

/**
 * Returns the smallest part of the world that contains all points. Needs at least one point. To
 * find this part, leaves out the widest west-to-east gap between neighbouring points.
 */
export function boundsOf(points: readonly Point[]): Bounds {
  let [north, south] = [1, 0];
  for (const { y } of points) {
    if (y < north) north = y;
    if (y > south) south = y;
  }
  // This loop is several times faster than Float64Array.from.
  const sorted = new Float64Array(points.length);
  for (const [index, { x }] of points.entries()) sorted[index] = x;
  sorted.sort();
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

/**
 * The width of the world in dots at the highest zoom, where a dot is 5 cm wide. At the lowest zoom
 * the world fills the drawing.
 */
const CLOSEST_WORLD_DOTS = CIRCUMFERENCE_METRES / 0.05;

/** Limits the zoom of a view, and moves its middle into the world. */
export function boundView({ x, y, worldDots }: View, { width, height }: Extent): View {
  const least = Math.min(width, height);
  return {
    x: x - Math.floor(x),
    y: Math.min(1, Math.max(0, y)),
    worldDots: Math.min(CLOSEST_WORLD_DOTS, Math.max(least, worldDots)),
  };
}
