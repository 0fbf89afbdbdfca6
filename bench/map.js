// Measures the map in the terminal: one frame of 100,000 bicycles, from the known data to the
// written text.

import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';
import { liveScreens } from './live.js';
import { median } from './measure.js';

const BICYCLES = 100_000;
const ROUNDS = 20;
const MOST_MS = 100;
const STATES = [
  'available',
  'rented',
  'in_maintenance',
  'lost',
  'reserved',
  'unrecoverable',
  'retired',
];
const CITIES = [
  [52.52, 13.405],
  [38.7223, -9.1393],
  [-33.8688, 151.2093],
  [-33.4489, -70.6693],
  [-16.8, 179.99],
];
/** The bundle is in the folder of the program, because it finds the coastline from there. */
const BUNDLE = fileURLToPath(new URL('../dist/bench-map.mjs', import.meta.url));

/** Returns numbers from 0 to 1 that are the same in every run. */
function numbers(seed) {
  let state = seed;
  return () => {
    state = (state * 16_807) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

/** Returns bicycles around a number of cities. Most of them are near the centre. */
function fleetOf(cities) {
  const next = numbers(7);
  return Array.from({ length: BICYCLES }, (_, index) => {
    const [latitude, longitude] = CITIES[index % cities];
    const east = longitude + (next() + next() - 1) * 0.08;
    return {
      uuid: `bicycle-${index}`,
      name: `Ada ${index}`,
      state: STATES[Math.floor(next() ** 2 * STATES.length)],
      latitude: latitude + (next() + next() - 1) * 0.05,
      longitude: east > 180 ? east - 360 : east,
    };
  });
}

/** @returns {AsyncGenerator<import('./measure.js').Row>} */
export async function* benchMap(url) {
  yield* liveScreens(url);
  const source = [
    "export { openLiveMap } from './src/commands/map/live-map.ts';",
    "export { canvasLines } from './src/terminal/canvas.ts';",
    "export { loadPaint } from './src/terminal/colour.ts';",
  ];
  const entry = {
    name: 'entry',
    resolveId: (id) =>
      id === 'bench-map' ? fileURLToPath(new URL('../bench-map.ts', import.meta.url)) : null,
    load: (id) => (id.endsWith('/bench-map.ts') ? source.join('\n') : null),
  };
  await build({
    input: 'bench-map',
    platform: 'node',
    plugins: [entry],
    output: { file: BUNDLE, format: 'esm', codeSplitting: false },
  });
  try {
    const { openLiveMap, canvasLines, loadPaint } = await import(BUNDLE);
    const paint = await loadPaint(1);
    const frame = (map, bicycles, look) => {
      const before = process.cpuUsage();
      const state = { view: undefined, chosen: undefined };
      const { canvas } = map.frame({
        state,
        bicycles,
        isWhole: true,
        title: '',
        moment: '',
        footer: [],
        look,
      });
      canvasLines(canvas, paint);
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1000;
    };
    for (const [cities, width, height] of [
      [5, 80, 24],
      [1, 140, 50],
      [1, 300, 100],
    ]) {
      const bicycles = fleetOf(cities);
      const map = openLiveMap();
      const look = { width, height, hasColor: true, hasUnicode: true };
      const times = Array.from({ length: ROUNDS + 1 }, () => frame(map, bicycles, look)).slice(1);
      const figure = median(times);
      yield {
        what: `processor time of a frame of 100,000 bicycles in ${cities === 1 ? 'one city' : 'five cities'}, ${width} by ${height}`,
        figure: `${Math.round(figure)} ms, slowest ${Math.round(Math.max(...times))}`,
        peer: `at most ${MOST_MS} ms`,
        ratio: figure / MOST_MS,
        most: 1,
        met: figure <= MOST_MS,
      };
    }
  } finally {
    await rm(BUNDLE, { force: true });
  }
}
