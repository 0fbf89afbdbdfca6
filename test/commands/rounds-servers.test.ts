// Tests `--router` and `--solver` of `fleet rounds` with small servers that answer as OSRM 5 and
// VROOM 1.14 do.

import { describe, expect, test } from 'vitest';
import { runFleet } from '../support/run.js';
import { type Answer, openServer, sendJson, sendPage, type TestServer } from '../support/server.js';

const TOKEN = 'secret-token-of-the-test';

/** Returns bicycles on a meridian, each 0.01 degrees further north. */
function bicyclesOf(count: number) {
  return Array.from({ length: count }, (_, index) => ({
    uuid: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
    name: `Bike ${index}`,
    state: 'available',
    latitude: 52.5 + (index + 1) / 100,
    longitude: 13.4,
  }));
}

async function rounds(words: readonly string[], count = 3) {
  const service = await openServer((response) => sendPage(response, bicyclesOf(count)));
  const env = { ...service.env, FLEET_TOKEN: TOKEN };
  const result = await runFleet(['rounds', '--from', '52.5,13.4', '--json', ...words], { env });
  const plan = result.stdout === '' ? { vans: [], left_out: [] } : JSON.parse(result.stdout);
  return { ...result, plan };
}

interface OsrmTables {
  durations: (number | null)[][];
  distances: (number | null)[][];
}

interface Reading {
  sources: [number, number][];
  destinations: [number, number][];
}

/** Reads a request as osrm-routed does: places, then the indexes of sources and destinations. */
function readTableRequest(path: string): Reading {
  const url = new URL(path, 'http://x');
  const [, text = ''] = /^\/table\/v1\/driving\/(.+)$/.exec(url.pathname) ?? [];
  const places = text.split(';').map((each) => each.split(',').map(Number) as [number, number]);
  const pick = (name: string) => {
    const indexes = url.searchParams.get(name);
    if (indexes === null) return places;
    return indexes.split(';').map((index) => places[Number(index)] as [number, number]);
  };
  return { sources: pick('sources'), destinations: pick('destinations') };
}

/** Answers as osrm-routed: a kilometre of road for 0.01 degrees, 100 s north and 300 s south. */
function answerTable(change: (tables: OsrmTables) => unknown = (tables) => tables): Answer {
  return (response, { path }) => {
    const { sources, destinations } = readTableRequest(path);
    if (sources.length * destinations.length > 100 * 100)
      return sendJson(response, 400, { code: 'TooBig', message: 'Too many table coordinates' });
    const steps = (from: [number, number], to: [number, number]) =>
      Math.round((to[1] - from[1]) * 100);
    const table = (leg: (north: number) => number) =>
      sources.map((from) => destinations.map((to) => leg(steps(from, to))));
    const tables = {
      durations: table((north) => (north >= 0 ? north * 100 : -north * 300)),
      distances: table((north) => Math.abs(north) * 1000),
    };
    const waypoint = (location: [number, number]) => ({
      hint: '',
      distance: 1,
      name: '',
      location,
    });
    const body = change(tables);
    if (body !== tables) return sendJson(response, 200, body);
    sendJson(response, 200, {
      code: 'Ok',
      ...tables,
      sources: sources.map(waypoint),
      destinations: destinations.map(waypoint),
    });
  };
}

/** The token must not reach a server of the operator. */
function expectNoToken(server: TestServer): void {
  expect(server.asked.length).toBeGreaterThan(0);
  expect(JSON.stringify(server.asked)).not.toContain(TOKEN);
  expect(server.asked.every(({ headers }) => headers.authorization === undefined)).toBe(true);
}

describe('--router', () => {
  test('uses the distances and one-way times of the routing server', async () => {
    const router = await openServer(answerTable());
    const { code, stderr, plan } = await rounds(['--router', router.url, '--stop', '0']);
    expect([code, stderr.includes('router')]).toEqual([0, false]);
    const [van] = plan.vans;
    expect(van.distance_m).toBe(6000);
    // 300 s north and 900 s back south.
    expect(van.duration_s).toBe(1200);
    expect(router.asked.map(({ path }) => path)).toEqual([
      expect.stringContaining('annotations=duration,distance'),
    ]);
    expectNoToken(router);
  });

  test('requests distances in blocks of at most 100 by 100', async () => {
    const router = await openServer(answerTable());
    const { code, plan } = await rounds([`--router`, `${router.url}/`], 230);
    expect(code).toBe(0);
    expect(plan.vans[0].stops).toHaveLength(230);
    expect(router.asked).toHaveLength(9);
    expect(new Set(router.asked.map(({ path }) => path)).size).toBe(9);
    for (const { path } of router.asked) {
      const { sources, destinations } = readTableRequest(path);
      expect(Math.max(sources.length, destinations.length)).toBeLessThanOrEqual(100);
    }
  });

  test('uses a straight line between two stops when the server sends no time', async () => {
    const router = await openServer(
      answerTable((tables) => {
        (tables.durations[0] as (number | null)[])[1] = null;
        (tables.distances[0] as (number | null)[])[1] = null;
        return tables;
      }),
    );
    const { code, stderr, plan } = await rounds(['--router', router.url]);
    expect(code).toBe(0);
    expect(stderr).toContain('has no time for 1 leg');
    expect(plan.vans[0].stops).toHaveLength(3);
  });

  test.each<[string, Answer, string]>([
    [
      'refuses the request',
      answerTable(() => ({ code: 'NoTable' })),
      'its answer has the code NoTable',
    ],
    [
      'sends an object as the code',
      answerTable(() => ({ code: { toString: 1 } })),
      'its answer has the code {',
    ],
    [
      'sends a table of another size',
      answerTable(({ durations, distances }) => ({
        code: 'Ok',
        durations: durations.slice(1),
        distances,
      })),
      'table of durations is not 5 by 5',
    ],
    [
      'sends no distances',
      answerTable(({ durations }) => ({ code: 'Ok', durations })),
      'has no distances',
    ],
    [
      'sends a negative time',
      answerTable((tables) => {
        (tables.durations[1] as number[])[2] = -5;
        return { code: 'Ok', ...tables };
      }),
      'not a possible number',
    ],
    [
      'sends NaN',
      (response) => sendJson(response, 200, '{"code":"Ok","durations":[[NaN]],"distances":[[0]]}'),
      'its answer is not a JSON object',
    ],
    [
      'answers with an error',
      (response) => sendJson(response, 400, { code: 'TooBig', message: 'Too many coordinates' }),
      'HTTP 400: Too many coordinates',
    ],
    [
      'redirects to another server',
      (response) => sendJson(response, 302, {}, { location: 'http://127.0.0.1:9/' }),
      'HTTP 302',
    ],
    ['closes the connection', (response) => void response.destroy(), 'cannot be used'],
  ])('falls back to straight lines when the routing server %s', async (_what, answer, reason) => {
    const router = await openServer(answer);
    const straight = await rounds([]);
    const { code, stderr, plan } = await rounds(['--router', router.url]);
    expect(code).toBe(0);
    expect(stderr).toContain(reason);
    expect(stderr).toContain('straight lines times 1.3');
    expect(plan).toEqual(straight.plan);
    expectNoToken(router);
  });

  test('falls back to straight lines when the routing server does not answer', async () => {
    const router = await openServer(() => {});
    const { code, stderr } = await rounds(['--router', router.url]);
    expect(code).toBe(0);
    expect(stderr).toContain('cannot be used');
  });
});

interface VroomRequest {
  vehicles: { id: number; start_index: number; end_index: number; capacity?: number[] }[];
  jobs: { id: number; location_index: number; service: number; pickup?: number[] }[];
  matrices: { car: { durations: number[][] } };
}

/** Answers as vroom-express: the first vehicle visits jobs in their order, up to its capacity. */
function answerSolution(change: (answer: VroomAnswer) => unknown = (answer) => answer): Answer {
  return (response, { body }) => {
    const { vehicles, jobs } = JSON.parse(body) as VroomRequest;
    const [vehicle] = vehicles;
    const room = vehicle?.capacity?.[0] ?? jobs.length;
    const answer = {
      code: 0,
      summary: { cost: 1, routes: 1, unassigned: 0 },
      unassigned: jobs.slice(room).map(({ id }) => ({ id, type: 'job' })),
      routes: [
        {
          vehicle: vehicle?.id ?? 0,
          cost: 1,
          steps: [
            { type: 'start', arrival: 0 },
            ...jobs.slice(0, room).map(({ id }) => ({ type: 'job', id, job: id, arrival: 1 })),
            { type: 'end', arrival: 2 },
          ],
        },
      ],
    };
    sendJson(response, 200, change(answer));
  };
}

interface VroomAnswer {
  code: number;
  unassigned: { id: number; type: string }[];
  routes: { vehicle: number; steps: { type: string; id?: number }[] }[];
}

function changeSteps(change: (steps: VroomAnswer['routes'][number]['steps']) => void) {
  return (answer: VroomAnswer) => {
    change(answer.routes[0]?.steps ?? []);
    return answer;
  };
}

describe('--solver', () => {
  test('uses the order of stops that the VROOM server returned', async () => {
    const solver = await openServer(answerSolution());
    const words = ['--solver', solver.url, '--capacity', '2', '--stop', '5', '--hours', '3'];
    const { code, stderr, plan } = await rounds(words);
    expect(code).toBe(9);
    expect(stderr).not.toContain('solver');
    expect(plan.vans[0].stops.map(({ name }: { name: string }) => name)).toEqual([
      'Bike 0',
      'Bike 1',
    ]);
    expect(plan.left_out).toHaveLength(1);
    const [asked] = solver.asked;
    const sent = JSON.parse(asked?.body ?? '{}');
    expect(asked?.method).toBe('POST');
    expect(sent.vehicles).toEqual([
      {
        id: 1,
        profile: 'car',
        start_index: 3,
        end_index: 4,
        capacity: [2],
        time_window: [0, 10_800],
      },
    ]);
    expect(sent.jobs[0]).toEqual({ id: 1, location_index: 0, service: 300, pickup: [1] });
    expect(sent.matrices.car.durations).toHaveLength(5);
    expectNoToken(solver);
  });

  test.each<[string, Answer, string]>([
    [
      'reports an error',
      (response) => sendJson(response, 400, { code: 2, error: 'Invalid vehicles' }),
      'HTTP 400: Invalid vehicles',
    ],
    [
      'refuses a large request',
      (response) => sendJson(response, 413, { code: 4, error: 'Payload too large' }),
      'HTTP 413: Payload too large',
    ],
    [
      'visits a stop twice',
      answerSolution(changeSteps((steps) => steps.push({ type: 'job', id: 1 }))),
      'has a stop twice',
    ],
    [
      'forgets a stop',
      answerSolution(changeSteps((steps) => void steps.splice(1, 1))),
      'lacks a stop',
    ],
    [
      'visits an unknown stop',
      answerSolution(changeSteps((steps) => steps.push({ type: 'job', id: 99 }))),
      'a stop that fleet did not send',
    ],
    [
      'uses an unknown vehicle',
      answerSolution((answer) => ({ ...answer, routes: [{ vehicle: 7, steps: [] }] })),
      'an unknown or repeated vehicle',
    ],
    [
      'exceeds the capacity',
      answerSolution((answer) => {
        const ids = answer.unassigned.map(({ id }) => ({ type: 'job', id }));
        answer.routes[0]?.steps.push(...ids);
        return { ...answer, unassigned: [] };
      }),
      'a tour exceeds --capacity',
    ],
    ['answers with text', (response) => void response.end('hello'), 'not a JSON object'],
  ])('fleet orders the stops itself when the VROOM server %s', async (_what, answer, reason) => {
    const solver = await openServer(answer);
    const words = ['--capacity', '2', '--vans', '2'];
    const own = await rounds(words);
    const { code, stderr, plan } = await rounds([...words, '--solver', solver.url]);
    expect(code).toBe(0);
    expect(stderr).toContain(reason);
    expect(stderr).toContain('fleet orders the stops itself');
    expect(plan).toEqual(own.plan);
    expectNoToken(solver);
  });

  test.each([[[]], [['--capacity', '1', '--vans', '2']]])(
    'reports a stop that the server left out although a van could visit it, with the flags %j',
    async (flags) => {
      const solver = await openServer(
        answerSolution((answer) => ({
          ...answer,
          unassigned: [{ id: 2, type: 'job' }],
          routes: [{ vehicle: 1, steps: [{ type: 'job', id: 1 }] }],
        })),
      );
      const { code, plan } = await rounds([...flags, '--solver', solver.url], 2);
      expect(code).toBe(9);
      expect(plan.left_out.map(({ reason }: { reason: string }) => reason)).toEqual([
        'the solver left it out, although a van has room',
      ]);
    },
  );

  test('replaces a VROOM solution when a tour would exceed --hours', async () => {
    const solver = await openServer(answerSolution());
    const words = ['--vans', '3', '--hours', '1', '--solver', solver.url];
    const { stderr } = await rounds(words, 12);
    expect(stderr).toContain('a tour exceeds --hours');
  });
});

test.each([
  ['--router', '/key-of-the-hosted-router'],
  ['--solver', '/key-of-the-hosted-solver/'],
  ['--solver', '/?api_key=key-of-the-hosted-solver'],
])('hides the API key in %s %s when the server echoes the address', async (flag, path) => {
  const answers: Answer[] = [
    (response, asked) => sendJson(response, 400, { message: asked.path, error: asked.path }),
    (response, asked) => sendJson(response, 200, { code: `${'x'.repeat(190)}${asked.path}` }),
  ];
  for (const answer of answers) {
    const server = await openServer(answer);
    const { stderr } = await rounds([flag, server.url + path]);
    expect(stderr).toContain('cannot be used');
    expect(stderr).toContain('[hidden]');
    expect(stderr).not.toContain('key-of-');
  }
});
