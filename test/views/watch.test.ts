// Tests the lines of a watch at 80 columns, in a pipe, and with hostile and wide text.

import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { openTimeZone } from '../../src/system/time-zone.js';
import { widthOf } from '../../src/terminal/cells.js';
import { loadPaint, NO_PAINT } from '../../src/terminal/colour.js';
import { distanceMetres } from '../../src/views/distance.js';
import { changeLine, type ShownEntry } from '../../src/views/watch.js';

const AT = Date.UTC(2026, 10, 21, 14, 3, 59);
const UUID = '6f1c0b5e-2f0e-4c56-9d3a-0d6f3a1f7c11';
const ADA = {
  uuid: UUID,
  name: 'Ada 0042',
  state: 'rented',
  state_of_charge: 57.4,
  latitude: 52.52,
  longitude: 13.405,
};

function update(
  before: object | undefined,
  changes: object,
  fields = Object.keys(changes),
): ShownEntry {
  const known = before === undefined ? undefined : { ...ADA, ...before };
  return {
    type: 'bicycle',
    kind: 'update',
    uuid: UUID,
    before: known,
    after: { ...ADA, ...changes },
    fields,
  };
}

const ENTRIES: ShownEntry[] = [
  update({}, { state: 'available' }),
  update({}, { state: 'in_maintenance', state_of_charge: 57.4 }, ['state']),
  update({ state: 'unrecoverable' }, { state: 'in_maintenance' }),
  update({}, { latitude: 52.5211, state_of_charge: 57.2 }),
  update({}, { latitude: 52.52001, latest_gps_timestamp: 'x' }),
  update({}, { name: 'Grace 0007', description: 'new bell' }),
  update({}, { latitude: null, longitude: null }),
  update({}, {}),
  update(undefined, { state: 'lost' }),
  { ...update({}, { state: 'available', latitude: 52.53 }), kind: 'caught-up' } as ShownEntry,
  { ...update({}, { state: 'lost' }), kind: 'late' } as ShownEntry,
  update(undefined, {
    name: '王小明 271 號自行車在車站前',
    state_of_charge: '9',
    latitude: -33.86882,
    longitude: -151.20931,
  }),
  update(undefined, { name: 'a\u001b[2Jb\u202e', state: 'on\u0007fire', state_of_charge: null }),
  update(undefined, { name: null }),
  { type: 'leaving', uuid: UUID, state: 'available', bicycle: ADA },
  { type: 'leaving', uuid: undefined, state: 'available', bicycle: undefined },
  {
    type: 'alert',
    alert: {
      alert_type: 'bicycle.outside_operational_period',
      state: 'new',
      extra: {
        bicycle_name: 'Ada 0042',
        state_of_charge: 12,
        location: { type: 'Point', coordinates: [13.4, 52.5] },
      },
    },
  },
  {
    type: 'other',
    envelope: { sender: 'task', message: { n: 1 } },
    text: '{"n":1,"text":"a rather long text that does not fit the line"}',
  },
  { type: 'other', envelope: undefined, text: '[1,2]' },
];

/** Draws the line of an entry at this width; in a pipe without one. */
const draw = (entry: ShownEntry, width?: number, paint = NO_PAINT) =>
  changeLine(entry, AT, {
    width,
    terminal: width !== undefined,
    zone: openTimeZone('Europe/Berlin'),
    paint,
  });

test('shows the correct UTC offset before and after a clock change', () => {
  const zone = openTimeZone('Europe/Berlin');
  const entry = ENTRIES[0] as ShownEntry;
  const clockAt = (instant: string) =>
    changeLine(entry, Date.parse(instant), {
      width: 80,
      terminal: true,
      zone,
      paint: NO_PAINT,
    }).slice(0, 8);
  expect(clockAt('2026-10-25T00:59:59Z')).toBe('02:59:59');
  expect(clockAt('2026-10-25T01:00:00Z')).toBe('02:00:00');
  expect(clockAt('2026-03-29T00:59:59Z')).toBe('01:59:59');
  expect(clockAt('2026-03-29T01:00:00Z')).toBe('03:00:00');
});

test('lines of `watch` fit 80 columns', () => {
  const lines = ENTRIES.map((entry) => draw(entry, 80));
  expect(`\n${lines.join('\n')}\n`).toMatchInlineSnapshot(`
    "
    15:03:59  Ada 0042         rented -> available          57 % 52.5200, 13.4050
    15:03:59  Ada 0042         rented -> in_maintenance     57 % 52.5200, 13.4050
    15:03:59  Ada 0042         unrecoverable -> in_mainte…  57 % 52.5200, 13.4050
    15:03:59  Ada 0042         moved 122 m, charge -0.2 %   57 % 52.5211, 13.4050
    15:03:59  Ada 0042         moved 1 m                    57 % 52.5200, 13.4050
    15:03:59  Grace 0007       name, description            57 % 52.5200, 13.4050
    15:03:59  Ada 0042         position lost                57 % -
    15:03:59  Ada 0042         no change                    57 % 52.5200, 13.4050
    15:03:59  Ada 0042         lost                         57 % 52.5200, 13.4050
    caught up Ada 0042         rented -> available, moved…  57 % 52.5300, 13.4050
    late      Ada 0042         rented -> lost               57 % 52.5200, 13.4050
    15:03:59  王小明 271 號自… rented                        9 % -33.8688, -151.2093
    15:03:59  a␛[2Jb<U+202E>   on␇fire                         - 52.5200, 13.4050
    15:03:59  6f1c0b5e-2f0e-4… rented                       57 % 52.5200, 13.4050
    15:03:59  Ada 0042         leaves available             57 % 52.5200, 13.4050
    15:03:59  -                leaves available                - -
    15:03:59  Ada 0042         alert new bicycle.outside_…  12 % 52.5000, 13.4000
    15:03:59  task             {"n":1,"text":"a rather long text that does not fit …
    15:03:59  -                [1,2]
    "
  `);
});

test('shows "entered" or "left" when a bicycle starts or stops matching', () => {
  const crossing = (entry: ShownEntry, word: 'entered' | 'left') =>
    draw({ ...entry, crossing: word } as ShownEntry, 100);
  expect(crossing(ENTRIES[0] as ShownEntry, 'entered')).toContain(' entered: rented -> available');
  expect(crossing(update({}, {}), 'left')).toMatch(/^15:03:59 {2}Ada 0042 +left {2,}/);
  expect(crossing(update(undefined, { state: 'lost' }), 'entered')).toContain(' entered: lost ');
});

test('-o wide shows when each change was received', () => {
  const place = { zone: openTimeZone('Europe/Berlin'), paint: NO_PAINT, receivedMs: AT + 61_000 };
  const entry = ENTRIES[0] as ShownEntry;
  expect(changeLine(entry, AT, { ...place, width: 120, terminal: true })).toMatch(
    /^15:03:59 .* received 15:05:00$/,
  );
  expect(changeLine(entry, AT, { ...place, width: undefined, terminal: false })).toMatch(
    / {2}received 2026-11-21T14:05:00.000Z$/,
  );
});

test('fits every terminal width, with and without colors', async () => {
  const paint = await loadPaint(1);
  for (let width = 20; width <= 200; width++) {
    for (const entry of ENTRIES) {
      const line = draw(entry, width);
      expect({ width, fits: widthOf(line) <= width, line }).toMatchObject({ fits: true });
      expect(stripVTControlCharacters(draw(entry, width, paint)).trimEnd()).toBe(line);
    }
  }
});

test('prints complete columns and ISO 8601 times to a pipe', () => {
  const lines = ENTRIES.map((entry) => draw(entry));
  expect(`\n${lines.join('\n')}\n`).toMatchInlineSnapshot(`
    "
    2026-11-21T14:03:59.000Z  Ada 0042          rented -> available  57.4  52.52, 13.405
    2026-11-21T14:03:59.000Z  Ada 0042          rented -> in_maintenance  57.4  52.52, 13.405
    2026-11-21T14:03:59.000Z  Ada 0042          unrecoverable -> in_maintenance  57.4  52.52, 13.405
    2026-11-21T14:03:59.000Z  Ada 0042          moved 122 m, charge -0.2 %  57.2  52.5211, 13.405
    2026-11-21T14:03:59.000Z  Ada 0042          moved 1 m  57.4  52.52001, 13.405
    2026-11-21T14:03:59.000Z  Grace 0007        name, description  57.4  52.52, 13.405
    2026-11-21T14:03:59.000Z  Ada 0042          position lost  57.4  -
    2026-11-21T14:03:59.000Z  Ada 0042          no change  57.4  52.52, 13.405
    2026-11-21T14:03:59.000Z  Ada 0042          lost  57.4  52.52, 13.405
    2026-11-21T14:03:59.000Z  Ada 0042          caught up: rented -> available, moved 1.1 km  57.4  52.53, 13.405
    2026-11-21T14:03:59.000Z  Ada 0042          late: rented -> lost  57.4  52.52, 13.405
    2026-11-21T14:03:59.000Z  王小明 271 號自行車在車站前  rented  9  -33.86882, -151.20931
    2026-11-21T14:03:59.000Z  a␛[2Jb<U+202E>    on␇fire  -  52.52, 13.405
    2026-11-21T14:03:59.000Z  6f1c0b5e-2f0e-4c56-9d3a-0d6f3a1f7c11  rented  57.4  52.52, 13.405
    2026-11-21T14:03:59.000Z  Ada 0042          leaves available  57.4  52.52, 13.405
    2026-11-21T14:03:59.000Z  -                 leaves available  -  -
    2026-11-21T14:03:59.000Z  Ada 0042          alert new bicycle.outside_operational_period  12  52.5, 13.4
    2026-11-21T14:03:59.000Z  task              {"n":1,"text":"a rather long text that does not fit the line"}
    2026-11-21T14:03:59.000Z  -                 [1,2]
    "
  `);
});

test.each([
  [79, '15:03:59  Ada 0042         available -> rented, move…  57 % 52.5110, 13.4000'],
  [60, '15:03:59  Ada 0042         available -> rented, moved…  57 %'],
  [40, '15:03:59  Ada 0042   available -> rente…'],
])('at %i columns, drops the position before the charge', (width, line) => {
  const before = { state: 'available', latitude: 52.5, longitude: 13.4, state_of_charge: 59 };
  const after = { state: 'rented', latitude: 52.511, longitude: 13.4, state_of_charge: 57 };
  const entry = update(before, after, ['state', 'latitude', 'state_of_charge']);
  expect(draw(entry, width)).toBe(line);
});

test('colors states, charges and marks', async () => {
  const line = draw(ENTRIES[9] as ShownEntry, 80, await loadPaint(1));
  expect(line).toContain('\u001b[36mcaught up\u001b[39m');
  expect(line).toContain('\u001b[32mrented -> available');
});

test.each([
  [{ latitude: 0, longitude: 0 }, { latitude: 0, longitude: 1 }, 111_195],
  [{ latitude: '52.5', longitude: '13.4' }, { latitude: 52.5, longitude: 13.4 }, 0],
  [{ latitude: 0, longitude: 179.999 }, { latitude: 0, longitude: -179.999 }, 222],
  [{ latitude: null, longitude: 1 }, { latitude: 0, longitude: 1 }, undefined],
  [undefined, { latitude: 0, longitude: 1 }, undefined],
])('the distance from %j to %j is %j metres', (from, to, metres) => {
  const found = distanceMetres(from, to);
  expect(found === undefined ? undefined : Math.round(found)).toBe(metres);
});
