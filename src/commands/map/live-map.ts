// The map of `--live`: draws the fleet as a frame on the terminal, and finds the bicycles that a
// key selects.

import { type Bicycle, bicycleUuid } from '../../api/bicycle.js';
import { eastOf, type View } from '../../globe/projection.js';
import type { DrawnMap } from '../../views/map/frame.js';
import type { MapSeen, MapState, MapTarget } from '../../views/map/keys.js';
import type { Look, Piece } from '../../views/map/legend.js';
import { type BicyclePoint, type Scene, sceneOf } from '../../views/map/scene.js';
import { drawMap } from '../../views/map/terminal.js';
import { loadWorld } from './draw.js';

export interface LiveMapInput {
  state: MapState;
  bicycles: Iterable<Bicycle>;
  /**
   * Whether the whole fleet has been read. After that, the automatic view changes only when a
   * bicycle would be outside the view.
   */
  isWhole: boolean;
  title: string;
  moment: string;
  footer: readonly Piece[];
  look: Look;
}

/**
 * Returns an object that draws the frames of a live map. If the user has not chosen a view, each
 * frame keeps the view of the previous frame when possible.
 */
export function openLiveMap() {
  let kept: { view: View; width: number; height: number } | undefined;
  return {
    frame({ state, bicycles, isWhole, title, moment, footer, look }: LiveMapInput) {
      const scene = sceneOf(bicycles);
      const selected = state.chosen === undefined ? undefined : placeOf(scene, state.chosen);
      const input = { ...scene, ...loadWorld(), title, moment, footer, selected };
      const isSameSize = kept?.width === look.width && kept.height === look.height;
      const fitted = isWhole && isSameSize ? kept?.view : undefined;
      let drawn = drawMap({ ...input, view: state.view ?? fitted }, look);
      if (state.view === undefined && fitted !== undefined && drawn.layout.outside.length > 0)
        drawn = drawMap(input, look);
      if (state.view === undefined && isWhole)
        kept = { view: drawn.view, width: look.width, height: look.height };
      return { canvas: drawn.canvas, seen: seenOf(drawn, scene) };
    },
  };
}

function placeOf({ places }: Scene, uuid: string): BicyclePoint | undefined {
  return places.find(({ bicycle }) => bicycleUuid(bicycle) === uuid);
}

function targetOf(places: readonly BicyclePoint[]): MapTarget {
  return { uuids: places.map(({ bicycle }) => bicycleUuid(bicycle) ?? ''), points: places };
}

function seenOf({ layout, view, extent }: DrawnMap, scene: Scene): MapSeen {
  return {
    view,
    extent,
    targets() {
      if (layout.clusters.length > 0)
        return layout.clusters.map(({ members }) => targetOf(members));
      const far = ({ x, y }: BicyclePoint) => Math.hypot(eastOf(view, x), y - view.y);
      // The bicycles nearest to the middle come first.
      const places = layout.dots.map(({ place }) => place).sort((a, b) => far(a) - far(b));
      return places.map((place) => targetOf([place]));
    },
    find(uuid) {
      const place = placeOf(scene, uuid);
      if (place === undefined) return undefined;
      const cluster = layout.clusters.find(({ members }) => members.includes(place));
      return targetOf(cluster?.members ?? [place]);
    },
  };
}
