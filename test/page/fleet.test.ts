// Tests the data of the page without a browser: clusters, filters, order and exact numbers.

import { describe, expect, test } from 'vitest';
import type { Bicycle } from '../../src/api/bicycle.js';
import { gather } from '../../src/page/clusters.js';
import { fieldsAt, unpackDetails } from '../../src/page/details.js';
import {
  EVERYTHING,
  filterFleet,
  inView,
  type PageSort,
  sortBicycles,
} from '../../src/page/filter.js';
import { countBy, isPlaced, openFleet, type PageFleet, update } from '../../src/page/fleet.js';
import { bubblePixels, pointPixels } from '../../src/page/sizes.js';
import { packFleet, rowOf } from '../../src/views/map/pack.js';
import { isLong } from '../support/often.js';

const NOW = Date.parse('2026-11-21T12:00:00Z');

interface Place {
  longitude?: unknown;
  latitude?: unknown;
  state?: unknown;
  state_of_charge?: unknown;
  name?: unknown;
}

function fleetOf(places: readonly Place[]): PageFleet {
  const bicycles = places.map((place, index) => ({ uuid: `u${index}`, ...place }) as Bicycle);
  return openFleet(bicycles.map(rowOf));
}

const placesOf = (bicycles: readonly { place: number }[]) => bicycles.map(({ place }) => place);
const spot = (longitude: number, latitude: number, count: number): Place[] =>
  Array.from({ length: count }, (_, index) => ({
    longitude: longitude + (index % 5) / 1e3,
    latitude,
  }));

describe('clusters on the page', () => {
  test.each([
    ['two cities', [...spot(13.4, 52.5, 90), ...spot(2.3, 48.8, 30)], [90, 30], 0],
    [
      'a city on both sides of the date line',
      [...spot(179.99, -17, 40), ...spot(-179.99, -17, 30)],
      [70],
      0,
    ],
    [
      'two that overlap are a cluster, and one is a point',
      [...spot(13.4, 52.5, 2), ...spot(2.3, 48.8, 1)],
      [2],
      1,
    ],
    ['all at one spot', Array.from({ length: 50 }, () => ({ longitude: 1, latitude: 1 })), [50], 0],
    ['the poles', [...spot(10, 90, 20), ...spot(10, -90, 20)], [20, 20], 0],
  ])('%s', (_name, places, counts, points) => {
    const fleet = fleetOf(places);
    const gathered = gather(fleet.all, 512 * 2 ** 2);
    expect(gathered.clusters.map(({ bicycles }) => bicycles.length).sort((a, b) => b - a)).toEqual(
      counts,
    );
    expect(gathered.points).toHaveLength(points);
  });

  test('clusters on the page contain every bicycle with a position exactly once', () => {
    const places = Array.from({ length: 4_000 }, (_, index) => ({
      longitude: ((index * 37.7) % 360) - 180,
      latitude: index % 3 === 0 ? 52 + (index % 100) / 1e4 : ((index * 17.3) % 180) - 90,
    }));
    const fleet = fleetOf([
      ...places,
      {},
      { longitude: 'x', latitude: 1 },
      { longitude: 181, latitude: 1 },
    ]);
    for (let zoom = 0; zoom <= 20; zoom += isLong ? 0.5 : 2.5) {
      const { clusters, points } = gather(fleet.all, 512 * 2 ** zoom);
      const drawn = [...points, ...clusters.flatMap(({ bicycles }) => bicycles)];
      expect(placesOf(drawn).sort((a, b) => a - b)).toEqual(places.map((_, place) => place));
    }
  });
});

test('symbols on the page never overlap, in any order of the bicycles', () => {
  const STATES = ['lost', 'available', 'rented', 'reserved'];
  // A city of 20,000 bicycles that is denser in its middle, and pairs at one place.
  const places = Array.from({ length: 20_000 }, (_, index) => {
    const angle = index * 2.399963;
    const away = 0.15 * (index / 20_000) ** 1.5;
    return {
      longitude: 13.4 + away * Math.cos(angle),
      latitude: 52.5 + away * 0.6 * Math.sin(angle),
      state: STATES[index % 4],
    };
  });
  const fleet = fleetOf([...places, ...places.slice(0, 50)]);
  for (const zoom of [8, 10, 12.5, 15]) {
    const worldPixels = 512 * 2 ** zoom;
    const { clusters, points } = gather(fleet.all, worldPixels);
    const radius = pointPixels(zoom) * 0.42;
    const marks = [
      ...points.map(({ x, y }) => ({ x, y, radius })),
      ...clusters.map(({ x, y, bicycles }) => ({
        x,
        y,
        radius: bubblePixels(bicycles.length) / 2,
      })),
    ].sort((a, b) => a.x - b.x);
    const overlapping = marks.filter((mark, index) => {
      for (const other of marks.slice(index + 1)) {
        if ((other.x - mark.x) * worldPixels > 64) return false;
        const pixels = Math.hypot(other.x - mark.x, other.y - mark.y) * worldPixels;
        if (pixels < mark.radius + other.radius - 0.01) return true;
      }
      return false;
    });
    expect(overlapping).toEqual([]);
    const sizesOf = (all: typeof fleet.all) =>
      gather(all, worldPixels)
        .clusters.map(({ bicycles }) => bicycles.length)
        .sort((a, b) => a - b);
    expect(sizesOf(fleet.all.toReversed())).toEqual(sizesOf(fleet.all));
  }
});

test('one view contains the bicycles on both sides of the date line', () => {
  const fleet = fleetOf([
    { longitude: 179, latitude: 0 },
    { longitude: -179, latitude: 0 },
    { longitude: 0, latitude: 0 },
  ]);
  const view = { west: 0.99, east: 1.01, north: 0.4, south: 0.6 };
  expect(placesOf(inView(fleet.all, view))).toEqual([0, 1]);
  expect(placesOf(inView(fleet.all, { ...view, west: -0.01, east: 0.01 }))).toEqual([0, 1]);
});

test('filters bicycles and sorts empty values last in both directions', () => {
  const charges = [50, null, '20.5', 100, 'x', 0];
  const fleet = fleetOf(
    charges.map((charge, index) => ({ state_of_charge: charge, name: `B ${index}` })),
  );
  const sorted = (sort: PageSort) => placesOf(sortBicycles(fleet.all, sort));
  expect(sorted({ field: 'charge', isDescending: false })).toEqual([5, 2, 0, 3, 1, 4]);
  expect(sorted({ field: 'charge', isDescending: true })).toEqual([3, 0, 2, 5, 1, 4]);
  expect(sorted({ field: 'name', isDescending: true })).toEqual([5, 4, 3, 2, 1, 0]);
  const named = fleetOf(['Ada 10', 'ada 9', 'Zoë', 'Ábel', 'Zoe 1'].map((name) => ({ name })));
  expect(placesOf(sortBicycles(named.all, { field: 'name', isDescending: false }))).toEqual([
    3, 1, 0, 2, 4,
  ]);
  expect(placesOf(filterFleet(fleet.all, { ...EVERYTHING, text: ' b 4' }, NOW))).toEqual([4]);
});

test('later rows add and update bicycles', () => {
  const fleet = fleetOf([{ state: 'available' }]);
  const later = Array.from({ length: 300 }, (_, index) =>
    rowOf({
      uuid: `n${index}`,
      state: index % 2 === 0 ? 'available' : 'flying',
      latitude: 1,
      longitude: 2,
    }),
  );
  update(fleet, later, [], 1);
  update(fleet, [rowOf({ uuid: 'n0', state: 'flying' })], [], 2);
  expect(fleet.all).toHaveLength(301);
  expect([...countBy(fleet.all, 'state', NOW)]).toEqual([
    ['available', 150],
    ['flying', 151],
  ]);
  expect(fleet.byUuid.get('n0')).toSatisfy((bicycle) => !isPlaced(bicycle));
  update(fleet, [], ['n0', 'n1', 'nobody'], 3);
  expect([fleet.all.length, fleet.byUuid.size]).toEqual([299, 299]);
});

test('groups bicycles in the same way as `bicycles stats`', () => {
  const fleet = fleetOf([
    { state_of_charge: 100 },
    { state_of_charge: '9.9' },
    { state_of_charge: 'x' },
  ]);
  expect([...countBy(fleet.all, 'charge', NOW).keys()]).toEqual(['90-100', '0-9', '(none)']);
  const seen = openFleet([rowOf({ uuid: 'u', latest_gps_timestamp: new Date(NOW).toISOString() })]);
  const HOUR_MS = 3_600_000;
  const hours = [0, 1, 2, 25, 169].map(
    (hour) => [...countBy(seen.all, 'silence', NOW + hour * HOUR_MS).keys()][0],
  );
  expect(hours).toEqual([
    'within an hour',
    'within an hour',
    'within a day',
    'within a week',
    'longer ago',
  ]);
  expect([...countBy(fleet.all, 'silence', NOW).keys()]).toEqual(['never']);
});

test('keeps a UUID of any length', () => {
  expect(rowOf({ uuid: 'X'.repeat(2_000) }).uuid).toBe('x'.repeat(2_000));
});

test('the state counts add up to the number of bicycles', () => {
  const count = 70_000;
  const places = Array.from({ length: count }, (_, index) => ({
    state: `s${index}`,
    longitude: (index % 350) - 175,
    latitude: (index % 160) - 80,
  }));
  const fleet = fleetOf(places);
  update(fleet, [rowOf({ uuid: 'new', state: 's69999' })], [], 1);
  const counts = [...countBy(fleet.all, 'state', NOW).values()];
  expect([counts.length, counts.at(-1), counts.filter((each) => each === 1).length]).toEqual([
    count,
    2,
    count - 1,
  ]);
  expect(gather(fleet.all, 512 * 2 ** 4).clusters.length).toBeGreaterThan(100);
});

test('sends many bicycles in chunks without losing rare fields', async () => {
  const bicycles: { uuid: string; name: string; late?: string }[] = Array.from(
    { length: 2_500 },
    (_, index) => ({ uuid: `u${index}`, name: `n${index}` }),
  );
  bicycles[2_300] = { uuid: 'u2300', name: 'n2300', late: 'yes' };
  const { rows, details } = packFleet(
    bicycles.map((value) => ({ json: JSON.stringify(value), value })),
  );
  expect(rows.length).toBeGreaterThan(1);
  expect(JSON.parse(`[${rows.join(',')}]`)).toEqual(bicycles.map(rowOf));
  const columns = await unpackDetails(details);
  const fields = [0, 999, 1_000, 2_300, 2_499].map((place) =>
    Object.fromEntries(fieldsAt(columns, place)),
  );
  expect(fields).toEqual([
    { name: 'n0', late: null },
    { name: 'n999', late: null },
    { name: 'n1000', late: null },
    { name: 'n2300', late: 'yes' },
    { name: 'n2499', late: null },
  ]);
});

test('the page returns every field of every bicycle unchanged', async () => {
  const texts = [
    '{"uuid":"a","latitude":52.50000000000000001,"model":"http://x/m/1/","state_of_charge":1.50,"tags":["x"],"note":null}',
    '{"uuid":"b","latitude":-0,"model":"http://x/m/2/","state_of_charge":1e400,"name":"\\ud83d\\ude00"}',
    '{"uuid":"c","model":"http://x/m/1/","name":"\\ud83d\\ude01","extra":{"deep":[1.0]}}',
  ];
  const details = await unpackDetails(
    packFleet(texts.map((json) => ({ json, value: JSON.parse(json) }))).details,
  );
  const fields = texts.map((_, place) => Object.fromEntries(fieldsAt(details, place)));
  const none = { extra: null, name: null, note: null, tags: null, latitude: null };
  expect(fields).toEqual([
    {
      ...none,
      latitude: '52.50000000000000001',
      model: 'http://x/m/1/',
      state_of_charge: '1.50',
      tags: '["x"]',
    },
    { ...none, latitude: '-0', model: 'http://x/m/2/', state_of_charge: '1e400', name: '😀' },
    { ...none, state_of_charge: null, model: 'http://x/m/1/', name: '😁', extra: '{"deep":[1.0]}' },
  ]);
});
