// Tests the table of alerts with snapshots, the bicycle's name and the position.

import { describe, expect, it } from 'vitest';
import type { Alert } from '../../src/api/alert.js';
import { ALERTS, showAlertBicycle } from '../../src/views/alert.js';
import { ALERT_VALUES, NOW, render, rowsOf, type Screen } from '../support/rows.js';

/** The expected screens start on their own line. */
const draw = async (screen: Screen) => `\n${await render(ALERTS, rowsOf(ALERT_VALUES), screen)}`;

describe('the alert table', () => {
  it('the alert table fits a terminal of 40 columns', async () => {
    expect(await draw({ width: 40 })).toBe(`
TYPE                           STATE
lock.bat.low                   new
bicycle.outside_operational_…  escalated
new.type                       muted
# Hidden at this width: AGE, BICYCLE, MESSAGE, ID. Every column: -o wide
`);
  });

  it('the alert table fits a terminal of 80 columns', async () => {
    expect(await draw({ width: 80 })).toBe(`
AGE         TYPE                       STATE      BICYCLE       MESSAGE
5 min ago   lock.bat.low               new        Berlin 0001   The battery of …
3 d ago     bicycle.outside_operatio…  escalated  1b9f2c1e      Line one␊line t…
-           new.type                   muted      -             -
# Hidden at this width: ID. Every column: -o wide
`);
  });

  it('the alert table contains every column when piped', async () => {
    expect(await draw({})).toBe(`
CREATED               TYPE                                STATE      BICYCLE                               MESSAGE                                                                     ID
2026-03-01T11:55:00Z  lock.bat.low                        new        Berlin 0001                           The battery of the lock is low (12 %)                                       a1b9f2c1-3d4a-4b5c-8d6e-7f8091a2b3c4
2026-02-26T11:55:00Z  bicycle.outside_operational_period  escalated  1b9f2c1e-3d4a-4b5c-8d6e-7f8091a2b3c4  Line one␊line two, a text that goes on for more than the width of a screen  b1b9f2c1-3d4a-4b5c-8d6e-7f8091a2b3c4
-                     new.type                            muted      -                                     -                                                                           c1b9f2c1-3d4a-4b5c-8d6e-7f8091a2b3c4
`);
  });
});

const LINK = 'https://api.example.com/bicycles/0b9f2c1e-3d4a-4b5c-8d6e-7f8091a2b3c4/';

const PIPE = { now: NOW, terminal: false };

it.each([
  [{ bicycle: LINK, extra: { bicycle_name: 'Berlin 0001' } }, 'Berlin 0001'],
  [{ bicycle: LINK, extra: { bicycle_name: 'a\u001bb' } }, 'a␛b'],
  [{ bicycle: LINK, extra: { bicycle_name: null } }, '0b9f2c1e-3d4a-4b5c-8d6e-7f8091a2b3c4'],
  [{ bicycle: LINK, extra: null }, '0b9f2c1e-3d4a-4b5c-8d6e-7f8091a2b3c4'],
  [{ bicycle: LINK }, '0b9f2c1e-3d4a-4b5c-8d6e-7f8091a2b3c4'],
  [
    { bicycle: 'https://api.example.com/bicycles/seven/' },
    'https://api.example.com/bicycles/seven/',
  ],
  [{ bicycle: null }, '-'],
  [{}, '-'],
] satisfies [Alert, string][])('shows the bicycle of an alert: %j', (alert, text) => {
  expect(showAlertBicycle(alert, PIPE).text).toBe(text);
});

it.each([
  [{ location: { type: 'Point', coordinates: [13.4, 52.5] } }, [13.4, 52.5]],
  [{ location: { type: 'Point', coordinates: ['13.4', '52.5'] } }, [13.4, 52.5]],
  [{ location: { type: 'Polygon', coordinates: [[13.4, 52.5]] } }, undefined],
  [{ location: { type: 'Point', coordinates: [13.4] } }, undefined],
  [{ location: { type: 'Point', coordinates: null } }, undefined],
  [{ location: 'Berlin' }, undefined],
  [{}, undefined],
  [null, undefined],
])("reads an alert's position: %j", (extra, point) => {
  expect(ALERTS.position?.({ extra })).toEqual(point);
});
