// Tests `fleet check`: rules with lines, verdicts on incomplete data, areas, and changes of verdicts.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { stepVerdict } from '../../src/commands/check/keep-checking.js';
import { decideVerdict } from '../../src/commands/check/verdict.js';
import type { ServedBicycle } from '../../src/sandbox/fleet.js';
import { environmentOf } from '../support/environment.js';
import { newFolder } from '../support/folder.js';
import {
  type MadeOf,
  makeMirror,
  organizationOf,
  type RecordedChange,
} from '../support/made-mirror.js';
import { withDatabase } from '../support/mirror.js';
import { runFleet } from '../support/run.js';
import { startFleet } from '../support/running.js';
import { inState, openSandbox } from '../support/sandbox.js';
import { openServer, sendJson } from '../support/server.js';

const ZONE = '00000000-0000-4000-8000-0000000000a1';
const OTHER_ZONE = '00000000-0000-4000-8000-0000000000a2';

/** A square of two degrees around 0,0 with a hole of one degree in its middle. */
const RING = {
  type: 'Polygon',
  coordinates: [
    [
      [-1, -1],
      [1, -1],
      [1, 1],
      [-1, 1],
      [-1, -1],
    ],
    [
      [-0.5, -0.5],
      [-0.5, 0.5],
      [0.5, 0.5],
      [0.5, -0.5],
      [-0.5, -0.5],
    ],
  ],
};
/** A square that crosses the date line. */
const DATE_LINE = {
  type: 'Polygon',
  coordinates: [
    [
      [179, -1],
      [-179, -1],
      [-179, 1],
      [179, 1],
      [179, -1],
    ],
  ],
};

interface Place {
  at?: [longitude: number, latitude: number];
  state?: string;
}

/** A service with these bicycles and two zones. */
async function openFleet(places: readonly Place[], count = places.length) {
  const results = places.map(({ at, state = 'available' }, index) => ({
    uuid: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
    name: `Bike ${index}`,
    state,
    longitude: at?.[0] ?? null,
    latitude: at?.[1] ?? null,
  }));
  const server = await openServer((response, { path }) => {
    if (path.startsWith('/zones/')) {
      const zones = [
        { uuid: ZONE, name: 'Ring', polygon: RING },
        { uuid: OTHER_ZONE, name: 'Date line', polygon: DATE_LINE },
      ];
      return sendJson(response, 200, { count: 2, next: null, results: zones });
    }
    return sendJson(response, 200, { count, next: null, results });
  });
  return {
    server,
    check: (rules: object | string, args: readonly string[] = []) =>
      runFleet(['check', '-', ...args], {
        env: server.env,
        stdin: Readable.from([typeof rules === 'string' ? rules : JSON.stringify({ rules })]),
      }),
  };
}

async function verdictsOf(places: readonly Place[], rules: object, count?: number) {
  const { check } = await openFleet(places, count);
  const run = await check(rules, ['--json']);
  return JSON.parse(run.stdout).map(({ found, unlocated, verdict }: Record<string, unknown>) => ({
    found,
    unlocated,
    verdict,
  }));
}

describe('verdicts', () => {
  test('verdicts are rows with the fields of the contract, and set the exit code', async () => {
    const { check } = await openFleet([{}, { state: 'lost' }]);
    const good = await check([{ name: 'some', min: 1 }], ['--json']);
    expect([good.code, JSON.parse(good.stdout)]).toEqual([
      0,
      [
        {
          rule: 'some',
          found: 2,
          of: null,
          limit: 'at least 1',
          verdict: 'ok',
          unlocated: 0,
          reason: null,
        },
      ],
    ]);
    const bad = await check([{ name: 'lost', state: 'lost', max_percent: 5 }], ['--json']);
    expect(bad.code).toBe(9);
    expect(JSON.parse(bad.stdout)).toEqual([
      expect.objectContaining({ found: 1, of: 2, limit: 'at most 5 % of 2', verdict: 'violated' }),
    ]);
  });

  test.each<[string, Place['at'], string, number]>([
    ['on the line of a zone', [1, 0.7], 'Ring', 1],
    ['on the corner of a zone', [1, 1], 'Ring', 1],
    ['in a hole of a zone', [0, 0], 'Ring', 0],
    ['on the line of a hole', [0.5, 0], 'Ring', 1],
    ['outside a zone', [2, 0], 'Ring', 0],
    ['west of the date line', [179.5, 0], 'Date line', 1],
    ['east of the date line', [-179.5, 0], 'Date line', 1],
    ['on the date line', [180, 0], 'Date line', 1],
    ['on the date line from the other side', [-180, 0], 'Date line', 1],
  ])('count a bicycle %s', async (_where, at, zone, found) => {
    const [row] = await verdictsOf([{ at: at ?? [0, 0] }], [{ name: 'r', zone, max: 9 }]);
    expect(row).toEqual({ found, unlocated: 0, verdict: 'ok' });
  });

  test('verdicts count a bicycle in two zones once', async () => {
    const rules = [{ name: 'r', zone: ['Ring', ZONE], max: 9 }];
    expect(await verdictsOf([{ at: [0.7, 0.7] }], rules)).toEqual([
      { found: 1, unlocated: 0, verdict: 'ok' },
    ]);
  });

  test('verdicts are unknown when bicycles without a position could change them', async () => {
    const places = [{ at: [0.7, 0] as [number, number] }, {}, {}];
    const rules = [
      { name: 'could be too many', zone: 'Ring', max: 2 },
      { name: 'enough in any case', zone: 'Ring', max: 3 },
      { name: 'could be too few', zone: 'Ring', min: 2 },
      { name: 'too many in any case', zone: 'Ring', max: 0 },
    ];
    expect(
      (await verdictsOf(places, rules)).map(({ verdict }: { verdict: string }) => verdict),
    ).toEqual(['unknown', 'ok', 'unknown', 'violated']);
  });

  test('verdicts are unknown when the list is not complete', async () => {
    const rules = [{ name: 'r', max: 9 }];
    expect(await verdictsOf([{}, {}], rules, 5)).toEqual([
      { found: 2, unlocated: 0, verdict: 'unknown' },
    ]);
  });

  test('verdicts are unknown when "of" selects nothing, and without a mirror for "for"', async () => {
    const rules = [
      { name: 'share', max_percent: 5, of: { state: 'retired' } },
      { name: 'idle', for: '1d' },
    ];
    expect(
      (await verdictsOf([{}], rules)).map(({ verdict }: { verdict: string }) => verdict),
    ).toEqual(['unknown', 'unknown']);
  });

  test.each([
    [{ min: 1 }, { found: 0, uncertain: 1 }, undefined, 'unknown'],
    [{ min: 1, max: 2 }, { found: 1, uncertain: 1 }, undefined, 'ok'],
    [{ min: 3, max: 5 }, { found: 0, uncertain: 9 }, undefined, 'unknown'],
    [{ min: 3, max: 5 }, { found: 0, uncertain: 2 }, undefined, 'violated'],
    [{ min: 3.5, max: 4.5 }, { found: 0, uncertain: 9 }, undefined, 'unknown'],
    [{ min: 2, maxPercent: 50 }, { found: 0, uncertain: 9 }, { found: 4, uncertain: 0 }, 'unknown'],
    [{ maxPercent: 50 }, { found: 0, uncertain: 0 }, { found: 0, uncertain: 3 }, 'unknown'],
    [{ maxPercent: 50 }, { found: 1, uncertain: 0 }, { found: 2, uncertain: 0 }, 'ok'],
    [{ maxPercent: 50 }, { found: 1, uncertain: 0 }, { found: 1, uncertain: 1 }, 'unknown'],
    [{ maxPercent: 0 }, { found: 0, uncertain: 0 }, { found: 0, uncertain: 0 }, 'unknown'],
  ])('of %j with %j of %j is %s', (limits, selected, of, verdict) => {
    const rule = {
      name: 'r',
      line: 1,
      selection: { where: [] },
      bridgesGaps: false,
      holdMs: 0,
      ...limits,
    };
    expect(decideVerdict(rule, { selected, of, doubt: undefined }).verdict).toBe(verdict);
    expect(decideVerdict(rule, { selected, of, doubt: 'stale' }).verdict).toBe('unknown');
  });
});

describe('"for"', () => {
  const DAY_MS = 86_400_000;
  const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString();

  const noChanges = (_bicycles: readonly ServedBicycle[]): RecordedChange[] => [];

  /** A mirror with ten days of history, in which one bicycle became available a day ago. */
  async function openScene(gaps: MadeOf['gaps'] = [], days = 10, changesOf = noChanges) {
    const sandbox = await openSandbox({ bicycles: 40 });
    const organization = organizationOf(sandbox);
    const bicycles = sandbox.bicycles(organization).filter(({ state }) => state === 'available');
    const available = bicycles.map(({ uuid }) => uuid);
    const [recent = ''] = available;
    const folder = newFolder();
    mkdirSync(join(folder, 'state'));
    const address = `sqlite:${join(folder, 'state', 'default.db')}`;
    const changes = [
      { at: daysAgo(1), bicycle: recent, field: 'state', old: 'lost', new: 'available' },
      ...changesOf(bicycles),
    ];
    await makeMirror(address, { sandbox, changes, gaps });
    const since = daysAgo(days);
    await withDatabase(address, (database) =>
      database.all(`UPDATE bicycles SET first_seen = '${since}'`),
    );
    const env = { ...(await environmentOf(sandbox)), FLEET_CONFIG_DIR: folder };
    const check = (rule: object) =>
      runFleet(['check', '-', '--json'], {
        env: { ...env, FLEET_ORGANIZATION: organization },
        stdin: Readable.from([
          JSON.stringify({ rules: [{ name: 'r', state: 'available', ...rule }] }),
        ]),
      });
    return { available, bicycles, check };
  }

  test('counts bicycles that were selected for the whole time', async () => {
    const { available, check } = await openScene();
    const [row] = JSON.parse((await check({ for: '5d' })).stdout);
    expect(row).toMatchObject({
      found: available.length - 1,
      verdict: 'violated',
      limit: 'at most 0',
    });
    const [short] = JSON.parse((await check({ for: '12h', max: 99 })).stdout);
    expect(short).toMatchObject({ found: available.length, verdict: 'ok' });
  });

  test('a verdict of "for" is unknown when the history is too short, or has a gap', async () => {
    const short = await openScene([], 2);
    const [row] = JSON.parse((await short.check({ for: '5d' })).stdout);
    expect(row).toMatchObject({
      verdict: 'unknown',
      reason: expect.stringContaining('shorter than 5 d'),
    });
    const gap = { started: daysAgo(3), ended: daysAgo(2), reason: 'cut', found: 0 };
    const { available, check } = await openScene([gap]);
    const [unsure] = JSON.parse((await check({ for: '5d', max: 99 })).stdout);
    expect(unsure).toMatchObject({ verdict: 'unknown', reason: expect.stringContaining('gap') });
    const [bridged] = JSON.parse((await check({ for: '5d', max: 99, gaps: 'bridge' })).stdout);
    expect(bridged).toMatchObject({ verdict: 'ok', found: available.length - 1 });
  });

  test('a verdict of "for" is unknown when a bicycle had no position for a time', async () => {
    const lostPosition = ([, bicycle]: readonly ServedBicycle[]): RecordedChange[] =>
      (['latitude', 'longitude'] as const).map((field) => ({
        at: daysAgo(2),
        bicycle: bicycle?.uuid ?? '',
        field,
        old: null,
        new: bicycle?.[field],
      }));
    const { check } = await openScene([], 10, lostPosition);
    const area = { bbox: '179,89,-179,-89' };
    const [later] = JSON.parse((await check({ ...area, for: '36h', max: 99 })).stdout);
    const { found, unlocated } = later;
    const certain = { found: found - 1, unlocated: unlocated + 1 };
    const [row] = JSON.parse((await check({ ...area, for: '5d', max: found - 1 })).stdout);
    expect(row).toMatchObject({ verdict: 'unknown', ...certain });
    const [enough] = JSON.parse((await check({ ...area, for: '5d', max: 99 })).stdout);
    expect(enough).toMatchObject({ verdict: 'ok', ...certain });
  });

  test('a move inside the area does not interrupt the time', async () => {
    const RADIUS_DEGREES = 0.01;
    const shift = 0.95 * RADIUS_DEGREES;
    // From the western to the northern edge of the circle: the new latitude with the old longitude
    // is outside.
    const move = ([, bicycle]: readonly ServedBicycle[]): RecordedChange[] => {
      const { uuid = '', latitude = 0, longitude = 0 } = bicycle ?? {};
      const metresPerDegree = Math.cos((Number(latitude) * Math.PI) / 180);
      const at = daysAgo(2);
      const west = Number(longitude) - shift / metresPerDegree;
      return [
        { at, bicycle: uuid, field: 'latitude', old: Number(latitude) - shift, new: latitude },
        { at, bicycle: uuid, field: 'longitude', old: west, new: longitude },
      ];
    };
    const { bicycles, check } = await openScene([], 10, move);
    const { name, latitude, longitude } = bicycles[1] ?? {};
    const near = `${Number(latitude) - shift},${longitude}`;
    const rule = { for: '5d', near, radius: '1112m', where: `name=${name}` };
    const [row] = JSON.parse((await check(rule)).stdout);
    expect(row).toMatchObject({ verdict: 'violated', found: 1 });
  });
});

describe('a file of rules', () => {
  test.each([
    [
      'rules:\n  - name: a\n    max: 1\n    sate: lost\n',
      'line 4 of stdin: unknown key "sate"',
      'did you mean "state"?',
    ],
    [
      'rules:\n  - name: a\n    state: losst\n    max: 1\n',
      'line 3 of stdin: unknown state "losst"',
      'did you mean "lost"?',
    ],
    ['rules:\n  - max: 1\n', 'line 2 of stdin: a rule needs a "name"', 'fleet help check'],
    ['rules:\n  - name: a\n', 'line 2 of stdin: a rule needs a limit', 'fleet help check'],
    [
      'rules:\n  - name: a\n    max: -1\n',
      'line 3 of stdin: "max" must be a number',
      'fleet help check',
    ],
    [
      'rules:\n  - name: a\n    max: 1\n  - name: a\n    max: 2\n',
      'line 4 of stdin: the name "a" is used twice',
      '',
    ],
    [
      'rules:\n  - name: a\n    max: 1\n    near: 1,2\n',
      'line 4 of stdin: "near" and "radius" go together',
      '',
    ],
    [
      'rules:\n  - name: a\n    max: 1\n    where: battery<x\n',
      'line 2 of the rules: no bicycle has the field "battery"',
      '',
    ],
    [
      'rules:\n  - name: a\n    max_percent: 1\n    of:\n      where: battery<x\n',
      'line 2 of the rules: no bicycle has the field "battery"',
      '',
    ],
    [
      'rules:\n  - name: a\n    max: 1\n    near: [[1, 2], [3]]\n    radius: 1km\n',
      'error: line 4 of stdin: "near" must be a text',
      '',
    ],
    [
      'rules:\n  - name: a\n    max: 1\n    near: {a: 1}\n    radius: 1km\n',
      'error: line 4 of stdin: "near" must be a text',
      '',
    ],
    [
      'rules:\n  - name: a\n    max: 1\n    for: soon\n',
      'line 4 of stdin: "for" must be a number with a unit',
      '',
    ],
    [
      'rules:\n  - name: a\n    max: 1\n    of: {state: lost}\n',
      'line 4 of stdin: "of" works only with "max_percent"',
      '',
    ],
    ['rules: {a', 'stdin cannot be read: line', ''],
    ['rules: []', 'line 1 of stdin: the list "rules:" is empty', ''],
    ['[]', 'the file must be a map', ''],
  ])('%j is refused with its line', async (text, message, hint) => {
    const { check } = await openFleet([{}]);
    const run = await check(text);
    expect([run.code, run.stdout]).toEqual([2, '']);
    expect(run.stderr).toContain(message);
    expect(run.stderr).toContain(hint);
  });

  test('names an unknown zone and the line of its rule', async () => {
    const { check } = await openFleet([{}]);
    const known = 'rules:\n  - name: a\n    max: 1\n';
    const run = await check(`${known}  - name: b\n    zone: Nowhere\n    max: 1\n`);
    expect(run.code).not.toBe(0);
    expect(run.stderr).toContain('line 4 of the rules: no zone is named "Nowhere"');
  });
});

describe('the bicycles of violated rules', () => {
  test('the bicycles of violated rules are listed by --show, and once each by -o uuid', async () => {
    const { check } = await openFleet([{ state: 'lost' }, {}]);
    const rules = [
      { name: 'none lost', state: 'lost', max: 0 },
      { name: 'none at all', max: 0 },
    ];
    const shown = await check(rules, ['--show', '--json']);
    expect(
      JSON.parse(shown.stdout).map(({ rule, name }: Record<string, string>) => [rule, name]),
    ).toEqual([
      ['none lost', 'Bike 0'],
      ['none at all', 'Bike 0'],
      ['none at all', 'Bike 1'],
    ]);
    const uuids = await check(rules, ['-o', 'uuid']);
    expect([uuids.code, uuids.stdout.trim().split('\n')]).toEqual([
      9,
      ['00000000-0000-4000-8000-000000000000', '00000000-0000-4000-8000-000000000001'],
    ]);
  });
});

describe('--every', () => {
  test('prints and delivers each change of a verdict once, also over restarts', async () => {
    const sandbox = await openSandbox({ bicycles: 30 });
    const [uuid = ''] = inState(sandbox, 'available', 1);
    const folder = newFolder();
    const path = join(folder, 'rules.yaml');
    const lost = inState(sandbox, 'lost').length;
    writeFileSync(path, `rules:\n  - name: no more lost\n    state: lost\n    max: ${lost}\n`);
    const args = [
      ...['check', path, '--every', '1s', '--json'],
      ...['--state-file', join(folder, 'state'), '--exec', 'cat; echo'],
    ];
    const env = { ...(await environmentOf(sandbox)), PATH: process.env['PATH'] };
    const first = startFleet(args, { env });
    sandbox.act(uuid, 'declare_lost');
    await first.until(() => first.events('exec').length > 0);
    expect((await first.stop()).code).toBe(130);
    expect(first.objects()).toEqual([
      expect.objectContaining({ rule: 'no more lost', verdict: 'violated', found: lost + 1 }),
    ]);
    const second = startFleet(args, { env });
    sandbox.act(uuid, 'declare_available');
    const isOk = (line: unknown) => String(line).includes('"verdict":"ok"');
    // The first command may run again: the first run can end before the command does.
    await second.until(() => second.events('exec').some(({ line }) => isOk(line)));
    await second.stop();
    expect(second.objects()).toEqual([
      expect.objectContaining({ before: 'violated', verdict: 'ok' }),
    ]);
  });

  test('shows the limit of a rule also while the service cannot be reached', async () => {
    const { server, check } = await openFleet([{}]);
    await server.close();
    const rules = [
      { name: 'a', max: 3 },
      { name: 'b', max_percent: 5 },
    ];
    const { stdout } = await check(rules, ['--every', '1s', '--for', '1s', '--retries', '0']);
    expect(stdout).toContain('(0 found, at most 3)');
    expect(stdout).toContain('(0 found, at most 5 %)');
  });

  test('reports a new verdict only when it lasts for the time of "hold"', () => {
    const state = { reported: 'ok' as const, pending: undefined };
    const row = { rule: 'r', found: 1, of: null, limit: '', unlocated: 0, reason: null };
    const step = (verdict: 'ok' | 'violated', nowMs: number) =>
      stepVerdict(state, { ...row, verdict }, 10_000, nowMs, 0)?.verdict;
    expect([
      step('violated', 0),
      step('violated', 9_000),
      step('ok', 9_500),
      step('violated', 10_000),
      step('violated', 20_000),
      step('violated', 30_000),
    ]).toEqual([undefined, undefined, undefined, undefined, 'violated', undefined]);
  });

  test.each([
    [['--exec', 'true'], '--exec acts on a change of a verdict'],
    [['--state-file', 'x'], '--state-file acts on a change'],
    [['--for', '1s'], '--for works only with --every'],
    [['--every', '60s', '--show'], '--show and --every cannot be used together'],
  ])('refuses %j', async (args, message) => {
    const { check } = await openFleet([{}]);
    const run = await check([{ name: 'a', max: 1 }], args);
    expect([run.code, run.stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});
