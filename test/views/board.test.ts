// Tests the live board with snapshots from 20x5 to 80x24, and that it fits every terminal.

import { describe, expect, test } from 'vitest';
import { readFilter } from '../../src/commands/watch/filter.js';
import { openTimeZone } from '../../src/system/time-zone.js';
import { widthOf } from '../../src/terminal/cells.js';
import { loadPaint, NO_PAINT } from '../../src/terminal/colour.js';
import {
  type BoardInput,
  type BoardView,
  bicycleRows,
  boardLines,
  pickRows,
} from '../../src/views/board.js';
import type { BoardConnection } from '../../src/views/board-help.js';
import type { ShownEntry } from '../../src/views/watch.js';
import { isLong } from '../support/often.js';

const NOW = Date.UTC(2026, 10, 21, 14, 3, 59);
const TOPIC = '/a087eaf3-00b3-49c9-8706-c4ebfb2627fd/admin/bicycles/*';

const BICYCLES = [
  { name: 'Emmy 0197', state: 'available', state_of_charge: 6.2 },
  { name: 'فاطمة الزهراء', state: 'available', state_of_charge: '11' },
  { name: '王小明 271', state: 'rented', state_of_charge: 14 },
  {
    name: 'The bicycle formerly parked behind the old post office',
    state: 'lost',
    state_of_charge: 19.9,
  },
  { name: 'Vera \u001b[2J 0037', state: 'retired', state_of_charge: 20 },
  { name: 'No battery', state: 'retired' },
];

function change(state: string, name: string): ShownEntry {
  return {
    type: 'bicycle',
    kind: 'update',
    uuid: undefined,
    before: { name, state: 'available' },
    after: { name, state, state_of_charge: 50, latitude: 52.52, longitude: 13.4 },
    fields: ['state'],
  };
}

const VIEW: BoardView = {
  panel: { type: 'fleet' },
  home: 'fleet',
  sort: 'charge',
  filter: '',
  isTyping: false,
  selected: 0,
  scroll: 0,
  marked: new Set(),
  dialog: undefined,
  message: undefined,
  isBusy: false,
};

const INPUT: BoardInput = {
  view: VIEW,
  nowMs: NOW,
  zone: openTimeZone('Europe/Berlin'),
  title: TOPIC,
  monotonicMs: 4_000_000,
  connections: new Map([[TOPIC, { state: 'open', sinceMs: 3_960_000 }]]),
  traffic: {
    messages: 12_345,
    lastMessageMs: 3_999_600,
    perSecond: 5.3,
    gapCount: 2,
    downMs: 184_000,
  },
  fleet: {
    counts: new Map([
      ['available', 69],
      ['rented', 40],
      ['in_maintenance', 14],
      ['lost', 3],
      ['retired', 1],
      ['reserved', 7],
    ]),
    known: 134,
    total: 134,
    isWhole: true,
    rows: pickRows(BICYCLES, { sort: 'charge', keep: () => true }, 0, 20).rows,
    matching: BICYCLES.length,
    card: BICYCLES[0],
  },
  alerts: [
    {
      created: new Date(NOW - 65_000).toISOString(),
      alert_type: 'lock.bat.low',
      state: 'new',
      message: 'Battery below 10 %',
      extra: { bicycle_name: 'Emmy 0197' },
    },
    {
      created: new Date(NOW - 3_600_000).toISOString(),
      alert_type: 'bicycle.outside_operational_period',
      state: 'escalated',
      message: 'Out\nside',
      bicycle: 'https://x/bicycles/6f1c0b5e-2f0e-4c56-9d3a-0d6f3a1f7c11/',
    },
  ],
  changes: Array.from({ length: 50 }, (_, index) => ({
    atMs: NOW - index * 1_700,
    entry: change(index % 3 === 0 ? 'rented' : 'lost', `Ada ${index}`),
  })),
};

const NEEDS = { bicycles: BICYCLES.length, changes: 50, alerts: 2 };

/** The fleet is still being read. */
const PARTLY: Partial<BoardInput> = { fleet: { ...INPUT.fleet, total: 475, isWhole: false } };

function draw(
  width: number,
  height: number,
  input: Partial<BoardInput> = {},
  paint = NO_PAINT,
): string[] {
  return boardLines({ ...INPUT, ...input }, { width, height, paint });
}

function screen(width: number, height: number, input: Partial<BoardInput> = {}): string {
  return `\n${draw(width, height, input).join('\n')}\n`;
}

test.each([
  [{ readAtMs: 3_875_000, reason: 'HTTP 503' }, 'ALERTS  2 min 5 s old: HTTP 503'],
  [{ readAtMs: undefined, reason: 'connection refused' }, 'ALERTS  not read: connection refused'],
  [undefined, 'ALERTS'],
])(
  'shows the age of the alerts while the alert list cannot be read: %j',
  (staleAlerts, heading) => {
    expect(draw(80, 40, { staleAlerts }).map((line) => line.trimEnd())).toContain(heading);
  },
);

test('reports that the comparison after a gap is incomplete', () => {
  const doubt = 'a cache kept the list for 30 s';
  const [, , third = ''] = draw(120, 40, { doubt });
  expect(third).toBe(`the comparison after the last gap is not complete: ${doubt}`);
  expect(draw(80, 40)[2]).toBe('');
});

test('draws the board at 20x5', () => {
  expect(screen(20, 5)).toMatchInlineSnapshot(`
    "
     fleet wa… 15:03:59 
    5.3/s, 12345 messag…


    q quit …  ● connect…
    "
  `);
});

test('draws the board at 60x20', () => {
  expect(screen(60, 20)).toMatchInlineSnapshot(`
    "
     fleet watch /a087eaf3-00b3-49c9-8706-c4ebfb2627f… 15:03:59 
    5.3/s, 12345 messages, last 400 ms ago; 2 gaps, down 3 min …

    STATES of 134                  BICYCLES by charge
    available      ███████     69    CHARGE  NAME      STATE
    reserved       ▊            7  >    6 %  Emmy 01…  available
    in_maintenance █▍          14      11 %  فاطمة ا…  available
    rented         ████        40      14 %  王小明 …  rented
    lost           ▎            3      20 %  The bic…  lost
    unrecoverable               0      20 %  Vera ␛[…  retired
    retired        ▏            1         -  No batt…  retired

    CHANGES  newest 6 of 50; 2 alerts hidden
    15:03:59  Ada 0            available -> rented          50 %
    15:03:57  Ada 1            available -> lost            50 %
    15:03:55  Ada 2            available -> lost            50 %
    15:03:53  Ada 3            available -> rented          50 %
    15:03:52  Ada 4            available -> lost            50 %
    15:03:50  Ada 5            available -> lost            50 %
    q quit  ? help  a act  Space mark …     ● connected for 40 s
    "
  `);
});

test('shows how many bicycles are known while the fleet is being read', () => {
  expect(screen(80, 24, PARTLY)).toMatchInlineSnapshot(`
    "
     fleet watch /a087eaf3-00b3-49c9-8706-c4ebfb2627fd/admin/bicycles/*    15:03:59 
    5.3/s, 12345 messages, last 400 ms ago; 2 gaps, down 3 min 4 s

    STATES of 134 known of 475               BICYCLES by charge, of those known
    available      █████████████████    69+    CHARGE  NAME                STATE
    reserved       █▊                    7+  >    6 %  Emmy 0197           available
    in_maintenance ███▌                 14+      11 %  فاطمة الزهراء       available
    rented         █████████▉           40+      14 %  王小明 271          rented
    lost           ▊                     3+      20 %  The bicycle forme…  lost
    unrecoverable                         ?      20 %  Vera ␛[2J 0037      retired
    retired        ▎                     1+         -  No battery          retired

    CHANGES  newest 6 of 50
    15:03:59  Ada 0            available -> rented          50 % 52.5200, 13.4000
    15:03:57  Ada 1            available -> lost            50 % 52.5200, 13.4000
    15:03:55  Ada 2            available -> lost            50 % 52.5200, 13.4000
    15:03:53  Ada 3            available -> rented          50 % 52.5200, 13.4000
    15:03:52  Ada 4            available -> lost            50 % 52.5200, 13.4000
    15:03:50  Ada 5            available -> lost            50 % 52.5200, 13.4000

    ALERTS
    1 min ago   lock.bat.low               new        Emmy 0197     Battery below 1…
    1 h ago     bicycle.outside_operatio…  escalated  6f1c0b5e      Out␊side
    q quit  ? help  a act  Space mark  / filter  Enter open …   ● connected for 40 s
    "
  `);
});

test("draws the help screen and a bicycle's card", () => {
  expect(screen(60, 12, { view: { ...VIEW, panel: { type: 'help' } } })).toMatchInlineSnapshot(`
    "
     fleet watch /a087eaf3-00b3-49c9-8706-c4ebfb2627f… 15:03:59 
    KEYS
    q              quit
    ?              help, and back
    /              filter bicycles and changes: words, and
                   conditions such as charge<20 or state=lost;
                   Enter keeps it, Esc drops it
    s              sort the bicycles by charge, name, state or
                   last change
    ↑ ↓ PgUp PgDn  scroll
    … 10 more lines
    q quit  Esc back  a act  ↑↓ scroll …    ● connected for 40 s
    "
  `);
  const panel = { type: 'card', uuid: 'x', scroll: 0 } as const;
  expect(screen(60, 6, { view: { ...VIEW, panel } })).toMatchInlineSnapshot(`
    "
     fleet watch /a087eaf3-00b3-49c9-8706-c4ebfb2627f… 15:03:59 
    Emmy 0197  available

    state   available
    … 4 more lines
    q quit  Esc back  a act  ↑↓ scroll …    ● connected for 40 s
    "
  `);
});

test('colors do not change the text of the board', async () => {
  const paint = await loadPaint(1);
  const plain = (lines: string[]) =>
    lines.map((line) => line.replace(/\u001b\[\d+m/g, '').trimEnd());
  for (const [width, height] of [
    [20, 5],
    [60, 20],
    [80, 24],
    [140, 50],
  ] as const) {
    expect(plain(draw(width, height, {}, paint))).toEqual(plain(draw(width, height)));
  }
  expect(draw(80, 24, {}, paint).join('\n')).toContain('\u001b[32m█');
  expect(draw(80, 24, PARTLY, paint).join('\n')).toContain('\u001b[90mavailable');
});

describe('the board footer', () => {
  const connecting: BoardConnection = { state: 'connecting', sinceMs: 3_998_000 };
  const open: BoardConnection = { state: 'open', sinceMs: 3_960_000 };
  const failure = { message: 'connection refused', retryAtMs: 4_003_000 };
  const lost: BoardConnection = { state: 'lost', sinceMs: 3_988_000, ...failure };
  const again = 'lost for 12 s, again in 3 s: connection refused';
  test.each<[name: string, topics: BoardConnection[], text: string]>([
    ['standing', [open], '● connected for 40 s'],
    ['connecting', [connecting], '○ connecting for 2 s'],
    ['lost', [lost], `○ ${again}`],
    ['one of two lost', [open, lost], `○ 1 of 2 topics connected; ${again}`],
    ['all of two', [open, open], '● connected on all 2 topics for 40 s'],
  ])('the board footer shows %s', (_name, topics, text) => {
    const connections = new Map(
      topics.map((connection, index) => [`${TOPIC}${index}`, connection]),
    );
    const footer = draw(160, 24, { connections }).at(-1) ?? '';
    expect(footer).toMatch(
      /^q quit {2}\? help {2}a act {2}Space mark {2}\/ filter {2}Enter open {2}s sort {2}m map {2}/,
    );
    expect(footer.endsWith(text)).toBe(true);
  });
});

test.each([4, 5, 6, 10])('help on %i lines shows how many lines are hidden', (height) => {
  const lines = draw(60, height, { view: { ...VIEW, panel: { type: 'help' } } });
  expect(lines.join('\n')).toMatch(/^… \d+ more lines$/m);
});

test('the board fits every terminal size', () => {
  for (let height = 1; height <= 60; height += isLong || height < 24 ? 1 : 4) {
    for (const width of [20, 33, 49, 50, 60, 80, 109, 110, 140, 250]) {
      const rows = INPUT.fleet.rows.slice(0, bicycleRows(height, NEEDS));
      const lines = draw(width, height, { fleet: { ...INPUT.fleet, rows } });
      const wide = lines.filter((line) => widthOf(line) > width);
      expect({ width, height, lines: lines.length, wide }).toEqual({
        width,
        height,
        lines: height,
        wide: [],
      });
    }
  }
});

test('draws the board when no bicycles are known', () => {
  const empty = {
    counts: new Map(),
    known: 0,
    total: undefined,
    isWhole: false,
    rows: [],
    matching: 0,
  };
  const fleet = { ...INPUT.fleet, ...empty };
  const traffic = { messages: 0, lastMessageMs: undefined, perSecond: 0, gapCount: 0, downMs: 0 };
  expect(
    draw(80, 24, { fleet, traffic, alerts: [], changes: [] }).slice(1, 5),
  ).toMatchInlineSnapshot(`
    [
      "0.0/s, 0 messages; no gaps",
      "",
      "STATES of 0 known                        BICYCLES by charge, of those known",
      "available                             ?",
    ]
  `);
  const connections = new Map([['t', { state: 'lost', sinceMs: 0 } as const]]);
  expect(draw(80, 24, { traffic, connections })[1]).toBe('0.0/s, 0 messages; a gap is open');
});

describe('the bicycle list on the board', () => {
  const names = (sort: BoardView['sort'], filter = '') =>
    pickRows(
      BICYCLES,
      { sort, keep: readFilter(filter, { ms: NOW, zone: openTimeZone('UTC') }).keep },
      0,
      3,
    ).rows.map(({ name }) => String(name).slice(0, 9));
  test.each([
    ['charg<20', 'unknown field "charg", did you mean "charge"?'],
    ['state=retird', 'unknown state "retird", did you mean "retired"?'],
    ['charge<low', '"charge<low" compares state_of_charge, which is a number, with "low"'],
    ['wheels=3', undefined],
    ['charge<20 state=lost Ada', undefined],
    ['charge<', undefined],
  ])('reports the error in the filter %j', (text, problem) => {
    const filterProblem = readFilter(text, { ms: NOW, zone: openTimeZone('UTC') }).problem;
    if (problem === undefined) return expect(filterProblem).toBeUndefined();
    expect(filterProblem).toContain(problem);
    const input = { view: { ...VIEW, filter: text }, fleet: { ...INPUT.fleet, filterProblem } };
    expect(screen(160, 24, input)).toContain(problem.slice(0, 30));
  });
  test('the bicycle list on the board can be sorted, filtered and scrolled', () => {
    expect(names('charge')).toEqual(['Emmy 0197', 'فاطمة الز', '王小明 271']);
    expect(names('name')).toEqual(['Emmy 0197', 'No batter', 'The bicyc']);
    expect(names('state')).toEqual(['Emmy 0197', 'فاطمة الز', 'The bicyc']);
    expect(names('last change')).toEqual(['No batter', 'Vera \u001b[2J', 'The bicyc']);
    expect(names('charge', 'RETIRED')).toEqual(['Vera \u001b[2J', 'No batter']);
    expect(names('charge', 'charge<14 state=available')).toEqual(['Emmy 0197', 'فاطمة الز']);
    expect(names('charge', 'state!=retired EMMY')).toEqual(['Emmy 0197']);
    expect(names('charge', 'name=No')).toEqual([]);
    // Not finished yet.
    expect(names('charge', 'state_of_charge<')).toHaveLength(3);
    expect(pickRows(BICYCLES, { sort: 'charge', keep: () => true }, 4, 3)).toMatchObject({
      rows: [{ name: BICYCLES[4]?.name }, {}],
      matching: 6,
    });
  });
});

describe('the sections of the board share its height', () => {
  const many = { bicycles: 400, changes: 400, alerts: 20 };
  test.each([
    ['the list gets the rows that changes do not need', { ...many, changes: 0, alerts: 0 }, 34],
    ['all parts are long', many, 20],
    ['few bicycles leave the rows to the changes', { ...many, bicycles: 3 }, 6],
  ])('%s', (_what, needs, rows) => {
    expect(bicycleRows(48, needs)).toBe(rows);
  });

  test('a board section that does not fit shows how many entries are hidden', () => {
    const rows = INPUT.fleet.rows.slice(0, bicycleRows(20, { ...NEEDS, bicycles: 400 }));
    const fleet = { ...INPUT.fleet, rows, matching: 400 };
    const text = draw(60, 20, { fleet }).join('\n');
    expect(text).toContain(`BICYCLES 1-${rows.length} of 400`);
    expect(text).toMatch(/CHANGES {2}newest \d of 50; 2 alerts hidden/);
    expect(text).toMatch(/q quit {2}\? help.* …/);
  });
});

describe('dialogs', () => {
  const question =
    'Run put_in_maintenance on 2 bicycles (Emmy 0197, Ada 7) at http://127.0.0.1:4010 (profile sandbox)?';
  const ask = {
    ...({ type: 'ask', uuids: ['a', 'b'], transition: 'put_in_maintenance', question } as const),
    ...{ proof: undefined, typed: '' },
  };
  test.each([60, 80, 140])('shows the whole prompt above the footer at %i columns', (width) => {
    const lines = draw(width, 20, { view: { ...VIEW, dialog: ask } });
    expect(lines).toHaveLength(20);
    expect(lines.join(' ').replace(/\s+/g, ' ')).toContain(question);
    expect(lines.at(-2)).toContain('Enter: yes');
  });

  test('the dialog shows how many bicycles allow each transition', () => {
    const choices = [
      { name: 'put_in_maintenance', allowedCount: 2 },
      { name: 'rent', allowedCount: 1 },
    ];
    const dialog = { type: 'choose', uuids: ['a', 'b'], choices, selected: 1 } as const;
    const lines = draw(60, 20, { view: { ...VIEW, dialog } });
    expect(lines.slice(-5, -1).map((line) => line.trimEnd())).toEqual([
      'TRANSITION for 2 bicycles',
      '  put_in_maintenance',
      '> rent                allowed for 1 of 2',
      '↑↓: choose   Enter: ask   y: command   Esc: back',
    ]);
  });

  test('a long dialog keeps the selected row visible', () => {
    const choices = Array.from({ length: 12 }, (_, at) => ({ name: `t${at}`, allowedCount: 1 }));
    const dialog = { type: 'choose', uuids: ['a'], choices, selected: 11 } as const;
    const lines = draw(60, 8, { view: { ...VIEW, dialog } });
    expect(lines.join('\n')).toContain('TRANSITION for 1 bicycle (8 more lines)');
    expect(lines.join('\n')).toContain('> t11');
  });

  test('the board shows marked bicycles and the result of a change', () => {
    const [first] = INPUT.fleet.rows;
    const fleet = { ...INPUT.fleet, rows: [{ ...first, uuid: 'A' }, ...INPUT.fleet.rows.slice(1)] };
    const view = { ...VIEW, marked: new Set(['a']), message: '✓ rent on 1 bicycle: done' };
    const lines = draw(80, 24, { fleet, view });
    expect(lines.join('\n')).toContain('BICYCLES 1 marked, by charge');
    expect(lines.join('\n')).toMatch(/CHARGE {2}NAME +STATE/);
    expect(lines.join('\n')).toMatch(/>\* +6 % {2}Emmy 0197/);
    expect(lines.at(-1)).toBe('rent on 1 bicycle: done');
  });
});
