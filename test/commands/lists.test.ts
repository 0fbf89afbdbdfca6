// `fleet bicycles list` and `fleet alerts list` against the sandbox: literal parameters, totals, limits, screens, errors.

import { describe, expect, test } from 'vitest';
import { environmentOf } from '../support/environment.js';
import { runFleet } from '../support/run.js';
import { useSandbox } from '../support/sandbox.js';
import { sendJson, withServer } from '../support/server.js';

const service = useSandbox({ bicycles: 90 });

async function fleet(...args: string[]) {
  return runFleet(args, { env: await environmentOf(service()) });
}

function lastPath(): string {
  return decodeURIComponent(service().requests.at(-1)?.url ?? '');
}

test('one page by default, with a line that says how many there are and how to see more', async () => {
  const { code, stdout, stderr } = await fleet('bicycles', 'list');
  expect(code).toBe(0);
  expect(stdout.trimEnd().split('\n')).toHaveLength(21);
  expect(stderr).toMatch(/^20 of \d+ bicycles; --page 2 shows the next page, --all all of them\n$/);
});

test('every documented parameter is sent by its literal name', async () => {
  const zone = service().zones[0];
  const box = '13.7,52.7,13.1,52.3';
  await fleet(
    'bicycles',
    'list',
    '--bbox',
    box,
    '--zone',
    zone?.uuid ?? '',
    '--ordering',
    '-state_of_charge',
    '--page',
    '1',
    '--organization',
    zone?.organization ?? '',
  );
  expect(lastPath()).toBe(
    `/bicycles/?organization=${zone?.organization}&bbox=${box}&zone=${zone?.uuid}&ordering=-state_of_charge&page=1`,
  );
});

test('several states and types are repeated parameters', async () => {
  await fleet('alerts', 'list', '--state', 'new,escalated', '--state', 'stopped', '--type', 'lock.bat.low');
  expect(lastPath()).toContain('?state=new&state=escalated&state=stopped&alert_type=lock.bat.low');
});

test.each(['bicycles', 'bicycle', 'bike', 'bikes', 'alerts', 'alert'])('%s list', async (noun) => {
  expect((await fleet(noun, 'list', '-q')).code).toBe(0);
});

test('--all is the whole list, once each, and --count its number', async () => {
  const all = await fleet('bicycles', 'list', '--all', '--json');
  const count = await fleet('bicycles', 'list', '--count');
  const bicycles = JSON.parse(all.stdout) as { uuid: string }[];
  expect(bicycles).toEqual(service().bicycles());
  expect(count.stdout).toBe(`${bicycles.length}\n`);
  expect(all.stderr).toBe('');
});

test.each([1, 20, 21, 45])('--limit %i', async (limit) => {
  const { stdout } = await fleet('bicycles', 'list', '--limit', String(limit), '-o', 'uuid');
  expect(stdout.trimEnd().split('\n')).toEqual(
    service()
      .bicycles()
      .slice(0, limit)
      .map(({ uuid }) => uuid),
  );
});

test('--page, and the last page says nothing of more', async () => {
  const { stdout, stderr } = await fleet('bicycles', 'list', '--page', '5', '-o', 'jsonl');
  expect(stdout.trimEnd().split('\n')).toHaveLength(10);
  expect(stderr).toBe('');
});

test.each([
  [['--json'], 0, '[]\n'],
  [['-o', 'jsonl'], 0, ''],
])('an empty list with %j', async (args, code, stdout) => {
  const result = await fleet('bicycles', 'list', '--bbox', '0.1,0.1,0,0', ...args);
  expect(result).toEqual({ code, stdout, stderr: 'no bicycles found\n' });
});

describe('refused before anything is sent (exit 2)', () => {
  test.each([
    [['bicycles', 'list', '--ordering', 'state_of_chrage'], 'did you mean "state_of_charge"?'],
    [['alerts', 'list', '--state', 'nwe'], 'did you mean "new"?'],
    [['alerts', 'list', '--type', 'lock.bat.lo'], 'did you mean "lock.bat.low"?'],
    [['bicycles', 'lsit'], 'did you mean "list"?'],
    [['bicyles', 'list'], 'did you mean "bicycles"?'],
    [['bicycles', 'list', '--limt', '3'], 'did you mean "--limit"?'],
    [['bicycles', 'list', '-o', 'jsno'], 'did you mean "json"?'],
    [['bicycles', 'list', '--limit', '0'], '--limit takes a whole number from 1 on'],
    [['bicycles', 'list', '--all', '--page', '2'], '--all and --page exclude each other'],
    [['bicycles', 'list', '--zone', 'x'], '--zone takes a UUID'],
    [['bicycles', 'list', '--timeout', '0'], 'is not a number of seconds'],
    [['bicycles', 'list', 'extra'], 'too many arguments'],
    [['bicycles', 'list', '--bbox', '13.3,52.3,13.7,52.7'], '--bbox 13.7,52.7,13.3,52.3'],
    [['bicycles', 'list', '--bbox', '13.3,52.7,13.7,52.3'], '--bbox 13.7,52.7,13.3,52.3'],
    [['bicycles', 'list', '--bbox', '52.7,113.7,52.3,113.3'], '--bbox 113.7,52.7,113.3,52.3'],
    [['bicycles', 'list', '--bbox', '200,95,13,52'], '--bbox 180,90,13,52'],
    [['bicycles', 'list', '--bbox', '1,2,3'], '--bbox takes four numbers'],
  ])('%j', async (args, words) => {
    const before = service().requests.length;
    const { code, stdout, stderr } = await fleet(...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(words);
    expect(service().requests).toHaveLength(before);
  });
});

test('a box across the antimeridian is a box', async () => {
  const { code } = await fleet('bicycles', 'list', '--bbox', '-179.5,-16,179.5,-17.5', '--json');
  expect(code).toBe(0);
  expect(lastPath()).toContain('bbox=-179.5,-16,179.5,-17.5');
});

describe('complete or loud', () => {
  const env = (url: string) => ({ FLEET_BASE_URL: url, FLEET_TOKEN: 't' });

  test("a page that fails ends with that failure's code, never 0", async () => {
    await withServer(
      (response, { path }) =>
        path.includes('page=2')
          ? sendJson(response, 500, { detail: 'boom' })
          : sendJson(response, 200, { count: 2, next: 'http://x/?page=2', results: [{ uuid: 'a' }] }),
      async ({ url }) => {
        const { code, stdout, stderr } = await runFleet(['bicycles', 'list', '--all', '-o', 'uuid'], { env: env(url) });
        expect({ code, stdout }).toEqual({ code: 7, stdout: 'a\n' });
        expect(stderr).toContain('boom');
      },
    );
  });

  test('a bicycle that comes twice is shown once, a total that changed is said', async () => {
    await withServer(
      (response, { path }) =>
        path.includes('page=2')
          ? sendJson(response, 200, { count: 4, next: null, results: [{ uuid: 'b' }, { uuid: 'c' }] })
          : sendJson(response, 200, { count: 3, next: 'http://x/?page=2', results: [{ uuid: 'a' }, { uuid: 'b' }] }),
      async ({ url }) => {
        const { code, stdout, stderr } = await runFleet(['bicycles', 'list', '--all', '-o', 'uuid'], { env: env(url) });
        expect({ code, stdout }).toEqual({ code: 0, stdout: 'a\nb\nc\n' });
        expect(stderr).toContain('the total changed from 3 to 4');
        expect(stderr).toContain('1 bicycles came twice');
      },
    );
  });

  test('a bare array', async () => {
    await withServer(
      (response) => sendJson(response, 200, [{ uuid: 'a', state_of_charge: '12.5' }]),
      async ({ url }) => {
        const run = (...args: string[]) => runFleet(['bicycles', 'list', ...args], { env: env(url) });
        expect((await run('--all', '--json')).stdout).toContain('"state_of_charge":"12.5"');
        expect((await run('--count')).stdout).toBe('1\n');
      },
    );
  });
});

test.each([40, 80, 140])('no line is wider than a terminal of %i columns', async (columns) => {
  const { stdout } = await runFleet(['bicycles', 'list', '--no-color'], {
    env: await environmentOf(service()),
    terminal: { columns },
  });
  for (const line of stdout.split('\n')) expect([...line].length).toBeLessThanOrEqual(columns);
  expect(stdout.split('\n')[0]).toContain('NAME');
});
