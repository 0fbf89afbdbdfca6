// Tests `fleet report`: its figures against their SQL and against simulated fleets, and its formats.

import { join } from 'node:path';
import readXlsx from 'read-excel-file/node';
import { describe, expect, test } from 'vitest';
import { utcOfMs } from '../../src/mirror/rows.js';
import { environmentOf } from '../support/environment.js';
import { newFolder } from '../support/folder.js';
import { blocksOf, readText } from '../support/guides.js';
import { makeMirror } from '../support/made-mirror.js';
import { useEngines, withDatabase } from '../support/mirror.js';
import { runFleet } from '../support/run.js';
import { openSandbox } from '../support/sandbox.js';
import {
  type Fleet,
  simulateFleet,
  trueFigures,
  writeLease,
  writeMirrorOf,
} from '../support/simulated-fleet.js';

const ENGINES = useEngines();
const [[, newSqlite]] = ENGINES;
const DAY_MS = 86_400_000;
/** In Berlin, clocks are set back on 25 October 2026. */
const MONTH = { fromMs: Date.parse('2026-10-01T00:00Z'), untilMs: Date.parse('2026-11-01T00:00Z') };

interface Figure {
  part?: string | null;
  name: string;
  value: number | null;
  unit: string;
  before: number | null;
  coverage: number;
  certain: boolean;
  before_certain: boolean;
}

async function report(address: string, args: readonly string[] = []) {
  const run = await runFleet(['report', '--to', address, ...args]);
  expect(run.stderr).not.toContain('error');
  return run;
}

interface JsonReport {
  period: { [field: string]: unknown };
  coverage: number;
  figures: Figure[];
  idle: unknown[];
}

async function figuresOf(address: string, args: readonly string[]): Promise<JsonReport> {
  const run = await report(address, ['--json', ...args]);
  expect(run.code).toBe(0);
  return JSON.parse(run.stdout);
}

function period(fromMs: number, untilMs: number): string[] {
  return ['--since', new Date(fromMs).toISOString(), '--until', new Date(untilMs).toISOString()];
}

/** Returns the certain figures that differ from the true ones. */
function wrongFigures(figures: readonly Figure[], truth: { [name: string]: number | null }) {
  return figures.flatMap(({ name, value, certain }) =>
    !certain || isClose(value, truth[name] ?? null) ? [] : [[name, value, truth[name]]],
  );
}

function isClose(one: number | null, other: number | null): boolean {
  if (one === null || other === null) return one === other;
  return Math.abs(one - other) <= 0.002 + Math.abs(other) * 1e-9;
}

/** The queries of the guide by name, for a database and a period. */
function guideQueries(kind: 'sqlite' | 'postgres', fromMs: number, untilMs: number) {
  const text = blocksOf(readText('docs/report.md'), 'sql').join('\n');
  const parts = text.split(/^-- /m).slice(1);
  const queries = new Map(
    parts.map((part) => {
      const [, name = '', sql = ''] = /^(\w+): [^\n]+\.\n([\s\S]*?);\s*$/.exec(part) ?? [];
      return [name, adapt(sql)] as const;
    }),
  );
  const spans = queries.get('spans') ?? '';
  queries.delete('spans');
  function adapt(sql: string): string {
    const quote = (ms: number) => `${kind === 'postgres' ? 'timestamptz ' : ''}'${utcOfMs(ms)}'`;
    return replaceSeconds(sql, kind)
      .replaceAll(':from', quote(fromMs))
      .replaceAll(':until', quote(untilMs));
  }
  return new Map(
    [...queries].map(([name, sql]) => [name, / spans\b/.test(sql) ? `${spans} ${sql}` : sql]),
  );
}

/** Replaces `SECONDS(a, b)`. The arguments may contain parentheses. */
function replaceSeconds(sql: string, kind: 'sqlite' | 'postgres'): string {
  const start = sql.indexOf('SECONDS(');
  if (start === -1) return sql;
  let depth = 0;
  let comma = -1;
  let end = start + 'SECONDS('.length;
  for (; depth >= 0; end += 1) {
    const character = sql[end];
    if (character === '(') depth += 1;
    if (character === ')') depth -= 1;
    if (character === ',' && depth === 0) comma = end;
  }
  const from = sql.slice(start + 'SECONDS('.length, comma);
  const until = sql.slice(comma + 1, end - 1).trim();
  const seconds =
    kind === 'sqlite'
      ? `((julianday(${until}) - julianday(${from})) * 86400)`
      : `extract(epoch from ${until} - ${from})`;
  return replaceSeconds(sql.slice(0, start) + seconds + sql.slice(end), kind);
}

describe('definitions', () => {
  test.each(ENGINES)(
    'the SQL from the guide returns the numbers of `fleet report` (%s)',
    async (kind, newText) => {
      const address = await newText();
      const fleet = simulateFleet({ seed: 7, ...MONTH, hasReturns: false });
      await writeMirrorOf(address, fleet);
      const [fromMs, untilMs] = [MONTH.fromMs + 8 * DAY_MS, MONTH.fromMs + 20 * DAY_MS];
      const { figures } = await figuresOf(address, period(fromMs, untilMs));
      const queries = guideQueries(kind, fromMs, untilMs);
      expect([...queries.keys()]).toEqual(figures.map(({ name }) => name));
      await withDatabase(address, async (database) => {
        for (const { name, value } of figures) {
          const [row = {}] = await database.all(queries.get(name) ?? '');
          const [cell = null] = Object.values(row);
          const answer = cell === null ? null : Number(cell);
          expect(isClose(value, answer), `${name}: ${value} and ${answer}`).toBe(true);
        }
      });
    },
  );
});

describe('figures', () => {
  test.each(ENGINES)(
    'the reported numbers match a simulated month without gaps (%s)',
    async (_kind, newText) => {
      const address = await newText();
      const fleet = simulateFleet({ seed: 3, ...MONTH });
      await writeMirrorOf(address, fleet);
      const [fromMs, untilMs] = [MONTH.fromMs + 20 * DAY_MS, MONTH.fromMs + 29 * DAY_MS];
      const { figures, coverage } = await figuresOf(address, period(fromMs, untilMs));
      const truth = trueFigures(fleet, fromMs, untilMs);
      const before = trueFigures(fleet, fromMs - (untilMs - fromMs), fromMs);
      expect(coverage).toBe(100);
      expect(figures.filter(({ certain }) => certain).length).toBeGreaterThan(8);
      expect(wrongFigures(figures, truth)).toEqual([]);
      const previous = figures.map((each) => ({
        ...each,
        value: each.before,
        certain: each.before_certain,
      }));
      expect(wrongFigures(previous, before)).toEqual([]);
    },
  );

  test('every number in 100 randomly generated months is correct or marked uncertain', async () => {
    let certainCount = 0;
    for (let seed = 1; seed <= 100; seed += 1) {
      const address = await newSqlite();
      const fleet = randomMonth(seed);
      await writeMirrorOf(address, fleet);
      certainCount += await expectTrueFigures(address, fleet, seed);
    }
    // Most of the 3,200 figures are touched by a gap, but not all of them.
    expect(certainCount).toBeGreaterThan(300);
  }, 300_000);

  test.each(ENGINES.slice(1))(
    'each number in a randomly generated month is correct or marked uncertain (%s)',
    async (_kind, newText) => {
      for (const seed of [5, 6, 7]) {
        const address = await newText();
        const fleet = randomMonth(seed);
        await writeMirrorOf(address, fleet);
        await expectTrueFigures(address, fleet, seed);
      }
    },
  );

  test('SQLite and PostgreSQL produce the same numbers', async (context) => {
    const [, postgres] = ENGINES;
    if (postgres === undefined) return context.skip('PostgreSQL is not installed here');
    const fleet = randomMonth(11);
    const outputs: string[] = [];
    for (const [, newText] of [ENGINES[0], postgres]) {
      const address = await newText();
      await writeMirrorOf(address, fleet);
      const args = [...period(fleet.fromMs, fleet.untilMs), '--by', 'day', '--json'];
      outputs.push((await report(address, [...args, '--timezone', 'Europe/Berlin'])).stdout);
    }
    expect(outputs[0]).toBe(outputs[1]);
  });

  test('daily numbers use local time, even when the clocks change', async () => {
    const address = await newSqlite();
    const fleet = simulateFleet({ seed: 4, ...MONTH });
    await writeMirrorOf(address, fleet);
    const args = ['--since', '2026-10-24', '--until', '2026-10-28', '--timezone', 'Europe/Berlin'];
    const { figures, period: found } = await figuresOf(address, [...args, '--by', 'day']);
    expect(found).toMatchObject({ timezone: 'Europe/Berlin', from: '2026-10-23T22:00:00.000Z' });
    const days = [
      ['2026-10-24', '2026-10-23T22:00Z', '2026-10-24T22:00Z'],
      // A day of 25 hours.
      ['2026-10-25', '2026-10-24T22:00Z', '2026-10-25T23:00Z'],
      ['2026-10-26', '2026-10-25T23:00Z', '2026-10-26T23:00Z'],
      ['2026-10-27', '2026-10-26T23:00Z', '2026-10-27T23:00Z'],
    ] as const;
    expect([...new Set(figures.map(({ part }) => part))]).toEqual([
      null,
      ...days.map(([day]) => day),
    ]);
    for (const [day, from, until] of days) {
      const own = figures.filter(({ part }) => part === day);
      const [fromMs, untilMs] = [Date.parse(from), Date.parse(until)];
      expect(wrongFigures(own, trueFigures(fleet, fromMs, untilMs)), day).toEqual([]);
      const before = trueFigures(fleet, fromMs - (untilMs - fromMs), fromMs);
      expect(own.find(({ name }) => name === 'rentals')?.before, day).toBe(before['rentals']);
    }
  });

  test('numbers for a 23-hour day are based on 23 hours', async () => {
    const address = await newSqlite();
    // In Berlin, clocks are set forward on 29 March 2026.
    const fleet = simulateFleet({
      seed: 10,
      fromMs: Date.parse('2026-03-20T00:00Z'),
      untilMs: Date.parse('2026-04-02T00:00Z'),
    });
    await writeMirrorOf(address, fleet);
    const args = ['--since', '2026-03-28', '--until', '2026-03-31', '--timezone', 'Europe/Berlin'];
    const { figures } = await figuresOf(address, [...args, '--by', 'day']);
    const [fromMs, untilMs] = [Date.parse('2026-03-28T23:00Z'), Date.parse('2026-03-29T22:00Z')];
    const own = figures.filter(({ part }) => part === '2026-03-29');
    expect(wrongFigures(own, trueFigures(fleet, fromMs, untilMs))).toEqual([]);
    const before = trueFigures(fleet, fromMs - (untilMs - fromMs), fromMs);
    expect(own.find(({ name }) => name === 'rentals')).toMatchObject({
      before: before['rentals'],
      certain: true,
    });
    expect(own.find(({ name }) => name === 'fleet_size_mean')?.certain).toBe(true);
  });

  test('numbers are null or - for a period before the mirror started', async () => {
    const address = await newSqlite();
    const mirrorDelayMs = 10 * DAY_MS;
    await writeMirrorOf(address, simulateFleet({ seed: 5, ...MONTH, mirrorDelayMs }));
    const args = period(MONTH.fromMs, MONTH.fromMs + 5 * DAY_MS);
    const { figures, coverage, idle } = await figuresOf(address, args);
    expect([coverage, idle]).toEqual([0, []]);
    expect(figures.every(({ value, certain }) => value === null && !certain)).toBe(true);
    const table = await report(address, args);
    expect([table.code, table.stdout.match(/Rentals +(\S+)/)?.[1]]).toEqual([0, '-']);
  });

  test('numbers for a period with a gap are marked as uncertain', async () => {
    const address = await newSqlite();
    const gap = { fromMs: MONTH.fromMs + 12 * DAY_MS, untilMs: MONTH.fromMs + 13 * DAY_MS };
    const fleet = { ...simulateFleet({ seed: 6, ...MONTH }), gaps: [gap] };
    await writeMirrorOf(address, fleet);
    const args = period(MONTH.fromMs + 10 * DAY_MS, MONTH.fromMs + 20 * DAY_MS);
    const { figures, coverage } = await figuresOf(address, args);
    expect(coverage).toBe(90);
    expect(figures.find(({ name }) => name === 'rentals')).toMatchObject({
      coverage: 90,
      certain: false,
      before_certain: true,
    });
    const run = await report(address, args);
    expect(run.stdout).toMatch(/Rentals +~\d+ +\d+ +90 %/);
    expect(run.stderr).toContain('~ marks uncertain numbers');
  });

  test('the reported numbers cover only complete data when a mirror is behind', async () => {
    const address = await newSqlite();
    const fleet = simulateFleet({ seed: 8, ...MONTH });
    await writeMirrorOf(address, fleet);
    const lastMs = MONTH.fromMs + 25 * DAY_MS;
    await withDatabase(address, (database) =>
      writeLease(database, { heardMs: lastMs, heartbeat: null }),
    );
    const fromMs = MONTH.fromMs + 20 * DAY_MS;
    const found = await figuresOf(address, period(fromMs, MONTH.fromMs + 27 * DAY_MS));
    const until = new Date(lastMs).toISOString();
    const before = {
      from: new Date(fromMs - 5 * DAY_MS).toISOString(),
      until: new Date(fromMs).toISOString(),
    };
    expect(found.period).toMatchObject({ until, ends_early: true, before });
    expect(wrongFigures(found.figures, trueFigures(fleet, fromMs, lastMs))).toEqual([]);
    const run = await report(address, period(fromMs, MONTH.fromMs + 27 * DAY_MS));
    expect([run.code, run.stderr]).toEqual([
      0,
      expect.stringContaining('the mirror is not current'),
    ]);
  });

  test("numbers are unknown for a period after the mirror's complete data", async () => {
    const address = await newSqlite();
    await writeMirrorOf(address, simulateFleet({ seed: 8, ...MONTH }));
    const lastMs = MONTH.fromMs + 10 * DAY_MS;
    await withDatabase(address, (database) =>
      writeLease(database, { heardMs: lastMs, heartbeat: null }),
    );
    const args = period(lastMs + DAY_MS, lastMs + 2 * DAY_MS);
    const message = 'its complete data ends before the period';
    const table = await report(address, args);
    expect([table.code, table.stderr]).toEqual([0, expect.stringContaining(message)]);
    expect((await report(address, [...args, '-o', 'md'])).stdout).toContain(message);
  });
});

test('the report covers the last seven days when --until is in the future', async () => {
  const address = await newSqlite();
  const nowMs = Date.now();
  const fromMs = nowMs - 10 * DAY_MS;
  await writeMirrorOf(address, simulateFleet({ seed: 9, fromMs, untilMs: nowMs }));
  const { period: found } = await figuresOf(address, ['--until', '9999-01-01']);
  const [from, until] = [Date.parse(String(found['from'])), Date.parse(String(found['until']))];
  expect(from).toBeGreaterThanOrEqual(nowMs - 7 * DAY_MS);
  expect(until).toBeGreaterThan(from);
});

function randomMonth(seed: number): Fleet {
  return simulateFleet({ seed, ...MONTH, gapCount: seed % 5, mirrorDelayMs: (seed % 3) * DAY_MS });
}

/** Compares two periods of a month. Returns the number of certain figures. */
async function expectTrueFigures(address: string, fleet: Fleet, seed: number): Promise<number> {
  let certainCount = 0;
  for (const [first, last] of [
    [1, 31],
    [12 + (seed % 7), 19 + (seed % 7)],
  ] as const) {
    const [fromMs, untilMs] = [
      MONTH.fromMs + (first - 1) * DAY_MS,
      MONTH.fromMs + (last - 1) * DAY_MS,
    ];
    const { figures } = await figuresOf(address, period(fromMs, untilMs));
    const wrong = wrongFigures(figures, trueFigures(fleet, fromMs, untilMs));
    expect(wrong, `seed ${seed}, days ${first} to ${last}`).toEqual([]);
    certainCount += figures.filter(({ certain }) => certain).length;
    if (fleet.gaps.length === 0 && fleet.mirrorMs <= fromMs)
      expect(figures.find(({ name }) => name === 'rentals')?.certain).toBe(true);
  }
  return certainCount;
}

describe('formats', () => {
  const WEEK = period(MONTH.fromMs + 10 * DAY_MS, MONTH.fromMs + 17 * DAY_MS);

  async function writeSimulated(): Promise<string> {
    const address = await newSqlite();
    await writeMirrorOf(address, simulateFleet({ seed: 9, ...MONTH, gapCount: 2 }));
    return address;
  }

  test('csv has one row for each number in each report section', async () => {
    const address = await writeSimulated();
    const plain = (await report(address, [...WEEK, '-o', 'csv'])).stdout.trimEnd().split('\n');
    expect(plain[0]).toBe('name,value,unit,before,coverage,certain,before_certain');
    expect(plain).toHaveLength(17);
    const byDay = (
      await report(address, [...WEEK, '-o', 'csv', '--by', 'day', '--timezone', 'UTC'])
    ).stdout;
    expect(byDay.match(/^2026-10-11,rentals,\d+,rentals,/gm)).toHaveLength(1);
    expect(byDay.trimEnd().split('\n')).toHaveLength(1 + 16 * 8);
  });

  test('md escapes names so that they cannot become markup', async () => {
    const address = await writeSimulated();
    await withDatabase(address, (database) =>
      database.all("UPDATE bicycles SET name = '[x](y) @all | <b>'"),
    );
    const { stdout } = await report(address, [...WEEK, '-o', 'md', '--by', 'week']);
    expect(stdout).toContain('| Figure | Value | Before | Coverage |\n|---|---:|---:|---:|');
    expect(stdout).toContain('| \\[x\\](y) &#64;all \\| \\<b\\> |');
    expect(stdout).not.toMatch(/\| ~/);
  });

  test('xlsx has a sheet for each table, with numbers and local times', async () => {
    const address = await writeSimulated();
    const path = join(newFolder(), 'report.xlsx');
    await report(address, [...WEEK, '--by', 'week', '--file', path, '--timezone', 'Europe/Berlin']);
    const sheets = await readXlsx(path);
    expect(sheets.map(({ sheet }) => sheet)).toEqual([
      'figures',
      'by week',
      'idle longest',
      'period',
    ]);
    const { figures } = await figuresOf(address, WEEK);
    const [, ...rows] = sheets[0]?.data ?? [];
    expect(rows.map(([, name, value]) => [name, value])).toEqual(
      figures.map(({ name, value }) => [name, value]),
    );
    const [, [from] = []] = sheets[3]?.data ?? [];
    expect(from).toEqual(new Date('2026-10-11T02:00:00Z'));
  });

  test('html escapes names and marks uncertain numbers', async () => {
    const address = await writeSimulated();
    await withDatabase(address, (database) =>
      database.all("UPDATE bicycles SET name = '<script>alert(1)</script>'"),
    );
    const { stdout } = await report(address, [...WEEK, '-o', 'html']);
    expect(stdout).toContain('&lt;script&gt;alert(1)');
    expect(stdout).not.toContain('<script');
    expect(stdout).toMatch(/<td>~\d/);
  });
});

describe('parts', () => {
  async function openScene() {
    const sandbox = await openSandbox({ bicycles: 80 });
    const address = await newSqlite();
    await makeMirror(address, { sandbox });
    await withDatabase(address, (database) =>
      database.all("UPDATE bicycles SET first_seen = '2026-01-01T00:00:00.000000Z'"),
    );
    return { address, env: await environmentOf(sandbox) };
  }

  async function sizesBy(part: string): Promise<{ [part: string]: number | null }> {
    const { address, env } = await openScene();
    const run = await runFleet(['report', '--to', address, '--by', part, '--json'], { env });
    expect(run.code).toBe(0);
    const { figures } = JSON.parse(run.stdout) as JsonReport;
    const sizes = figures.filter(({ name }) => name === 'fleet_size_mean');
    return Object.fromEntries(sizes.map((each) => [each.part ?? 'whole', each.value]));
  }

  test('the numbers of the models add up to the fleet total', async () => {
    const { whole, ...models } = await sizesBy('model');
    expect(Object.keys(models).length).toBeGreaterThan(1);
    const sum = Object.values(models).reduce<number>((total, value) => total + (value ?? 0), 0);
    expect(isClose(sum, whole ?? null)).toBe(true);
  });

  test('`report --by zone` uses zone outlines and current positions', async () => {
    const { whole, ...zones } = await sizesBy('zone');
    expect(Object.keys(zones).length).toBeGreaterThan(1);
    for (const size of Object.values(zones)) expect(size).toBeLessThanOrEqual(whole ?? 0);
    const { address, env } = await openScene();
    const run = await runFleet(['report', '--to', address, '--by', 'zone'], { env });
    expect(run.stderr).toContain('numbers by zone use the current positions');
  });
});
