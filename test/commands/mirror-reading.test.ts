// Tests the commands that read a mirror on both databases, and compares --offline with the service.

import { EventEmitter } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { main } from '../../src/main.js';
import type { Database } from '../../src/mirror/database.js';
import { openDatabase } from '../../src/mirror/open.js';
import { utcOfMs } from '../../src/mirror/rows.js';
import { systemClock } from '../../src/system/clock.js';
import { environmentOf } from '../support/environment.js';
import { newFolder } from '../support/folder.js';
import { QUERIES } from '../support/guides.js';
import { makeMirror, organizationOf } from '../support/made-mirror.js';
import { addressOf, useEngines, withDatabase } from '../support/mirror.js';
import { type RunResult, runFleet } from '../support/run.js';
import { useSandbox } from '../support/sandbox.js';

const sandbox = useSandbox({ bicycles: 90 });
const engines = useEngines();
const START = '2026-03-01T12:00:00.000000Z';

/** Splits at spaces except within single quotes. */
function words(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
}

/** Lets the tests query as the superuser that owns their server. */
function asSuperuser(args: readonly string[]): string[] {
  const isQuery = args[0] === 'mirror' && args[1] === 'query';
  return isQuery ? [...args, '--allow-superuser'] : [...args];
}

/** Creates a settings folder with a profile that names the mirror. */
function configWith(mirror: string): string {
  const folder = newFolder();
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ profiles: { default: { mirror } } }));
  return folder;
}

describe.each(engines)('%s', (kind, newText) => {
  let text = '';
  let bicycle = '';
  let other = '';
  let env: NodeJS.ProcessEnv = {};
  let open: Database | undefined;
  const fleet = (line: string, more: NodeJS.ProcessEnv = {}): Promise<RunResult> =>
    runFleet(kind === 'postgres' ? asSuperuser(words(line)) : words(line), {
      env: { ...env, ...more },
    });
  const asked = () => sandbox().requests.length;

  beforeAll(async () => {
    text = await newText();
    const all = sandbox().bicycles(organizationOf(sandbox()));
    [bicycle = '', other = ''] = all.map(({ uuid }) => uuid);
    const [started, ended] = ['2026-03-01T12:30:00.000000Z', '2026-03-01T12:34:00.000000Z'];
    await makeMirror(text, {
      sandbox: sandbox(),
      changes: [
        { at: START, bicycle, field: 'state', old: 'available', new: 'rented' },
        { at: START, bicycle: other, field: 'state', old: 'lost', new: 'available' },
        {
          at: '2026-03-01T13:00:00.000000Z',
          bicycle,
          field: 'state',
          old: 'rented',
          new: 'available',
        },
        {
          at: '2026-03-01T13:00:01.000000Z',
          bicycle,
          field: 'state_of_charge',
          old: 50.5,
          new: 20,
        },
      ],
      gaps: [{ started, ended, reason: 'the stream was cut', found: 3 }],
    });
    env = {
      ...(await environmentOf(sandbox())),
      FLEET_ORGANIZATION: organizationOf(sandbox()),
      FLEET_CONFIG_DIR: configWith(text),
    };
    // Keeps the database open as a writer does, so that its -wal file exists.
    open = await openDatabase(addressOf(text), {
      access: 'write',
      signal: new AbortController().signal,
      env: {},
    });
  });
  afterAll(() => open?.close());

  // Renew the heartbeat, because these tests can take longer on a slow machine.
  let beatMs = 0;
  beforeEach(async () => {
    if (Date.now() - beatMs < 5_000) return;
    beatMs = Date.now();
    const heartbeat = new Date(beatMs).toISOString();
    await withDatabase(text, (database) =>
      database.all(`UPDATE writers SET heartbeat = '${heartbeat}'`),
    );
  });

  const FILTERS = [
    '--all',
    '--all --ordering uuid',
    '--all --ordering -name',
    '--all --ordering state,-state_of_charge,uuid',
    '--all --ordering organization,-uuid',
    '--all --ordering -model,organization,uuid',
    '--all --state available,lost --ordering uuid',
    '--all --name emmy --ordering uuid',
    '--all --name É --ordering uuid',
    '--all --where state_of_charge<40 --ordering uuid',
    "--all --where 'latest_gps_timestamp!=null' --ordering -latest_gps_timestamp,uuid",
    '--all --bbox 13.5,52.6,13.3,52.4 --ordering uuid',
    '--all --bbox -179,-16,179,-18 --ordering uuid',
    '--all --bbox -170,90,20,-90 --ordering -name,uuid',
    '--count --bbox -170,90,20,-90',
    '--near 52.52,13.405 --radius 3km',
    '--near 52.52,13.405 --radius 3km --limit 3',
    '--ordering uuid',
    '--ordering uuid --page 2',
    '--ordering uuid --limit 33',
    '--ordering uuid --limit 33 --page 2',
    '--count',
    '--count --state available',
    '--all --where state=nothing',
  ];
  // All of them on SQLite, half of them on PostgreSQL.
  const filters = FILTERS.filter((_, index) => kind === 'sqlite' || index % 2 === 1);
  test.each(filters)(
    '`list %s --offline` prints the same output as an online run',
    async (filter) => {
      const online = await fleet(`bicycles list ${filter} -o jsonl`);
      const before = asked();
      const offline = await fleet(`bicycles list ${filter} -o jsonl --offline`);
      expect(asked()).toBe(before);
      const [told, ...footer] = offline.stderr.split('\n');
      expect(told).toMatch(/^\{"notice":"from the mirror, current, .* old/);
      // SQLite ignores case only for ASCII, so every bicycle is compared.
      if (!filter.includes('É')) expect(footer.join('\n')).toBe(online.stderr);
      const sorted = (lines: string) =>
        filter === '--all' ? lines.split('\n').sort().join('\n') : lines;
      // The mirror does not contain the service's distance to the center of the box.
      const same = (lines: string) => sorted(lines.replaceAll(/,"distance":[^,}]*/g, ''));
      expect(same(offline.stdout)).toBe(same(online.stdout));
      expect(offline.code).toBe(online.code);
    },
  );

  test.each([
    'bicycles get BICYCLE --json',
    'bicycles get BICYCLE',
    'bicycles stats -o csv',
    'bicycles stats --by model --state available',
    'alerts list --all --json',
    'alerts list --all --ordering organization,uuid --json',
    'alerts list --state new --count',
    'alerts list --bicycle BICYCLE --json',
  ])('`%s --offline` prints the same output as an online run', async (line) => {
    const command = line.replace('BICYCLE', bicycle);
    const online = await fleet(command);
    const before = asked();
    const offline = await fleet(`${command} --offline`);
    expect(asked()).toBe(before);
    const same = (text: string) =>
      line.includes('list --all')
        ? text.replaceAll(/,$/gm, '').split('\n').sort().join('\n')
        : text;
    expect([offline.code, same(offline.stdout)]).toEqual([online.code, same(online.stdout)]);
  });

  test.each([
    [
      'bicycles list --offline --zone 6f1c0b5e-2f0e-4c56-9d3a-0d6f3a1f7c11',
      2,
      /cannot filter by "zone"/,
    ],
    ['bicycles list --offline --param x=1', 2, /cannot filter by "x"/],
    ['bicycles list --offline --ordering bleid,distance', 2, /cannot order by "distance"/],
    [
      'bicycles list --offline --organization 6f1c0b5e-2f0e-4c56-9d3a-0d6f3a1f7c11',
      2,
      /does not contain the organization/,
    ],
    ['bicycles list --offline --no-mirror', 2, /cannot be used together/],
    ['bicycles get 6f1c0b5e-2f0e-4c56-9d3a-0d6f3a1f7c11 --offline', 5, /in the mirror/],
  ])('%s exits with %i', async (line, code, message) => {
    const run = await fleet(line);
    expect([run.code, run.stderr]).toEqual([code, expect.stringMatching(message)]);
  });

  test('exits with 5 for a page beyond the last one, with and without --offline', async () => {
    for (const line of ['bicycles list --page 99', 'bicycles list --page 99 --offline'])
      expect(await fleet(line)).toMatchObject({ code: 5, stdout: '' });
  });

  test('`mirror status` exits with 0 only when the mirror is up to date', async () => {
    const run = await fleet('mirror status --json');
    expect(JSON.parse(run.stdout)).toMatchObject({
      current: true,
      whole: true,
      base_url: sandbox().baseUrl,
      counts: {
        bicycles: sandbox().bicycles(organizationOf(sandbox())).length,
        gone: 0,
        changes: 4,
        gaps: 1,
      },
      gaps: [{ reason: 'the stream was cut', found: 3 }],
    });
    expect([run.code, run.stderr]).toEqual([0, '']);
    const lines = (await fleet('mirror status')).stdout;
    expect(lines).toMatch(/^status +current$/m);
    expect(lines).toMatch(/ for 4 min: the stream was cut; 3 changes found$/m);
    const set = (sql: string) => withDatabase(text, (database) => database.all(sql));
    await set(
      "INSERT INTO gaps (started, reason) VALUES ('2026-03-02T00:00:00.000000Z', 'the stream was cut')",
    );
    const behind = await fleet('mirror status');
    expect([behind.code, behind.stderr]).toEqual([
      9,
      'error: the mirror is not current: a gap is open\n',
    ]);
    expect(behind.stdout).toMatch(/^as of +2026-03-02T00:00:00Z /m);
    expect((await fleet('bicycles list --offline -o uuid --limit 1')).stderr).toMatch(
      /^! from the mirror, .* old: a gap is open\n/,
    );
    await set('DELETE FROM gaps WHERE ended IS NULL');
    // A writer took over and has not recorded the gap of its absence yet.
    const owner = (name: string) => set(`UPDATE writers SET owner = '${name}'`);
    await owner('next');
    const starting = 'error: the mirror is not current: its writer has just started\n';
    expect(await fleet('mirror status')).toMatchObject({ code: 9, stderr: starting });
    await owner('test');
  });

  test('does not treat a partially read list as complete', async () => {
    const set = (sql: string) =>
      withDatabase(text, (database) => database.all(`UPDATE writers SET ${sql}`));
    await set(`alerts = NULL, state = replace(state, 'Whole":true', 'Whole":false')`);
    const lines = [
      'bicycles list --all',
      'bicycles get Nobody',
      'bicycles stats',
      'alerts list --count',
    ];
    for (const line of lines)
      expect(await fleet(`${line} --offline -q`)).toMatchObject({
        code: 9,
        stderr: expect.stringMatching('not contain all'),
      });
    await set(`alerts = 'read', state = replace(state, 'Whole":false', 'Whole":true')`);
  });

  test('`mirror status` estimates the number of changes when the history is long', async () => {
    const [long, back] =
      kind === 'sqlite'
        ? [
            'UPDATE changes SET id = 75000000 WHERE id = 4',
            'UPDATE changes SET id = 4 WHERE id > 4',
          ]
        : [75e6, 0].map(
            (rows) => `UPDATE pg_class SET reltuples = ${rows} WHERE relname = 'changes_before'`,
          );
    await withDatabase(text, (database) => database.all(long ?? ''));
    const { counts, changes_estimated } = JSON.parse((await fleet('mirror status --json')).stdout);
    expect([counts.changes, changes_estimated]).toEqual([75e6, true]);
    expect((await fleet('mirror status')).stdout).toMatch(/^changes +about 75000000$/m);
    await withDatabase(text, (database) => database.all(back ?? ''));
  });

  test('`bicycles history` shows the changes and gaps of a bicycle, even after its deletion', async () => {
    const run = await fleet(`bicycles history ${bicycle.slice(0, 8)} -o csv`);
    expect(
      run.stdout
        .replaceAll(/^.*,service,.*\n/gm, '')
        .replaceAll(/000000Z|000Z/g, 'Z')
        .replaceAll('.Z', 'Z'),
    ).toBe(
      [
        'at,field,old,new,transition,by,source,version,note',
        '2026-03-01T12:00:00Z,state,available,rented,,,push,1,',
        '2026-03-01T12:30:00Z,,,,,,,,"gap, 4 min: the stream was cut"',
        '2026-03-01T13:00:00Z,state,rented,available,,,push,1,',
        '2026-03-01T13:00:01Z,state_of_charge,50.5,20,,,push,1,',
        '',
      ].join('\n'),
    );
    const since = await fleet(
      `bicycles history ${bicycle} --since 2026-03-01T12:50:00Z --field state --json`,
    );
    expect(JSON.parse(since.stdout)[0]).toMatchObject({
      field: 'state',
      old: 'rented',
      new: 'available',
    });
    const none = await fleet(`bicycles history ${bicycle} --since 1h`);
    expect(none.stderr).toMatch(/No changes of .* are recorded since/);
    expect((await fleet('bicycles history nobody')).code).toBe(5);
  });

  test('`bicycles get` shows the last changes when the mirror is current', async () => {
    for (const flags of [[], ['--offline']]) {
      const before = asked();
      const run = await runFleet(['bicycles', 'get', bicycle.slice(0, 8), ...flags], {
        env,
        terminal: { columns: 100 },
      });
      expect(run.stdout.replace(/\u001b\[\d+m/g, '')).toMatch(
        /Last changes\n\d+ d ago +state +rented +available\n\d+ d ago +state +available +rented\n$/,
      );
      // The mirror knows the bicycle, so only this bicycle and its alerts are requested.
      expect(asked() - before).toBe(flags.length === 0 ? 2 : 0);
    }
  });

  test('`mirror replay` prints the same lines as the original watch', async () => {
    const run = await fleet('mirror replay --speed max');
    const lines = run.stdout.split('\n');
    expect(lines).toEqual([
      expect.stringMatching(/^2026-03-01T12:00:00.000Z +.* available -> rented/),
      expect.stringMatching(/^2026-03-01T12:00:00.000Z +.* lost -> available/),
      expect.stringMatching(/^2026-03-01T13:00:00.000Z +.* rented -> available/),
      expect.stringMatching(/^2026-03-01T13:00:01.000Z +.* charge -30.5 %/),
      '',
    ]);
    expect(run.stderr).toMatch(/back after 4 min, no updates from .*: the stream was cut\n/);
    const json = await fleet(
      'mirror replay --speed max --since 2026-03-01T12:30:00Z --until 2026-03-01T13:00:01Z --json',
    );
    expect(JSON.parse(json.stdout)).toMatchObject({
      sender: 'bicycle',
      message: { uuid: bicycle, state: 'available' },
    });
    const none = await fleet('mirror replay --since 1h');
    expect([none.code, none.stdout, none.stderr]).toEqual([
      0,
      '',
      'No changes were recorded in this period\n',
    ]);
    expect((await fleet('mirror replay --speed 0')).code).toBe(2);
  });

  test('`mirror query` prints rows with exact numbers in every format', async () => {
    const sql =
      "'select uuid, state, 12345678901234567890.10 as big, 9007199254740993 as whole, raw, latitude, longitude from bicycles order by uuid limit 2'";
    const rows = JSON.parse((await fleet(`mirror query ${sql} --json`)).stdout);
    expect(rows[0]).toMatchObject({ uuid: rows[0].raw.uuid, state: rows[0].raw.state });
    const lines = (await fleet(`mirror query ${sql} -o jsonl`)).stdout;
    expect(lines).toContain('"whole":9007199254740993,');
    if (kind === 'postgres') expect(lines).toContain('"big":12345678901234567890.10,');
    expect(
      JSON.parse((await fleet(`mirror query ${sql} -o geojson`)).stdout).features,
    ).toHaveLength(2);
    expect((await fleet(`mirror query ${sql} -o uuid`)).stdout).toBe(
      `${rows[0].uuid}\n${rows[1].uuid}\n`,
    );
    const count = "'select state, count(*) as n from latest group by state order by n desc, state'";
    expect((await fleet(`mirror query ${count} --jq '.[0].n'`)).stdout).toMatch(/^\d+\n$/);
    expect((await fleet(`mirror query ${count} -o csv`)).stdout).toMatch(/^state,n\n/);
    expect((await fleet(`mirror query ${count}`)).stdout).toMatch(/^STATE +N\n/);
    expect((await fleet("mirror query 'select 1 as a, 2 as a' --json")).stdout).toBe(
      '[\n{"a":1,"a_2":2}\n]\n',
    );
    expect(
      (await fleet("mirror query 'select uuid from bicycles where 1 = 0' -o csv")).stdout,
    ).toBe('uuid\n');
  });

  test.each(QUERIES)('a query from docs/mirror.md returns rows: %s', async (sql) => {
    const run = await runFleet(asSuperuser(['mirror', 'query', sql, '-o', 'jsonl']), { env });
    expect([run.code, run.stderr]).toEqual([0, '']);
    expect(run.stdout.split('\n').length).toBeGreaterThan(1);
  });

  test.each([
    ['delete from bicycles', /"delete" is refused/],
    ['with gone as (delete from bicycles returning uuid) select * from gone', /./],
    ['select 1; select 2', /must be a single statement/],
    ['selct 1', /"selct" is refused/],
    ['select nothing from bicycles', /nothing/],
    ['explain select 1; drop table bicycles', /must be a single statement/],
    ['', /is empty/],
    [`select "WriteFile"('/tmp/x', 'y')`, /"WriteFile" is refused/],
    ...(kind === 'postgres'
      ? [['select from bicycles', /returned no rows/] as [string, RegExp]]
      : []),
  ])('`mirror query` rejects %j with exit code 2', async (sql, message) => {
    const run = await runFleet(asSuperuser(['mirror', 'query', sql]), { env });
    expect([run.code, run.stdout, run.stderr]).toEqual([2, '', expect.stringMatching(message)]);
  });

  test('--to selects the database for --offline and requires --offline', async () => {
    const elsewhere = await fleet('bicycles list --offline --to sqlite:/nonexistent/other.db');
    expect([elsewhere.code, elsewhere.stderr]).toEqual([
      3,
      expect.stringContaining('/nonexistent/other.db'),
    ]);
    const alone = await fleet('bicycles list --to sqlite:/nonexistent/other.db');
    expect([alone.code, alone.stderr]).toEqual([
      2,
      expect.stringContaining('--to needs --offline'),
    ]);
  });

  test('--offline rejects a mirror of a different service', async () => {
    const run = await fleet('bicycles list --offline --base-url http://localhost:1');
    expect([run.code, run.stderr]).toEqual([3, expect.stringMatching(/the mirror belongs to/)]);
  });
});

test('`mirror replay` ends when its reader closes the pipe', async () => {
  const folder = newFolder();
  const mirror = `sqlite:${join(folder, 'fleet.db')}`;
  const [{ uuid: bicycle = '' } = {}] = sandbox().bicycles(organizationOf(sandbox()));
  const name = (number: number) => `${number} ${'x'.repeat(1000)}`;
  const changes = Array.from({ length: 1500 }, (_, number) => {
    const at = utcOfMs(Date.parse(START) + number);
    return { at, bicycle, field: 'name', old: name(number), new: name(number + 1) };
  });
  await makeMirror(mirror, { sandbox: sandbox(), changes });
  const stdout = new Writable({
    write(_chunk, _encoding, done) {
      setTimeout(() => done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })), 200);
    },
  });
  const streams = { stdin: Readable.from([]), stdout, stderr: new PassThrough().resume() };
  const env = { ...(await environmentOf(sandbox())), FLEET_CONFIG_DIR: configWith(mirror) };
  const words = ['mirror', 'replay', '--speed', 'max', '--json'];
  const running = main(words, {
    ...streams,
    env,
    signals: new EventEmitter(),
    clock: systemClock(),
  });
  const patience = new Promise((resolve) => setTimeout(resolve, 5000, 'still running').unref());
  expect(await Promise.race([running, patience])).toBe(0);
});
