// Tests `fleet bicycles list` and `fleet alerts list` with the sandbox: parameters, totals, limits,
// output and errors.

import { describe, expect, test } from 'vitest';
import { environmentOf } from '../support/environment.js';
import { mostly } from '../support/often.js';
import { runFleet } from '../support/run.js';
import { useSandbox } from '../support/sandbox.js';
import { openServer, sendJson, sendPage, sendPart } from '../support/server.js';

const service = useSandbox({ bicycles: 90 });

async function fleet(...args: string[]) {
  return runFleet(args, { env: await environmentOf(service()) });
}

function lastPath(): string {
  return decodeURIComponent(service().requests.at(-1)?.url ?? '');
}

test('prints one page by default, with the total and a hint for the next page', async () => {
  const { code, stdout, stderr } = await fleet('bicycles', 'list');
  expect(code).toBe(0);
  expect(stdout.trimEnd().split('\n')).toHaveLength(21);
  expect(stderr).toMatch(
    /^Showing 20 of \d+ bicycles\. Next page: --page 2\. Everything: --all\n$/,
  );
});

test('sends every documented parameter under its documented name', async () => {
  const zone = service().zones[0];
  const box = '13.7,52.7,13.1,52.3';
  await fleet(
    ...`bicycles list --bbox ${box} --zone ${zone?.uuid} --ordering -state_of_charge --page 1 --organization ${zone?.organization}`.split(
      ' ',
    ),
  );
  expect(lastPath()).toBe(
    `/bicycles/?organization=${zone?.organization}&bbox=${box}&zone=${zone?.uuid}&ordering=-state_of_charge&page=1`,
  );
});

test('repeats the parameter for several states or types', async () => {
  await fleet(
    'alerts',
    'list',
    '--state',
    'new,escalated',
    '--state',
    'stopped',
    '--type',
    'lock.bat.low',
  );
  expect(lastPath()).toContain('?state=new&state=escalated&state=stopped&alert_type=lock.bat.low');
});

test.each(['bicycles', 'bicycle', 'bike', 'bikes', 'alerts', 'alert'])(
  '`%s list` works with --quiet',
  async (noun) => {
    expect((await fleet(noun, 'list', '-q')).code).toBe(0);
  },
);

test('reads the whole list without duplicates with --all, and prints the number with --count', async () => {
  const all = await fleet('bicycles', 'list', '--all', '--json');
  const count = await fleet('bicycles', 'list', '--count');
  const bicycles = JSON.parse(all.stdout) as { uuid: string }[];
  expect(bicycles).toEqual(service().bicycles());
  expect(count.stdout).toBe(`${bicycles.length}\n`);
  expect(all.stderr).toBe('');
});

test.each([1, 20, 21, 45])('prints the first bicycles with --limit %i', async (limit) => {
  const { stdout } = await fleet('bicycles', 'list', '--limit', String(limit), '-o', 'uuid');
  expect(stdout.trimEnd().split('\n')).toEqual(
    service()
      .bicycles()
      .slice(0, limit)
      .map(({ uuid }) => uuid),
  );
});

test('reads one page with --page, and prints no hint for the last page', async () => {
  const { stdout, stderr } = await fleet('bicycles', 'list', '--page', '5', '-o', 'jsonl');
  expect(stdout.trimEnd().split('\n')).toHaveLength(10);
  expect(stderr).toBe('');
});

test.each([
  [['--json'], 0, '[]\n'],
  [['-o', 'jsonl'], 0, ''],
])('prints a notice for an empty list with %j', async (args, code, stdout) => {
  const result = await fleet('bicycles', 'list', '--bbox', '0.1,0.1,0,0', ...args);
  const notice = 'No bicycles found. Try fewer filters, or another --organization';
  const isJson = args.some((word) => word.startsWith('--json') || word === 'jsonl');
  const stderr = isJson ? `${JSON.stringify({ notice })}\n` : `${notice}\n`;
  expect(result).toEqual({ code, stdout, stderr });
});

test('reads a box across the date line as two boxes', async () => {
  const before = service().requests.length;
  const { code } = await fleet('bicycles', 'list', '--bbox', '-179.5,-16,179.5,-17.5', '--json');
  expect(code).toBe(0);
  const asked = service().requests.slice(before);
  expect(asked.map(({ url }) => decodeURIComponent(url)).sort()).toEqual([
    '/bicycles/?bbox=-179.5,-16,-180,-17.5',
    '/bicycles/?bbox=180,-16,179.5,-17.5',
  ]);
});

test('sends --param unchanged, repeated and in order', async () => {
  await fleet('bicycles', 'list', '--param', 'x=1', '--param', 'x=a=b&c', '--param', 'y=');
  expect(lastPath()).toBe('/bicycles/?x=1&x=a=b&c&y=');
});

test.each([
  [['--limit', '0'], '--limit must be a whole number of 1 or more'],
  [['--all', '--page', '2'], "option '--all' cannot be used with option '--page <n>'"],
  [['--zone', ''], '--zone needs a UUID or a name'],
  [['--timeout', '0'], 'is not a number of seconds'],
  [['extra'], 'too many arguments'],
  [['--bbox', '13.3,52.3,13.7,52.7'], '--bbox 13.7,52.7,13.3,52.3'],
  [['--bbox', '13.3,52.7,13.7,52.3'], '--bbox 13.7,52.7,13.3,52.3'],
  [['--bbox', '200,95,13,52'], '--bbox 180,90,13,52'],
  [['--bbox', '1,2,3'], '--bbox must be four numbers'],
  [['--param', 'x'], '--param must be NAME=VALUE'],
  [['--param', 'page=2'], 'the query parameter "page" is sent by a flag'],
  [
    ['--ordering', 'name', '--param', 'ordering=uuid'],
    'the query parameter "ordering" is sent by a flag',
  ],
  [['--count', '--limit', '5'], "option '--count' cannot be used with option '--limit <n>'"],
  [
    ['--count', '--page', '2', '--where', 'state=lost'],
    "option '--count' cannot be used with option '--page <n>'",
  ],
  [['--count', '--jq', '.'], '--count prints a number and does not support --jq'],
  [['--where', 'state=availble'], 'did you mean "available"?'],
  [['--jq', '.['], '--jq: syntax error'],
  [['--jq', '.', '-o', 'yaml'], '--jq filters JSON and cannot be used with -o yaml'],
  [['--jq', '.', '--columns', 'name'], '--jq filters JSON and cannot be used with --columns'],
])('rejects %j before it sends anything', async (args, words) => {
  const before = service().requests.length;
  const { code, stdout, stderr } = await fleet('bicycles', 'list', ...args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(words);
  expect(service().requests).toHaveLength(before);
});

const PROGRAMS = [
  ['length', '130000\n'],
  ['.[] | 1', '1\n'.repeat(130_000)],
] as const;

test.each(mostly(PROGRAMS, (_, index) => index === 1))(
  'runs the jq program %s on a page of 130,000 items',
  async (program, printed) => {
    const { env } = await openServer((response) =>
      sendJson(response, 200, new Array(130_000).fill({})),
    );
    const { code, stdout } = await runFleet(['bicycles', 'list', '-q', '--jq', program], { env });
    expect([code, stdout === printed]).toEqual([0, true]);
  },
);

describe('`bicycles list --jq`', () => {
  test('passes the array of --json to the jq program', async () => {
    const program =
      '.[] | select(.state_of_charge != null and (.state_of_charge | tonumber) < 20) | .uuid';
    const { code, stdout } = await fleet('bicycles', 'list', '--all', '--jq', program);
    const low = service()
      .bicycles()
      .filter(({ state_of_charge }) => state_of_charge !== null && Number(state_of_charge) < 20);
    expect([code, stdout]).toEqual([0, low.map(({ uuid }) => `${uuid}\n`).join('')]);
    expect((await fleet('bicycles', 'list', '--all', '--json', '--jq', 'length')).stdout).toBe(
      `${service().bicycles().length}\n`,
    );
    expect(
      (await fleet('bicycles', 'list', '--bbox', '0.1,0.1,0,0', '-q', '--jq', '.')).stdout,
    ).toBe('[]\n');
  });

  test('runs the jq program on each item with -o jsonl, after --where', async () => {
    const { stdout } = await fleet(
      ...'bicycles list --all -o jsonl --where state=lost --jq .state'.split(' '),
    );
    expect(new Set(stdout.trimEnd().split('\n'))).toEqual(new Set(['lost']));
  });

  test('ignores another output format in the settings', async () => {
    const env = { ...(await environmentOf(service())), FLEET_OUTPUT: 'csv' };
    expect((await runFleet(['bicycles', 'list', '--jq', 'length'], { env })).stdout).toBe('20\n');
  });

  test('processes page by page a program that begins with .[]', async () => {
    let askedAtFirstLine = 0;
    const all = Array.from({ length: 20 }, (_, index) => ({ uuid: `u${index}` }));
    const { env, asked } = await openServer((response, request) =>
      sendPart(response, request, all, 1),
    );
    const { stdout } = await runFleet(['bicycles', 'list', '--all', '--jq', '.[] | .uuid'], {
      env,
      onStdout: () => {
        askedAtFirstLine ||= asked.length;
      },
    });
    expect(stdout.split('\n')).toHaveLength(21);
    expect(askedAtFirstLine).toBeLessThan(15);
  });

  test('prints nothing on stdout when the program fails', async () => {
    const { code, stdout, stderr } = await fleet('bicycles', 'list', '--jq', '.[].name.x');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('Cannot index string with string ("x")');
  });

  test('passes a created bicycle to the jq program as one object', async () => {
    const organization = service().zones[0]?.organization ?? '';
    const args = ['--name', 'Ada 1', '--organization', organization, '--jq', '.name'];
    expect((await fleet('bicycles', 'create', ...args)).stdout).toBe('Ada 1\n');
  });
});

describe('the progress line of `bicycles list`', () => {
  /** Returns the visible lines of both streams on one terminal, without erased text. */
  function screenOf(text: string): string[] {
    return text
      .split('\n')
      .map((line) => line.slice(line.lastIndexOf('\r\u001b[K') + 1).replace('\u001b[K', ''));
  }

  const run = async (args: readonly string[], terminal: boolean) => {
    const all = Array.from({ length: 8 }, (_, index) => ({
      uuid: `u${index}`,
      name: `Ada ${index}`,
    }));
    const { env } = await openServer(async (response, request) => {
      await new Promise((resolve) => setTimeout(resolve, request.page === 3 ? 900 : 0));
      sendPart(response, request, all, 2);
    });
    let both = '';
    let drawn = '';
    const result = await runFleet(['bicycles', 'list', '--no-color', ...args], {
      env,
      ...(terminal ? { terminal: { columns: 80 } } : {}),
      onStdout: (text) => {
        both += text;
      },
      onStderr: (text) => {
        both += text;
        drawn += text;
      },
    });
    return { ...result, screen: screenOf(both), drawn };
  };

  test.each([['table'], ['csv'], ['uuid'], ['jsonl'], ['json'], ['geojson'], ['yaml']])(
    'never overlaps the %s output and is erased at the end',
    async (format) => {
      const { code, stdout, screen } = await run(['--all', '-o', format], true);
      expect(code).toBe(0);
      const notices = screen.filter(
        (line) => line.startsWith('Hidden at this width') || line.includes('left out'),
      );
      // An empty line comes before them.
      const footer = notices.length === 0 ? '' : `\n${notices.join('\n')}\n`;
      expect(screen.join('\n')).toBe(stdout + footer);
    },
  );

  test('shows pages, rows, total and rows per second', async () => {
    const { drawn, stdout } = await run(['--all', '-o', 'jsonl'], true);
    expect(drawn).toMatch(/^\r\u001b\[K2 pages, 4 of 8 bicycles, \d+ a second/);
    expect(drawn).toMatch(/\r\u001b\[K$/);
    expect(stdout.split('\n')).toHaveLength(9);
  });

  test.each([
    [['--all', '--quiet'], true],
    [['--all'], false],
    [['--page', '3'], true],
  ])('is not drawn with %j on a terminal: %s', async (args, terminal) => {
    const { drawn } = await run(['-o', 'jsonl', ...args], terminal);
    expect(drawn).not.toContain('\r');
  });

  test('the progress line of `bicycles list` is replaced by the message about a retry', async () => {
    let count = 0;
    const { env } = await openServer((response) =>
      ++count === 1
        ? sendJson(response, 503, { detail: 'busy' })
        : sendJson(response, 200, [{ uuid: 'a' }]),
    );
    const { code, stderr } = await runFleet(['bicycles', 'list', '--all', '-o', 'uuid'], {
      env,
      terminal: { columns: 80 },
    });
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/busy; trying again in 0\.\d s \(1 of 3\)\n/),
    ]);
  });
});

describe('complete lists', () => {
  test('exits with the code of the failed page instead of 0', async () => {
    const { env } = await openServer((response, { path }) =>
      path.includes('page=2')
        ? sendJson(response, 500, { detail: 'boom' })
        : sendJson(response, 200, { count: 2, next: 'http://x/?page=2', results: [{ uuid: 'a' }] }),
    );
    const { code, stdout, stderr } = await runFleet(['bicycles', 'list', '--all', '-o', 'uuid'], {
      env,
    });
    expect({ code, stdout }).toEqual({ code: 7, stdout: 'a\n' });
    expect(stderr).toContain('boom');
  });

  test('removes duplicate bicycles and reports a changed total', async () => {
    const { env } = await openServer((response, { path }) =>
      path.includes('page=2')
        ? sendJson(response, 200, { count: 4, next: null, results: [{ uuid: 'b' }, { uuid: 'c' }] })
        : sendJson(response, 200, {
            count: 3,
            next: 'http://x/?page=2',
            results: [{ uuid: 'a' }, { uuid: 'b' }],
          }),
    );
    const { code, stdout, stderr } = await runFleet(['bicycles', 'list', '--all', '-o', 'uuid'], {
      env,
    });
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'a\nb\nc\n' });
    expect(stderr).toContain('the total changed from 3 to 4');
    expect(stderr).toContain('1 bicycle came twice and is shown once');
  });

  test('reads enough pages for --limit when some bicycles are duplicates', async () => {
    const all = ['a', 'b', 'b', 'c', 'd', 'e'].map((uuid) => ({ uuid }));
    const { env, asked } = await openServer((response, request) =>
      sendPart(response, request, all, 2, { count: 5 }),
    );
    const { stdout } = await runFleet(['bicycles', 'list', '--limit', '4', '-o', 'uuid'], { env });
    expect(stdout).toBe('a\nb\nc\nd\n');
    expect(asked.length).toBe(3);
  });

  test('fails for a list with `next` links that form a circle, with any filter', async () => {
    for (const args of [
      ['--all'],
      ['--where', 'name!=x', '--limit', '9'],
      ['--limit', '9'],
      ['--near', '0,0', '--radius', '1'],
    ]) {
      const { env } = await openServer((response, { page }) =>
        sendPage(response, [{ uuid: `u${page}` }], {
          count: 9,
          next: `http://x/?page=${3 - page}`,
        }),
      );
      const { code, stderr } = await runFleet(['bicycles', 'list', '-o', 'uuid', ...args], { env });
      expect([code, stderr]).toEqual([7, expect.stringContaining('the list repeats')]);
    }
  });
});

test.each([40, 80, 140])('prints no line wider than a terminal of %i columns', async (columns) => {
  const { stdout } = await runFleet(['bicycles', 'list', '--no-color'], {
    env: await environmentOf(service()),
    terminal: { columns },
  });
  for (const line of stdout.split('\n')) expect([...line].length).toBeLessThanOrEqual(columns);
  expect(stdout.split('\n')[0]).toContain('NAME');
});
