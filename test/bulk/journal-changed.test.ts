// Tests journals that were modified, suspended runs, and `journal show`.

import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import {
  appendFile,
  type FileHandle,
  mkdir,
  open,
  readFile,
  symlink,
  unlink,
  writeFile,
} from 'node:fs/promises';
import readXlsxFile from 'read-excel-file/node';
import { describe, expect, onTestFinished, test } from 'vitest';
import { lineOf } from '../../src/bulk/journal-records.js';
import { systemClock } from '../../src/system/clock.js';
import { openQuickClock } from '../support/fast-clock.js';
import { BINDING, leaveJournal, newJournal, numbered, readJournal } from '../support/journal.js';
import { jsonLines, type RunOptions, runFleet } from '../support/run.js';
import { openServer, sendJson } from '../support/server.js';

const A = 'aaaaaaaa-0000-4000-8000-000000000001';
const B = 'bbbbbbbb-0000-4000-8000-000000000002';
const C = 'cccccccc-0000-4000-8000-000000000003';
const D = 'dddddddd-0000-4000-8000-000000000004';

interface Service {
  url: string;
  posts(): string[];
  act(words: readonly string[], options?: RunOptions): ReturnType<typeof runFleet>;
}

/** A service that answers each change with the next status, and with 200 after the last one. */
async function openService(statuses: number[] = []): Promise<Service> {
  const { url, env, asked } = await openServer((response, { method, path }) => {
    if (method === 'POST') return sendJson(response, statuses.shift() ?? 200, {});
    if (path.startsWith('/bicycles/?')) return sendJson(response, 200, []);
    sendJson(response, 404, { detail: 'Not found.' });
  });
  return {
    url,
    posts: () =>
      asked.filter(({ method }) => method === 'POST').map(({ path }) => path.split('/')[2] ?? ''),
    act: (words, options = {}) =>
      runFleet(['bicycles', 'act', ...words, 'rent', '--yes'], {
        env,
        clock: openQuickClock(),
        ...options,
      }),
  };
}

const outcomesOf = (stdout: string) =>
  Object.fromEntries(
    jsonLines<{ uuid: string; outcome: string }>(stdout).map(({ uuid, outcome }) => [
      uuid[0],
      outcome,
    ]),
  );

describe('a run suspended before it sends a request', () => {
  /**
   * Makes the clock jump after a request was announced and the journal was checked, before the
   * bytes leave. `meanwhile` runs at that moment. The check itself reads the clock once.
   */
  function openSleeper(path: string, meanwhile: (journal: string) => void) {
    const clock = systemClock();
    let sleptMs = 0;
    let readings = 0;
    return {
      ...clock,
      wallMs: () => {
        const journal = readFileSync(path, { encoding: 'utf8', flag: 'a+' });
        if (journal.includes('"sending"')) readings += 1;
        if (readings === 2) {
          sleptMs = 60_000;
          meanwhile(journal);
        }
        return clock.wallMs() + sleptMs;
      },
    };
  }

  test('a suspended run sends nothing after another run took over its journal', async () => {
    const path = newJournal();
    const { act, posts } = await openService();
    const clock = openSleeper(path, (journal) => {
      const { holder, records } = readJournal(Buffer.from(journal), path);
      const claim = {
        claim: 'other',
        over: holder?.id,
        pid: 1,
        host: 'h',
        beat_ms: 1500,
        n: 1,
        after: records,
      };
      appendFileSync(path, `\n${lineOf(claim)}`);
    });
    const args = [A, B, '--journal', path, '--json', '--concurrency', '1'];
    const { code, stdout, stderr } = await act(args, { clock });
    expect(posts()).toEqual([]);
    expect(stderr).toContain('was taken over by another run');
    expect(stdout.match(/"outcome":"not-sent"/g)).toHaveLength(2);
    expect(code).toBe(10);
  });

  test('a suspended run that still owns its journal sends each request once', async () => {
    const found =
      /this process was stopped for 60\.\d s; checking that no other run took over the journal/;
    // On a busy machine, a heartbeat can be the second reading of the clock. Then the run is
    // repeated.
    for (let wasFound = false; !wasFound; ) {
      const path = newJournal();
      const { act, posts } = await openService();
      const { code, stderr } = await act([A, B, '--journal', path, '--concurrency', '1'], {
        clock: openSleeper(path, () => {}),
      });
      expect(posts().sort()).toEqual([A, B]);
      expect(code).toBe(0);
      wasFound = found.test(stderr);
    }
  });
});

describe('a journal on a slow disk', () => {
  /** Delays each flush of a file by this many milliseconds until the end of the test. */
  async function slowDown(milliseconds: number): Promise<void> {
    const handle = await open(newJournal(), 'w');
    const prototype = Object.getPrototypeOf(handle) as FileHandle;
    await handle.close();
    const { datasync } = prototype;
    prototype.datasync = async function (this: FileHandle) {
      await new Promise((resolve) => setTimeout(resolve, milliseconds));
      return datasync.call(this);
    };
    onTestFinished(() => {
      prototype.datasync = datasync;
    });
  }

  test.each([150, 250, 600])(
    'reports a disk flush of %d ms once and finishes the run',
    async (milliseconds) => {
      await slowDown(milliseconds);
      const { act, posts } = await openService();
      const clock = openQuickClock();
      const path = newJournal();
      const args = [A, B, C, '--journal', path, '--concurrency', '2'];
      const { code, stderr } = await act(args, { clock });
      expect(stderr.match(/the disk of the journal .* is slow/g)).toHaveLength(1);
      expect(stderr).not.toContain('this process was stopped');
      expect(posts().sort()).toEqual([A, B, C]);
      expect(code).toBe(0);
    },
  );

  test('never sends a request twice when another run takes over on a slow disk', async () => {
    await slowDown(400);
    const { act, posts } = await openService();
    const path = newJournal();
    const args = [A, B, C, '--journal', path, '--concurrency', '1', '--unknown', 'leave'];
    const first = act(args, { clock: openQuickClock() });
    await new Promise((resolve) => setTimeout(resolve, 900));
    const second = act(args, { clock: openQuickClock() });
    const codes = [(await first).code, (await second).code];
    for (const code of codes) expect([0, 2, 9, 10]).toContain(code);
    expect(new Set(posts()).size).toBe(posts().length);
  });
});

describe('a journal changed by another program', () => {
  const changes: [string, (lines: string[]) => string[], RegExp][] = [
    [
      'an outcome was edited',
      (lines) => lines.map((line) => line.replace('"outcome":"done"', '"outcome":"refused"')),
      /line \d+ was changed/,
    ],
    [
      'an answer and its sending are missing',
      (lines) => lines.filter((line) => !line.includes(A)),
      /records are missing before line \d+/,
    ],
    [
      'a record is there twice',
      (lines) => lines.flatMap((line) => (line.includes('"sending"') ? [line, line] : [line])),
      /records are missing/,
    ],
    [
      'a checksum is missing',
      (lines) => lines.map((line) => line.replace(/,"sum":"\w+"/, '')),
      /line 1 was changed/,
    ],
    [
      'two runs, the end of the first is missing',
      (lines) => {
        const end = lines.findLastIndex((line) => line.includes('"released"'));
        const [claim = ''] = numbered([
          { claim: 'x', over: null, pid: 1, host: 'h', beat_ms: 1500, after: lines.length },
        ]);
        return [
          ...lines.slice(0, end - 1),
          claim.trim(),
          ...numbered([{ released: 'x' }], 2).map((one) => one.trim()),
        ];
      },
      /records are missing before line \d+/,
    ],
  ];

  test.each(changes)(
    'refuses a journal with %s unless --unknown resend is given',
    async (_case, change, why) => {
      const path = newJournal();
      const { act, posts } = await openService();
      expect((await act([A, B, '--journal', path])).code).toBe(0);
      const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '');
      await writeFile(path, `${change(lines).join('\n')}\n`);
      for (const more of [[], ['--dry-run'], ['--unknown', 'done']]) {
        const { code, stderr } = await act([A, B, C, '--journal', path, ...more]);
        expect(stderr).toMatch(why);
        expect([code, stderr]).toEqual([2, expect.stringContaining('nothing was sent')]);
      }
      expect(posts()).toHaveLength(2);
      const shown = await runFleet(['journal', 'show', path, '-o', 'csv']);
      expect([shown.code, shown.stderr]).toEqual([9, expect.stringMatching(why)]);
      const resent = await act([
        A,
        B,
        C,
        '--journal',
        path,
        '--unknown',
        'resend',
        '--settle',
        '0',
      ]);
      expect(resent.code).toBe(0);
      expect(posts()).toContain(C);
      // The user accepted the journal, so it is valid again.
      const again = await act([A, B, C, '--journal', path, '--json']);
      expect(outcomesOf(again.stdout)).toEqual({ a: 'skipped', b: 'skipped', c: 'skipped' });
    },
  );

  describe('a truncated journal', () => {
    const many = Array.from(
      { length: 12 },
      (_, index) => `aaaaaaaa-0000-4000-8000-${String(index).padStart(12, '0')}`,
    );

    test('refuses a journal that has fewer records than its counter file shows', async () => {
      const path = newJournal();
      const { act, posts } = await openService();
      expect((await act([...many, '--journal', path])).code).toBe(0);
      const lines = (await readFile(path, 'utf8')).split('\n');
      const first = lines.findIndex((line) => line.includes('"answered"'));
      await writeFile(path, `${lines.slice(0, first - 4).join('\n')}\n`);
      for (const more of [[], ['--dry-run'], ['--unknown', 'done']]) {
        const { code, stderr } = await act([...many, '--journal', path, ...more]);
        expect([code, stderr]).toEqual([2, expect.stringContaining('last records are missing')]);
      }
      expect(posts()).toHaveLength(many.length);
      expect((await runFleet(['journal', 'show', path])).code).toBe(9);
      const flags = ['--unknown', 'resend', '--settle', '0'];
      expect((await act([...many, '--journal', path, ...flags])).code).toBe(0);
      expect((await act([...many, '--journal', path])).code).toBe(0);
    });

    test('reports a missing journal when only its counter file remains', async () => {
      const path = newJournal();
      const { act, posts } = await openService();
      await act([A, B, '--journal', path]);
      await unlink(path);
      for (const more of [[], ['--dry-run']]) {
        const { code, stderr } = await act([A, B, '--journal', path, ...more]);
        expect([code, stderr]).toEqual([
          2,
          expect.stringMatching(
            /is missing or empty, but .*\.count says that a run wrote \d+ records/,
          ),
        ]);
      }
      expect(existsSync(path)).toBe(false);
      expect(posts()).toHaveLength(2);
      await unlink(`${path}.count`);
      expect((await act([A, B, '--journal', path])).code).toBe(0);
    });

    test('detects a truncated journal that is opened through a symlink', async () => {
      const path = newJournal();
      const link = newJournal();
      const { act } = await openService();
      await act([A, B, '--journal', path]);
      await symlink(path, link);
      await writeFile(
        path,
        `${(await readFile(path, 'utf8')).split('\n').slice(0, 4).join('\n')}\n`,
      );
      expect((await act([A, B, '--journal', link])).code).toBe(2);
    });

    test('a run reports an unusable counter file and continues', async () => {
      const path = newJournal();
      const { act } = await openService();
      await mkdir(`${path}.count`);
      const { code, stderr } = await act([A, B, '--journal', path]);
      expect([code, stderr]).toEqual([0, expect.stringContaining('a journal that loses its end')]);
    });

    test("a run does not overwrite an unrelated file at its counter file's path", async () => {
      const path = newJournal();
      const { act } = await openService();
      await writeFile(`${path}.count`, 'my own notes\n');
      const { code, stderr } = await act([A, B, '--journal', path]);
      expect([code, stderr]).toEqual([0, expect.stringContaining('was left unchanged')]);
      expect(await readFile(`${path}.count`, 'utf8')).toBe('my own notes\n');
    });

    test.each(['', 'my own notes\n'])(
      'does not write through a symbolic link in place of the counter file, to a file with "%s"',
      async (text) => {
        const path = newJournal();
        const { act } = await openService();
        await writeFile(`${path}.other`, text);
        await symlink(`${path}.other`, `${path}.count`);
        const { code, stderr } = await act([A, B, '--journal', path]);
        expect([code, stderr]).toEqual([0, expect.stringContaining('cannot be opened')]);
        expect(await readFile(`${path}.other`, 'utf8')).toBe(text);
      },
    );
  });

  test('refuses a journal with future timestamps unless --unknown resend is given', async () => {
    const path = newJournal();
    const { act, posts } = await openService();
    const nextYear = () => Date.now() + 366 * 86_400_000;
    expect((await act([A, '--journal', path], { clock: openQuickClock(10, nextYear) })).code).toBe(
      0,
    );
    for (const more of [[], ['--dry-run']]) {
      const { code, stderr } = await act([A, B, '--journal', path, ...more]);
      expect([code, stderr]).toEqual([
        2,
        expect.stringMatching(
          /has records of 20\d\d-\d\d-\d\d, and the date of this machine is 20/,
        ),
      ]);
    }
    expect(posts()).toHaveLength(1);
    expect((await runFleet(['journal', 'show', path])).code).toBe(9);
    const resent = await act([A, B, '--journal', path, '--unknown', 'resend', '--settle', '0']);
    expect(resent.code).toBe(0);
    expect((await act([A, B, C, '--journal', path])).code).toBe(0);
  });

  test('accepts a journal from a machine whose clock is hours ahead', async () => {
    const path = newJournal();
    const { act } = await openService();
    const later = () => Date.now() + 6 * 3_600_000;
    await act([A, '--journal', path], { clock: openQuickClock(10, later) });
    expect((await act([A, B, '--journal', path])).code).toBe(0);
  });

  test('a run ends when another program appends to its journal', async () => {
    const path = newJournal();
    const { env, asked } = await openServer(async (response, { method }) => {
      if (method === 'POST') await appendFile(path, '{"answered":"x"}\n');
      sendJson(response, 200, method === 'GET' ? [] : {});
    });
    const args = [
      'bicycles',
      'act',
      A,
      B,
      'rent',
      '--yes',
      '--journal',
      path,
      '--concurrency',
      '1',
    ];
    const { code, stderr } = await runFleet(args, { env });
    expect(stderr).toContain('was changed while the run used it');
    expect({ code, posts: asked.filter(({ method }) => method === 'POST').length }).toEqual({
      code: 10,
      posts: 1,
    });
  });
});

test.each([408, 409, 423, 425, 499])(
  'a resumed run sends a change again after HTTP %d',
  async (status) => {
    const path = newJournal();
    const { act, posts } = await openService([status]);
    const first = await act([A, B, '--journal', path, '--json', '--concurrency', '1']);
    expect(first.code).toBe(9);
    const second = await act([A, B, '--journal', path, '--json']);
    expect(outcomesOf(second.stdout)).toEqual({ a: 'done', b: 'skipped' });
    expect({ code: second.code, posts: posts() }).toEqual({ code: 0, posts: [A, B, A] });
  },
);

describe('gateway errors after a change was sent', () => {
  test.each([502, 503, 504, 524])(
    'records a change as unknown after HTTP %d and does not resend it',
    async (status) => {
      const path = newJournal();
      const { act, posts } = await openService([status]);
      const first = await act([A, B, '--journal', path, '--json', '--concurrency', '1']);
      expect(outcomesOf(first.stdout)).toEqual({ a: 'unknown', b: 'done' });
      const second = await act([A, B, '--journal', path, '--json', '--settle', '0']);
      expect(outcomesOf(second.stdout)).toEqual({ a: 'unknown', b: 'skipped' });
      expect(posts()).toEqual([A, B]);
    },
  );

  test.each([
    [
      'act',
      ['bicycles', 'act', A, 'rent'],
      `"fleet bicycles get ${A}" and "fleet bicycles history ${A}" show it`,
    ],
    ['alerts', ['alerts', 'act', A, 'resolve'], `"fleet api /alerts/${A}/" shows it`],
    [
      'create',
      ['bicycles', 'create', '--name', 'Ada', '--organization', A],
      '"fleet bicycles list --ordering -created"',
    ],
    [
      'api',
      ['api', '-X', 'POST', `/bicycles/${A}/actions/`, '-f', 'type=rent'],
      'check before you retry',
    ],
  ])(
    'exits with 8 after a 503 because the outcome of the change is unknown (%s)',
    async (_case, args, hint) => {
      const { env, asked } = await openServer((response) =>
        sendJson(response, 503, { detail: 'upstream' }),
      );
      const { code, stderr } = await runFleet(args, { env });
      expect(stderr).toContain('it is unknown whether the request was carried out');
      expect(stderr).not.toContain('try again later');
      expect(stderr).toContain(hint);
      if (args[0] !== 'bicycles') expect(stderr).not.toContain('fleet bicycles');
      expect({ code, asked: asked.length }).toEqual({ code: 8, asked: 1 });
    },
  );
});

test.each([500, 302, 200])(
  'acts on bicycles even when `/me/` returns HTTP %d without a user',
  async (status) => {
    const path = newJournal();
    const { env } = await openServer((response, { method, path: asked }) => {
      if (asked === '/me/')
        return void response.writeHead(status, { location: '/login' }).end('<html>');
      sendJson(response, 200, method === 'GET' ? [] : {});
    });
    const args = ['bicycles', 'act', A, B, 'rent', '--yes', '--journal', path];
    expect((await runFleet(args, { env })).code).toBe(0);
  },
);

describe('`journal show`', () => {
  test('prints a summary and one row per bicycle', async () => {
    const path = newJournal();
    const result = {
      status: 200,
      state: 'rented',
      request_id: 'r1',
      milliseconds: 1,
      message: null,
    };
    await leaveJournal(path, {
      binding: {},
      start: { newest: null, date: null },
      sending: [A, B, C, D],
    });
    const at = Date.parse('2026-03-01T12:00:00Z');
    const records = [
      { answered: A, run: 'dead', name: 'Emmy 1', result: { outcome: 'done', ...result }, at },
      {
        answered: B,
        run: 'dead',
        how: 'history',
        result: { outcome: 'done', ...result, status: null },
        at,
      },
      {
        answered: D,
        run: 'dead',
        result: { outcome: 'unknown', ...result, status: null, state: null },
        at,
      },
    ];
    await appendFile(path, numbered(records, 7).join(''));
    const { code, stdout, stderr } = await runFleet(['journal', 'show', path, '-o', 'csv']);
    expect(stdout).toBe(
      [
        'uuid,row,name,outcome,at,run,how,status,state,request_id,message',
        `${A},,Emmy 1,done,2026-03-01T12:00:00.000Z,dead,answered,200,rented,r1,`,
        `${B},,,done,2026-03-01T12:00:00.000Z,dead,history,,rented,r1,`,
        `${C},,,unknown,1970-01-01T00:00:00.001Z,dead,,,,,"it was about to be sent, and no answer was recorded"`,
        `${D},,,unknown,2026-03-01T12:00:00.000Z,dead,,,,r1,`,
        '',
      ].join('\n'),
    );
    expect(stderr).toContain(
      `${BINDING.command} rent at http://x: 2 done (1 answered, 1 confirmed after a crash), 2 unknown; 1 run`,
    );
    expect(code).toBe(0);
  });

  /** A journal of a killed run by ada@x.org, and of the run that resumed it. */
  async function makeResumedJournal(): Promise<string> {
    const path = newJournal();
    const { act, url } = await openService();
    await leaveJournal(path, {
      binding: { base_url: url },
      start: { newest: null, date: null, user: [{ email: 'ada@x.org', uuid: D }] },
      sending: [{ key: A, before: { state: 'available', version: null } }],
    });
    const stdin = JSON.stringify({ uuid: B, name: '<b>=1+1', state: 'available' });
    const args = ['-', '--journal', path, '--unknown', 'leave', '--settle', '0'];
    expect((await act(args, { stdin: `${JSON.stringify({ uuid: A })}\n${stdin}\n` })).code).toBe(9);
    return path;
  }

  const FACTS = [
    'Report: bicycles act rent, 2 bicycles',
    'ada@x.org',
    'run 1 started at 1970-01-01 00:00:00 and was killed after',
    'run 2 resumed at',
    'and ended after',
    '1 done, 1 unknown',
  ];

  test('writes an HTML report with the details of the run', async () => {
    const path = await makeResumedJournal();
    const file = `${path}.html`;
    const { code } = await runFleet(['journal', 'show', path, '--file', file]);
    const page = await readFile(file, 'utf8');
    for (const text of FACTS) expect(page).toContain(text);
    expect(page).toContain('<h1>Report: bicycles act rent, 2 bicycles</h1>');
    expect(page).toContain('&lt;b&gt;=1+1');
    expect(page).not.toMatch(/<script|<b>|>RUN<|>REQUEST</);
    expect(page).toMatch(/<td>done<\/td><td>available<\/td>/);
    expect(code).toBe(0);
    await runFleet(['journal', 'show', path, '--file', file, '-o', 'wide']);
    expect(await readFile(file, 'utf8')).toMatch(/<th>RUN<\/th><th>REQUEST<\/th>/);
  });

  test('writes the report as a workbook to run.xlsx', async () => {
    const path = await makeResumedJournal();
    const file = `${path}.xlsx`;
    expect((await runFleet(['journal', 'show', path, '--file', file])).code).toBe(0);
    const [page] = await readXlsxFile(await readFile(file));
    const cells = (page?.data ?? []).map((row) => row.map((cell) => String(cell ?? '')));
    const texts = cells.flat();
    for (const text of FACTS) expect(texts.some((cell) => cell.includes(text))).toBe(true);
    const header = cells.findIndex(([first]) => first === 'ID');
    expect(cells[header]?.slice(0, 5)).toEqual(['ID', 'NAME', 'OUTCOME', 'BEFORE', 'AFTER']);
    expect(cells.slice(header + 1).map(([id, , outcome, before]) => [id, outcome, before])).toEqual(
      [
        [A, 'unknown', 'available'],
        [B, 'done', 'available'],
      ],
    );
    expect(texts).not.toContain('REQUEST');
    await runFleet(['journal', 'show', path, '--file', file, '-o', 'wide']);
    const [wide] = await readXlsxFile(await readFile(file));
    expect((wide?.data ?? []).flat()).toContain('REQUEST');
  });

  test('the report of an edit shows the old and new values', async () => {
    const path = newJournal();
    const { env } = await openServer((response, { method, path: asked, body }) => {
      if (method === 'PATCH') return sendJson(response, 200, { uuid: A, ...JSON.parse(body) });
      if (asked.startsWith(`/bicycles/${A}`))
        return sendJson(response, 200, { uuid: A, name: 'Ada', note: 'old' });
      sendJson(response, 200, []);
    });
    const edit = ['bicycles', 'edit', '-', '--yes', '--method', 'PATCH', '--journal', path];
    await runFleet(edit, { env, stdin: JSON.stringify({ uuid: A, note: 'new' }) });
    const file = `${path}.html`;
    await runFleet(['journal', 'show', path, '--file', file]);
    expect(await readFile(file, 'utf8')).toContain('<td>note: old</td><td>note: new</td>');
  });

  test('`journal show` exits with 2 for a missing, empty or invalid file', async () => {
    const path = newJournal();
    expect((await runFleet(['journal', 'show', path])).stderr).toContain('there is no journal');
    await writeFile(path, '');
    expect((await runFleet(['journal', 'show', path])).stderr).toContain('is empty');
    await writeFile(path, 'uuid\n');
    expect(await runFleet(['journal', 'show', path])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is not a fleet journal'),
    });
  });

  test('a resumed run summarizes the results of the earlier run', async () => {
    const path = newJournal();
    const { act } = await openService([425]);
    await act([A, B, C, '--journal', path, '--concurrency', '1']);
    const { stdout, stderr } = await act([A, B, C, '--journal', path, '-o', 'wide']);
    expect(stderr).toContain('3 bicycles: 1 done now, 2 already done');
    expect(stdout).toMatch(new RegExp(`${B} +skipped`));
    expect(stdout).toMatch(new RegExp(`${A} +done`));
  });
});
