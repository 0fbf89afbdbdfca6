// Tests the table of bicycles with snapshots, and missing, null or unexpected values.

import { describe, expect, it } from 'vitest';
import { BICYCLES, lookOf, showCharge, showPosition } from '../../src/views/bicycle.js';
import { BICYCLE_VALUES, NOW, render, rowsOf, type Screen } from '../support/rows.js';

/** The expected screens start on their own line. */
const draw = async (screen: Screen) =>
  `\n${await render(BICYCLES, rowsOf(BICYCLE_VALUES), screen)}`;

describe('the bicycle table', () => {
  it('the bicycle table fits a terminal of 40 columns', async () => {
    expect(await draw({ width: 40 })).toBe(`
NAME              STATE           CHARGE
Berlin 0001       available         57 %
自転車 👨‍👩‍👧 with …  rented            42 %
אופניים           in_maintenance     7 %
␛[31mred␛[0m␊ne…  lost             100 %
{"first":"odd"}   reserved             -
-                 -                    -
# Hidden at this width: SEEN, ID, POSITION. Every column: -o wide
`);
  });

  it('shows every column and complete values with -o wide', async () => {
    expect(await draw({ width: 60, isWide: true })).toBe(`
NAME                                            STATE           CHARGE  SEEN        ID                                    POSITION
Berlin 0001                                     available       57.4 %  3 min ago   0b9f2c1e-3d4a-4b5c-8d6e-7f8091a2b3c4  52.520008, 13.404954
自転車 👨‍👩‍👧 with a name that is longer than most  rented            42 %  42 s ago    1b9f2c1e-3d4a-4b5c-8d6e-7f8091a2b3c4  -33.868800, 151.209300
אופניים                                         in_maintenance     7 %  -           2b9f2c1e-3d4a-4b5c-8d6e-7f8091a2b3c4  -
␛[31mred␛[0m␊next<U+202E>                       lost             100 %  12 d ago    3b9f2c1e-3d4a-4b5c-8d6e-7f8091a2b3c4  -
{"first":"odd"}                                 reserved             -  -           4b9f2c1e-3d4a-4b5c-8d6e-7f8091a2b3c4  -
-                                               -                    -  -           -                                     -
`);
  });

  it('--no-truncate shows complete values in the columns that fit', async () => {
    const screen = await draw({ width: 60, isWhole: true });
    expect(screen).toContain('longer than most  rented');
    expect(screen).toContain('# Hidden at this width: ID, POSITION');
    expect(await draw({ width: 80, isWhole: true })).toContain(
      '0b9f2c1e-3d4a-4b5c-8d6e-7f8091a2b3c4',
    );
  });

  it('the bicycle table has every column in a pipe', async () => {
    expect(await draw({})).toBe(`
NAME                                            STATE           CHARGE  SEEN                  ID                                    POSITION
Berlin 0001                                     available         57.4  2026-03-01T11:57:00Z  0b9f2c1e-3d4a-4b5c-8d6e-7f8091a2b3c4  52.520008, 13.404954
自転車 👨‍👩‍👧 with a name that is longer than most  rented              42  2026-03-01T11:59:18Z  1b9f2c1e-3d4a-4b5c-8d6e-7f8091a2b3c4  -33.868800, 151.209300
אופניים                                         in_maintenance       7  -                     2b9f2c1e-3d4a-4b5c-8d6e-7f8091a2b3c4  -
␛[31mred␛[0m␊next<U+202E>                       lost               100  2026-02-17T11:00:00Z  3b9f2c1e-3d4a-4b5c-8d6e-7f8091a2b3c4  -
{"first":"odd"}                                 reserved             -  -                     4b9f2c1e-3d4a-4b5c-8d6e-7f8091a2b3c4  -
-                                               -                    -  -                     -                                     -
`);
  });

  it('the bicycle table has colors on a terminal of 80 columns', async () => {
    expect(await draw({ width: 80, colorLevel: 1 })).toBe(`
\u001b[1mNAME\u001b[22m                                \u001b[1mSTATE\u001b[22m           \u001b[1mCHARGE\u001b[22m  \u001b[1mSEEN\u001b[22m        \u001b[1mID\u001b[22m
Berlin 0001                         \u001b[32mavailable\u001b[39m         57 %  3 min ago   0b9f2c1e
自転車 👨‍👩‍👧 with a name that is lon…  \u001b[94mrented\u001b[39m            \u001b[33m42 %\u001b[39m  42 s ago    1b9f2c1e
אופניים                             \u001b[33min_maintenance\u001b[39m     \u001b[31m7 %\u001b[39m  -           2b9f2c1e
␛[31mred␛[0m␊next<U+202E>           \u001b[31mlost\u001b[39m             100 %  12 d ago    3b9f2c1e
{"first":"odd"}                     \u001b[36mreserved\u001b[39m             -  -           4b9f2c1e
-                                   -                    -  -           -
# Hidden at this width: POSITION. Every column: -o wide
`);
  });
});

const TERMINAL = { now: NOW, terminal: true };
const PIPE = { now: NOW, terminal: false };

it.each([
  [57.4, '57 %', '57.4', undefined],
  ['57.50', '58 %', '57.50', undefined],
  [50, '50 %', '50', undefined],
  [49.9, '50 %', '49.9', 'yellow'],
  [20, '20 %', '20', 'yellow'],
  [19.9, '20 %', '19.9', 'red'],
  [0, '0 %', '0', 'red'],
  [null, '-', '-', undefined],
  [undefined, '-', '-', undefined],
  ['full', 'full', 'full', undefined],
  ['', '', '', undefined],
  [true, 'true', 'true', undefined],
  [{ percent: 5 }, '{"percent":5}', '{"percent":5}', undefined],
])('shows a charge of %j', (charge, onTerminal, inPipe, color) => {
  expect(showCharge(charge, TERMINAL)).toMatchObject({ text: onTerminal });
  expect(showCharge(charge, TERMINAL).color).toBe(color);
  expect(showCharge(charge, PIPE).text).toBe(inPipe);
});

describe("a bicycle's position", () => {
  it.each([
    [52.520008, 13.404954, '52.52001, 13.40495', '52.520008, 13.404954'],
    ['-33.86880', '151.2093', '-33.86880, 151.20930', '-33.86880, 151.2093'],
    [0, 0, '0.00000, 0.00000', '0, 0'],
    [null, 13, '-', '-'],
    [52, undefined, '-', '-'],
    ['north', 'east', '-', '-'],
    [[52], { east: 13 }, '-', '-'],
  ])('shows the position %j, %j', (latitude, longitude, onTerminal, inPipe) => {
    expect(showPosition(latitude, longitude, TERMINAL).text).toBe(onTerminal);
    expect(showPosition(latitude, longitude, PIPE).text).toBe(inPipe);
  });

  it.each([
    [52.5, 13.4, [13.4, 52.5]],
    ['52.5', '13.4', [13.4, 52.5]],
    [91, 13.4, undefined],
    [52.5, -180.1, undefined],
    [null, null, undefined],
    ['', '', undefined],
  ])('the latitude %j and longitude %j become a point', (latitude, longitude, point) => {
    expect(BICYCLES.position?.({ latitude, longitude })).toEqual(point);
  });
});

it.each([
  ['available', 'green'],
  ['rented', 'blueBright'],
  ['in_maintenance', 'yellow'],
  ['lost', 'red'],
  ['unrecoverable', 'magenta'],
  ['retired', 'gray'],
  ['reserved', 'cyan'],
  [null, undefined],
  [7, undefined],
  ['constructor', undefined],
])('the state %j has the color %s', (state, color) => {
  expect(lookOf(state).color).toBe(color);
});
