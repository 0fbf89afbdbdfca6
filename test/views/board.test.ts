// The live board as a screen: goldens at 80x24 and 140x40, and that it fits every terminal.

import { describe, expect, test } from 'vitest';
import type { Gap } from '../../src/http/stream/events.js';
import { widthOf } from '../../src/terminal/cells.js';
import { NO_PAINT } from '../../src/terminal/colour.js';
import { type BoardFacts, boardLines, lowestCharges } from '../../src/views/board.js';
import type { Sight } from '../../src/views/change.js';

const NOW = Date.UTC(2026, 10, 21, 14, 3, 59);
const TOPIC = '/a087eaf3-00b3-49c9-8706-c4ebfb2627fd/admin/bicycles/*';

const BICYCLES = [
  { name: 'Emmy 0197', state: 'available', state_of_charge: 6.2 },
  { name: 'فاطمة الزهراء', state: 'available', state_of_charge: '11' },
  { name: '王小明 271', state: 'rented', state_of_charge: 14 },
  { name: 'The bicycle formerly parked behind the old post office', state: 'lost', state_of_charge: 19.9 },
  { name: 'Vera \u001b[2J 0037', state: 'retired', state_of_charge: 20 },
  { name: 'No battery', state: 'retired' },
];

function change(state: string, name: string): Sight {
  return {
    type: 'bicycle',
    kind: 'update',
    uuid: undefined,
    before: { name, state: 'available' },
    after: { name, state, state_of_charge: 50, latitude: 52.52, longitude: 13.4 },
    fields: ['state'],
  };
}

const GAPS: Gap[] = [40_000, 900_000].map((ago) => ({
  type: 'gap',
  topic: TOPIC,
  atMs: NOW - ago,
  monotonicMs: 4_000_000 - ago,
  cause: 'idle',
  message: 'nothing came for 91 s',
  fromWallMs: NOW - ago - 92_000,
  durationMs: 92_000,
  replayed: false,
  droppedEvents: 0,
}));

const FACTS: BoardFacts = {
  now: NOW,
  startedAt: NOW - 3_600_000,
  offsetMinutes: 60,
  connections: [{ topic: TOPIC, state: 'open', since: NOW - 40_000 }],
  messages: 12_345,
  lastMessageAt: NOW - 400,
  perSecond: Array.from({ length: 60 }, (_, index) => (index * 7) % 11),
  counts: new Map([
    ['available', 69],
    ['rented', 40],
    ['in_maintenance', 14],
    ['lost', 3],
    ['retired', 1],
    ['reserved', 7],
  ]),
  total: 475,
  lowest: lowestCharges(BICYCLES, 20),
  alerts: [
    {
      at: NOW - 65_000,
      alert: {
        alert_type: 'lock.bat.low',
        state: 'new',
        message: 'Battery below 10 %',
        extra: { bicycle_name: 'Emmy 0197' },
      },
    },
    {
      at: NOW - 3_600_000,
      alert: {
        alert_type: 'bicycle.outside_operational_period',
        state: 'escalated',
        message: 'Out\nside',
        bicycle: 'https://x/bicycles/6f1c0b5e-2f0e-4c56-9d3a-0d6f3a1f7c11/',
      },
    },
  ],
  changes: Array.from({ length: 40 }, (_, index) => ({
    at: NOW - index * 1_700,
    sight: change(index % 3 === 0 ? 'rented' : 'lost', `Ada ${index}`),
  })),
  gaps: GAPS,
  gapCount: 2,
  blindMs: 184_000,
};

function draw(width: number, height: number, facts: Partial<BoardFacts> = {}): string[] {
  return boardLines({ ...FACTS, ...facts }, { width, height, paint: NO_PAINT });
}

test('80x24', () => {
  expect(`\n${draw(80, 24).join('\n')}\n`).toMatchInlineSnapshot(`
    "
     fleet watch /a087eaf3-00b3-49c9-8706-c4ebfb2627fd/admin/bicycles/*    15:03:59 
    ● connected for 40 s, last message 400 ms ago
    5.3 messages/s ▁▇▄ ▆▃█▅▂█▄▁▇▄ ▆▃█▅▂█▄▁▇▄ ▆▃█▅ 12345 in all
    2 gaps, blind for 3 min 4 s in all; last 15:01:47 (1 min 32 s): nothing came fo…

    STATES of 134 known of 475               LOWEST CHARGE
    available      ██████████████████    69    6 % Emmy 0197         available
    in_maintenance ███▋                  14   11 % فاطمة الزهراء     available
    rented         ██████████▍           40   14 % 王小明 271        rented
    lost           ▊                      3   20 % The bicycle form… lost
    unrecoverable                         0   20 % Vera ␛[2J 0037    retired
    retired        ▎                      1
    reserved       █▉                     7

    CHANGES
    15:03:59  Ada 0            available -> rented          50 % 52.5200, 13.4000
    15:03:57  Ada 1            available -> lost            50 % 52.5200, 13.4000
    15:03:55  Ada 2            available -> lost            50 % 52.5200, 13.4000
    15:03:53  Ada 3            available -> rented          50 % 52.5200, 13.4000
    15:03:52  Ada 4            available -> lost            50 % 52.5200, 13.4000

    ALERTS
    1 min ago  Emmy 0197        new        lock.bat.low  Battery below 10 %
    1 h ago    6f1c0b5e-2f0e-4… escalated  bicycle.outside_operational_period  Out␊…
    "
  `);
});

test('140x40', () => {
  expect(`\n${draw(140, 40).join('\n')}\n`).toMatchInlineSnapshot(`
    "
     fleet watch /a087eaf3-00b3-49c9-8706-c4ebfb2627fd/admin/bicycles/*                                                                15:03:59 
    ● connected for 40 s, last message 400 ms ago
    5.3 messages/s  ▆▃█▅▂█▄▁▇▄ ▆▃█▅▂█▄▁▇▄ ▆▃█▅▂█▄▁▇▄ ▆▃█▅▂█▄▁▇▄ ▆▃█▅▂█▄▁▇▄ ▆▃█▅ 12345 in all
    2 gaps, blind for 3 min 4 s in all

    STATES of 134 known of 475                     LOWEST CHARGE                                  GAPS
    available      ████████████████████████    69    6 % Emmy 0197               available        15:01:47 (1 min 32 s): nothing came for 91 s
    in_maintenance ████▉                       14   11 % فاطمة الزهراء           available        14:47:27 (1 min 32 s): nothing came for 91 s
    rented         █████████████▉              40   14 % 王小明 271              rented
    lost           █                            3   20 % The bicycle formerly p… lost
    unrecoverable                               0   20 % Vera ␛[2J 0037          retired
    retired        ▍                            1
    reserved       ██▍                          7

    CHANGES
    15:03:59  Ada 0                          available -> rented                               50 % 52.5200, 13.4000
    15:03:57  Ada 1                          available -> lost                                 50 % 52.5200, 13.4000
    15:03:55  Ada 2                          available -> lost                                 50 % 52.5200, 13.4000
    15:03:53  Ada 3                          available -> rented                               50 % 52.5200, 13.4000
    15:03:52  Ada 4                          available -> lost                                 50 % 52.5200, 13.4000
    15:03:50  Ada 5                          available -> lost                                 50 % 52.5200, 13.4000
    15:03:48  Ada 6                          available -> rented                               50 % 52.5200, 13.4000
    15:03:47  Ada 7                          available -> lost                                 50 % 52.5200, 13.4000
    15:03:45  Ada 8                          available -> lost                                 50 % 52.5200, 13.4000
    15:03:43  Ada 9                          available -> rented                               50 % 52.5200, 13.4000
    15:03:42  Ada 10                         available -> lost                                 50 % 52.5200, 13.4000
    15:03:40  Ada 11                         available -> lost                                 50 % 52.5200, 13.4000
    15:03:38  Ada 12                         available -> rented                               50 % 52.5200, 13.4000
    15:03:36  Ada 13                         available -> lost                                 50 % 52.5200, 13.4000
    15:03:35  Ada 14                         available -> lost                                 50 % 52.5200, 13.4000
    15:03:33  Ada 15                         available -> rented                               50 % 52.5200, 13.4000
    15:03:31  Ada 16                         available -> lost                                 50 % 52.5200, 13.4000
    15:03:30  Ada 17                         available -> lost                                 50 % 52.5200, 13.4000

    ALERTS
    1 min ago  Emmy 0197        new        lock.bat.low  Battery below 10 %
    1 h ago    6f1c0b5e-2f0e-4… escalated  bicycle.outside_operational_period  Out␊side



    "
  `);
});

describe('the line of the connection', () => {
  const lost = {
    topic: TOPIC,
    state: 'lost',
    since: NOW - 12_000,
    message: 'connection refused',
    retryAt: NOW + 3_000,
  } as const;
  test.each([
    [
      'connecting',
      { connections: [{ topic: TOPIC, state: 'connecting', since: NOW - 2_000 }] },
      '○ connecting for 2 s',
    ],
    ['lost', { connections: [lost] }, '○ lost for 12 s, again in 3 s: connection refused'],
    [
      'one of two lost',
      { connections: [...FACTS.connections, lost] },
      '○ 1 of 2 topics connected; lost for 12 s, again in 3 s: connection refused',
    ],
    [
      'all of two',
      { connections: [...FACTS.connections, ...FACTS.connections] },
      '● connected on all 2 topics for 40 s, last message 400 ms ago',
    ],
    ['silent so far', { lastMessageAt: undefined }, '● connected for 40 s, no message yet'],
  ] satisfies [string, Partial<BoardFacts>, string][])('%s', (_name, facts, line) => {
    expect(draw(100, 24, facts)[1]).toBe(line);
  });
});

test('fits every terminal: as many lines as it is high, none wider than it is', () => {
  for (let height = 1; height <= 60; height += 1) {
    for (const width of [20, 33, 80, 109, 110, 111, 140, 250]) {
      const lines = draw(width, height);
      expect({ width, height, lines: lines.length }).toEqual({ width, height, lines: height });
      expect({ width, wide: lines.filter((line) => widthOf(line) > width) }).toEqual({ width, wide: [] });
    }
  }
});

test('nothing known yet', () => {
  const empty = {
    counts: new Map(),
    lowest: [],
    alerts: [],
    changes: [],
    gaps: [],
    gapCount: 0,
    blindMs: 0,
    messages: 0,
    perSecond: [],
    total: undefined,
  };
  expect(draw(80, 24, empty).slice(2, 6)).toEqual([
    '0.0 messages/s  0 in all',
    'no gaps',
    '',
    'STATES of 0                              LOWEST CHARGE',
  ]);
});
