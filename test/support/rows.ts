// Bicycles and alerts for snapshots, and a function that renders them.

import {
  type Format,
  type ListedItem,
  openRenderer,
  type Shape,
} from '../../src/terminal/formats.js';

/** The time in all snapshots. */
export const NOW = Date.parse('2026-03-01T12:00:00Z');

/** Creates an item like the HTTP client: the received text and its parsed value. */
export function rowOf<T>(json: string): ListedItem<T> {
  return {
    json,
    get value() {
      return JSON.parse(json);
    },
  };
}

export function rowsOf<T>(values: readonly unknown[]): ListedItem<T>[] {
  return values.map((value) => rowOf(JSON.stringify(value)));
}

export interface Screen {
  format?: Format;
  /** Columns of the terminal; undefined for a pipe. */
  width?: number;
  colorLevel?: 0 | 1 | 2 | 3;
  columns?: string[];
  /** As with `-o wide` on this terminal. */
  isWide?: boolean;
  /** As with `--no-truncate`. */
  isWhole?: boolean;
  hasHeader?: boolean;
  /** Rows per batch; all in one batch when absent. */
  batch?: number;
}

/** Returns stdout, and then a line with `#` for each notice. */
export async function render<T>(
  shape: Shape<T>,
  rows: readonly ListedItem<T>[],
  screen: Screen = {},
): Promise<string> {
  const {
    format = 'table',
    width,
    colorLevel = 0,
    columns,
    batch = rows.length,
    isWide = false,
  } = screen;
  const renderer = await openRenderer(format, shape, {
    columns,
    terminal: width !== undefined,
    width: isWide ? undefined : width,
    isWhole: isWide || screen.isWhole === true,
    hasHeader: screen.hasHeader !== false,
    colorLevel,
    now: NOW,
  });
  let text = renderer.begin?.() ?? '';
  for (let start = 0; start < rows.length; start += batch)
    text += renderer.rows(rows.slice(start, start + batch));
  text += renderer.end?.() ?? '';
  return text + (renderer.notices?.() ?? []).map((notice) => `# ${notice}\n`).join('');
}

export const BICYCLE_VALUES = [
  {
    uuid: '0b9f2c1e-3d4a-4b5c-8d6e-7f8091a2b3c4',
    created: '2024-05-01T08:00:00Z',
    latitude: 52.520008,
    longitude: 13.404954,
    latest_gps_accuracy: 4.5,
    latest_gps_timestamp: '2026-03-01T11:57:00Z',
    state_of_charge: 57.4,
    name: 'Berlin 0001',
    description: null,
    model: 'https://api.example.com/bicycle_models/1c2d3e4f-0000-4000-8000-000000000001/',
    bleid: 'AA:BB:CC:DD:EE:FF',
    device_type: 'tracker',
    lock: 'https://api.example.com/locks/1c2d3e4f-0000-4000-8000-000000000002/',
    image_url: null,
    serial_number: 'SN-0001',
    state: 'available',
    modified: '2026-03-01T11:57:01Z',
    organization_zone: 'Mitte',
  },
  {
    uuid: '1b9f2c1e-3d4a-4b5c-8d6e-7f8091a2b3c4',
    latitude: '-33.868800',
    longitude: '151.209300',
    latest_gps_timestamp: '2026-03-01T11:59:18Z',
    state_of_charge: '42',
    name: '自転車 👨\u200d👩\u200d👧 with a name that is longer than most',
    state: 'rented',
  },
  {
    uuid: '2b9f2c1e-3d4a-4b5c-8d6e-7f8091a2b3c4',
    latitude: null,
    longitude: 13.4,
    latest_gps_timestamp: null,
    state_of_charge: 7,
    name: 'אופניים',
    state: 'in_maintenance',
  },
  {
    uuid: '3b9f2c1e-3d4a-4b5c-8d6e-7f8091a2b3c4',
    latest_gps_timestamp: '2026-02-17T11:00:00Z',
    state_of_charge: 100,
    name: '\u001b[31mred\u001b[0m\nnext\u202e',
    state: 'lost',
  },
  { uuid: '4b9f2c1e-3d4a-4b5c-8d6e-7f8091a2b3c4', name: { first: 'odd' }, state: 'reserved' },
  {},
];

export const ALERT_VALUES = [
  {
    uuid: 'a1b9f2c1-3d4a-4b5c-8d6e-7f8091a2b3c4',
    created: '2026-03-01T11:55:00Z',
    roles: ['admin', 'fleet_operator'],
    user: null,
    alert_type: 'lock.bat.low',
    message: 'The battery of the lock is low (12 %)',
    extra: {
      bicycle_name: 'Berlin 0001',
      location: { type: 'Point', coordinates: [13.404954, 52.520008] },
    },
    bicycle: 'https://api.example.com/bicycles/0b9f2c1e-3d4a-4b5c-8d6e-7f8091a2b3c4/',
    state: 'new',
  },
  {
    uuid: 'b1b9f2c1-3d4a-4b5c-8d6e-7f8091a2b3c4',
    created: '2026-02-26T11:55:00Z',
    alert_type: 'bicycle.outside_operational_period',
    message: 'Line one\nline two, a text that goes on for more than the width of a screen',
    extra: { lock_uuid: '1c2d3e4f-0000-4000-8000-000000000002' },
    bicycle: 'https://api.example.com/bicycles/1b9f2c1e-3d4a-4b5c-8d6e-7f8091a2b3c4/',
    state: 'escalated',
  },
  {
    uuid: 'c1b9f2c1-3d4a-4b5c-8d6e-7f8091a2b3c4',
    created: null,
    alert_type: 'new.type',
    extra: 'text',
    state: 'muted',
  },
];
