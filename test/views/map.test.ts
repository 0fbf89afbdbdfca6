// Tests the map: every visible bicycle is a dot or part of a cluster, and all others are named and
// counted.

import { readFileSync } from 'node:fs';
import fastCheck from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Bicycle } from '../../src/api/bicycle.js';
import { graticule, scaleBar } from '../../src/globe/graticule.js';
import { fitView, longitudeOf, metresPerDot, worldX, worldY } from '../../src/globe/projection.js';
import { readTowns, type Town } from '../../src/globe/towns.js';
import { canvasLines } from '../../src/terminal/canvas.js';
import { widthOf } from '../../src/terminal/cells.js';
import { NO_PAINT } from '../../src/terminal/colour.js';
import { readCoast } from '../../src/views/map/coast.js';
import type { TerminalInput } from '../../src/views/map/frame.js';
import { type Grid, type Layout, layOutMap } from '../../src/views/map/layout.js';
import type { Look } from '../../src/views/map/legend.js';
import { sceneOf } from '../../src/views/map/scene.js';
import { drawSvg } from '../../src/views/map/svg.js';
import { drawMap, shareCells } from '../../src/views/map/terminal.js';

const STATES = [
  'available',
  'rented',
  'in_maintenance',
  'lost',
  'reserved',
  'unrecoverable',
  'retired',
  'on_fire',
];

const BRAILLE: Grid = {
  columns: 40,
  rows: 12,
  across: 2,
  down: 4,
  cell: { width: 2, height: 4 },
  reachDots: 5,
  bin: { columns: 9, rows: 3 },
  labelOf: (count) => ({ columns: String(count).length + 2, rows: 1 }),
};
const SIGNS: Grid = { ...BRAILLE, across: 1, down: 1, reachDots: 2 };
const SQUARES: Grid = {
  ...SIGNS,
  bin: { columns: 7, rows: 7 },
  labelOf: () => ({ columns: 4, rows: 4 }),
};

function bicycle(
  latitude: unknown,
  longitude: unknown,
  state = 'available',
  name = 'Ada',
): Bicycle {
  return { uuid: `${name}-${latitude}-${longitude}`, latitude, longitude, state, name } as Bicycle;
}

/** Bicycles around some places, many of them at the same position. */
const fleets = fastCheck.array(
  fastCheck
    .tuple(
      fastCheck.constantFrom(
        [52.5, 13.4],
        [-16.8, 179.99],
        [-16.8, -179.99],
        [38.7, -9.1],
        [52.51, 13.42],
      ),
      fastCheck.constantFrom(0, 0, 0.001, 0.01, 0.05, 2),
      fastCheck.double({ min: -1, max: 1, noNaN: true }),
      fastCheck.double({ min: -1, max: 1, noNaN: true }),
      fastCheck.constantFrom(...STATES),
      fastCheck.integer({ min: 1, max: 40 }),
    )
    .map(([[north = 0, east = 0], spread, up, right, state, times]) => {
      const wrapped = ((east + right * spread + 540) % 360) - 180;
      return new Array<Bicycle>(times).fill(bicycle(north + up * spread, wrapped, state));
    }),
  { maxLength: 60 },
);

function check(layout: Layout, grid: Grid, total: number): void {
  const shown = layout.dots.map(({ place }) => place);
  const counted = layout.clusters.flatMap(({ members }) => members);
  const all = [...shown, ...counted, ...layout.outside];
  expect([all.length, new Set(all).size]).toEqual([total, total]);
  for (const { count, members, byState } of layout.clusters) {
    expect([members.length, byState.reduce((sum, number) => sum + number, 0)]).toEqual([
      count,
      count,
    ]);
  }
  expect(new Set(layout.dots.map(({ x, y }) => `${x} ${y}`)).size).toBe(layout.dots.length);
  const states = new Map<string, number>();
  for (const { x, y, place } of layout.dots) {
    const { state } = place;
    const cell = `${Math.floor(x / grid.across)} ${Math.floor(y / grid.down)}`;
    expect(states.get(cell) ?? state).toBe(state);
    states.set(cell, state);
  }
  for (const { column, row, columns, rows } of layout.clusters) {
    for (let y = row; y < row + rows; y++) {
      for (let x = column; x < column + columns; x++) {
        // A label covers neither a dot nor another label.
        expect([x < grid.columns && y < grid.rows, states.has(`${x} ${y}`)]).toEqual([true, false]);
        states.set(`${x} ${y}`, -1);
      }
    }
  }
}

describe('the map layout', () => {
  test.each([
    ['Braille', BRAILLE],
    ['signs', SIGNS],
    ['squares', SQUARES],
  ])('%s: the layout contains every bicycle exactly once (property-based)', (_name, grid) => {
    fastCheck.assert(
      fastCheck.property(
        fleets,
        fastCheck.double({ min: 0.3, max: 8, noNaN: true }),
        (groups, zoom) => {
          const bicycles = groups.flat();
          const extent = {
            width: grid.columns * grid.cell.width,
            height: grid.rows * grid.cell.height,
          };
          const { places } = sceneOf(bicycles);
          const fitted = fitView(places, extent);
          const view = { ...fitted, worldDots: fitted.worldDots * zoom };
          const layout = layOutMap(places, view, grid);
          check(layout, grid, bicycles.length);
          const turned = layOutMap(sceneOf([...bicycles].reverse()).places, view, grid);
          const look = ({ dots, clusters }: Layout) => [
            dots.map(({ x, y, place }) => `${x} ${y} ${place.state}`).sort(),
            clusters.map(({ column, row, count, byState }) => [column, row, count, byState]),
          ];
          expect(look(turned)).toEqual(look(layout));
        },
      ),
      { numRuns: 25 },
    );
  });

  test('a map fitted to the fleet contains every bicycle (property-based)', () => {
    fastCheck.assert(
      fastCheck.property(fleets, (groups) => {
        const { places } = sceneOf(groups.flat());
        const view = fitView(places, { width: 80, height: 48 });
        expect(layOutMap(places, view, BRAILLE).outside).toEqual([]);
      }),
      { numRuns: 25 },
    );
  });

  test('draws or lists every position at the edge of the projection', () => {
    for (const latitude of [
      85.0511287798066, 85.051, 85.05, 85.049, -85.05, -85.049, -85.0511287798066,
    ]) {
      const { places, unplaced } = sceneOf([bicycle(latitude, 0), bicycle(-latitude, 180)]);
      const view = fitView(places, { width: 80, height: 48 });
      const { outside, dots } = layOutMap(places, view, BRAILLE);
      expect([latitude, outside, dots.length + (unplaced[0]?.bicycles.length ?? 0)]).toEqual([
        latitude,
        [],
        2,
      ]);
    }
  });
});

describe('positions on the map', () => {
  test.each<[string, Bicycle, string]>([
    ['nothing', bicycle(null, null), 'without a position'],
    ['half a position', bicycle(52, undefined), 'without a position'],
    ['an empty text', bicycle('', ''), 'without a position'],
    ['no number', bicycle('NaN', '13'), 'with an impossible position'],
    ['words', bicycle('north', 'east'), 'with an impossible position'],
    ['an object', bicycle({}, []), 'with an impossible position'],
    ['more than 180 degrees', bicycle(52, 181), 'with an impossible position'],
    ['more than 90 degrees', bicycle(-90.5, 13), 'with an impossible position'],
    ['the pole', bicycle(90, 0), 'nearer than 5 degrees to a pole'],
    ['near the other pole', bicycle(-89.2, '17.5'), 'nearer than 5 degrees to a pole'],
    ['texts', bicycle(' 52.5 ', '13.4'), 'placed'],
    ['the equator', bicycle(0, 0), 'placed'],
  ])('classifies a bicycle position: %s', (_name, value, kind) => {
    const { unplaced, places } = sceneOf([value]);
    const found = [
      ...unplaced.map(({ label, bicycles }) => [label, bicycles.length]),
      ...places.map(() => ['placed', 1]),
    ];
    expect(found).toEqual([[kind, 1]]);
  });

  test('puts the two sides of the antimeridian next to each other', () => {
    const { places } = sceneOf([bicycle(-16.8, 179.9), bicycle(-16.8, -179.9)]);
    const view = fitView(places, { width: 160, height: 80 });
    expect(metresPerDot(view) * 160).toBeLessThan(40_000);
    expect(Math.abs(longitudeOf(view.x))).toBeCloseTo(180, 5);
    expect(
      graticule(view, { width: 160, height: 80 }, true).meridians.map(({ label }) => label),
    ).toContain('180.00°');
  });

  test('the scale shows a round distance that is correct at the center', () => {
    const view = { x: worldX(13.4), y: worldY(60), worldDots: 1_000_000 };
    const { dots, label } = scaleBar(view, 60);
    expect(label).toBe('1 km');
    // At 60 degrees a parallel is half as long as the equator.
    expect(dots).toBeCloseTo((1_000 / (40_030_228 / 2)) * 1_000_000, 0);
  });
});

const COAST = readCoast(
  JSON.parse(
    readFileSync(new URL('../../dist/coastline.json', import.meta.url), 'utf8'),
  ) as number[][],
);

function inputOf(bicycles: readonly Bicycle[], more: Partial<TerminalInput> = {}): TerminalInput {
  return {
    ...sceneOf(bicycles),
    title: `${bicycles.length} bicycles`,
    moment: '14:03',
    coast: COAST,
    ...more,
  };
}

/** Draws a map as text, without colors by default. */
function drawText(input: TerminalInput, look: Partial<Look> & { width: number; height: number }) {
  const drawn = drawMap(input, { hasColor: false, hasUnicode: true, ...look });
  return { ...drawn, text: canvasLines(drawn.canvas, NO_PAINT).join('\n') };
}

/** Cities far from each other, as in the sandbox. */
function cities(count: number): Bicycle[] {
  const middles = [
    [52.52, 13.405],
    [38.7223, -9.1393],
    [-33.8688, 151.2093],
    [-16.8, 179.99],
  ] as const;
  return Array.from({ length: count }, (_, index) => {
    const [north, east] = middles[index % middles.length] ?? [0, 0];
    const [up, right] = [Math.sin(index * 12.9898) * 0.04, Math.cos(index * 78.233) * 0.04];
    return bicycle(
      north + up,
      east + right > 180 ? east + right - 360 : east + right,
      STATES[index % 7],
      `Ada ${index}`,
    );
  });
}

test('labels large towns first and never covers bicycles', () => {
  const towns = readTowns(
    JSON.parse(readFileSync(new URL('../../dist/towns.json', import.meta.url), 'utf8')),
  );
  const input = inputOf(cities(400));
  const draw = (named: readonly Town[]) =>
    drawText({ ...input, towns: named }, { width: 100, height: 30 });
  const [before, after] = [draw([]), draw(towns)];
  const { text } = after;
  for (const name of ['Tokyo', 'London', 'Mumbai', 'Cairo']) expect(text).toContain(name);
  expect(text).not.toContain('Potsdam');
  expect(after.layout.clusters).toEqual(before.layout.clusters);
  for (const { count } of after.layout.clusters) expect(text).toContain(`(${count})`);
  // Labels never cover bicycles.
  const alone = towns.filter(({ name }) => name === 'Berlin');
  const crowd = Array.from({ length: 21 }, (_, index) => bicycle(52.52, 13.05 + index / 30));
  const marks = (named: readonly Town[]) =>
    drawText(inputOf(crowd, { towns: named }), { width: 60, height: 6 }).text.replace(/[^●\d]/g, '')
      .length;
  expect(marks(alone)).toBe(marks([]));
});

const HOSTILE = [
  bicycle(52.5, 13.4, 'available\u001b[2J', 'Vera \u001b]0;x\u0007'),
  bicycle(52.5, 13.41, '在庫', '王小明 271'),
  bicycle(52.5, 13.42, '', 'فاطمة'),
  bicycle(null, null, 'x'.repeat(5_000), '👩‍👩‍👧‍👦 family'),
];

const FLEETS: readonly (readonly [string, readonly Bicycle[]])[] = [
  ['nothing', []],
  ['one', [bicycle(52.52, 13.405)]],
  ['one point', new Array<Bicycle>(500).fill(bicycle(52.52, 13.405, 'lost'))],
  ['cities', cities(400)],
  ['one city', cities(1_200).filter((_, index) => index % 4 === 0)],
  ['no position', [bicycle(null, null), bicycle(91, 0), bicycle(-90, 0)]],
  ['hostile', HOSTILE],
];
const SIZES = [
  [20, 8],
  [1, 1],
  [60, 5],
  [80, 24],
  [140, 50],
  [300, 100],
] as const;

/** Hundreds of states, and bicycles without a position. */
function manyStates(): Bicycle[] {
  const states = Array.from({ length: 300 }, (_, index) => bicycle(52.5, 13.4, `state ${index}`));
  const odd = [bicycle(null, 1), bicycle(400, 1), bicycle(89, 1)];
  return [...states, ...odd, bicycle(52.5, 13.4)];
}

function drawMany(width: number, height: number) {
  const input = inputOf(manyStates());
  return { input, ...drawText(input, { width, height }) };
}

describe('the map on a terminal', () => {
  for (const [name, bicycles] of FLEETS) {
    const input = inputOf(bicycles);
    test.each(SIZES)(`${name} fits a terminal of %i by %i`, (width, height) => {
      for (const [hasColor, hasUnicode] of [
        [true, true],
        [false, true],
        [false, false],
      ] as const) {
        const lines = drawText(input, { width, height, hasColor, hasUnicode }).text.split('\n');
        expect(lines.length).toBe(height);
        expect(lines.filter((line) => widthOf(line) > width)).toEqual([]);
        expect(lines.join('')).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
        if (!hasUnicode) expect(lines.join('')).toMatch(/^[\x20-\x7E]*$/);
      }
    });
  }

  test.each([
    [80, 24],
    [140, 40],
  ])('the legend at %i by %i includes bicycles without a position', (width, height) => {
    const bicycles = [
      ...cities(397),
      bicycle(null, 3, 'lost', 'No position'),
      bicycle(0, 400, 'lost', 'Beyond'),
    ];
    const input = inputOf(bicycles);
    const { text } = drawText(input, { width, height });
    for (const { value, count } of input.counts)
      expect(text).toMatch(new RegExp(`${value} +${count}\\b`));
    expect(text).toContain('1 without a position');
    expect(text).toContain('No position');
    if (width > 100) expect(text).toContain('1 with an impossible position');
  });

  test.each([
    [100, 16],
    [120, 30],
    [300, 100],
  ])('a legend for many states leaves space for the scale: %i by %i', (width, height) => {
    const { text, input } = drawMany(width, height);
    const shown = [...text.matchAll(/[+●▲◆■×★○] (?:available|state \d+) +(\d+)/g)].map(
      ([, count]) => Number(count),
    );
    const [, others = 0, rest = 0] = /\+ (\d+) others (\d+)/.exec(text) ?? [];
    expect([
      shown.length + Number(others),
      shown.reduce((sum, count) => sum + count, Number(rest)),
    ]).toEqual([input.counts.length, input.counts.reduce((sum, { count }) => sum + count, 0)]);
    expect(text).toMatch(/├─+┤ \d+ m/);
    for (const label of [
      'without a position',
      'with an impossible position',
      'nearer than 5 degrees',
    ])
      expect(text).toContain(label);
  });

  test('groups the states beyond the limit as "other"', () => {
    const { layout, input } = drawMany(120, 30);
    const [cluster] = layout.clusters;
    expect(cluster?.byState.reduce((sum, count) => sum + count, 0)).toBe(cluster?.count);
    expect(input.states.at(-1)).toBe('other');
    expect(input.states.at(-2)).toBe(input.counts[input.states.length - 2]?.value);
  });

  test('counts and lists the bicycles outside the view', () => {
    const input = inputOf(cities(40), {
      view: { x: worldX(13.405), y: worldY(52.52), worldDots: 300_000 },
    });
    const { text, layout } = drawText(input, { width: 140, height: 40, hasColor: true });
    expect(layout.outside.length).toBe(30);
    expect(text).toMatch(/30 outside the view: \w.*, .* …/);
  });

  test('cluster cells are colored in proportion to the states', () => {
    expect(shareCells([50, 50, 0], 4)).toEqual([0, 0, 1, 1]);
    expect(shareCells([91, 9], 5)).toEqual([0, 0, 0, 0, 0]);
    expect(shareCells([60, 20, 20], 5)).toEqual([0, 0, 0, 1, 2]);
    expect(shareCells([1], 3)).toEqual([0, 0, 0]);
  });

  const looks: readonly (readonly [string, Look])[] = [
    ['80x24', { width: 80, height: 24, hasColor: true, hasUnicode: true }],
    ['80x24 without colour', { width: 80, height: 24, hasColor: false, hasUnicode: true }],
    ['60x16 in ASCII', { width: 60, height: 16, hasColor: false, hasUnicode: false }],
    ['120x30', { width: 120, height: 30, hasColor: true, hasUnicode: true }],
    ['20x8', { width: 20, height: 8, hasColor: true, hasUnicode: true }],
  ];
  describe.each([
    ['cities', cities(300)],
    ['one city', cities(300).filter((_, index) => index % 4 === 0)],
  ])('the drawing of the fleet "%s" matches its snapshot', (_name, bicycles) => {
    test.each(looks)('on %s', (_size, look) => {
      expect(drawText(inputOf(bicycles), look).text).toMatchSnapshot();
    });
  });
});

describe('the SVG map', () => {
  const svgOf = (bicycles: readonly Bicycle[]) =>
    drawSvg({ ...inputOf(bicycles), width: 900, height: 600 });

  test('draws the same SVG map for the same fleet (snapshot)', async () => {
    await expect(svgOf([...cities(200), ...HOSTILE])).toMatchFileSnapshot('map.golden.svg');
  });

  test.each(FLEETS)('%s: the SVG is well-formed and contains every bicycle', (_name, bicycles) => {
    const svg = svgOf(bicycles);
    expect(svg).not.toMatch(/NaN|undefined|Infinity|[\u0000-\u0008\u000b-\u001f]/);
    const open = [...svg.matchAll(/<([a-z]+)(?=[ >/])[^>]*?(\/?)>/g)].filter(
      ([, , closed]) => closed === '',
    );
    expect(open.length).toBe([...svg.matchAll(/<\/[a-z]+>/g)].length);
    const { places } = inputOf(bicycles);
    const marks = [...svg.matchAll(/<title>[^<]*: [^<]*<\/title>/g)].filter(
      ([title]) => !/bicycles:/.test(title),
    );
    const clustered = [...svg.matchAll(/<title>(\d+) bicycles:/g)].map(([, count]) =>
      Number(count),
    );
    expect(marks.length + clustered.reduce((sum, count) => sum + count, 0)).toBe(places.length);
  });
});

test.each([
  [200, 200],
  [300, 250],
  [900, 600],
  [4000, 300],
])('the legend for hundreds of states fits %i by %i', (width, height) => {
  const input = inputOf(manyStates());
  const svg = drawSvg({ ...input, width, height });
  const bottom = Math.max(
    ...[...svg.matchAll(/translate\([\d.-]+ ([\d.-]+)\)/g)].map(([, y]) => Number(y)),
  );
  expect(bottom).toBeLessThan(height);
  const notes = [...svg.matchAll(/<text [^>]*y="(\d+)"[^>]*>Not on the map/g)].map(([, y]) =>
    Number(y),
  );
  expect([notes.length, Math.max(...notes) < height]).toEqual([3, true]);
  const legend = svg.slice(svg.lastIndexOf('</clipPath>'));
  const shown = [...legend.matchAll(/y="4.5">(?:available|state \d+) (\d+)</g)].map(([, count]) =>
    Number(count),
  );
  const [, others, rest] = /(\d+) (?:others|states) (\d+)</.exec(legend) ?? [];
  expect([
    shown.length + Number(others),
    shown.reduce((sum, count) => sum + count, Number(rest)),
  ]).toEqual([input.counts.length, 304]);
});
