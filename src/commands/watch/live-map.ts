// The map of `--live`: what is known of the fleet as a frame, and what the keys can be about.

import type { Bicycle } from '../../api/bicycle.js';
import type { Canvas } from '../../terminal/canvas.js';
import { textOf } from '../../terminal/values.js';
import { openCounter } from '../../views/counts.js';
import type { Piece } from '../../views/map/legend.js';
import type { Places } from '../../views/map/places.js';
import { eastOf, type View } from '../../views/map/projection.js';
import { type DrawnMap, drawMap, type Look } from '../../views/map/terminal.js';
import { sceneFrom } from '../map/scene.js';
import type { MapSeen, MapState, MapTarget } from './map-view.js';

export interface LiveMapInput {
  state: MapState;
  bicycles: Iterable<Bicycle>;
  /** Every bicycle is known: the view stays as it is unless one leaves it. */
  isWhole: boolean;
  title: string;
  moment: string;
  footer: readonly Piece[];
  look: Look;
}

export interface LiveMap {
  frame(input: LiveMapInput): { canvas: Canvas; seen: MapSeen };
}

/** Keeps the view that shows everything from one frame to the next. */
export function openLiveMap(): LiveMap {
  let kept: { view: View; width: number; height: number } | undefined;
  return {
    frame({ state, bicycles, isWhole, title, moment, footer, look }) {
      const list = [...bicycles];
      const counter = openCounter(['state'], 0);
      for (const bicycle of list) counter.add(bicycle);
      const scene = sceneFrom(list, counter.rows());
      const chosen = state.chosen === undefined ? -1 : list.findIndex((bicycle) => uuidOf(bicycle) === state.chosen);
      const place = scene.places.bicycleOf.indexOf(chosen);
      const input = { ...scene, title, moment, footer, selected: place === -1 ? undefined : place };
      const isSameSize = kept?.width === look.width && kept.height === look.height;
      const fitted = isWhole && isSameSize ? kept?.view : undefined;
      let drawn = drawMap({ ...input, view: state.view ?? fitted }, look);
      if (state.view === undefined && fitted !== undefined && drawn.layout.outside.length > 0)
        drawn = drawMap(input, look);
      if (state.view === undefined && isWhole) kept = { view: drawn.view, width: look.width, height: look.height };
      return { canvas: drawn.canvas, seen: seenOf(drawn, scene.places, list) };
    },
  };
}

function uuidOf({ uuid }: Bicycle): string | undefined {
  return textOf(uuid)?.toLowerCase();
}

function seenOf({ layout, view, extent }: DrawnMap, places: Places, bicycles: readonly Bicycle[]): MapSeen {
  const targetOf = (members: readonly number[]): MapTarget => ({
    uuids: members.map((place) => uuidOf(bicycles[places.bicycleOf[place] ?? 0] ?? {}) ?? ''),
    xs: Float64Array.from(members, (place) => places.xs[place] ?? 0),
    ys: Float64Array.from(members, (place) => places.ys[place] ?? 0),
  });
  return {
    view,
    extent,
    targets() {
      if (layout.clusters.length > 0) return layout.clusters.map(({ members }) => targetOf(members));
      const far = ({ place }: { place: number }) =>
        Math.hypot(eastOf(view, places.xs[place] ?? 0), (places.ys[place] ?? 0) - view.y);
      // The nearest to the middle first.
      return [...layout.dots].sort((a, b) => far(a) - far(b)).map(({ place }) => targetOf([place]));
    },
    find(uuid) {
      const bicycle = bicycles.findIndex((each) => uuidOf(each) === uuid);
      const place = places.bicycleOf.indexOf(bicycle);
      if (bicycle === -1 || place === -1) return undefined;
      const cluster = layout.clusters.find(({ members }) => members.includes(place));
      return targetOf(cluster === undefined ? [place] : cluster.members);
    },
  };
}
