// Tests lists of organizations, zones, models and locks, and their names as values of flags.

import { describe, expect, test } from 'vitest';
import type { Sandbox } from '../../src/sandbox/index.js';
import { isTurnedRight } from '../support/gbfs.js';
import { type RunOptions, runFleet } from '../support/run.js';
import { openSandbox, useSandbox } from '../support/sandbox.js';
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
const changes = () => sandbox().requests.filter(({ method }) => method !== 'GET');

describe('`organizations list`, `zones list` and `models list`', () => {
  test.each([
    ['organizations', 'NAME', () => sandbox().organizations],
    ['zones', 'NAME', () => sandbox().zones],
    ['models', 'NAME', () => sandbox().models],
  ] as const)('%s list prints every format', async (noun, header, known) => {
    const expected = known().map(({ uuid }) => uuid);
    const json = JSON.parse((await fleet([noun, 'list', '--json'])).stdout) as {
      uuid: string;
      name: string;
    }[];
    expect(json.map(({ uuid }) => uuid)).toEqual(expected);
    const table = (await fleet([noun, 'list'])).stdout;
    expect(table).toMatch(new RegExp(`^${header} +UUID`));
    for (const { uuid, name } of known()) expect(table).toMatch(new RegExp(`${name} +${uuid}`));
    expect((await fleet([noun, 'list', '-o', 'uuid'])).stdout).toBe(`${expected.join('\n')}\n`);
    const csv = (await fleet([noun, 'list', '-o', 'csv'])).stdout.split('\n');
    expect(csv[0]).toMatch(/^name,uuid,.*url/);
    expect(csv).toHaveLength(expected.length + 2);
    expect((await fleet([noun, 'list', '--count'])).stdout).toBe(`${expected.length}\n`);
    const [first] = known();
    const found = await fleet([noun, 'list', '--where', `name=${first?.name}`, '-o', 'uuid']);
    expect(found.stdout).toContain(`${first?.uuid}\n`);
  });

  test('prints zones as GeoJSON with outlines, and rejects GeoJSON for organizations', async () => {
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

  test('prints outlines according to RFC 7946, with the right-hand rule and a cut at the antimeridian', async () => {
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

  test('exits with 5 and one line when the service has no such list', async () => {
    const own = await openSandbox({ bicycles: 3, service: 'interface' });
    const run = await fleet(['zones', 'list'], {}, own);
    expect(run.code).toBe(5);
    expect(run.stderr).toMatch(
      /^error: this service lists no zones \(HTTP 404, request [^)]+\)\nhint: .*\n$/,
    );
  });
});

describe('names in flags', () => {
  test('suggests the similar name', async () => {
    const { code, stderr } = await fleet(['bicycles', 'list', '--zone', 'ber']);
    expect([code, stderr]).toEqual([
      5,
      expect.stringContaining('hint: did you mean "Berlin"? zones: '),
    ]);
  });

  test('names in flags are accepted by --zone, --organization and the settings', async () => {
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

  test('names in flags become links for --model, --lock and --organization of `edit` and `create`', async () => {
    const [bicycle] = sandbox().bicycles();
    const model = sandbox().models.at(-1);
    const bleid = String(
      sandbox()
        .bicycles()
        .find(({ lock }) => typeof lock === 'string')?.bleid,
    );
    const [, second] = sandbox().organizations;
    const edit = await fleet([
      ...['bicycles', 'edit', bicycle?.uuid ?? '', '--dry-run', '--method', 'PATCH'],
      ...['--model', model?.name ?? '', '--lock', bleid, '--organization', second?.name ?? ''],
    ]);
    expect([edit.code, edit.stderr]).toEqual([0, expect.any(String)]);
    const create = await fleet([
      'bicycles',
      'create',
      '--name',
      'Ada',
      '--model',
      model?.name ?? '',
      '--dry-run',
    ]);
    expect(create.code).toBe(2);
    const here = ['--organization', second?.name ?? ''];
    const made = await fleet([
      'bicycles',
      'create',
      '--name',
      'Ada',
      '--model',
      model?.name ?? '',
      '--dry-run',
      ...here,
    ]);
    expect([made.code, made.stdout]).toEqual([0, expect.stringContaining(String(model?.url))]);
    expect(made.stdout).toContain(`/organizations/${second?.uuid}/`);
    expect(changes()).toEqual([]);
  });

  test('names in flags are rejected when several match or none does (exit 5), and nothing is sent', async () => {
    const uuid = '44444444-4444-4444-8444-444444444444';
    const { env, asked } = await openServer((response, { path }) =>
      path.startsWith('/bicycle_models/')
        ? sendJson(response, 200, [
            { uuid: '11111111-1111-4111-8111-111111111111', name: 'Cargo' },
            { uuid: '22222222-2222-4222-8222-222222222222', name: 'Cargo' },
            { uuid: '33333333-3333-4333-8333-333333333333', name: 'City' },
          ])
        : sendJson(response, 200, { uuid }),
    );
    const edit = (model: string) =>
      runFleet(['bicycles', 'edit', uuid, '--model', model, '--yes'], { env });
    const several = await edit('cargo');
    expect(several.code).toBe(2);
    expect(several.stderr).toContain('2 models are named "cargo"; nothing was sent');
    expect(several.stderr).toContain('11111111-1111-4111-8111-111111111111 (Cargo), 22222222');
    const none = await edit('Tandem');
    expect([none.code, none.stderr]).toEqual([
      5,
      expect.stringContaining('no model is named "Tandem"'),
    ]);
    expect(none.stderr).toContain('(City)');
    expect(asked.map(({ method }) => method)).toEqual(['GET', 'GET', 'GET', 'GET']);
  });
});

test.each([
  ['--zone', () => sandbox().zones[0]],
  ['--organization', () => sandbox().organizations[0]],
] as const)('are completed for %s', async (flag, known) => {
  const { uuid = '', name = '' } = known() ?? {};
  const run = await fleet(['__complete', '--', 'bicycles', 'list', flag, uuid.slice(0, 4)]);
  expect(run.stdout).toContain(`${uuid}\t${name}`);
});
