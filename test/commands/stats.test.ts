// Tests `fleet bicycles stats` in every group and format against the fleet of the service.

import { expect, test } from 'vitest';
import type { StatsRow } from '../../src/views/stats.js';
import { environmentOf } from '../support/environment.js';
import { type RunOptions, runFleet } from '../support/run.js';
import { useSandbox } from '../support/sandbox.js';
import { openServer, sendJson } from '../support/server.js';

const sandbox = useSandbox({ bicycles: 300 });

async function stats(line: string, options: RunOptions = {}) {
  const args = ['bicycles', 'stats', ...line.split(' ').filter((word) => word !== '')];
  return runFleet(args, {
    ...options,
    env: { ...(await environmentOf(sandbox())), ...options.env },
  });
}

async function rowsFor(line: string): Promise<StatsRow[]> {
  const { code, stdout, stderr } = await stats(`${line} --json`);
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout) as StatsRow[];
}

function tally(values: readonly unknown[]): { [value: string]: number } {
  const counts: { [value: string]: number } = {};
  for (const value of values) counts[String(value)] = (counts[String(value)] ?? 0) + 1;
  return counts;
}

function countsOf(rows: readonly StatsRow[]): { [value: string]: number } {
  return Object.fromEntries(
    rows.filter(({ count }) => count > 0).map(({ value, count }) => [value, count]),
  );
}

test('`bicycles stats --by state` counts the states of the whole fleet from most to least, 100 percent in total', async () => {
  const rows = await rowsFor('--by state');
  expect(countsOf(rows)).toEqual(
    tally(
      sandbox()
        .bicycles()
        .map(({ state }) => state),
    ),
  );
  expect(rows.map(({ count }) => count)).toEqual(
    rows.map(({ count }) => count).sort((a, b) => b - a),
  );
  expect(rows.reduce((sum, { percent }) => sum + percent, 0)).toBeCloseTo(100, 0);
});

test('prints states, charge, silence and open alerts without --by', async () => {
  const rows = await rowsFor('');
  expect([...new Set(rows.map(({ group }) => group))]).toEqual([
    'state',
    'charge',
    'silence',
    'open alerts by type',
  ]);
  for (const group of ['state', 'charge', 'silence']) {
    const counted = rows
      .filter((row) => row.group === group)
      .reduce((sum, { count }) => sum + count, 0);
    expect([group, counted]).toEqual([group, sandbox().bicycles().length]);
  }
  // The list decides which of them this user may see.
  const env = await environmentOf(sandbox());
  const { stdout } = await runFleet(
    ['alerts', 'list', '--all', '--state', 'new,escalated', '--json'],
    { env },
  );
  const all = JSON.parse(stdout) as { alert_type: string; bicycle: string | null }[];
  // Alerts of zones come without a bicycle.
  const open = all.filter(({ bicycle }) => bicycle !== null);
  expect(open.length).toBeGreaterThan(10);
  expect(countsOf(rows.filter(({ group }) => group === 'open alerts by type'))).toEqual(
    tally(open.map(({ alert_type }) => alert_type)),
  );
});

test('counts only the bicycles that match the filters', async () => {
  const lost = sandbox()
    .bicycles()
    .filter(({ state }) => state === 'lost');
  const rows = await rowsFor('--by device_type --state lost');
  expect(countsOf(rows)).toEqual(tally(lost.map(({ device_type }) => device_type)));
});

test.each([
  ['0', '0-9'],
  ['9.99', '0-9'],
  ['10', '10-19'],
  ['"89.9"', '80-89'],
  ['90', '90-100'],
  ['100', '90-100'],
  ['120', '90-100'],
  ['-3', '0-9'],
  ['null', '(none)'],
  ['"full"', '(none)'],
])('puts a charge of %s into the group %s', async (charge, value) => {
  const { env } = await openServer((response) =>
    sendJson(response, 200, `[{"uuid":"u","state_of_charge":${charge}}]`),
  );
  const { stdout } = await runFleet(['bicycles', 'stats', '--by', 'charge', '--json'], { env });
  expect(countsOf(JSON.parse(stdout) as StatsRow[])).toEqual({ [value]: 1 });
});

test('writes group, value, count and percent to files', async () => {
  const { stdout } = await stats('--by state -o csv');
  expect(stdout).toMatch(/^group,value,count,percent\nstate,available,\d+,[\d.]+\n/);
});

test.each([40, 60, 80, 140])(
  'draws bars on a terminal of %i columns when they fit',
  async (columns) => {
    const { stdout, stderr } = await stats('', { terminal: { columns }, env: { NO_COLOR: '1' } });
    expect(stdout).toMatch(/^STATE.*\navailable +\d+ +\d+\.\d %/);
    expect(stderr).toContain('300 bicycles\n');
    expect(Math.max(...stdout.split('\n').map((line) => [...line].length))).toBeLessThanOrEqual(
      columns,
    );
    expect(stdout).toContain('█');
  },
);

test('counts an incomplete list and exits with 9', async () => {
  const { env } = await openServer((response, { path }) =>
    sendJson(response, 200, {
      count: path.startsWith('/alerts') ? 0 : 3,
      next: null,
      results: [{ uuid: 'u', state: 'lost' }],
    }),
  );
  const { code, stdout, stderr } = await runFleet(['bicycles', 'stats', '--by', 'state', '-q'], {
    env,
  });
  expect([code, stdout]).toEqual([9, expect.stringContaining('lost')]);
  expect(stderr).toContain('2 ');
});

test.each(['__proto__', 'constructor', 'toString'])(
  'accepts %s as the name of a field',
  async (field) => {
    expect((await stats(`--by ${field}`)).code).toBe(2);
    const { env } = await openServer((response) =>
      sendJson(response, 200, `[{"uuid":"u","${field}":"x"}]`),
    );
    const { code, stdout } = await runFleet(['bicycles', 'stats', '--by', field, '--json'], {
      env,
    });
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      [{ group: field, value: 'x', count: 1, percent: 100 }],
    ]);
  },
);

test('rejects an unknown field and suggests the nearest one', async () => {
  const { code, stdout, stderr } = await stats('--by stat');
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain('did you mean "state"?');
});

test('fits 24 lines of 80 columns, with headings, blank lines and one decimal', async () => {
  const terminal = { columns: 80, rows: 24 };
  const { stdout, stderr } = await stats('', { terminal, env: { NO_COLOR: '1' } });
  const lines = stdout.trimEnd().split('\n');
  // The footer has an empty line and the total, and the prompt needs a line.
  expect(lines.length + stderr.split('\n').length).toBeLessThanOrEqual(24);
  expect(Math.max(...lines.map((line) => [...line].length))).toBeLessThanOrEqual(80);
  expect(lines[0]).toMatch(/^STATE +CHARGE$/);
  for (const heading of ['SILENCE', 'OPEN ALERTS BY TYPE']) {
    const index = lines.findIndex((line) => line.includes(heading));
    const column = lines[index]?.indexOf(heading) ?? 0;
    // The line above is empty in this column.
    expect([index > 0, lines[index - 1]?.slice(column, column + 30).trim()]).toEqual([true, '']);
  }
  const percentages = stdout.match(/[\d.]+ %/g) ?? [];
  expect(percentages.length).toBeGreaterThan(20);
  expect(percentages.filter((text) => !/^\d+\.\d %$/.test(text))).toEqual([]);
});

test('a pipe gets a table with one decimal everywhere', async () => {
  const { stdout } = await stats('--by state');
  const percentages = stdout
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((line) => line.split(/ +/).at(-1));
  expect(percentages.filter((text) => !/^\d+\.\d$/.test(text ?? ''))).toEqual([]);
});
