// Handles the keys of the `--live` map, which move the view, zoom, select and open. Does no I/O.

import {
  boundView,
  type Extent,
  eastOf,
  fitView,
  type Point,
  type View,
} from '../../globe/projection.js';
import type { Key } from '../../terminal/keys.js';

export interface MapState {
  /** The visible area of the map; undefined when the whole map is visible. */
  readonly view: View | undefined;
  /** The selected bicycle, or a bicycle of the selected cluster. */
  readonly chosen: string | undefined;
}

/** A cluster or bicycle that can be selected. */
export interface MapTarget {
  /** The UUIDs of the bicycles in the cluster; one UUID for a single bicycle. */
  readonly uuids: readonly string[];
  /** The positions of these bicycles. */
  readonly points: readonly Point[];
}

/** The frame on the screen. Key presses act on the contents of this frame. */
export interface MapSeen {
  readonly view: View;
  readonly extent: Extent;
  /**
   * Returns the clusters, largest first. When there are no clusters, returns the single bicycles.
   * This is a function because the result is computed only when a key needs it.
   */
  targets(): readonly MapTarget[];
  /** Returns the dot or cluster of a bicycle. */
  find(uuid: string): MapTarget | undefined;
}

export const START_OF_MAP: MapState = { view: undefined, chosen: undefined };

/**
 * How far a key changes the view. An arrow key moves the view by the first value, a share of the
 * view's size. The key `+` zooms by the second value.
 */
const STEP = 0.25;
const ZOOM = 2;
/**
 * Pressing Enter on a cluster zooms in only when this moves its bicycles apart by at least this
 * factor.
 */
const LEAST_SPREAD = 1.3;

const DIRECTIONS: ReadonlyMap<Key, readonly [right: number, down: number]> = new Map([
  ['left', [-1, 0]],
  ['right', [1, 0]],
  ['up', [0, -1]],
  ['down', [0, 1]],
]);

/** Returns the state of the map after a key, and the bicycle that the key opens, if any. */
export function mapKey(
  state: MapState,
  key: Key,
  seen: MapSeen,
): { state: MapState; open?: string } {
  const { view, extent } = seen;
  const direction = DIRECTIONS.get(key);
  if (direction !== undefined) {
    const x = view.x + (direction[0] * STEP * extent.width) / view.worldDots;
    const y = view.y + (direction[1] * STEP * extent.height) / view.worldDots;
    return { state: { ...state, view: boundView({ ...view, x, y }, extent) } };
  }
  if (key === '+' || key === '=') return { state: { ...state, view: zoom(state, seen, ZOOM) } };
  if (key === '-' || key === '_') return { state: { ...state, view: zoom(state, seen, 1 / ZOOM) } };
  if (key === '0') return { state: START_OF_MAP };
  if (key === 'escape') return { state: { ...state, chosen: undefined } };
  if (key === 'tab' || key === 'back-tab')
    return { state: { ...state, chosen: nextOf(state, seen, key === 'tab' ? 1 : -1) } };
  return key === 'enter' ? enter(state, seen) : { state };
}

/** Zooms in or out. When it zooms in, the selection moves to the middle of the map. */
function zoom({ chosen }: MapState, { view, extent, find }: MapSeen, factor: number): View {
  const target = chosen === undefined ? undefined : find(chosen);
  const worldDots = view.worldDots * factor;
  if (target === undefined || factor < 1) return boundView({ ...view, worldDots }, extent);
  const { x, y } = fitView(target.points, extent);
  return boundView({ x, y, worldDots }, extent);
}

function nextOf({ chosen }: MapState, seen: MapSeen, step: number): string | undefined {
  const targets = seen.targets();
  const at = chosen === undefined ? -1 : targets.findIndex(({ uuids }) => uuids.includes(chosen));
  const next =
    at === -1 ? (step > 0 ? 0 : targets.length - 1) : (at + step + targets.length) % targets.length;
  return targets[next]?.uuids[0];
}

/**
 * Opens the selection or, when nothing is selected, the cluster or bicycle nearest to the middle.
 * Opening a cluster zooms into it, and opening a bicycle shows its card.
 */
function enter(state: MapState, seen: MapSeen): { state: MapState; open?: string } {
  const target =
    (state.chosen === undefined ? undefined : seen.find(state.chosen)) ?? nearestToMiddle(seen);
  const [first] = target?.uuids ?? [];
  if (target === undefined || first === undefined) return { state };
  const chosen =
    state.chosen !== undefined && target.uuids.includes(state.chosen) ? state.chosen : first;
  if (target.uuids.length > 1) {
    const near = fitView(target.points, seen.extent);
    if (near.worldDots > seen.view.worldDots * LEAST_SPREAD)
      return { state: { view: near, chosen: undefined } };
  }
  return { state: { ...state, chosen }, open: chosen };
}

function nearestToMiddle({ view, targets }: MapSeen): MapTarget | undefined {
  const distance = ({ points: [{ x, y } = view] }: MapTarget) =>
    Math.hypot(eastOf(view, x), y - view.y);
  let nearest: MapTarget | undefined;
  for (const target of targets())
    if (nearest === undefined || distance(target) < distance(nearest)) nearest = target;
  return nearest;
}
