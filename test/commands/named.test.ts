// Tests outlines of zones as GeoJSON, and that names in flags select the same bicycles as UUIDs. The
// transcripts in test/transcripts/names show the rest.

import { describe, expect, test } from 'vitest';
import type { Sandbox } from '../../src/sandbox/index.js';
import { openQuickClock } from '../support/fast-clock.js';
import { isTurnedRight } from '../support/gbfs.js';
import { type RunOptions, runFleet } from '../support/run.js';
import { useSandbox } from '../support/sandbox.js';
import { openServer, sendJson } from '../support/server.js';

const sandbox = useSandbox({ bicycles: 60 });

async function fleet(
  args: readonly string[],
  { env, ...options }: RunOptions = {},
  own: Sandbox = sandbox(),
) {
  const token = { FLEET_TOKEN: await own.token() };
  return runFleet(args, { ...options, env: { FLEET_BASE_URL: own.baseUrl, ...token, ...env } });
}

describe('`organizations list`, `zones list` and `models list`', () => {
  test('prints zones as GeoJSON and rejects GeoJSON for organizations', async () => {
    const { features } = JSON.parse((await fleet(['zones', 'list', '-o', 'geojson'])).stdout);
    expect(features).toHaveLength(sandbox().zones.length);
    expect(features[0]).toMatchObject({
      id: sandbox().zones[0]?.uuid,
      geometry: { type: 'Polygon', coordinates: [expect.any(Array)] },
      properties: { name: sandbox().zones[0]?.name },
    });
    expect(features[0].properties).not.toHaveProperty('polygon');
    expect((await fleet(['organizations', 'list', '-o', 'geojson'])).code).toBe(2);
  });

  test('zone outlines follow the right-hand rule and are cut at the antimeridian', async () => {
    const outer = '[[13.10,52.5],[13.10,52.6],[13.2,52.6],[13.2,52.5],[13.10,52.5]]';
    const hole = '[[13.12,52.52],[13.14,52.52],[13.14,52.54],[13.12,52.54],[13.12,52.52]]';
    const zone = (type: string, rings: string) =>
      `{"uuid":"${type}","name":"x","polygon":{"type":"${type}","coordinates":${rings}}}`;
    const zones = [
      zone('Polygon', `[${outer},${hole}]`),
      zone('MultiPolygon', `[[${outer}]]`),
      zone('Point', '[1,2]'),
      zone('Polygon', '[[[8,47],[9,47],[9,48]]]').replace('"Polygon"', '"open"'),
      zone('Polygon', '[[[179,1],[-179,1],[-179,2],[179,2],[179,1]]]').replace(
        '"Polygon"',
        '"across"',
      ),
      zone('Polygon', '[[[181,1],[182,1],[182,2],[181,1]]]').replace('"Polygon"', '"beyond"'),
    ];
    const { url } = await openServer((response) =>
      sendJson(
        response,
        200,
        `{"count":6,"next":null,"previous":null,"results":[${zones.join()}]}`,
      ),
    );
    const run = await fleet(['zones', 'list', '-o', 'geojson'], { env: { FLEET_BASE_URL: url } });
    const { features } = JSON.parse(run.stdout);
    expect(isTurnedRight(features[0].geometry.coordinates)).toBe(true);
    expect(isTurnedRight(features[1].geometry.coordinates[0])).toBe(true);
    expect(features[2].geometry.coordinates).toEqual([1, 2]);
    expect(features[3].geometry.coordinates[0]).toHaveLength(4);
    expect(features[4].geometry.type).toBe('MultiPolygon');
    expect(features).toHaveLength(5);
  });
});

describe('names in flags', () => {
  test('--zone, --organization and the settings accept names instead of UUIDs', async () => {
    const [zone] = sandbox().zones;
    const [, second] = sandbox().organizations;
    const model = sandbox().models[0];
    const ofModel = await fleet([
      'bicycles',
      'list',
      '--model',
      model?.name ?? '',
      '--all',
      '--json',
    ]);
    const models = JSON.parse(ofModel.stdout).map(({ model: url }: { model: string }) => url);
    expect(models.length).toBeGreaterThan(0);
    expect(new Set(models)).toEqual(new Set([model?.url]));
    const count = await fleet(['bicycles', 'list', '--model', model?.uuid ?? '', '--count']);
    expect(count.stdout).toBe(`${models.length}\n`);
    const byName = await fleet([
      'bicycles',
      'list',
      '--zone',
      zone?.name ?? '',
      '--all',
      '-o',
      'uuid',
    ]);
    const byUuid = await fleet([
      'bicycles',
      'list',
      '--zone',
      zone?.uuid ?? '',
      '--all',
      '-o',
      'uuid',
    ]);
    expect([byName.code, byName.stdout]).toEqual([0, byUuid.stdout]);
    expect(byName.stdout).not.toBe('');
    const own = `${sandbox().bicycles(second?.uuid).length}\n`;
    const env = { FLEET_ORGANIZATION: second?.name };
    expect((await fleet(['bicycles', 'list', '--count'], { env })).stdout).toBe(own);
    expect(
      (await fleet(['bicycles', 'list', '--count', '--organization', second?.name ?? ''])).stdout,
    ).toBe(own);
    // The name is looked up only once.
    const before = sandbox().requests.length;
    const name = sandbox().bicycles(second?.uuid)[0]?.name ?? '';
    expect((await fleet(['bicycles', 'get', name, '--json'], { env })).code).toBe(0);
    const asked = sandbox().requests.slice(before);
    expect(asked.filter(({ url }) => url.startsWith('/organizations/'))).toHaveLength(1);
  });
});

/** Tab waits for the service only for a short time, which is longer with this clock. */
const SLOW = 0.05;

test.each([
  ['--zone', () => sandbox().zones[0]],
  ['--organization', () => sandbox().organizations[0]],
] as const)('are completed for %s', async (flag, known) => {
  const { uuid = '', name = '' } = known() ?? {};
  const words = ['__complete', '--', 'bicycles', 'list', flag, uuid.slice(0, 4)];
  const run = await fleet(words, { clock: openQuickClock(SLOW) });
  expect(run.stdout).toContain(`${uuid}\t${name}`);
});

test('stops reading a list of names that never ends', async () => {
  let pages = 0;
  const { url } = await openServer((response, request) => {
    const at = request.page;
    pages = Math.max(pages, at);
    const results = Array.from({ length: 5_000 }, (_, index) => ({
      uuid: `00000000-0000-4000-8000-${String(at * 5_000 + index).padStart(12, '0')}`,
      name: `zone ${at} ${index}`,
    }));
    sendJson(response, 200, { count: 10_000_000, next: `${url}/zones/?page=${at + 1}`, results });
  });
  const run = await fleet(['bicycles', 'list', '--zone', 'Mitte'], {
    env: { FLEET_BASE_URL: url },
  });
  expect(run.code).toBe(7);
  expect(run.stderr).toBe(
    'error: the list of zones has more than 50000 items, which is too many to search by name\nhint: use a UUID in place of the name\n',
  );
  expect(pages).toBeLessThan(15);
});
