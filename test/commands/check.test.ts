// Tests `fleet check`: areas, verdicts on incomplete data, durations, and changes of verdicts.

import { mkdirSync } from 'node:fs';
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
import { openSandbox } from '../support/sandbox.js';
import { openServer, sendPage } from '../support/server.js';

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

/** Serves one bicycle at this place and two zones, and returns the verdict of one rule. */
async function verdictAt([longitude, latitude]: [number, number], rule: object) {
  const uuid = '00000000-0000-4000-8000-000000000000';
  const { env } = await openServer((response, { path }) => {
    if (path.startsWith('/zones/')) {
      const zones = [
        { uuid: ZONE, name: 'Ring', polygon: RING },
        { uuid: OTHER_ZONE, name: 'Date line', polygon: DATE_LINE },
      ];
      return sendPage(response, zones);
    }
    return sendPage(response, [{ uuid, state: 'available', longitude, latitude }]);
  });
  const run = await runFleet(['check', '-', '--json'], {
    env,
    stdin: Readable.from([JSON.stringify({ rules: [rule] })]),
  });
  const [{ found, unlocated, verdict }] = JSON.parse(run.stdout);
  return { found, unlocated, verdict };
}

describe('check results', () => {
  test.each<[string, [number, number], string, number]>([
    ['on the line of a zone', [1, 0.7], 'Ring', 1],
    ['on the corner of a zone', [1, 1], 'Ring', 1],
    ['in a hole of a zone', [0, 0], 'Ring', 0],
    ['on the line of a hole', [0.5, 0], 'Ring', 1],
    ['outside a zone', [2, 0], 'Ring', 0],
    ['west of the date line', [179.5, 0], 'Date line', 1],
    ['east of the date line', [-179.5, 0], 'Date line', 1],
    ['on the date line', [180, 0], 'Date line', 1],
    ['on the date line from the other side', [-180, 0], 'Date line', 1],
  ])('a check correctly counts a bicycle %s', async (_where, at, zone, found) => {
    expect(await verdictAt(at, { name: 'r', zone, max: 9 })).toEqual({
      found,
      unlocated: 0,
      verdict: 'ok',
    });
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
  ])(
    'the check %j with the counts %j and the totals %j returns %s',
    (limits, selected, of, verdict) => {
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
    },
  );
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

  test('"for" counts bicycles that matched the filters during the whole period', async () => {
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

  test('the result of a check with "for" is unknown when the mirror\'s history is too short or has a gap', async () => {
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

  test('a check with "for" returns unknown when a bicycle temporarily had no position', async () => {
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

  test('a bicycle that moves inside the area still counts for the whole period', async () => {
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

describe('--every', () => {
  test('--every reports a new result only after it has lasted for the "hold" time', () => {
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
});
