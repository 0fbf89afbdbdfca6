// Tests circles: their values, the boxes around them, and `bicycles list --near` with the sandbox.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Circle } from '../../src/commands/bicycles/area.js';
import {
  boxAround,
  parseBbox,
  parseNear,
  parseRadius,
  showBox,
} from '../../src/commands/bicycles/area.js';
import { distanceMetres, type LatLon, showDistance } from '../../src/views/distance.js';
import { environmentOf } from '../support/environment.js';
import { often } from '../support/often.js';
import { runFleet } from '../support/run.js';
import { useSandbox } from '../support/sandbox.js';
import { openServer, sendJson } from '../support/server.js';

function metresBetween(from: LatLon, to: LatLon): number {
  return distanceMetres(from, to) ?? Number.NaN;
}

const EARTH_RADIUS_METRES = 6_371_008.8;

/**
 * Returns the point at this distance and direction, with a formula that is independent of the
 * tested one.
 */
function walk({ latitude, longitude }: LatLon, metres: number, bearingDegrees: number): LatLon {
  const radians = Math.PI / 180;
  const angle = metres / EARTH_RADIUS_METRES;
  const [north, east, bearing] = [
    latitude * radians,
    longitude * radians,
    bearingDegrees * radians,
  ];
  const sine =
    Math.sin(north) * Math.cos(angle) + Math.cos(north) * Math.sin(angle) * Math.cos(bearing);
  const turn = Math.atan2(
    Math.sin(bearing) * Math.sin(angle) * Math.cos(north),
    Math.cos(angle) - Math.sin(north) * sine,
  );
  const there = (east + turn) / radians;
  return {
    latitude: Math.asin(Math.min(1, Math.max(-1, sine))) / radians,
    longitude: there > 180 ? there - 360 : there < -180 ? there + 360 : there,
  };
}

/** Returns whether a box of the query contains a place, as the service parses it. */
function holds(circle: Circle, { latitude, longitude }: LatLon): boolean {
  const [east = 0, north = 0, west = 0, south = 0] = showBox(boxAround(circle))
    .split(',')
    .map(Number);
  return latitude <= north && latitude >= south && longitude <= east && longitude >= west;
}

const latitude = fc.double({ min: -90, max: 90, noNaN: true });
const longitude = fc.double({ min: -180, max: 180, noNaN: true });
const place = fc.record({ latitude, longitude });
/** Prefers points near the poles and the date line. */
const anywhere = fc.oneof(
  place,
  fc.record({ latitude, longitude: fc.constantFrom(-180, 180, 179.9999, -179.9999) }),
  fc.record({ latitude: fc.constantFrom(-90, 90, 89.99999, -89.99999), longitude }),
);
const radius = fc.oneof(
  fc.double({ min: 0.001, max: 5_000, noNaN: true }),
  fc.double({ min: 0.001, max: 20_015_000, noNaN: true }),
);

describe('geometry of --near', () => {
  test.each([
    // Berlin to Paris and London to New York: haversine distances on the mean sphere in kilometers.
    [[52.52, 13.405], [48.8566, 2.3522], 877],
    [[51.5074, -0.1278], [40.7128, -74.006], 5570],
    [[0, 0], [0, 180], 20015],
    [[90, 0], [-90, 77], 20015],
    [[10, 179.9], [10, -179.9], 22],
  ] as const)('calculates the distance from %j to %j', ([a, b], [c, d], kilometres) => {
    const metres = metresBetween({ latitude: a, longitude: b }, { latitude: c, longitude: d });
    expect(Math.round(metres / 1000)).toBe(kilometres);
  });

  test('measures the distance between a point and its moved copy (property-based)', () => {
    fc.assert(
      fc.property(
        place,
        radius,
        fc.double({ min: 0, max: 360, noNaN: true }),
        (start, metres, bearing) => {
          const walked = metresBetween(start, walk(start, metres, bearing));
          expect(Math.abs(walked - metres)).toBeLessThan(Math.max(0.5, metres * 1e-6));
        },
      ),
    );
  });

  test('the box contains every point within the radius (property-based)', () => {
    const share = fc.oneof(fc.constant(1), fc.double({ min: 0, max: 1, noNaN: true }));
    fc.assert(
      fc.property(
        anywhere,
        radius,
        share,
        fc.double({ min: 0, max: 360, noNaN: true }),
        (centre, metres, part, bearing) => {
          const circle = { centre, radiusMetres: metres };
          const point = walk(centre, metres * part, bearing);
          fc.pre(metresBetween(centre, point) <= metres);
          expect(holds(circle, point)).toBe(true);
        },
      ),
      { numRuns: often(5_000) },
    );
  });

  test('the box is valid and its numbers have no exponents (property-based)', () => {
    fc.assert(
      fc.property(anywhere, radius, (centre, radiusMetres) => {
        const box = boxAround({ centre, radiusMetres });
        const [east, north, west, south] = box;
        expect(showBox(box)).toMatch(/^-?\d+(\.\d+)?(,-?\d+(\.\d+)?){3}$/);
        expect(north).toBeGreaterThanOrEqual(south);
        expect(east).toBeGreaterThanOrEqual(west);
        expect(parseBbox(showBox(box))).toEqual(box);
      }),
      { numRuns: often(2_000) },
    );
  });

  test.each([
    [{ latitude: 0.00001, longitude: 0 }, 1, '0.0000091,0.0000191,-0.0000091,0.0000009'],
    [{ latitude: 90, longitude: 10 }, 1000, '180,90,-180,89.9910067'],
    [{ latitude: -89.999, longitude: 10 }, 1000, '180,-89.9900067,-180,-90'],
    [{ latitude: 0, longitude: 180 }, 1000, '180,0.0089933,-180,-0.0089933'],
    [{ latitude: 0, longitude: -179.999 }, 1000, '180,0.0089933,-180,-0.0089933'],
    [{ latitude: 0, longitude: 0 }, 20_000_000, '180,90,-180,-90'],
  ])('calculates the box around %j', (centre, radiusMetres, text) => {
    expect(showBox(boxAround({ centre, radiusMetres }))).toBe(text);
  });
});

describe('values of --near and --radius', () => {
  test.each([
    ['52.52,13.40', { latitude: 52.52, longitude: 13.4 }],
    [' -33.8 , 151 ', { latitude: -33.8, longitude: 151 }],
    ['+.5,-0', { latitude: 0.5, longitude: -0 }],
  ])('accepts --near %j', (text, expected) => {
    expect(parseNear(text)).toEqual(expected);
  });

  test.each(['', '52', '52,13,1', 'a,b', '1e1,5', '52;13', '91,181', 'NaN,1', '0x1,2'])(
    'rejects --near %j',
    (text) => {
      expect(() => parseNear(text)).toThrow('--near');
    },
  );

  test.each([
    ['800', 800],
    ['800m', 800],
    ['1.5km', 1500],
    ['.5 KM', 500],
    ['20015000', 20_015_000],
  ])('accepts --radius %j', (text, metres) => {
    expect(parseRadius(text)).toBe(metres);
  });

  test.each(['', '0', '-5', '1e3', '800 miles', 'NaN', '99999999'])(
    'rejects --radius %j',
    (text) => {
      expect(() => parseRadius(text)).toThrow('--radius');
    },
  );

  test.each([
    [0.4, '0 m'],
    [430.4, '430 m'],
    [999.6, '1.0 km'],
    [1234, '1.2 km'],
    [99_949, '99.9 km'],
    [99_951, '100 km'],
    [5_570_222, '5570 km'],
  ])('shows a distance of %d metres as %s', (metres, text) => {
    expect(showDistance(metres)).toBe(text);
  });
});

describe('`bicycles list --near`', () => {
  const service = useSandbox({ bicycles: 300 });
  const fleet = async (...args: string[]) =>
    runFleet(['bicycles', 'list', ...args], { env: await environmentOf(service()) });

  /** Calculates the expected bicycles by comparing all of them. */
  function around(centre: LatLon, metres: number): { uuid: string; distance: number }[] {
    return service()
      .bicycles()
      .flatMap((bicycle) => {
        const [north, east] = [bicycle['latitude'], bicycle['longitude']].map((value) =>
          value === null ? Number.NaN : Number(value),
        );
        if (north === undefined || east === undefined || Number.isNaN(north) || Number.isNaN(east))
          return [];
        const distance = metresBetween(centre, { latitude: north, longitude: east });
        return distance <= metres ? [{ uuid: String(bicycle['uuid']), distance }] : [];
      })
      .sort((a, b) => a.distance - b.distance);
  }

  test.each([
    ['52.52,13.40', '800'],
    ['52.52,13.40', '5km'],
    ['-16.78,179.99', '20km'],
    ['-16.78,-179.99', '20km'],
    ['90,0', '6000km'],
    ['0,0', '20015km'],
  ])('prints all bicycles around %s within %s, sorted by distance', async (near, radiusText) => {
    const expected = around(parseNear(near), parseRadius(radiusText));
    const { code, stdout, stderr } = await fleet(
      '--near',
      near,
      '--radius',
      radiusText,
      '-o',
      'uuid',
    );
    expect({ code, uuids: stdout.split('\n').slice(0, -1) }).toEqual({
      code: 0,
      uuids: expected.map(({ uuid }) => uuid),
    });
    expect(stderr).toBe(
      expected.length === 0
        ? 'No bicycles match. Try a larger --radius; --near is LATITUDE,LONGITUDE\n'
        : '',
    );
  });

  test.each(['state_of_charge', '-name'])(
    'sorts by %s, also across the antimeridian',
    async (ordering) => {
      const field = ordering.replace('-', '');
      for (const near of ['52.52,13.40', '-16.78,180']) {
        const { stdout } = await fleet(
          '--near',
          near,
          '--radius',
          '30km',
          '--ordering',
          ordering,
          '--json',
          '-q',
        );
        const values = (JSON.parse(stdout) as { [name: string]: unknown }[])
          .map((bicycle) => bicycle[field])
          .filter((value) => value !== null)
          .map((value) => (field === 'name' ? String(value) : Number(value)));
        const sorted = [...values].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
        expect(values.length).toBeGreaterThan(1);
        expect(values).toEqual(ordering.startsWith('-') ? sorted.reverse() : sorted);
      }
    },
  );

  test('--near finds bicycles on both sides of the antimeridian with one request', async () => {
    const items = [
      { uuid: 'a', latitude: 0, longitude: 180 },
      { uuid: 'b', latitude: '0.001', longitude: '-179.999' },
      { uuid: 'c', latitude: null, longitude: null },
      { uuid: 'd', latitude: 0, longitude: 0 },
    ];
    const { env, asked } = await openServer((response) => sendJson(response, 200, items));
    const run = await runFleet(
      ['bicycles', 'list', '--near', '0,180', '--radius', '1000', '-o', 'uuid'],
      { env },
    );
    expect(run.stdout).toBe('a\nb\n');
    expect(asked).toHaveLength(1);
  });
});
